"""A worker runs held calls that a grant answers: given after the call was held, its own process gone. Once, for that person, and never against a no."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from life_kit import BOSS, CLERK, DONE, Life, a_life, living, plain_lives, policy, reply, said
from stores_kit import Clock, url_of

from guard import Session
from guard.core.model import ConversationRef
from guard.runner.worker import Worker
from guard.stores import open_store

TESTS = Path(__file__).parent
OFFERS = "[{scope: tool_here, uses: 3, until: 1d}, {amount: n, at_most: 9, sum: 12, uses: 5}]"
HELD = f"kind: action, allow: [clerk], repeat: allow, approve: {{by: [boss], grants: {OFFERS}}}"
NONE = HELD.replace(OFFERS, "[same_call]")
LOOK = f"kind: read, allow: [clerk], approve: {{by: [boss], grants: {OFFERS}}}"
TEXT = policy(held=HELD, look=LOOK)


@pytest.fixture(params=plain_lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    for one in a_life(request, tmp_path):
        one.text = TEXT
        yield one


def who(principal: str, tenant: str) -> Session | None:
    return CLERK if (principal, tenant) == ("E1", "acme") else None


def work(life: Life, grace: float = 0.0, sessions: Any = who, **changed: str) -> list[Any]:
    made = life.process(**{"held": HELD, "look": LOOK, **changed}) if changed else life.process()
    return [None if one.outcome is None else said(one.outcome) for one in Worker(made, sessions, grace=grace).once()]


def held(life: Life, *numbers: int, tool: str = "held", **more: Any) -> list[str]:
    """Calls that wait, their process gone; their approvals."""
    found = [life.propose(life.process(), (tool, n), call_id=f"h{n}", **more)[0] for n in numbers]
    assert {one.status for one in found} == {"held"}
    return [str(one.approval) for one in found]


def given(life: Life, scope: str = "tool_here", *, tool: str = "held", conversation: str = "c", **bounds: Any) -> Any:
    """A grant from a call of its own, which its host has run; given now, so that no walk has seen it."""
    [first] = held(life, 1, tool=tool, conversation=conversation)
    guard = life.process()
    guard.approvals.approve(first, approver=BOSS)
    life.settled(guard, conversation=conversation)
    life.ran.clear()
    return guard.grants.give(first, by=BOSS, scope=scope, **bounds)


def test_what_the_grant_covers_and_no_more(life: Life) -> None:
    """Within its bounds a held call runs; one beyond them waits on, however often a worker looks, and nothing is written about it."""
    within, beyond = held(life, 7, 8)
    given(life, "amount", at_most=7)
    assert work(life) == [DONE]
    decided = len(life.events("call.decided"))
    life.clock.now += 31
    assert (work(life), [n for _, n, _ in life.ran]) == ([], [7])
    assert [life.process().approvals.show(one).status for one in (within, beyond)] == ["cancelled", "pending"]
    assert len(life.events("call.decided")) == decided


def test_the_grace_is_the_programs_own(life: Life) -> None:
    """The call's own process has its time first, counted from the giving; then it runs once, counted with its claim, and the host tells the model."""
    [waiting] = held(life, 7)
    life.clock.now += 60
    made, guard = given(life, "amount"), life.process()
    assert work(life, 10) == []
    life.clock.now += 11
    assert work(life, 10) == [DONE]
    assert (work(life, 10), len(life.ran)) == ([], 1)
    asked, after = guard.approvals.show(waiting), guard.grants.show(made)
    assert (asked.status, asked.ended_by, after.used, after.summed) == ("cancelled", made.id, 1, 7)
    assert '\\"n\\":7' in life.settled(life.process())
    assert len(life.events("grant.used")) == 1


def test_look_ups_too(life: Life) -> None:
    """One that is held runs under a grant for it, and is counted once."""
    held(life, 2, tool="look")
    made = given(life, tool="look")
    assert work(life) == [DONE]
    assert (life.process().grants.show(made).used, work(life)) == (1, [])


