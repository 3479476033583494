"""Reported failures: pictures in results, and where each wire takes them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, outcome, start, states
from wire_helpers import PNG, answers

TWO = "tools: {act: {kind: action, allow: [staff], approve: never}, look: {kind: read, allow: [staff]}}"


PICTURE = base64.b64encode(base64.b64decode(PNG.data) + bytes(300_000)).decode()
SHOTS: dict[str, Any] = {
    "mcp": {"content": [{"type": "text", "text": "the page"}, {"type": "image", "data": PICTURE, "mimeType": "image/png"}]},
    "openai": [
        {"type": "text", "text": "the page"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    ],
    "anthropic": [
        {"type": "text", "text": "the page"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    ],
}


APART = frozenset({"openai-chat"})
"""The wires that take no picture in a result: pictures follow in one message of the user's role."""
KINDS = {
    "anthropic": ["text", "image"],
    "bedrock-converse": ["text", "image"],
    "openai-responses": ["input_text", "input_image"],
}
"""The blocks of a result with a picture, on wires that take one there."""


@EVERY
@pytest.mark.parametrize("form", SHOTS)
def test_pictures_go_where_the_wire_takes_them_br_199(tmp_path: Path, wire: str, form: str) -> None:
    """A tool message holds text that names the picture; the picture stands in a user message, or in the block where that is legal."""
    desk = start(tmp_path, wire, TWO, {"look": lambda: SHOTS[form], "act": lambda: 1})
    turn = desk.propose(("c1", "look", {}), ("c2", "act", {}))
    assert states(turn) == ["done", "done"]
    assert "the page" in desk.result("c1")
    if wire in APART:
        assert [item["role"] for item in turn.messages] == ["tool", "tool", "user"]
        assert PICTURE not in desk.result("c1")
    elif wire == "gemini":
        [content] = turn.messages
        assert [next(iter(part)) for part in content["parts"]] == [
            "functionResponse",
            "functionResponse",
            "text",
            "text",
            "inlineData",
        ]
    else:
        inside = dict(answers(wire, turn.messages))["c1"]
        assert [part.get("type", next(iter(part))) for part in inside] == KINDS[wire]
    if wire == "gemini" or wire in APART:
        assert "picture" in desk.result("c1")
    assert json.dumps(desk.chat.dump(turn.messages)).count(PICTURE) == 1
    desk.closed()


@EVERY
@pytest.mark.parametrize("kind", ["image/png", "application/pdf"])
def test_data_inside_a_result_is_lifted_out_br_201(tmp_path: Path, wire: str, kind: str) -> None:
    """A text that is wholly a data URI is replaced by a short marker wherever it stands; a text that only mentions one stays."""
    uri = f"data:{kind};base64,{PICTURE}"
    rows = {"rows": [{"img": uri, "name": "a", "note": "see data:text/plain;base64, for more"}]}
    desk = start(tmp_path, wire, TWO, {"look": lambda: rows, "act": lambda: 1})
    turn = desk.propose(("c1", "look", {}))
    text = outcome(turn, "c1").content
    told = text if isinstance(text, str) else str(text[0])
    assert json.loads(told)["rows"][0]["img"].startswith(f"[{kind}, ")
    assert len(told) < 300
    assert "see data:text/plain;base64, for more" in told
    assert json.dumps(desk.chat.dump(turn.messages)).count(PICTURE) == (1 if kind == "image/png" else 0)
    desk.closed()


@EVERY
@pytest.mark.parametrize(
    ("keep", "shown"), [("[name]", 0), ("[scan, photo]", 2), ("[scan]", 0), ("[name, scan, photo]", 2), ("[other]", 0)]
)
def test_pictures_follow_the_field_filter_br_201b(tmp_path: Path, wire: str, keep: str, shown: int) -> None:
    """A picture in a field that the policy does not keep is not shown, neither in place nor beside the text."""
    uri = f"data:image/png;base64,{PICTURE}"
    policy = f"tools: {{look: {{kind: read, allow: [staff], result: {{keep: {keep}}}}}}}"
    desk = start(tmp_path, wire, policy, {"look": lambda: {"name": "a", "scan": uri, "photo": uri}})
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["done"]
    assert json.dumps(desk.chat.dump(turn.messages)).count(PICTURE) == shown
    desk.closed()


@EVERY
@pytest.mark.parametrize("form", SHOTS)
def test_blocks_do_not_pass_by_the_field_filter_br_201c(tmp_path: Path, wire: str, form: str) -> None:
    """A tool whose policy lists the fields to keep shows nothing when it returns texts and pictures in place of fields."""
    policy = "tools: {look: {kind: read, allow: [staff], result: {keep: [name]}}}"
    desk = start(tmp_path, wire, policy, {"look": lambda: SHOTS[form]})
    turn = desk.propose(("c1", "look", {}))
    assert "the page" not in json.dumps(desk.chat.dump(turn.messages))
    assert PICTURE not in json.dumps(desk.chat.dump(turn.messages))
    desk.closed()
