"""Single calls that are written outright: the same decisions, effects, ledger and audit as step by step, and never less durable.

Random plots are played twice, once with a memory of the newest turn and once without; then what makes the guess wrong, and a store that fails.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world_parts import EMPLOYEE, OPEN, arguments, judged, policies, scripts, sessions, some, voters
from worlds import Faulty, World

from guard import StoreError, ToolCall
from guard.core import ports as p
from guard.runner.ahead import NOTHING_AHEAD, Newest
from guard.runner.chat import Chat
from guard.runner.drivers import SyncRun
from guard.runner.drivers_async import AsyncRun
from guard.runner.opening import ref_of
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.wires import wire

colours = pytest.mark.parametrize("colour", ["sync", "async"])
calls = st.tuples(st.sampled_from(["look", "look", "sums", "act", "act", "pay", "ghost", ""]), arguments)
steps = st.one_of(
    calls.map(lambda found: ("call", *found)),
    calls.map(lambda found: ("twice", *found)),
    st.just(("say",)),
    st.tuples(st.just("vote"), st.sampled_from(["approve", "reject"]), voters),
    st.sampled_from([("wait", 10.0), ("wait", 100_000.0)]),
)


def single(world: World, name: str, arguments: Any, ahead: Any, number: str = "1") -> Any:
    """One call without a wire, as an MCP client makes it."""
    ref = ref_of(world.guard, world.session, "conv")
    chat = Chat(world.guard, world.session, wire("openai-chat"), ref, "answer", None).pinned()
    flow = chat.single(ToolCall(number, name, arguments), None, ahead=ahead)
    run = SyncRun if world.colour == "sync" else AsyncRun
    return world.run(run(chat.in_force.hands).run(flow))


def played(world: World, plot: list[Any], ahead: Any) -> list[Any]:
    found: list[Any] = []
    for number, step in enumerate(plot):
        match step:
            case ("call" | "twice" as how, name, given_):
                for again in range(1 if how == "call" else 2):
                    outcome = single(world, name, given_, ahead, f"{number}-{again}")
                    found.append((outcome.status, outcome.reason, outcome.replayed, outcome.turn, outcome.arguments))
            case ("vote", word, who):
                found.append(world.vote(word, who))
            case ("say",):
                world.say()
            case ("wait", seconds):
                world.clock.now += seconds
    return found


def told(world: World) -> list[Any]:
    """What stands in the audit: kinds in order, places, decisions."""
    return [(event["kind"], event.get("turn"), judged(event)) for event in world.audit()]


def stands(world: World) -> list[Any]:
    """What stands in the ledger."""
    rows = world.store.rows(ref_of(world.guard, world.session, "conv"))
    return [(row.key.turn, row.status, row.fingerprint, row.arguments, row.attempt, row.settled) for row in rows]


@colours
@some
@given(policies(), sessions, st.lists(steps, min_size=2, max_size=9), scripts)
def test_outright_and_step_by_step_are_the_same(colour: str, policy: Any, session: Any, plot: list[Any], script: Any) -> None:
    """The same outcomes, runs of tools, rows, and records in the same order."""
    seen = []
    for ahead in (Newest(), NOTHING_AHEAD):
        with World(colour, policy, session, script=script) as world:
            answers = played(world, plot, ahead)
            seen.append((answers, repr(world.ran), stands(world), told(world)))
            assert verify_store(world.store).ok
    assert seen[0] == seen[1]


def test_a_plain_call_is_one_transaction_before_it_runs_and_one_after() -> None:
    """From the second call on everything before the effect is asked of the store at once, for look-ups and actions."""
    with World("sync", OPEN, EMPLOYEE) as world:
        ahead = Newest()
        single(world, "look", {"n": 0}, ahead)
        for name in ("look", "act"):
            world.trace.clear()
            single(world, name, {"n": 1}, ahead)
            assert [type(command) for command in world.trace] == [p.Outright, p.Execute, p.Finish]


@pytest.mark.parametrize("meanwhile", ["call", "say", "elsewhere"])
def test_a_wrong_guess_costs_a_second_look_and_nothing_else(meanwhile: str) -> None:
    """Where the next turn is another one than was foreseen nothing is written, and the call is walked step by step."""
    with World("sync", OPEN, EMPLOYEE) as world:
        ahead = Newest()
        single(world, "look", {}, ahead)
        if meanwhile == "say":
            world.say()
        else:
            single(world, "act" if meanwhile == "call" else "look", {"n": 3}, NOTHING_AHEAD)
        world.trace.clear()
        outcome = single(world, "act", {"n": 1}, ahead, "9")
        kinds = [type(command) for command in world.trace]
        assert (outcome.status, kinds[:2]) == ("done", [p.Outright, p.OpenTurn])
        assert [type(c) for c in world.trace if isinstance(c, p.Execute)] == [p.Execute]
        assert [event["turn"] for event in world.audit() if event["kind"] == "call.proposed"][-1] == outcome.turn


@colours
@pytest.mark.parametrize("after", [False, True], ids=["before the work", "its answer is lost"])
def test_a_store_that_fails_runs_nothing(colour: str, after: bool) -> None:
    """A failing store refuses; where it had written all the same, the call is not run for that, nor twice."""
    inner = open_store("memory://", clock=lambda: 1.8e9)
    store = Faulty(inner, (), after=after)
    with World(colour, OPEN, EMPLOYEE, store=store) as world:
        ahead = Newest()
        single(world, "look", {}, ahead)
        store.at = frozenset(range(store.count + 1, 500))
        outcome = single(world, "act", {"n": 1}, ahead, "2")
        assert outcome.status in ("refused", "unknown")
        assert [name for name, _ in world.ran] == ["look"]
        store.at = frozenset()


def test_callers_at_the_same_time_get_turns_of_their_own(tmp_path: Path) -> None:
    """Sixteen callers with one guess: one of them is right, nobody is lost, and every call ran once."""
    with World("sync", OPEN, EMPLOYEE, url=f"sqlite:///{tmp_path}/guard.db") as world:
        ahead, found = Newest(), []
        single(world, "look", {}, ahead)
        gate = threading.Barrier(16)

        def call(number: int) -> None:
            gate.wait()
            found.append(single(world, "look", {"n": number % 6}, ahead, f"t{number}"))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcome.turn for outcome in found) == list(range(2, 18))
        assert {outcome.status for outcome in found} == {"done"}
        events = [event["kind"] for event in world.audit()]
        assert events.count("call.proposed") == events.count("call.decided") == 17
        assert verify_store(world.store).ok
        world.store.close()


def test_a_store_with_several_writers_is_not_asked_for_it() -> None:
    """Its longer transactions could wait for each other: every call is walked step by step."""

    class Several:
        at_once = False

        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def outright(self, command: Any) -> Any:
            raise StoreError("never")

    with World("sync", OPEN, EMPLOYEE, store=Several(open_store("memory://", clock=lambda: 1.8e9))) as world:
        ahead = Newest()
        assert [single(world, "look", {}, ahead, str(n)).status for n in range(3)] == ["done"] * 3
        assert not any(isinstance(command, p.Outright) for command in world.trace)


DIES = """
import os, signal, sys
sys.path[:0] = sys.argv[3:]
from test_ahead import single
from world_parts import EMPLOYEE, OPEN
from worlds import World
from stages import STAGES
from guard.runner.ahead import Newest

