"""The same turn again, held calls and what became of them, and histories closed after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crash_child import CALLS, SESSION, load, reply
from provider import Provider, anthropic_client, openai_client
from provider_rules import check_anthropic, check_openai
from stores_kit import url_of
from wire_helpers import answers, message

from guard import Reason, Session, Turn

HERE = Path(__file__).parent
BOSS = Session(principal="B9", roles=("boss",))
wires = pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
def store_kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Every test of this file runs on a file and on a server."""
    with url_of(request.param, tmp_path) as url:
        (tmp_path / "store").write_text(url)
        yield


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text().splitlines() if path.exists() else []


def accepted(wire: str, messages: list[Any]) -> None:
    """The provider takes this history."""
    if wire == "openai-chat":
        check_openai({"messages": messages})
    else:
        check_anthropic({"messages": messages, "max_tokens": 9})


def one(wire: str, tool: str, n: int) -> dict[str, Any]:
    return message(wire, ("c1", tool, {"n": n} if wire == "anthropic" else f'{{"n": {n}}}'))


def told(turn: Turn) -> list[tuple[str, bool]]:
    return [(outcome.status, outcome.replayed) for outcome in turn.outcomes]


# -- the same reply again ----------------------------------------------------------------------------------------------


@wires
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_the_same_turn_with_history_gives_the_recorded_results(tmp_path: Path, wire: str, fresh: bool) -> None:
    """Handled again while its results are not in the history: every outcome is the recorded one, and nothing runs."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = [chat.user("go")]
    first = chat.handle(reply(wire), history=history)
    if fresh:
        guard.store.close()
        guard = load(tmp_path)
        chat = guard.open(SESSION, wire=wire, conversation="c")
    again = chat.handle(reply(wire), history=history)

    assert told(first) == [("done", False)] * 4 + [("held", False)]
    assert [outcome.status for outcome in again.outcomes] == ["done"] * 4 + ["held"]
    assert [outcome.replayed for outcome in again.outcomes][:4] == [True] * 4
    assert answers(wire, again.messages)[:4] == answers(wire, first.messages)[:4]
    assert effects(tmp_path) == ["look 0", "act 1", "pay 2", "act 3"]
    assert len(guard.approvals.list()) == 1
    guard.store.close()


@wires
def test_the_same_turn_without_history_replays_actions_and_reads_again(tmp_path: Path, wire: str) -> None:
    """Nothing tells a repeated message from an equal new one: an equal action replays, an equal read runs again."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    chat.user("go")
    chat.handle(reply(wire))
    again = chat.handle(reply(wire))

    assert told(again)[:4] == [("done", False), ("done", True), ("done", True), ("done", True)]
    assert effects(tmp_path) == ["look 0", "act 1", "pay 2", "act 3", "look 0"]
    guard.store.close()


@wires
def test_an_equal_call_of_a_later_turn_runs_once_the_user_has_spoken(tmp_path: Path, wire: str) -> None:
    """Before that it is the action that was just done; the ids of the provider play no part."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = [chat.user("go")]
    seen = []
    for speaks in (False, False, True):
        if speaks:
            history.append(chat.user("once more"))
        turn = chat.handle(one(wire, "act", 1), history=history)
        history += turn.append
        seen += told(turn)

    assert seen == [("done", False), ("done", True), ("done", False)]
    assert effects(tmp_path) == ["act 1", "act 1"]
    accepted(wire, history)
    guard.store.close()


# -- held calls --------------------------------------------------------------------------------------------------------


@wires
@pytest.mark.parametrize("word", ["approve", "reject"])
@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "new process"])
def test_a_held_call_is_followed_up_once(tmp_path: Path, wire: str, word: str, fresh: bool) -> None:
    """`answer`: a result at once, one follow-up message once it is decided, and never another."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = [chat.user("go")]
    turn = chat.handle(one(wire, "ask", 4), history=history)
    history += turn.append
    assert (told(turn), turn.stop, chat.settled()) == ([("held", False)], None, [])
    accepted(wire, history)
    getattr(guard.approvals, word)(turn.pending[0].id, approver=BOSS)
    assert effects(tmp_path) == []
    if fresh:
        guard.store.close()
        guard = load(tmp_path)
        chat = guard.open(SESSION, wire=wire, conversation="c")
    follow_up = chat.settled()

    assert len(follow_up) == 1
    assert effects(tmp_path) == (["ask 4"] if word == "approve" else [])
    assert (chat.settled(), chat.settled()) == ([], [])
    accepted(wire, [*history, *follow_up])
    again = chat.handle(one(wire, "ask", 4), history=[*history, *follow_up])
    assert [(o.status, o.reason) for o in again.outcomes] == [
        ("done", None) if word == "approve" else ("refused", Reason.APPROVAL_REJECTED)
    ]
    assert len(effects(tmp_path)) == (word == "approve")
    guard.store.close()


