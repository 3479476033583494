"""Records of allowed look-ups may wait a stated moment: written before anything else, in order, by this process or by its end; a crash loses those at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from reports import BOTH, Desk, codes, start
from stores_kit import REF, Clock, event, key, kinds, records, row
from test_gaps import gone

from guard import Guard, GuardError
from guard.stores import open_store
from guard.stores.batching import MOST
from guard.stores.chain import verify_store

POLICY = """
    tools:
      pay: {kind: action, allow: [staff], approve: never}
      look: {kind: read, allow: [staff]}
"""
TOOLS: dict[str, Any] = {"pay": lambda amount: "paid", "look": lambda: "seen"}
WITHIN = 30.0
BESIDE = ("user.said", "policy.loaded", "result.delivered")  # of no call's decision or end


def desk_of(folder: Path, wire: str = "openai-chat", within: float = WITHIN) -> Desk:
    desk = start(folder, wire, POLICY, TOOLS, store="sqlite")
    desk.guard.close()
    desk.guard = desk.load(batch_reads=within)
    desk.chat = desk.guard.open(**desk.opening)
    return desk


def durable(folder: Path) -> list[str]:
    """The kinds of the records that another process would find."""
    store = open_store(f"sqlite:///{folder}/guard.db")
    found = [kind for kind in kinds(store) if kind not in BESIDE]
    assert verify_store(store).ok
    store.close()
    return found


@BOTH
def test_records_of_look_ups_wait_and_nothing_of_an_action_does(tmp_path: Path, wire: str) -> None:
    """What waits says within how many seconds it was to be written; an action's records are there before it runs, and those before them, too."""
    desk = desk_of(tmp_path, wire)
    desk.propose(("a", "look", {}))
    assert durable(tmp_path) == ["call.proposed", "call.decided"]  # the desk itself has looked at the records when the tool ran
    seen: list[list[str]] = []
    TOOLS["pay"] = lambda amount: seen.append(durable(tmp_path))
    desk.guard.close()
    desk.guard = desk.load(batch_reads=WITHIN, tools=TOOLS)
    desk.chat = desk.guard.open(**desk.opening)
    desk.propose(("b", "look", {}))
    desk.propose(("c", "pay", {"amount": 1}))
    expected = ["call.proposed", "call.decided", "call.end"] * 2 + ["call.proposed", "call.decided", "call.begin"]
    assert seen == [expected]
    found = [(one["kind"], one.get("within")) for one in desk.audit() if one["kind"] not in BESIDE]
    assert [kind for kind, _ in found] == [*expected, "call.end"]
    assert [within for _, within in found] == [None, 30, 30] * 2 + [None] * 4
    desk.closed()


def test_a_refusal_waits_for_nobody(tmp_path: Path) -> None:
    """Only allowed look-ups are batched: a turn with anything else is durable when it returns."""
    desk = desk_of(tmp_path)
    desk.propose(("a", "look", {}), ("b", "none", {}))
    assert durable(tmp_path)[:4] == ["call.proposed"] * 2 + ["call.decided"] * 2
    desk.guard.close()


def test_the_time_is_kept(tmp_path: Path) -> None:
    """Nobody has to come by: what waits is written when its time is over."""
    desk = desk_of(tmp_path, within=0.2)
    desk.propose(("a", "look", {}))
    until = time.monotonic() + 20
    while durable(tmp_path)[-1] != "call.end" and time.monotonic() < until:
        time.sleep(0.1)
    assert durable(tmp_path)[-1] == "call.end"
    desk.guard.close()


