"""Inputs of the reported kinds that nobody had in mind before: noise and breaks in streams, two people at once, texts that no provider takes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire_talk
from wire_helpers import answers, every, message, spelled
from wire_talk import EVENTS, chunk, legal

from guard import Guard, Session, ToolError

POLICY = """
tools:
  act: {kind: action, allow: [staff], approve: never}
  look: {kind: read, allow: [staff]}
  mine: {kind: read, allow: [staff], bind: {user: session.principal}}
  price: {kind: read, allow: [staff]}
  pay: {kind: action, allow: [staff], approve: never, ground: {total: {returned_by: price.total}}}
  says: {kind: read, allow: [staff]}
  ends: {kind: action, allow: [staff], approve: never}
  odd: {kind: read, allow: [staff], checks: [is_odd]}
limits: {run: {calls: 1000}}
"""
CALLS = [("c1", "act", '{"path":"\\ud83d\\ude00\\u00e9 \u00e9\U0001f600","n":1}'), ("c2", "look", '{"path":"b","n":2}')]
WANTED = [("\U0001f600\u00e9 \u00e9\U0001f600", 1), ("b", 2)]
HALF = "no order \ud800 there, \udc00 either"


def _pay(total: float) -> dict[str, float]:
    return {"paid": total}


def _odd(n: int) -> int:
    return n


class Place:
    """A guard, and what its tools were called with."""

    def __init__(self, folder: Path) -> None:
        self.ran: list[Any] = []
        (folder / "tools.yaml").write_text(POLICY, "utf-8")
        tools = {
            **dict.fromkeys(("act", "look"), self._run),
            "mine": lambda user: {"user": user},
            "price": lambda: {"total": 12.5},
            "pay": _pay,
            "says": self._says,
            "ends": self._ends,
            "odd": _odd,
        }
        self.guard = Guard.load(folder, tools=tools, store="memory://", checks={"is_odd": lambda _: HALF})

    def _run(self, path: str = "", n: int = 0) -> dict[str, Any]:
        self.ran.append((path, n))
        return {"path": path}

    def _says(self) -> None:
        raise ToolError(HALF)

    def _ends(self) -> None:
        raise GeneratorExit

    def open(self, wire: str, who: str = "E1", conversation: str = "one") -> Any:
        return self.guard.open(Session(principal=who, roles=("staff",)), wire=wire, conversation=conversation)

    def handle(self, wire: str, chat: Any, *calls: tuple[str, str, str]) -> Any:
        """Handle one message; what is to be appended would be taken by the provider."""
        history = [chat.user("go")]
        turn = chat.handle(message(wire, *((one, tool, spelled(wire, text)) for one, tool, text in calls)), history=history)
        legal(wire, history + turn.append)
        return turn


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.guard.close()


def streamed(place: Place, chat: Any, wire: str, events: Any) -> Any:
    """Go over a stream and handle it; nothing runs on the way, and the provider would take what comes of it."""
    place.ran.clear()
    history = [chat.user("go")]
    stream = chat.stream(iter(copy.deepcopy(events)), history=history)
    for _ in stream:
        assert place.ran == []
    turn = stream.turn()
    legal(wire, history + turn.append)
    return turn


NOISE: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        *({"id": "x", "object": "chat.completion.chunk", "choices": found} for found in ([], [{"index": 0, "delta": None}])),
        *(chunk(delta) for delta in ({"tool_calls": None}, {"tool_calls": []}, {"content": None}, {"reasoning_content": "hm"})),
    ],
    "openai-responses": [
        {"type": "keepalive"},
        {"type": "response.in_progress", "response": {}},
        {"type": "response.unheard.of", "delta": "x", "output_index": 1},
        {"type": "response.reasoning_summary_text.delta", "delta": "x", "output_index": 7, "item_id": "r"},
    ],
    "anthropic": [{"type": "ping"}, {"type": "unheard_of", "index": 1}, {"type": "message_delta", "delta": {}, "usage": {}}],
    "gemini": [
        {"usageMetadata": {"totalTokenCount": 1}},
        *({"candidates": found} for found in ([], [{"index": 0}], [{"content": {}, "index": 0}])),
        {"candidates": [{"content": {"role": "model", "parts": [{"thought": True, "text": "hm"}]}, "index": 0}]},
    ],
    "bedrock-converse": [{"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}}, {"unheardOf": {}}],
}

"""Events that change nothing, wherever they come in a stream of the wire."""
CLOSING = {"openai-chat": 2, "openai-responses": 1, "anthropic": 2, "gemini": 1, "bedrock-converse": 2}
"""How many events at the end of the wire's streams are there once the provider has said why the reply ended, that one included."""