class Deadly:
    timed, ran = frozenset(), []

    def next(self, name, arguments):
        if name == "act":
            os.kill(os.getpid(), signal.SIGKILL)
        from stages import Give
        return Give({"n": 1})

with World("sync", OPEN, EMPLOYEE, url=sys.argv[1]) as world:
    ahead = Newest()
    single(world, "look", {}, ahead)
    STAGES.append(Deadly())
    single(world, "act" if sys.argv[2] == "act" else "look", {"n": 1}, ahead, "2")
"""


@pytest.mark.slow
def test_a_process_that_dies_in_the_action_leaves_its_claim_and_records(tmp_path: Path) -> None:
    """Killed in the tool: proposal, decision and start are on the disk, the call is in doubt, and another process does not run it again."""
    url = f"sqlite:///{tmp_path}/guard.db"
    here = str(Path(__file__).parent)
    words = [sys.executable, "-W", "ignore", "-c", DIES, url, "act", here, str(Path(here).parent)]
    assert subprocess.run(words, capture_output=True, check=False, cwd=tmp_path).returncode == -signal.SIGKILL
    with World("sync", OPEN, EMPLOYEE, url=url) as world:
        ref = ref_of(world.guard, world.session, "conv")
        assert [(row.status, row.attempt) for row in world.store.rows(ref)] == [("done", 0), ("started", 1)]
        kinds = [event["kind"] for event in world.audit() if event.get("turn") == 2]
        assert kinds == ["call.proposed", "call.decided", "call.begin"]
        world.clock.now += 100_000
        again = single(world, "act", {"n": 1}, Newest(), "3")
        assert (again.status, [name for name, _ in world.ran]) == ("unknown", [])
        assert verify_store(world.store).ok
        world.store.close()
