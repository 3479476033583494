"""Reported failures: calls that were put together wrongly from the pieces of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, Desk, codes, error, start, states
from wire_helpers import answers
from wire_talk import EVENTS, chunk

from guard import Turn

SEARCH = "tools: {search: {kind: read, allow: [staff]}, clock: {kind: read, allow: [staff]}}"
FILES = """
    tools:
      write_file: {kind: action, allow: [staff], approve: never}
      export: {kind: action, allow: [staff], approve: never}
      read_file: {kind: read, allow: [staff]}
"""


def search(q: str) -> dict[str, str]:
    return {"found": q}


def write_file(path: str, content: str) -> str:
    return "written"


def export(scope: str = "all") -> str:
    return scope


def read_file(path: str) -> str:
    return path


def files(tmp_path: Path, wire: str) -> Desk:
    tools = {"write_file": write_file, "export": export, "read_file": read_file}
    return start(tmp_path, wire, FILES, tools)


def stream(desk: Desk, events: list[dict[str, Any]]) -> Turn:
    """Go over a stream, and see that nothing ran or was recorded before its end."""
    before = len(desk.audit())
    flow = desk.chat.stream(iter(events), history=desk.history)
    for event, same in zip(flow, events, strict=True):
        assert event is same
        assert (desk.ran, len(desk.audit())) == ([], before)
    turn: Turn = flow.turn()
    desk.seen.append(turn)
    desk.history += turn.append
    desk.legal()
    return turn


def entry(index: Any = 0, call_id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    """One entry of a chunk's tool_calls, with what is given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {key: value for key, value in (("index", index), ("id", call_id), ("function", function)) if value is not None}


def chunks(*deltas: list[dict[str, Any]], finish: str | None = "tool_calls") -> list[dict[str, Any]]:
    return [*(chunk({"tool_calls": delta}) for delta in deltas), *([chunk({}, finish)] if finish else [])]


def test_two_entries_for_one_index_in_one_chunk_br_014(tmp_path: Path) -> None:
    """Name and first piece of the arguments belong to the one call of their index."""
    desk = start(tmp_path, "openai-chat", SEARCH, {"search": search, "clock": lambda: "12:00"})
    pieces = chunks([entry(0, "c1", "search"), entry(0, arguments='{"q":"red')], [entry(0, arguments=' shoes"}')])
    assert states(stream(desk, pieces)) == ["done"]
    assert desk.ran == [("search", {"q": "red shoes"})]
    desk.closed()


@pytest.mark.parametrize("index", [0, None], ids=["index 0", "no index"])
def test_two_calls_under_one_index_br_015(tmp_path: Path, index: int | None) -> None:
    """A new id on a known index, or without any, is a new call: both run, each with its own arguments."""
    desk = files(tmp_path, "openai-chat")
    pieces = chunks(
        [entry(index, "call_a", "read_file", '{"path": "a"}')], [entry(index, "call_b", "read_file", '{"path": "b"}')]
    )
    assert states(stream(desk, pieces)) == ["done", "done"]
    assert desk.ran == [("read_file", {"path": "a"}), ("read_file", {"path": "b"})]
    desk.closed()


def test_two_calls_under_one_index_without_ids_br_015b(tmp_path: Path) -> None:
    """A name after arguments have begun is a new call, and each gets an id of its own."""
    desk = files(tmp_path, "openai-chat")
    turn = stream(
        desk,
        chunks(
            [entry(0, "", "read_file", '{"path": "a"}')], [entry(0, "", "read_file", '{"path":')], [entry(0, "", None, '"b"}')]
        ),
    )
    assert states(turn) == ["done", "done"]
    assert [arguments["path"] for _, arguments in desk.ran] == ["a", "b"]
    desk.closed()


def cut(wire: str, call: tuple[str, str, str], reason: Any, *, whole: bool) -> list[dict[str, Any]]:
    """A stream whose call has only so much text; `reason` says why it ended, `whole` that the provider calls it complete."""
    if wire == "gemini":
        pieces = {"jsonPath": "$.text", "stringValue": "line1", "willContinue": True}
        begun = {"functionCall": {"id": call[0], "name": call[1], "willContinue": True, "partialArgs": [pieces]}}
        events = [{"candidates": [{"content": {"role": "model", "parts": [begun]}, "index": 0}]}]
        end = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason, "index": 0}]}
        return [*events, end] if reason else events
    events = EVENTS[wire]([call])
    if not reason:
        return events[: -3 if wire == "openai-responses" else -2]
    if wire == "openai-chat":
        return [*events[:-2], chunk({}, reason)]
    if wire == "anthropic":
        return [*events[:-2], {"type": "message_delta", "delta": {"stop_reason": reason}}, events[-1]]
    if wire == "bedrock-converse":
        return [*events[:-2], {"messageStop": {"stopReason": reason}}]
    assert wire == "openai-responses", f"say in `cut` how a stream of {wire!r} ends when it is cut"
    response = {**events[-1]["response"], "status": reason, "output": []}
    begun = events[:-3] if not whole else events[:-1]
    return [*begun, {"type": f"response.{reason}", "response": response}]