@wires
def test_a_follow_up_that_was_lost_on_its_way_is_told_by_resume(tmp_path: Path, wire: str) -> None:
    """The process died with the message in hand: the saved history says held and nothing more, so resume says how it ended; once."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = [chat.user("go")]
    turn = chat.handle(one(wire, "ask", 4), history=history)
    history += turn.append
    guard.approvals.approve(turn.pending[0].id, approver=BOSS)
    lost = chat.settled()
    resumed = chat.resume(history)

    assert (len(lost), resumed) == (1, [*history, *lost])
    assert (chat.settled(), chat.resume(resumed)) == ([], resumed)
    assert effects(tmp_path) == ["ask 4"]
    accepted(wire, resumed)
    guard.store.close()


@wires
def test_a_suspended_turn_gives_its_messages_once_decided(tmp_path: Path, wire: str) -> None:
    """`suspend`: no messages until then, siblings run at once and once, the real result in the end."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c", held="suspend")
    history = [chat.user("go")]
    for _ in range(3):
        turn = chat.handle(reply(wire), history=history)
        assert (turn.stop, turn.messages, turn.append, len(turn.pending)) == ("held", [], [], 1)
    assert effects(tmp_path) == ["look 0", "act 1", "pay 2", "act 3"]
    guard.approvals.approve(turn.pending[0].id, approver=BOSS)
    turn = chat.handle(reply(wire), history=history)
    history += turn.append

    assert (turn.stop, [outcome.status for outcome in turn.outcomes]) == (None, ["done"] * 5)
    assert effects(tmp_path) == ["look 0", "act 1", "pay 2", "act 3", "ask 4"]
    accepted(wire, history)
    assert (chat.settled(), chat.resume(history)) == ([], history)
    guard.store.close()


# -- after a crash -----------------------------------------------------------------------------------------------------


def crash(folder: Path, wire: str, how: str, when: str, tool: str) -> None:
    """A process of its own handles the reply and dies in this tool."""
    command = [sys.executable, str(HERE / "crash_child.py"), str(folder), wire, how, when, tool]
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode in (9, -9), done.stderr


@wires
@pytest.mark.parametrize("how", ["exit", "kill"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("tool", ["look", "act", "pay"])
def test_a_history_is_closed_after_a_crash_and_nothing_runs_twice(
    tmp_path: Path, wire: str, how: str, when: str, tool: str
) -> None:
    """What finished keeps its result, the action in doubt is unknown, what never started is interrupted; the provider accepts it."""
    crash(tmp_path, wire, how, when, tool)
    before = effects(tmp_path)
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = chat.resume([{"role": "user", "content": "go"}, reply(wire)])

    accepted(wire, history)
    found = dict(answers(wire, history))
    assert list(found) == [call_id for call_id, _, _ in CALLS]
    codes = [code(found[call_id]) for call_id in found]
    names = [name for _, name, _ in CALLS]
    dead = names.index(tool)
    assert codes[dead] == ("interrupted" if tool == "look" else "outcome_unknown")
    assert [codes[index] for index in range(1, dead)] == ["done"] * max(0, dead - 1)
    assert codes[4] == "held_for_approval"
    assert set(codes[dead + 1 : 4]) <= {"interrupted"}
    assert effects(tmp_path) == before

    again = chat.handle(reply(wire), history=[{"role": "user", "content": "go"}])
    acts = [line for line in effects(tmp_path) if not line.startswith("look")]
    assert len(set(acts)) == len(acts)
    assert again.outcomes[dead].status == ("done" if tool == "look" else "unknown")
    once_more = chat.handle(one(wire, tool, CALLS[dead][2]["n"]), history=history)
    assert once_more.outcomes[0].status == ("done" if tool == "look" else "unknown")
    guard.store.close()


def code(content: Any) -> str:
    """The error code in a result, or `done`."""
    text = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    value = json.loads(text)
    return str(value["error"]["code"]) if value.get("ok") is False else "done"


@wires
def test_resuming_twice_changes_nothing_more(tmp_path: Path, wire: str) -> None:
    """A closed history stays as it is, and an empty one is fine."""
    crash(tmp_path, wire, "kill", "after", "pay")
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    history = chat.resume([{"role": "user", "content": "go"}, reply(wire)])

    assert chat.resume(history) == history
    assert chat.resume([]) == []
    assert chat.resume([{"role": "user", "content": "go"}]) == [{"role": "user", "content": "go"}]
    guard.store.close()


# -- SDK objects -------------------------------------------------------------------------------------------------------


@wires
def test_sdk_objects_survive_json(tmp_path: Path, wire: str) -> None:
    """A reply as the SDK gives it, dumped to JSON and read again, is the same turn to `handle` and to `resume`."""
    guard = load(tmp_path)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    client = anthropic_client if wire == "anthropic" else openai_client
    messages: list[Any] = [chat.user("go")]
    with Provider([reply(wire)]) as provider, client(provider) as real:
        if wire == "anthropic":
            answer: Any = real.messages.create(model="m", max_tokens=9, messages=messages)
            said: Any = {"role": "assistant", "content": answer.content}
        else:
            answer = real.chat.completions.create(model="m", messages=messages)
            said = answer.choices[0].message
    turn = chat.handle(answer, history=messages)
    stored = json.loads(json.dumps(chat.dump([*messages, said])))
    again = chat.handle(stored[-1], history=stored[:-1])

    assert [outcome.replayed for outcome in again.outcomes][:4] == [True] * 4
    assert answers(wire, again.messages)[:4] == answers(wire, turn.messages)[:4]
    resumed = chat.resume([*messages, said])
    assert json.loads(json.dumps(resumed)) == resumed == chat.resume(stored)
    assert [found for found, _ in answers(wire, resumed)] == [call_id for call_id, _, _ in CALLS]
    accepted(wire, resumed)
    assert effects(tmp_path) == ["look 0", "act 1", "pay 2", "act 3"]
    guard.store.close()