ENDS: dict[str, Any] = {
    "rejected": lambda life, guard, name, made: guard.approvals.reject(name, approver=BOSS, reason="no"),
    "cancelled": lambda life, guard, name, made: guard.approvals.cancel(name, by=CLERK, reason="no"),
    "its time is over": lambda life, guard, name, made: setattr(life.clock, "now", life.clock.now + 86_401),
    "the grant was taken back": lambda life, guard, name, made: guard.grants.revoke(made, by=BOSS),
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_beats_an_end(life: Life, end: str) -> None:
    """A no, a withdrawal, the end of the time to decide, and a grant that was taken back: no worker runs the call."""
    [name] = held(life, 2)
    ENDS[end](life, life.process(), name, given(life, "amount"))
    assert (work(life), life.ran) == ([], [])


POLICIES = {
    "the policy refuses": (HELD + ", refuse: [{when: {n: {minimum: 0}}}]", [("refused", "rule_refused")]),
    "the offer is gone": (NONE, []),
    "another rule asks": (HELD.replace("by: [boss]", "by: [boss, chief]"), []),
    "two must say yes": (HELD.replace("by: [boss]", "by: [boss], need: 2"), []),
}


@pytest.mark.parametrize("change", POLICIES)
def test_todays_policy_decides(life: Life, change: str) -> None:
    """A refusal beats the grant, and one that is not offered any more answers nothing: the question stays open and nothing is written for it."""
    text, expected = POLICIES[change]
    [name] = held(life, 2)
    given(life)
    before = len(life.events("call.decided"))
    assert work(life, held=text) in (expected, [])
    assert life.ran == []
    if not expected:
        assert life.process().approvals.show(name).status == "pending"
        assert len(life.events("call.decided")) == before
        life.clock.now += 31
        assert work(life) == [DONE]


def test_roles_that_are_lost_run_nothing(life: Life) -> None:
    """The session is today's: without the role the call is refused, whoever gave a grant for it."""
    held(life, 2)
    given(life)
    fewer = Session(principal="E1", tenant="acme", roles=("guest",))
    assert work(life, sessions=lambda principal, tenant: fewer) == [("refused", "not_authorized")]
    assert life.ran == []


def test_only_that_persons_calls(life: Life) -> None:
    """A grant answers no call of another person, tenant or, where its scope says so, conversation; children are left to their host."""
    others = [Session(principal="E4", tenant="acme", roles=("clerk",)), replace(CLERK, tenant="globex")]
    for one in others:
        life.run(life.chat(life.process(), one, f"of {one.principal} {one.tenant}").handle(reply(("held", 5), call_id="o")))
    life.run(life.chat(life.process(), conversation="elsewhere").handle(reply(("held", 5), call_id="o")))
    life.run(life.chat(life.process()).child(name="kid").handle(reply(("held", 6), call_id="k")))
    given(life)
    everybody = {(one.principal, one.tenant): one for one in (CLERK, *others)}
    assert work(life, sessions=lambda principal, tenant: everybody[principal, tenant]) == []
    assert life.ran == []


def test_no_more_than_was_given(life: Life) -> None:
    """Three uses, five that wait: three run, two wait on."""
    waiting = held(life, 11, 12, 13, 14, 15)
    made, guard = given(life), life.process()
    found = work(life) + work(life)
    assert found.count(DONE) == len(life.ran) == 3
    assert guard.grants.show(made).status(life.clock.now) == "spent"
    life.clock.now += 31
    assert work(life) == []
    assert [guard.approvals.show(one).status for one in waiting].count("pending") == 2


CHILD = """
import sys
from pathlib import Path
from life_kit import LIVING, CLERK, Life
from stores_kit import Clock
from test_worker_grants import TEXT
from guard.runner.worker import Worker
from guard.stores import open_store
store = open_store(sys.argv[2], clock=Clock())
life = Life(Path(sys.argv[1]), "sync", store, Clock())
life.text = TEXT
LIVING.append(life)
worker = Worker(life.process(), lambda principal, tenant: CLERK, grace=0.0, batch=2)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    worker.once()
print(*(n for _, n, _ in life.ran))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_workers_at_once(tmp_path: Path, kind: str) -> None:
    """Twelve calls wait, a grant has room for five of them (and for 12 in all): each runs once, the books and the effects agree."""
    with url_of(kind, tmp_path) as url, living(Life(tmp_path, "sync", open_store(url, clock=Clock()), Clock())) as life:
        life.text = TEXT
        for number in range(12):
            held(life, 2, conversation=f"c{number}")
        made, guard = given(life, "amount", conversation="first"), life.process()
        command = [sys.executable, "-c", CHILD, str(tmp_path), url]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        children = [subprocess.Popen(command, env=environment(FIRST=str(TESTS)), **pipes) for _ in range(2)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        ran = [n for child in children for n in child.communicate(timeout=120)[0].split()]
        after = guard.grants.show(made)
        assert (ran, after.used, after.summed) == (["2"] * 5, 5, 10)
        rows = [
            life.store.rows(ConversationRef(tenant="acme", principal="E1", conversation=f"c{n}"))[0].status for n in range(12)
        ]
        assert (rows.count("done"), rows.count("held")) == (5, 7)
        life.store.close()


def test_threads_of_workers(life: Life) -> None:
    """Four at once on one store: nothing twice, nothing beyond the grant."""
    held(life, *range(21, 31))
    made = given(life)
    with ThreadPoolExecutor(4) as pool:
        found = [one for batch in pool.map(lambda _: work(life), range(8)) for one in batch]
    assert found.count(DONE) == len(life.ran) == len({n for _, n, _ in life.ran}) == 3
    assert life.process().grants.show(made).used == 3
