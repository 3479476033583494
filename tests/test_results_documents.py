"""Documents in results: text goes on as text, redacted; a PDF goes on where the policy names its type and the wire takes it; else a note stands there."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, outcome, start, states
from wire_helpers import answers, message, spelled
from wire_helpers import outcome as made
from wire_models import accepted

from guard.core.model import Image, Outcome
from guard.integrations.mcp.results import result_of
from guard.tools.results import normalise
from guard.wires import wire as wire_of

RAW = b"%PDF-1.7\n" + bytes(2_000)
PDF = base64.b64encode(RAW).decode()
LETTER = "Write to ann@example.com about it."
ENCODED = base64.b64encode(LETTER.encode()).decode()
NOTE = "[application/pdf, 2 KB, left out]"
PAPER = Image(data=PDF, media_type="application/pdf")
FORMS: dict[str, Any] = {
    "Anthropic": {"type": "document", "title": "t", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
    "Responses": {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    "Chat": {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
    "Bedrock": {"document": {"format": "pdf", "name": "a", "source": {"bytes": RAW}}},
    "Gemini": {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
    "MCP": {"type": "resource", "resource": {"uri": "x:1", "mimeType": "application/pdf", "blob": PDF}},
}
TEXTS: dict[str, Any] = {
    "Anthropic": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": LETTER}},
    "Anthropic, of blocks": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": LETTER}]},
    },
    "Anthropic, encoded": {"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": ENCODED}},
    "Responses": {"type": "input_file", "file_data": f"data:text/markdown;base64,{ENCODED}"},
    "Bedrock": {"document": {"format": "txt", "name": "a", "source": {"bytes": LETTER.encode()}}},
    "Bedrock, as text": {"document": {"format": "md", "name": "a", "source": {"text": LETTER}}},
    "Gemini": {"inlineData": {"mimeType": "text/html", "data": ENCODED}},
    "MCP": {"type": "resource", "resource": {"uri": "x:1", "mimeType": "application/json", "blob": ENCODED}},
}
SHOWN = "tools: {look: {kind: read, allow: [staff], result: {blocks: {images: [application/pdf]}}}}"
PLAIN = "tools: {look: {kind: read, allow: [staff]}}"
DROPS = "tools: {look: {kind: read, allow: [staff], result: {blocks: {resources: drop}}}}"


def page(block: Any) -> list[Any]:
    return [{"type": "text", "text": "the page"}, block]


@pytest.mark.parametrize("form", FORMS)
def test_a_pdf_is_read_in_every_spelling(form: str) -> None:
    """Whatever the tool's own provider calls it, it is one document."""
    assert normalise(page(FORMS[form])).blocks == ("the page", PAPER)


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "file", "file_id": "f1", "name": "a"}],
        [{"type": "document", "id": 3}],
        [{"document": {"id": 1}}],
        [{"inlineData": {"rows": 3}}],
        {"document": {"format": "pdf", "pages": 3}},
        [{"type": "document", "source": {"type": "text", "data": 3}}],
    ],
    ids=str,
)
def test_records_that_only_look_like_documents_stay_data(value: Any) -> None:
    """A record of the host's with the same names goes on as it is."""
    normal = normalise(value)
    assert (normal.value, normal.blocks) == (value, None)