LENGTH = {
    "openai-chat": "length",
    "openai-responses": "incomplete",
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
    "bedrock-converse": "max_tokens",
}
FINE = {
    "openai-chat": "tool_calls",
    "openai-responses": "completed",
    "anthropic": "tool_use",
    "gemini": "STOP",
    "bedrock-converse": "tool_use",
}
HALF = ("c1", "write_file", '{"path":"/w/a.txt","content":"line1')


@EVERY
@pytest.mark.parametrize("why", ["the limit", "a fine end", "nothing"])
def test_half_a_call_never_runs_br_017(tmp_path: Path, wire: str, why: str) -> None:
    """Whatever the provider says of the end, a text that is cut is refused, not closed, and the model is told."""
    desk = files(tmp_path, wire)
    reason = {"the limit": LENGTH[wire], "a fine end": FINE[wire], "nothing": None}[why]
    turn = stream(desk, cut(wire, HALF, reason, whole=False))
    assert states(turn) == ["refused"]
    assert codes(turn)[0] in ({"truncated_reply"} if why != "a fine end" else {"truncated_reply", "malformed_arguments"})
    assert desk.ran == []
    assert [name for name, _ in answers(wire, turn.messages)] == ["c1"]
    desk.closed()


@EVERY
def test_cut_arguments_are_no_empty_ones_br_019(tmp_path: Path, wire: str) -> None:
    """What stands in the history for broken text is no call without arguments: nothing runs, also when the turn is handled again."""
    desk = files(tmp_path, wire)
    events = cut(wire, ("c1", "export", '{"scope":"tea'), LENGTH[wire], whole=False)
    turn = stream(desk, events)
    assert codes(turn) == ["truncated_reply"]
    assert "shorter" in error(turn.outcomes[0])["message"]
    again = desk.chat.stream(iter(events)).turn()
    assert states(again) == ["refused"]
    assert desk.ran == []
    desk.closed()


@EVERY
def test_a_fine_end_proves_nothing_br_020(tmp_path: Path, wire: str) -> None:
    """A cut text beside a whole call under a fine end: the cut one is refused, the whole one runs, and the history stays one to send."""
    desk = start(tmp_path, wire, SEARCH, {"search": search, "clock": lambda: "12:00"})
    if wire == "gemini":
        begun = {"functionCall": {"id": "c1", "name": "search", "willContinue": True}}
        broken = {"functionCall": {"partialArgs": [{"jsonPath": "$..q", "stringValue": "x"}]}}
        whole = {"functionCall": {"id": "c2", "name": "clock", "args": {}}}
        content = {"role": "model", "parts": [begun, broken, whole]}
        events = [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}]
    else:
        events = EVENTS[wire]([("c1", "search", '{"q":"unfinished'), ("c2", "clock", "{}")])
    turn = stream(desk, events)
    assert states(turn) == ["refused", "done"]
    assert codes(turn)[0] == "malformed_arguments"
    assert desk.ran == [("clock", {})]
    desk.say("And now?")
    assert states(desk.propose(("c3", "clock", {}))) == ["done"]
    desk.closed()


@pytest.mark.parametrize("wire", sorted(set(EVENTS) - {"gemini"}))
def test_pieces_are_decoded_by_nobody_but_the_core_br_017b(tmp_path: Path, wire: str) -> None:
    """A repeated key in a stream is refused as in a whole reply that holds text (gemini has none): no collector decodes leniently on the way."""
    desk = start(tmp_path, wire, SEARCH, {"search": search, "clock": lambda: "12:00"})
    turn = stream(desk, EVENTS[wire]([("c1", "search", '{"q": "a", "q": "b"}'), ("c2", "search", '{"q": NaN}')]))
    assert codes(turn) == ["malformed_arguments", "malformed_arguments"]
    assert desk.ran == []
    desk.closed()
