"""MCP over HTTP keeps what the SDK's own models would lose: digits, and the difference between one key and two."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_kit import ANN, Hand, Talk, desk_for, folder, run, said
from test_mcp_web import serving

from guard.integrations.mcp.exact import writable
from guard.integrations.mcp.messages import UnfitError
from guard.integrations.mcp.relay import Relay
from guard.integrations.mcp.web import connect

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HEAD = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NUMBERS = ["1.10", "12345678901234567890.123456789", "0.1234567890123456789012345", "1e-400", "59.90"]


def counts(amount: str, number: int = 7) -> str:
    return (
        f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"counts","arguments":{{"amount":{amount}}}}}}}'
    )


async def opened(http: httpx.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a session that has begun."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    found = await http.post(url, json=hello, headers=HEAD)
    return {**HEAD, "mcp-session-id": found.headers["mcp-session-id"]}


def test_an_amount_reaches_the_server_with_its_digits(tmp_path: Path) -> None:
    """As over pipes: no float is made of it on the way."""

    async def go() -> None:
        async with serving(tmp_path) as (url, _), httpx.AsyncClient(timeout=30) as http:
            headers = await opened(http, url)
            for place, amount in enumerate(NUMBERS):
                assert "counted" in (await http.post(url, content=counts(amount, 10 + place), headers=headers)).text

    run(go())
    lines = [line for line in (tmp_path / "log").read_text("utf-8").splitlines() if '"tools/call"' in line]
    sent = [json.loads(line, parse_float=Decimal)["params"]["arguments"]["amount"] for line in lines]
    assert [*map(str, sent)] == [str(Decimal(number)) for number in NUMBERS]


POSTS: dict[str, tuple[str | bytes, Any]] = {
    "a key of the arguments twice": (counts('1,"amount":2'), 7),
    "a key of the message twice": ('{"jsonrpc":"2.0","id":3,"id":4,"method":"ping"}', 4),
    "no number": (counts("NaN"), 7),
    "several at once": (f"[{counts('1')}]", None),
    "an id that is none": ('{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', None),
    "an id that is no whole number": ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
    "no text": (b"\xff", None),
    "nothing": ("", None),
    "too deep": ("[" * 100_000, None),
    "another protocol": ('{"jsonrpc":"1.0","id":3,"method":"ping"}', 3),
}


@pytest.mark.parametrize("name", POSTS)
def test_a_post_that_two_readers_may_take_differently_is_refused(name: str, tmp_path: Path) -> None:
    """With the request's id, where it can be told; nothing reaches the server, and the session goes on."""
    body, number = POSTS[name]

    async def go() -> None:
        async with serving(tmp_path) as (url, _), httpx.AsyncClient(timeout=30) as http:
            headers = await opened(http, url)
            refused = await http.post(url, content=body, headers=headers)
            assert refused.status_code == 400
            assert (refused.json()["id"], refused.json()["error"]["code"]) == (number, -32700)
            assert "counted" in (await http.post(url, content=counts("1", 20), headers=headers)).text

    run(go())
    assert (tmp_path / "log").read_text("utf-8").count('"tools/call"') == 1


def test_a_server_over_http_gets_an_exact_number_or_none(tmp_path: Path) -> None:
    """One that the SDK would change is not sent, and the call says so."""

    async def go() -> None:
        async with serving(tmp_path) as (url, _), connect(url, None, 30.0) as remote:
            hand, told = Hand(), []
            (tmp_path / "outer").mkdir()
            policy = "tools: {counts: {kind: action, allow: [user], approve: never}}\nlimits: {run: {calls: 9}}"
            desk = desk_for(folder(tmp_path / "outer", policy), told)
            relay = asyncio.ensure_future(Relay(hand, remote, desk, ANN, "far").run())
            talk = Talk(hand, desk, told, tmp_path / "log")
            await talk.ask("initialize", HELLO)
            talk.put({"method": "notifications/initialized"})
            assert said(await talk.call("counts", {"amount": Decimal("1.10")})) == "counted"
            kept = await talk.call("counts", {"amount": Decimal("12345678901234567890.123456789")})
            assert "cannot be sent exactly" in said(kept)
            assert kept["_meta"]["guard/status"] == "failed"
            assert len(talk.seen()) == 1
            await hand.close()
            await relay
            desk.close()

    run(go())


@pytest.mark.parametrize(
    ("number", "near"),
    [
        ("7", 7),
        ("7.00", 7),
        ("1E+30", 10**30),
        ("59.90", 59.9),
        ("1E+400", "1E+400"),
        ("1E+999999999", "1E+999999999"),
        ("-0.5", -0.5),
    ],
)
def test_no_number_is_too_large_to_be_written(number: str, near: Any) -> None:
    """As a number where the SDK can, else as the text of it; one of a thousand million digits takes no longer."""
    assert writable([{"a": Decimal(number)}], exactly=False) == [{"a": near}]


@pytest.mark.parametrize("number", ["0.1234567890123456789", "1E+400", "1E-400", "12345678901234567890.5"])
def test_what_would_be_changed_is_refused_where_it_counts(number: str) -> None:
    """A tool would run with another value than the one that was judged."""
    with pytest.raises(UnfitError):
        writable({"a": [Decimal(number)]}, exactly=True)
