"""Reported failures: redaction that broke what it should have left alone, or never came to an end."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, STRANGER, outcome, start, states

BASH = """
    tools:
      bash:
        kind: action
        allow: [staff]
        approve: never
        repeat: allow
        schema: {type: object, properties: {cmd: {type: string}}, required: [cmd]}
"""
LOOK = "tools: {look: {kind: read, allow: [staff]}, get: {kind: read, allow: [staff], schema: {type: object, properties: {record: {type: string}}}}}"


@EVERY
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("API_KEY=FAKE-SECRET-0001", "API_KEY=[secret]"),
        ('export API_KEY="FAKE-SECRET-0001" && run', 'export API_KEY="[secret]" && run'),
        ('curl -d \'{"api_key": "FAKE-SECRET-0001"}\' x', 'curl -d \'{"api_key": "[secret]"}\' x'),
        ('{"cmd": {"api_key": "FAKE-SECRET-0001"}}', '{"cmd": {"api_key": "[secret]"}}'),
        ("a\\tAPI_KEY=FAKE-SECRET-0001\\", "a\\tAPI_KEY=[secret]\\"),
        ("x={y}; API_KEY=FAKE-SECRET-0001}", "x={y}; API_KEY=[secret]"),
    ],
)
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_only_the_value_inside_the_text_br_177(tmp_path: Path, wire: str, command: str, shown: str, store: str) -> None:
    """The recorded arguments are JSON with the same keys, and of the text only the secret is masked: no quote, brace or backslash goes."""
    desk = start(tmp_path, wire, BASH, {"bash": lambda cmd: {"ran": cmd, "ok": True}}, store=store)
    turn = desk.propose(("c1", "bash", {"cmd": command}))
    assert json.loads(str(outcome(turn, "c1").content)) in ({"ran": shown, "ok": True}, {"ran": shown + "}", "ok": True})
    (decided,) = desk.audit("call.decided")
    assert "FAKE-SECRET" not in json.dumps(desk.audit())
    assert json.dumps(shown)[1:-2] in json.dumps(decided)
    desk.closed()


@EVERY
@pytest.mark.parametrize(
    "command",
    [
        'echo "=== deploy token ==="',
        'echo "token = "',
        "echo 'the key is: in the drawer'",
        "grep -n 'password:' *.py",
        'printf "%s\\n" "secret\\\\"',
        "sort -k key=value file",
        'git commit -m "rotate \\"api key\\" docs"',
        "echo {a: [1, 2], b: '}'}",
    ],
)
def test_words_near_a_sign_br_179(tmp_path: Path, wire: str, command: str) -> None:
    """Ordinary words beside an equals sign stay, and every record of the audit can be read back."""
    desk = start(tmp_path, wire, BASH, {"bash": lambda cmd: cmd}, store="sqlite")
    turn = desk.propose(("c1", "bash", {"cmd": command}))
    assert outcome(turn, "c1").content == command
    assert json.dumps(command)[1:-1] in json.dumps(desk.audit("call.decided"))
    desk.closed()


IDS = [
    "110bcd25-a55d-453a-8046-1297901ea002",
    "41111111-1111-1111-1111-111111111111",
    "00000000-4155-5501-8200-000000000000",
    "13812345-6789-4138-1234-567813812345",
    "a4155550182b",
    "ORD-4155550182-X",
    "SKU_4111111111111111_A",
    "01HZX3V5Q2N8R7T6Y4W1M0K9JB",
    "cus_4242424242424242",
    "2024-05-01T03:45:00.123456789Z",
    "v1.2.3.4-rc.1",
    "10.1234/zenodo.4155550182",
]


@EVERY
@pytest.mark.parametrize("name", IDS)
def test_ids_reach_the_next_call_whole_br_180(tmp_path: Path, wire: str, name: str) -> None:
    """An id that comes out of one call goes into the next as it is; nothing is masked inside a longer token, and call ids are never touched."""
    desk = start(
        tmp_path,
        wire,
        LOOK,
        {"look": lambda: {"id": name, "note": f"see {name}."}, "get": lambda record=None: {"record": record}},
    )
    call_id = "call_4155550182_4111111111111111"
    first = desk.propose((call_id, "look", {}))
    assert json.loads(desk.result(call_id)) == {"id": name, "note": f"see {name}."}
    assert outcome(first, call_id).call_id == call_id
    desk.propose(("c2", "get", {"record": name}))
    assert json.loads(desk.result("c2")) == {"record": name}
    desk.closed()


NUMBERS: dict[str, Any] = {
    "ms": "250 300 1000",
    "order": 4111111111111111,
    "orderId": "4111111111111111",
    "total": 3800,
    "amount": Decimal("1.10"),
    "big": 2**62,
    "small": -0.5,
    "ratio": "1.5e10",
    "grid": "12 34 56 78 90 12 34",
    "range": "1000-2000",
    "at": 1714521600,
    "millis": 1714521600123,
    "price": "1,234,567.89 USD",
    "size": "10 000 000",
    "flag": True,
    "none": None,
}


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_numbers_keep_type_and_value_br_182(tmp_path: Path, wire: str, store: str) -> None:
    """Figures, amounts and ids with a right check digit stay, digit by digit and of their type."""
    desk = start(tmp_path, wire, LOOK, {"look": lambda: NUMBERS, "get": lambda record=None: None}, store=store)
    desk.propose(("c1", "look", {}))
    shown = json.loads(desk.result("c1"), parse_float=Decimal)
    assert {name: (type(item), str(item)) for name, item in shown.items()} == {
        name: (Decimal, str(item)) if isinstance(item, float) else (type(item), str(item)) for name, item in NUMBERS.items()
    }
    desk.closed()


@pytest.mark.parametrize("unit", ["{", "{[", '{"a":', "{{", "secret={", "a@", "1-", "key: "])
def test_megabytes_do_not_stop_the_others_br_184(tmp_path: Path, unit: str) -> None:
    """A tool that fails with three megabytes of hostile text gets its answer, and another session goes on meanwhile."""
    raised = threading.Event()

    def look() -> None:
        raised.set()
        raise RuntimeError(unit * (3_000_000 // len(unit)))

    desk = start(tmp_path, "openai-chat", LOOK, {"look": look, "get": lambda record=None: {"record": record}})
    other = desk.guard.open(session=STRANGER, wire="openai-chat", conversation="other")
    other.user("hello")
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(desk.propose(("c1", "look", {}))))
    thread.start()
    assert raised.wait(30)
    reply = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c9", "type": "function", "function": {"name": "get", "arguments": '{"record": "7"}'}}],
    }
    assert [one.status for one in other.handle(reply).outcomes] == ["done"]
    thread.join(60)
    assert states(done[0]) == ["failed"]
    assert unit * 9 not in desk.result("c1")
    desk.closed()


HASHES = {
    "order_id": "3f2b8c1e-9d4a-4e7b-8a21-5c6d7e8f9012",
    "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "short": "9fceb02",
    "md5": "d41d8cd98f00b204e9800998ecf8427e",
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "etag": 'W/"0815-5b3f0e9a7c"',
    "ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "object": "507f1f77bcf86cd799439011",
    "nano": "V1StGXR8_Z5jdHi6B-myT",
    "trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "cursor": "eyIxIjoyfQ",
    "checksum": "crc32c:AAAAAA==",
}


@EVERY
@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("form", ["under its key", "in a sentence", "in a list", "in JSON in a text"])
def test_random_ids_are_no_secrets_br_186(tmp_path: Path, wire: str, name: str, form: str) -> None:
    """Random looking ids and checksums stay readable, under whatever key and in whatever text they stand."""
    text = HASHES[name]
    value: Any = {
        "under its key": {name: text},
        "in a sentence": f"see {text} for more",
        "in a list": [text, text],
        "in JSON in a text": json.dumps({name: text}),
    }[form]
    desk = start(tmp_path, wire, LOOK, {"look": lambda: value, "get": lambda record=None: None})
    desk.propose(("c1", "look", {}))
    shown = desk.result("c1")
    assert (shown if isinstance(value, str) else json.loads(shown)) == value
    desk.closed()
