"""Resuming on every wire after a crash at each crash point: a history of SDK objects that went through JSON, closed as the ledger knows it.

What a crash leaves in the ledger is in `test_crash_points`; here it is what the provider of each wire gets to see.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from crash import scene
from crash.point import chat_of, reply
from crash.verdict import code
from crash_points_kit import Point, told_ends
from test_trim import of_sdk
from wire_helpers import answers, every
from wire_models import accepted
from wire_talk import legal

from guard import Guard

pytestmark = pytest.mark.slow
UNTAKEN = ("before the turn is opened", "turn opened", "decision recorded", "before the claim")
TAKEN = ("claimed", "in the tool, before the effect", "in the tool, after the effect", "tool ended, outcome not recorded")
ENDED = ("outcome recorded", "before the messages are saved")
SEAMS = {**dict.fromkeys(UNTAKEN, "interrupted"), **dict.fromkeys(TAKEN, "outcome_unknown"), **dict.fromkeys(ENDED, "done")}
"""Where the process dies, and what the model sees of the call whose reply is in the history and whose result is not."""

AGAIN = (UNTAKEN[1], TAKEN[0], TAKEN[2], *ENDED)
PLACES = [*(("sqlite", where) for where in SEAMS), *(("postgresql", where) for where in AGAIN)]


def said_by(name: str, guard: Guard, tool: str) -> list[Any]:
    """The history that a host kept: what the user said, and the model's reply as objects of the provider's package."""
    go = guard.open(scene.EMPLOYEE, wire=name, conversation="elsewhere").user("go")
    answer = reply(name, tool)
    return [go, *(of_sdk(name, item) for item in (answer["output"] if name == "openai-responses" else [answer]))]


def told(name: str, messages: list[Any]) -> str:
    """What the model sees for the one call id, in a history that the provider of the wire takes."""
    legal(name, messages)
    accepted(name, messages)
    [(call_id, content)] = answers(name, messages)
    assert call_id == "c1"
    text = content if isinstance(content, str) else json.dumps(content)
    return code(content[0]["text"] if isinstance(content, list) else text)


@every
@pytest.mark.parametrize(("store", "where"), PLACES)
def test_a_history_of_sdk_objects_is_closed_after_a_crash(tmp_path: Path, store: str, where: str, name: str) -> None:
    """Objects and JSON give the same history, which the provider takes; resumed again it stays, and nothing runs."""
    point = Point(tmp_path, store, name, "once")
    point.die(where)
    acted = point.effects()
    with point.after() as guard:
        chat, history = chat_of(guard, name), said_by(name, guard, "once")
        stored = json.loads(json.dumps(chat.dump(history)))
        resumed = chat.resume(stored)
        assert told(name, resumed) == SEAMS[where]
        assert json.loads(json.dumps(resumed)) == resumed == chat.resume(history) == chat.resume(resumed)
        assert point.effects() == acted
    with point.after() as guard:
        assert chat_of(guard, name).resume(stored) == resumed


@every
@pytest.mark.parametrize("where", AGAIN)
def test_the_same_sdk_reply_handled_again_after_a_crash(tmp_path: Path, where: str, name: str) -> None:
    """What nobody took runs now, what was taken is unknown, what ended is replayed: one act at most, and both ways say so alike."""
    point = Point(tmp_path, "sqlite", name, "once")
    point.die(where)
    with point.after() as guard:
        chat, history = chat_of(guard, name), said_by(name, guard, "once")
        stored = json.loads(json.dumps(chat.dump(history)))
        turn = chat.handle(stored[1:] if name == "openai-responses" else stored[-1], history=stored[:1])
        wanted = "done" if where not in TAKEN else "outcome_unknown"
        assert told(name, [*stored, *turn.messages]) == wanted
        assert told(name, chat.resume(history)) == wanted
        assert point.effects() == (0 if where in TAKEN[:2] else 1)


@every
@pytest.mark.parametrize(
    "where", ["claimed", "in the tool, after the effect", "outcome recorded", "before the messages are saved"]
)
def test_a_held_call_of_sdk_objects_whose_run_dies(tmp_path: Path, where: str, name: str) -> None:
    """Its id keeps the result that says it is held; how it ended, or that nobody knows, follows once."""
    point = Point(tmp_path, "sqlite", name, "once_asked")
    point.die("before the messages are saved")
    with point.after() as guard:
        history = said_by(name, guard, "once_asked")
        chat = chat_of(guard, name)
        held = chat.resume(json.loads(json.dumps(chat.dump(history))))
        assert told(name, held) == "held_for_approval"
        [asked] = guard.approvals.list()
        guard.approvals.approve(asked, approver=scene.BOSS)
    point.die(where, "settle")
    with point.after() as guard:
        resumed = chat_of(guard, name).resume(json.loads(json.dumps(held)))
        assert told(name, resumed) == "held_for_approval"
        wanted = "unknown" if where in TAKEN else "done"
        assert told_ends(json.dumps(resumed[len(held) - 1 :])) == [wanted]
        assert chat_of(guard, name).resume(resumed) == resumed
        assert point.effects() == (0 if where == "claimed" else 1)