def crash(folder: Path, *, close: bool) -> None:
    """A process that makes one look-up and ends, as if it were killed or in good order."""
    code = f"""
import os, sys, warnings
from guard import Guard, Session
warnings.simplefilter("ignore")
guard = Guard.load({str(folder / "policies")!r}, tools={{"look": lambda: "seen", "pay": lambda amount: "paid"}},
    store="sqlite:///{folder}/guard.db", batch_reads=30.0)
chat = guard.open(Session(principal="u1", roles=("staff",)), wire="openai-chat", conversation="crashed")
call = {{"id": "a", "type": "function", "function": {{"name": "look", "arguments": "{{}}"}}}}
chat.handle({{"role": "assistant", "content": None, "tool_calls": [call]}})
{"guard.close()" if close else "os._exit(9)"}
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=False)
    assert done.returncode == (0 if close else 9), done.stderr.decode()


def policies(folder: Path) -> None:
    (folder / "policies").mkdir()
    (folder / "policies" / "tools.yaml").write_text("\n".join(line[4:] for line in POLICY.splitlines()))


def test_a_crash_loses_only_what_waited_and_the_next_to_open_says_so(tmp_path: Path) -> None:
    """One record for the lost process, once: who it was, since when it batched, within how many seconds. The chain is whole."""
    policies(tmp_path)
    crash(tmp_path, close=False)
    assert durable(tmp_path) == ["call.proposed", "audit.gap"]
    assert durable(tmp_path) == ["call.proposed", "audit.gap"]
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    gap = json.loads(records(store)[-1].body)["gap"]
    store.close()
    assert (gap["cause"], gap["within"], gap["lost"]) == ("process_lost", 30.0, "look-ups, if any")


def test_a_process_that_ends_in_good_order_loses_nothing(tmp_path: Path) -> None:
    """Everything is written when the guard is closed, and there is no gap."""
    policies(tmp_path)
    crash(tmp_path, close=True)
    assert durable(tmp_path) == ["call.proposed", "call.decided", "call.end"]


def test_what_cannot_be_written_is_kept_and_nothing_more_waits(tmp_path: Path) -> None:
    """A store that goes away while records wait: calls are refused, and when it is back nothing is missing or twice there."""
    desk = desk_of(tmp_path)
    desk.propose(("a", "look", {}))
    with gone(tmp_path / "guard.db"):
        assert codes(desk.propose(("b", "look", {}))) == ["store_unavailable"]
    assert codes(desk.propose(("c", "look", {}))) == [None]
    desk.guard.store.rows(desk.chat.ref)
    found = [(one["kind"], one.get("call_id")) for one in desk.audit() if one["kind"].startswith("call.")]
    assert found == [(kind, name) for name in ("a", "c") for kind in ("call.proposed", "call.decided", "call.end")]
    assert verify_store(desk.guard.store).ok
    desk.guard.close()


def test_many_threads_lose_nothing_and_keep_their_order(tmp_path: Path) -> None:
    """Each conversation's records stand in their order, whoever wrote them, more than may wait at once."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock(), batch=WITHIN)

    def work(number: int) -> None:
        ref = type(REF)(tenant="acme", principal="E1", conversation=f"c{number}")
        store.open(ref)
        for turn in range(MOST // 4):
            one = row("done", key(turn, ref=ref), kind="read", mark="")
            if not store.later((one,), (event("call.end", conversation=ref.conversation, n=turn),)):
                store.record((one,), (event("call.end", conversation=ref.conversation, n=turn),))
            if turn % 10 == 0:
                store.rows(ref)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    store.close()
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    bodies = [json.loads(one.body) for one in records(store)]
    for number in range(6):
        assert [body["n"] for body in bodies if body.get("conversation") == f"c{number}"] == list(range(MOST // 4))
    assert verify_store(store).ok
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_does_not_write_what_waits_in_its_parent(tmp_path: Path) -> None:
    """It would stand in the chain twice."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock(), batch=WITHIN)
    store.later((row("done", kind="read", mark=""),), (event("call.end"),))
    child = os.fork()
    if not child:
        store.say(REF, "hello", event("user.said"))
        os._exit(0)
    os.waitpid(child, 0)
    assert kinds(store) == ["user.said", "call.end"]
    store.close()


def test_how_long_may_be_waited_is_bounded(tmp_path: Path) -> None:
    """A loss window is seconds, not hours."""
    policies(tmp_path)
    for wrong in (0, -1.0, 3600.0):
        with pytest.raises(GuardError, match="batch_reads"):
            Guard.load(
                tmp_path / "policies", tools={"look": lambda: 1, "pay": lambda amount: 1}, store="memory://", batch_reads=wrong
            )