@every
def test_noise_between_any_two_events_changes_nothing(place: Place, name: str) -> None:
    """Heartbeats, empty pieces, thoughts and events of a later version: the calls are the same wherever they come."""
    events = EVENTS[name](CALLS)
    for number, noise in enumerate(NOISE[name]):
        for at in range(1, len(events)):
            chat = place.open(name, conversation=f"{number} {at}")
            turn = streamed(place, chat, name, [*events[:at], noise, *events[at:]])
            assert (place.ran, [one.status for one in turn.outcomes]) == (WANTED, ["done", "done"]), (noise, at)


@every
def test_a_stream_in_single_characters(place: Place, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escapes and pairs of escapes that are cut anywhere come together again."""
    monkeypatch.setattr(wire_talk, "pieces", list)
    streamed(place, place.open(name), name, EVENTS[name](CALLS))
    assert place.ran == WANTED


@every
def test_a_stream_that_breaks_anywhere_can_be_gone_on_from(place: Place, name: str) -> None:
    """A connection that is lost before the provider said that it is done: its error goes up, no call of it runs, and the conversation goes on."""
    events = EVENTS[name](CALLS)

    def lost(at: int) -> Iterator[Any]:
        yield from copy.deepcopy(events[:at])
        raise ConnectionError("lost")

    for at in range(1, len(events) - CLOSING[name] + 1):
        chat = place.open(name, conversation=f"broken {at}")
        history, stream = [chat.user("go")], None
        stream = chat.stream(lost(at), history=history)
        place.ran.clear()
        with pytest.raises(ConnectionError):
            for _ in stream:
                pass
        turn = stream.turn()
        legal(name, history + turn.append)
        assert (place.ran, {one.status for one in turn.outcomes} <= {"refused"}) == ([], True), at
        streamed(place, chat, name, EVENTS[name]([("d1", "act", '{"path":"z"}')]))
        assert place.ran == [("z", 0)], at


@every
def test_two_people_at_once_stay_two(place: Place, name: str) -> None:
    """Streams of two conversations whose events come by turns, under the same ids: each gets its own result and nothing of the other's."""
    chats = {who: place.open(name, who, f"of {who}") for who in ("E1", "E2")}
    calls = EVENTS[name]([("c1", "mine", '{"user":"E9"}')])
    streams = {who: chat.stream(iter(copy.deepcopy(calls)), history=[chat.user("go")]) for who, chat in chats.items()}
    for _ in zip(*streams.values(), strict=True):
        pass
    told = {who: streams[who].turn() for who in ("E2", "E1")}
    assert {who: turn.outcomes[0].content for who, turn in told.items()} == {who: f'{{"user":"{who}"}}' for who in chats}


@every
def test_a_history_of_somebody_else_proves_nothing(place: Place, name: str) -> None:
    """What another conversation was told does not ground a call, also where its messages are sent along as one's own."""
    other, mine = place.open(name, "E1", "a"), place.open(name, "E2", "b")
    history = [other.user("go")]
    history += other.handle(message(name, ("c1", "price", spelled(name, "{}"))), history=history).append
    turn = mine.handle(message(name, ("c2", "pay", spelled(name, '{"total":12.5}'))), history=history)
    assert [one.reason for one in turn.outcomes] == ["not_grounded"]
    assert place.handle(name, other, ("c3", "pay", '{"total":12.5}')).outcomes[0].status == "done"


@every
def test_half_a_character_in_what_a_tool_or_a_check_says(place: Place, name: str) -> None:
    """It goes back as U+FFFD, as in a result: a provider's client can send it, a store can hold it, and the conversation goes on."""
    turn = place.handle(name, place.open(name), ("c1", "says", "{}"), ("c2", "odd", '{"n":1}'))
    assert [one.reason for one in turn.outcomes] == ["tool_failed", "check_refused"]
    for one, (_, content) in zip(turn.outcomes, answers(name, turn.messages), strict=True):
        assert "no order \ufffd there, \ufffd either" in str(one.content)
        json.dumps(content, ensure_ascii=False).encode()


@every
def test_a_tool_that_raises_the_end_of_a_generator(place: Place, name: str) -> None:
    """It has failed, like one that exits: the other calls of the turn are answered, and nothing of it reaches the program."""
    turn = place.handle(name, place.open(name), ("c1", "ends", "{}"), ("c2", "act", '{"path":"a"}'))
    assert [(one.status, one.reason) for one in turn.outcomes] == [("failed", "tool_failed"), ("done", None)]
    assert place.ran == [("a", 0)]