@pytest.mark.parametrize(
    ("block", "note"),
    [
        ({"document": {"format": "docx", "name": "a", "source": {"bytes": b"PK"}}}, "[docx, 2 bytes, left out]"),
        ({"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}}, "[application/pdf, 3 bytes, left out]"),
        ({"inlineData": {"mimeType": "text/plain", "data": "/w=="}}, "[text/plain, 1 bytes, left out]"),
        ({"document": {"format": "pdf", "name": "a", "source": {"s3Location": {"uri": "s3://b/k"}}}}, "[application/pdf, left out]"),
        ({"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}}, "[document at https://a.example/b.pdf]"),
        ({"type": "input_file", "file_id": "file-1"}, "[document at file-1]"),
    ],
    ids=["another format", "no PDF at all", "no text at all", "in a bucket", "at an address", "by its id"],
)  # fmt: skip
def test_what_cannot_go_on_is_named(block: Any, note: str) -> None:
    """A note stands where the document was."""
    assert normalise(page(block)).blocks == ("the page", note)


@EVERY
@pytest.mark.parametrize("form", TEXTS)
def test_a_text_document_is_redacted_as_text(tmp_path: Path, wire: str, form: str) -> None:
    """Its text is in the result on every wire, and what is personal in it is hidden."""
    desk = start(tmp_path, wire, PLAIN, {"look": lambda: page(TEXTS[form])})
    desk.propose(("c1", "look", {}))
    said = desk.result("c1")
    assert ("about it." in said, "ann@example.com" in json.dumps(desk.history), ENCODED in said) == (True, False, False)


TAKES = frozenset({"anthropic", "openai-responses", "gemini", "bedrock-converse"})
"""The wires that take a PDF from a tool."""


def taken(wire: str, messages: list[Any]) -> list[Any]:
    """The documents in what went back, in the wire's own form."""
    text = json.dumps(messages, default=lambda raw: base64.b64encode(raw).decode())
    assert (PDF in text) is (wire in TAKES)
    inside = dict(answers(wire, messages))["c1"]
    if wire == "gemini":
        return [part["inlineData"] for message in messages for part in message["parts"] if "inlineData" in part]
    return [part for part in inside if "text" not in part] if isinstance(inside, list) else []


@EVERY
@pytest.mark.parametrize("form", ["Anthropic", "MCP"])
def test_a_pdf_goes_on_where_policy_and_wire_take_it(tmp_path: Path, wire: str, form: str) -> None:
    """In a result, or beside it, as the provider documents it and as the SDK's request model takes it; on Chat Completions a note."""
    desk = start(tmp_path, wire, SHOWN, {"look": lambda: page(FORMS[form])})
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["done"]
    accepted(wire, turn.messages)
    found = taken(wire, turn.messages)
    if wire == "anthropic":
        source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
        assert found == [{"type": "document", "source": source}]
    elif wire == "openai-responses":
        assert found == [{"type": "input_file", "filename": "document.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}]
    elif wire == "bedrock-converse":
        assert found == [{"document": {"format": "pdf", "name": "document c1-1-2", "source": {"bytes": RAW}}}]
    elif wire == "gemini":
        assert found == [{"mimeType": "application/pdf", "data": PDF}]
    else:
        assert NOTE in desk.result("c1")


@EVERY
def test_a_pdf_of_a_call_that_was_held_follows_too(wire: str) -> None:
    """What a person let through comes in a message of its own, with its document where the wire takes one, and no two of a request have one name."""
    call = wire_of(wire).read(message(wire, ("c1", "look", spelled(wire, "{}")))).calls[0]
    held = [made(call, ("the page", PAPER), approval=f"ap_{turn}", turn=turn) for turn in (1, 2)]
    results = [wire_of(wire).results(wire_of(wire).read(message(wire, ("c1", "look", spelled(wire, "{}")))), held[:1])]
    told = [*results[0], *wire_of(wire).follow_up(held), *wire_of(wire).follow_up(held[1:])]
    text = json.dumps(wire_of(wire).dump(told))

    assert text.count(PDF) == (4 if wire in TAKES else 0)
    assert text.count(NOTE) == (0 if wire in TAKES else 4)
    accepted(wire, told)
    names = re.findall(r'"name": "(document [^"]*)"', text)
    assert len(names) == len(set(names)) == (4 if wire == "bedrock-converse" else 0)


@EVERY
@pytest.mark.parametrize("policy", [PLAIN, DROPS], ids=["no type is named", "resources are dropped"])
def test_a_pdf_that_no_policy_names_stays_here(tmp_path: Path, wire: str, policy: str) -> None:
    """No detector reads a PDF: unless its type is named, nothing of it leaves, and the note says so unless that is dropped, too."""
    desk = start(tmp_path, wire, policy, {"look": lambda: page(FORMS["Anthropic"])})
    turn = desk.propose(("c1", "look", {}))
    assert PDF not in json.dumps(desk.history)
    assert (NOTE in desk.result("c1")) is (policy == PLAIN)
    assert isinstance(outcome(turn, "c1").content, str | tuple)


def test_a_file_that_only_calls_itself_a_pdf_is_not_one() -> None:
    """The type is judged by how the data begin."""
    block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ENCODED}}
    assert normalise(page(block)).blocks == ("the page", f"[application/pdf, {len(LETTER)} bytes, left out]")


@EVERY
def test_a_pdf_in_a_failed_result_is_named(tmp_path: Path, wire: str) -> None:
    """Where a provider takes only text in an error, a note stands for the document."""
    value = {"content": page(FORMS["MCP"]), "isError": True}
    desk = start(tmp_path, wire, SHOWN, {"look": lambda: value})
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["failed"]
    accepted(wire, turn.messages)


def test_a_pdf_goes_on_over_mcp_as_a_resource() -> None:
    """Where the policy shows it, an MCP client gets it as an embedded resource, never as a picture."""
    done = Outcome(call_id="1", tool="look", status="done", reason=None, arguments={}, content=("the page", PAPER))
    found = result_of(done, None, promised=False)
    inner = {"uri": "guard:document", "mimeType": "application/pdf", "blob": PDF}
    assert found["content"] == [{"type": "text", "text": "the page"}, {"type": "resource", "resource": inner}]
