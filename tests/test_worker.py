"""A worker runs approved calls whose own process is gone, once, for whoever they belong to today, and looks after lost ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from life_kit import BOSS, CLERK, DONE, UNKNOWN, Life, a_life, lives, living, plain_lives, reply, said
from stores_kit import Clock

from guard import GuardError, Session
from guard.errors import StoreError
from guard.runner.worker import Worker
from guard.stores import open_store

TESTS = Path(__file__).parent


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


def who(principal: str, tenant: str) -> Session | None:
    return CLERK if (principal, tenant) == ("E1", "acme") else None


def approved(life: Life, *numbers: int, tool: str = "held") -> None:
    """Calls that wait and then have their yes."""
    for n in numbers or (1,):
        life.propose(life.process(), (tool, n), call_id=f"h{n}")
    life.approve(life.process())


def work(life: Life, sessions: Any = who, grace: float = 0.0, **more: Any) -> list[Any]:
    """What one batch of a worker came to."""
    found = Worker(life.process(), sessions, grace=grace, **more).once()
    return [None if one.outcome is None else said(one.outcome) for one in found]


def test_it_runs_what_was_approved_after_the_grace(life: Life) -> None:
    """The call's own process has its time first; then it runs once, and the host tells the model."""
    life.propose(life.process(), ("held", 1))
    assert work(life) == []
    life.approve(life.process())
    assert work(life, grace=10) == []
    life.clock.now += 9.5
    assert work(life, grace=10) == []
    life.clock.now += 1
    assert work(life, grace=10) == [DONE]
    assert (work(life, grace=10), len(life.ran)) == ([], 1)
    guard = life.process()
    assert '\\"n\\":1' in life.settled(guard)
    assert (life.settled(guard), len(life.ran)) == ("", 1)


def test_what_nobody_approved_is_left_alone(life: Life) -> None:
    """Pending, rejected and expired calls are nothing for a worker."""
    guard = life.process()
    for n in (1, 2, 3):
        life.propose(guard, ("held", n), call_id=f"h{n}")
    one, two, _ = life.run(guard.approvals.list())
    life.run(guard.approvals.reject(one.id, approver=BOSS))
    life.run(guard.approvals.approve(two.id, approver=BOSS))
    life.clock.now += 86_401
    assert (work(life), life.ran) == ([], [])


FEWER = Session(principal="E1", tenant="acme", roles=("guest",))


def test_roles_that_were_stored_authorize_nothing(life: Life) -> None:
    """The loader gives today's roles: with fewer of them the call is refused, and stays so for its host."""
    approved(life)
    assert work(life, lambda principal, tenant: FEWER) == [("refused", "not_authorized")]
    assert life.ran == []
    assert "not_authorized" in life.settled(life.process())


NOBODY: dict[str, Any] = {
    "nobody": lambda principal, tenant: None,
    "somebody else": lambda principal, tenant: BOSS,
    "another tenant": lambda principal, tenant: Session(principal="E1", tenant="globex", roles=("clerk",)),
    "no session": lambda principal, tenant: {"principal": "E1"},
    "an error": lambda principal, tenant: 1 / 0,
}


@pytest.mark.parametrize("case", NOBODY)
def test_without_the_very_person_nothing_runs(life: Life, case: str, caplog: pytest.LogCaptureFixture) -> None:
    """The call stays held, other workers get it later, and the log says what broke without naming anybody."""
    approved(life)
    assert work(life, NOBODY[case]) == [None]
    assert (life.ran, life.statuses()) == ([], ["held"])
    assert ("the session loader raised" in caplog.text) == (case == "an error")
    assert "E1" not in caplog.text
    assert work(life) == []
    life.clock.now += 31
    assert work(life) == [DONE]


@pytest.mark.parametrize("life", [pytest.param(("async, async tools", "sqlite"), id="async")], indirect=True)
def test_async_tools_keep_one_loop(life: Life) -> None:
    """A client that the program opened in the first call works in the next ones."""
    seen: list[Any] = []

    async def used(n: int) -> dict[str, int]:
        seen.append(asyncio.get_running_loop())
        return {"n": n}

    life.answers["held"] = used
    approved(life, 1, 2)
    with Worker(life.process(), who, grace=0.0) as worker:
        assert [said(one.outcome) for one in worker.once() if one.outcome] == [DONE, DONE]
        approved(life, 3)
        assert [said(one.outcome) for one in worker.once() if one.outcome] == [DONE]
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert seen[0].is_closed()


