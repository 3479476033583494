"""What passes by at the MCP proxy: nothing of it goes around the detectors for the name that it stands under, and it stays usable."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_kit import MAIL, POLICY, run, talking

from guard.integrations.mcp.messages import UnfitError
from guard.integrations.mcp.passing import Addresses, Mask
from guard.redactors import REDACTOR

KEY = "sk-proj-abcdefghijklmnop1234567890ABCDEF"


def _base64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def _masked(value: Any) -> Any:
    return Mask(REDACTOR.detect, Addresses()).message(value)


NAMES = [
    "uri",
    "uriTemplate",
    "mimeType",
    "name",
    "type",
    "role",
    "nextCursor",
    "cursor",
    "level",
    "blob",
    "method",
    "requestId",
    "elicitationId",
    "jsonrpc",
    "logger",
    "text",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["top", "deep", "in a list", "below"])
def test_no_name_keeps_a_text_from_being_looked_at(name: str, place: str) -> None:
    """Wherever it stands, and whatever it is called."""
    inner = {name: {"x": [MAIL]} if place == "below" else f"for {MAIL}"}
    value: Any = {"top": inner, "deep": {"data": {"a": inner}}, "in a list": {"data": [[inner]]}, "below": inner}[place]
    assert MAIL not in json.dumps(_masked(value))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"data": {MAIL: 1, "[email]": 2}}, {"data": {"[email]_": 1, "[email]": 2}}),
        ({"data": {"password": "hunter2hunter2"}}, {"data": {"password": "[secret]"}}),
        ({"data": {"password": {"value": "hunter2hunter2"}}}, {"data": {"password": {"value": "[secret]"}}}),
        (
            {"data": [{"name": "DB_PASSWORD", "value": "hunter2hunter2"}]},
            {"data": [{"name": "DB_PASSWORD", "value": "[secret]"}]},
        ),
        ({"data": [["password", "hunter2hunter2"]]}, {"data": [["password", "[secret]"]]}),
        (
            {"data": {"columns": ["of", "password"], "rows": [["kim", "hunter2hunter2"]]}},
            {"data": {"columns": ["of", "password"], "rows": [["kim", "[secret]"]]}},
        ),
        ({"data": {"progressToken": "abc-DEF-1234567"}}, {"data": {"progressToken": "[secret]"}}),
        ({"data": {"card": 4111111111111111}}, {"data": {"card": "[card]"}}),
        ({"progressToken": "p-1", "progress": 1}, {"progressToken": "p-1", "progress": 1}),
        ({"_meta": {"progressToken": "abc-DEF-1234567"}}, {"_meta": {"progressToken": "abc-DEF-1234567"}}),
        ({"_meta": {"progressToken": MAIL}}, {"_meta": {"progressToken": "[email]"}}),
        ({"maxTokens": 9, "temperature": 0}, {"maxTokens": 9, "temperature": 0}),
        ({"code": -32602, "message": MAIL}, {"code": -32602, "message": "[email]"}),
        (
            {"contents": [{"uri": "u:1", "mimeType": "a/b", "text": "x"}]},
            {"contents": [{"uri": "u:1", "mimeType": "a/b", "text": "x"}]},
        ),
    ],
)
def test_fields_are_looked_at_by_name_and_the_protocols_own_stay(value: Any, kept: Any) -> None:
    """What is called a secret is one, whatever it looks like; what the protocol calls so is none."""
    assert _masked(value) == kept


def test_a_schema_is_kept_and_its_values_are_not() -> None:
    """A form asks for a password: its description is no secret, a value that the server puts into it is."""
    prop = {"type": "string", "title": "Password", "description": f"as {MAIL} knows"}
    form = {
        "type": "object",
        "properties": {"password": {**prop, "default": "hunter2hunter2", "x": "hunter2"}},
        "required": ["password"],
    }
    told = {"type": "string", "title": "Password", "description": "as [email] knows", "default": "[secret]", "x": "[secret]"}
    shown = {**form, "properties": {"password": told}}
    assert _masked({"requestedSchema": form}) == {"requestedSchema": shown}
    assert _masked({"tools": [{"name": "t", "inputSchema": form}]}) == {"tools": [{"name": "t", "inputSchema": shown}]}
    assert "hunter2" not in json.dumps(_masked({"data": {"requestedSchema": {"password": "hunter2hunter2"}}}))
    assert "hunter2" not in json.dumps(_masked({"requestedSchema": {"password": "hunter2hunter2"}}))


PICTURE = {"type": "image", "data": _base64(b"\x89PNG\r\n\x1a\n\xff\x00"), "mimeType": "image/png"}
DATA: dict[str, tuple[Any, Any]] = {
    "a picture": (PICTURE, PICTURE),
    "a picture of words": ({**PICTURE, "data": MAIL}, {"type": "text", "text": "[image/png, 14 bytes, left out]"}),
    "a picture that is a text": ({**PICTURE, "data": _base64(MAIL)}, {"type": "text", "text": "[image/png, 19 bytes, left out]"}),
    "bytes that are called a picture": (
        {**PICTURE, "data": _base64(b"\xff\x00\x01 no")},
        {"type": "text", "text": "[image/png, 6 bytes, left out]"},
    ),
    "a picture that is none": ({**PICTURE, "data": [MAIL]}, {"type": "text", "text": "[image/png, 0 bytes, left out]"}),
    "a text": (
        {"uri": "u:1", "mimeType": "text/plain", "blob": _base64(f"by {MAIL}")},
        {"uri": "u:1", "mimeType": "text/plain", "text": "by [email]"},
    ),
    "a text of another type": ({"uri": "u:1", "blob": _base64(f"by {MAIL}")}, {"uri": "u:1", "text": "by [email]"}),
    "a text in sixteen bits": ({"uri": "u:1", "blob": _base64(MAIL.encode("utf-16"))}, {"uri": "u:1", "text": "[email]"}),
    "a text with zeros": (
        {"blob": _base64(MAIL.encode("utf-16-le"))},
        {"text": "[application/octet-stream, 38 bytes, left out]"},
    ),
    "a text that cannot be read": (
        {"mimeType": "text/csv", "blob": _base64(b"\xe9 " + MAIL.encode())},
        {"mimeType": "text/csv", "text": "[text/csv, 21 bytes, left out]"},
    ),
    "no base64": ({"blob": MAIL}, {"text": "[application/octet-stream, 14 bytes, left out]"}),
    "bytes": ({"blob": _base64(b"%PDF\xff\xfe")}, {"blob": _base64(b"%PDF\xff\xfe")}),
    "both": ({"text": MAIL, "blob": _base64(MAIL)}, {"text": "[email]"}),
}


@pytest.mark.parametrize(("value", "shown"), DATA.values(), ids=DATA)
def test_base64_is_text_bytes_or_left_out(value: Any, shown: Any) -> None:
    """Only bytes that are no text go on without having been read."""
    assert _masked({"contents": [value]}) == {"contents": [shown]}


def test_an_address_that_says_too_much_is_shown_as_one_that_can_be_sent_back() -> None:
    """Each has one of its own, the same each time; the server hears its own again, and nobody can pass for one."""
    addresses = Addresses()
    mask = Mask(REDACTOR.detect, addresses)
    real = [f"https://x.example/?token={KEY}", f"mailto:{MAIL}", "mailto:kim.doe%40example.com", "guard-hidden:1"]
    shown = [mask.message({"uri": one})["uri"] for one in real]
    assert len(set(shown)) == len(real)
    assert not any(one in shown for one in real[:3])
    assert [mask.message({"nextCursor": one})["nextCursor"] for one in real] == shown
    assert [addresses.sent({"uri": one}) for one in shown] == [{"uri": one} for one in real]
    assert addresses.sent({"ref": {"type": "ref/resource", "uri": shown[0]}, "cursor": shown[1]}) == {
        "ref": {"type": "ref/resource", "uri": real[0]},
        "cursor": real[1],
    }
    assert mask.message({"uri": "demo://plain"}) == {"uri": "demo://plain"}


def test_what_is_nested_too_deeply_does_not_pass() -> None:
    """It could not be looked at."""
    with pytest.raises(UnfitError):
        _masked({"data": json.loads("[" * 200 + "]" * 200)})


def test_a_hidden_address_is_read_through_the_proxy(tmp_path: Path) -> None:
    """The client asks for what it was shown, the server gets what it gave out."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            [first] = (await talk.ask("resources/read", {"uri": "demo://1"}))["result"]["contents"]
            await talk.ask("resources/read", {"uri": first["uri"]})
            assert [one["params"]["uri"] for one in talk.seen("resources/read")] == ["demo://1", f"demo://{MAIL}"]
            assert MAIL not in json.dumps(talk.hand.got)

    run(go())


def test_a_policys_own_detectors_hold_for_what_passes_by(tmp_path: Path) -> None:
    """Not only those that are always there."""

    async def go() -> None:
        own = "redact: {detectors: {own: {pattern: 'by', mask: '[own]'}}}"
        async with talking(tmp_path, policy=f"{POLICY}\n{own}") as talk:
            await talk.names()
            [found] = (await talk.ask("resources/read", {"uri": "x"}))["result"]["contents"]
            assert found["text"] == "[own] [email]"

    run(go())