def test_an_async_loader_is_misuse() -> None:
    """It would give a coroutine and never anybody."""

    async def later(principal: str, tenant: str) -> Session | None:
        return None

    with pytest.raises(GuardError, match="plain function"):
        Worker(None, later)  # type: ignore[arg-type]


LOST = {"once": (UNKNOWN, 0), "same": (DONE, 1), "ask": (UNKNOWN, 0), "safe": (DONE, 1), "back": (UNKNOWN, 0)}


@pytest.mark.parametrize("tool", LOST)
def test_lost_calls_are_settled_by_their_class(life: Life, tool: str) -> None:
    """As any other look at them would; the host finds the outcome when it resumes."""
    before = life.dies(tool)
    end, times = LOST[tool]
    assert work(life) == [end]
    assert len(life.ran) == times
    assert life.rows()[0].idem == before.idem
    assert (work(life), len(life.ran)) == ([], times)
    history = [{"role": "user", "content": "go"}, reply((tool, 1))]
    told = str(life.run(life.chat(life.process()).resume(history)))
    assert ("outcome_unknown" in told) == (end == UNKNOWN)
    assert len(life.ran) == times


@plainly
def test_calls_of_children_are_left_to_their_host_and_block_nobody(life: Life) -> None:
    """Only the host knows how much narrower a child is; many of them keep no other call from being run."""
    guard = life.process()
    child = life.chat(guard).child(name="helper")
    for n in range(4):
        child.handle(reply(("held", n), call_id=f"k{n}"))
    life.approve(guard)
    life.clock.now += 1
    approved(life, 9)
    assert work(life, batch=2) == [DONE]
    assert [n for _, n, _ in life.ran] == [9]
    assert '\\"n\\":3' in json.dumps(child.settled())


@plainly
def test_it_stops_between_two_calls(life: Life) -> None:
    """Told to stop, it ends the call under way; the rest of its batch is left for others."""
    approved(life, 1, 2, 3)
    found = Worker(life.process(), who, grace=0.0).once(lambda: bool(life.ran))
    assert len(found) == len(life.ran) == 1
    life.clock.now += 31
    assert work(life) == [DONE, DONE]


@plainly
def test_a_store_that_is_down_is_the_callers_to_know(life: Life) -> None:
    """Whoever runs the worker tries again later; no call is lost by it."""

    class Down:
        blocking, secret, now = False, b"s" * 32, staticmethod(life.clock)

        def pick(self, **more: Any) -> Any:
            raise StoreError("down")

    approved(life)
    with pytest.raises(StoreError):
        Worker(life.process(Down()), who, grace=0.0).once()
    assert work(life) == [DONE]


CHILD = """
import sys
from pathlib import Path
from life_kit import LIVING, CLERK, Life
from stores_kit import Clock
from guard.runner.worker import Worker
from guard.stores import open_store
folder = Path(sys.argv[1])
store = open_store(f"sqlite:///{folder / 'guard.db'}")
life = Life(folder, "sync", store, Clock())
LIVING.append(life)
worker = Worker(life.process(), lambda principal, tenant: CLERK, grace=0.0, batch=3)
print("ready", flush=True)
sys.stdin.readline()
while worker.once():
    pass
print(*(n for _, n, _ in life.ran))
"""


def test_several_processes_run_each_call_once(tmp_path: Path) -> None:
    """Workers share the work: no call is run twice, none is left."""
    with living(Life(tmp_path, "sync", open_store(f"sqlite:///{tmp_path / 'guard.db'}"), Clock())) as life:
        approved(life, *range(20))  # as many questions as one person may have open
        command = [sys.executable, "-c", CHILD, str(tmp_path)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        children = [subprocess.Popen(command, env=environment(FIRST=str(TESTS)), **pipes) for _ in range(3)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        ran = [n for child in [child for child in children if child.stdin.write("\n") and not child.stdin.flush()]
               for n in child.communicate(timeout=60)[0].split()]  # fmt: skip
        assert sorted(map(int, ran)) == list(range(20))
        assert set(life.statuses()) == {"done"}
        life.store.close()
