"""MCP over streamable HTTP with the real client of the SDK: the same decisions as over pipes, and a bearer token that says who is signed in."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jws
from joserfc.jwk import KeySet, RSAKey
from mcp_kit import ANN, MAIL, RAW, desk_for, folder, run

from guard import Session
from guard.errors import GuardError
from guard.integrations.mcp.lines import start
from guard.integrations.mcp.peer import Channel
from guard.integrations.mcp.relay import Relay
from guard.integrations.mcp.tokens import Tokens
from guard.integrations.mcp.web import Web, connect

KEY = RSAKey.generate_key(2048, {"kid": "k1"})
OTHER = RSAKey.generate_key(2048, {"kid": "k1"})
CLAIMS = {"principal": "sub", "roles": "realm.roles", "tenant": "org", "attributes.level": "level"}
GOOD = {"sub": "E1", "realm": {"roles": ["user"]}, "org": "acme", "level": 3, "iss": "https://id", "aud": ["files", "x"]}


def token(key: Any = KEY, alg: str = "RS256", kid: str | None = "k1", jwk: Any = None, **changed: Any) -> str:
    claims = {**GOOD, "exp": int(time.time()) + 60, **changed}
    head = {name: value for name, value in {"alg": alg, "kid": kid, "jwk": jwk}.items() if value is not None}
    said = json.dumps({name: value for name, value in claims.items() if value is not None})
    return jws.serialize_compact(head, said, key, algorithms=[alg])


def _deep() -> str:
    """A token's head that is nested more deeply than anybody reads."""
    return base64.urlsafe_b64encode(b"[" * 9_000).decode().rstrip("=")


def forged() -> str:
    """Signed with the public key's text as if it were a shared secret."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').decode().rstrip("=")
    text = f"{head}.{token().split('.')[1]}"
    mark = hmac.digest(KEY.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def tokens(path: Path) -> Tokens:
    (path / "keys.json").write_text(json.dumps(KeySet([KEY]).as_dict(private=False)), "utf-8")
    return Tokens(keys=str(path / "keys.json"), issuer="https://id", audience="files", claims=CLAIMS)


@asynccontextmanager
async def serving(path: Path, who: Any = None, store: str = "memory://") -> AsyncIterator[tuple[str, list[str]]]:
    """The proxy on a port of loopback, one server process for each session."""
    import uvicorn

    told: list[str] = []
    desk = desk_for(folder(path), told, store=store)
    number = iter(range(1000))

    @asynccontextmanager
    async def connected() -> AsyncIterator[Channel]:
        child = await start([sys.executable, str(RAW), str(path / "log")], {})
        try:
            yield child
        finally:
            await child.close()

    async def ann(_: str | None) -> Session:
        return ANN

    web = Web(
        who=who or ann,
        connected=connected,
        relay=lambda client, server, session: Relay(client, server, desk, session, f"c{next(number)}"),
        say=told.append,
        local=who is None,
    )

    server = uvicorn.Server(uvicorn.Config(web, port=0, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    job = asyncio.ensure_future(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has nothing else to wait for
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp", told
    finally:
        await web.close()
        server.should_exit = True
        await job
        desk.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_real_client_over_http(mode: Any, tmp_path: Path) -> None:
    """Lists, calls, progress, a question of the server in the middle of a call, errors: as over pipes, whichever revision it prefers."""
    from mcp import Client
    from mcp.types import CreateMessageResult, TextContent

    seen: list[Any] = []

    async def sample(_context: Any, params: Any) -> Any:
        seen.append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="nobody"), model="m")

    async def progress(done: float, _total: float | None, message: str | None) -> None:
        seen.append((done, message))

    async def go() -> None:
        async with serving(tmp_path) as (url, _), Client(url, mode=mode, sampling_callback=sample) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "echo" in names
            assert "hidden" not in names
            mail = await client.call_tool("mail", {})
            assert mail.structured_content == json.loads(mail.content[0].text) == {"mail": "[email]", "amount": 59.9}
            assert "nobody" in (await client.call_tool("sample", {})).content[0].text
            await client.call_tool("works", {}, progress_callback=progress)
            assert seen == ["who is [email]?", (1, "asking [email]")]
            refused = await client.call_tool("echo", {"user_id": "E9"})
            assert refused.is_error
            assert refused.meta["guard/reason"] == "invalid_arguments"
            assert (await client.read_resource(f"demo://{MAIL}")).contents[0].text == "by [email]"

    run(go())


def test_a_remote_server_is_reached_over_http(tmp_path: Path) -> None:
    """A proxy in front of a server that speaks HTTP: here another proxy, so that each hides and passes on."""

    async def go() -> None:
        async with serving(tmp_path) as (url, _), connect(url, None, 10.0) as remote:
            from mcp_kit import Hand, Talk

            hand, told = Hand(), []
            (tmp_path / "outer").mkdir()
            policy = "tools: {mail: {kind: read, allow: [user]}}\nlimits: {run: {calls: 9}}"
            desk = desk_for(folder(tmp_path / "outer", policy), told)
            relay = asyncio.ensure_future(Relay(hand, remote, desk, ANN, "far").run())
            talk = Talk(hand, desk, told, tmp_path / "none")
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            assert (await talk.ask("initialize", hello))["result"]["protocolVersion"] == "2025-06-18"
            talk.put({"method": "notifications/initialized"})
            found = await talk.call("mail")
            assert found.get("structuredContent") == {"mail": "[email]", "amount": 59.9}, found
            await hand.close()
            assert await relay is True
            desk.close()

    run(go())


BAD: list[tuple[str, str | None]] = [
    ("none", None),
    ("no token at all", "abc"),
    ("another key", token(OTHER)),
    ("over", token(exp=int(time.time()) - 120)),
    ("without an end", token(exp=None)),
    ("another issuer", token(iss="https://evil")),
    ("another audience", token(aud="mail")),
    ("no audience", token(aud=None)),
    ("nobody", token(sub=None)),
    ("no tenant", token(org=None)),
    ("an empty name", token(sub="")),
    ("a name that is none", token(sub=7)),
    ("half a character", token(sub="\ud800")),
    ("half a character beside it", token(level={"x": ["\ud800"]})),
    ("an empty tenant", token(org="")),
    ("a tenant that is none", token(org=["acme"])),
    ("roles in an object", token(realm={"roles": {"admin": False}})),
    ("a truth for roles", token(realm={"roles": True})),
    ("a role that is none", token(realm={"roles": ["user", 1]})),
    ("an empty role", token(realm={"roles": [""]})),
    ("another algorithm of the same key", token(alg="RS512")),
    ("a key that it brings itself", token(OTHER, jwk=OTHER.as_dict(private=False))),
    ("a key that nobody has", token(kid="k2")),
    ("a head without a bottom", f"{_deep()}.{token().partition('.')[2]}"),
    ("claims without a bottom", jws.serialize_compact({"alg": "RS256", "kid": "k1"}, "[" * 9_000, KEY, algorithms=["RS256"])),
    ("an end that is a text", token(exp="9999999999")),
    ("not yet", token(nbf=int(time.time()) + 600)),
    ("the public key as a secret", forged()),
    ("unsigned", "eyJhbGciOiJub25lIn0." + token().split(".")[1] + "."),
]


@pytest.mark.parametrize("given", [given for _, given in BAD], ids=[name for name, _ in BAD])
def test_a_token_that_is_not_surely_right_is_nobody(given: str | None, tmp_path: Path) -> None:
    """Nobody is signed in by it."""
    assert run(tokens(tmp_path).session(given)) is None


def test_the_claims_say_who_is_signed_in(tmp_path: Path) -> None:
    """Principal, roles, tenant and attributes, by the names that were given."""
    found = run(tokens(tmp_path).session(token()))

    assert found == Session(principal="E1", roles=("user",), tenant="acme", attributes={"level": 3})
    assert run(tokens(tmp_path).session(token(kid=None))) == found
    assert run(tokens(tmp_path).session(token(realm={"roles": "user clerk"}))).roles == ("user", "clerk")
    assert run(tokens(tmp_path).session(token(realm=None))).roles == ()


def test_keys_that_cannot_be_had_are_an_error(tmp_path: Path) -> None:
    """Never a reason to let somebody in."""
    missing = Tokens(keys=str(tmp_path / "no.json"), issuer="i", audience="a", claims={"principal": "sub"})

    with pytest.raises(GuardError, match="cannot be had"):
        run(missing.session(token()))


def test_a_session_belongs_to_whoever_opened_it(tmp_path: Path) -> None:
    """No token: 401. Another person's session, or one whose person has other roles now: 404. The right one: an answer."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    accept = {"accept": "application/json, text/event-stream"}

    async def go() -> None:
        judge = tokens(tmp_path)
        async with serving(tmp_path, judge.session) as (url, _), httpx.AsyncClient(timeout=20) as http:

            async def post(message: Any, given: str | None, session: str | None = None) -> httpx.Response:
                headers = {**accept, **({"authorization": f"Bearer {given}"} if given else {})}
                return await http.post(url, json=message, headers=headers | ({"mcp-session-id": session} if session else {}))

            refused = await post(body, None)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            opened = await post(body, token())
            session = opened.headers["mcp-session-id"]
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            codes = [
                (await post(ping, given, session)).status_code for given in (None, token(sub="E2"), token(realm={}), token())
            ]
            assert codes == [401, 404, 404, 200]
            assert (await post(ping, token())).status_code == 400
            assert (await http.get(url.replace("/mcp", "/other"))).status_code == 404

    run(go())


def test_a_page_of_another_site_cannot_use_a_local_port(tmp_path: Path) -> None:
    """Without tokens, a foreign Host or Origin is refused before anything is started."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}

    async def go() -> None:
        async with serving(tmp_path) as (url, _), httpx.AsyncClient(timeout=20) as http:
            for header, value in (("host", "evil.example:80"), ("origin", "https://evil.example")):
                headers = {"accept": "application/json, text/event-stream", header: value}
                assert (await http.post(url, json=body, headers=headers)).status_code in {403, 421}
            assert not (tmp_path / "log").exists()

    run(go())


@pytest.mark.parametrize("second", [7, "7"], ids=["the same", "a text of it"])
def test_a_second_request_with_an_id_takes_nobodys_answer(second: Any, tmp_path: Path) -> None:
    """Over HTTP it is refused at once, and the first gets its own answer: the SDK tells requests apart by the text of their ids."""

    async def walk() -> tuple[httpx.Response, httpx.Response, int]:
        async with serving(tmp_path) as (url, _), httpx.AsyncClient(timeout=20, trust_env=False) as client:
            head = {"Accept": "application/json, text/event-stream"}
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"sampling": {}},
                "clientInfo": {"name": "t", "version": "1"},
            }

            async def post(body: Any) -> httpx.Response:
                return await client.post(url, json={"jsonrpc": "2.0", **body}, headers=head)

            began = await post({"id": 1, "method": "initialize", "params": hello})
            head |= {"mcp-session-id": began.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
            await post({"method": "notifications/initialized"})
            call = {"method": "tools/call", "params": {"name": "slow", "arguments": {}}}
            first = asyncio.ensure_future(post({"id": 7, **call}))
            log = tmp_path / "log"
            while not log.exists() or '"slow"' not in log.read_text("utf-8"):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)
            other = await post({"id": second, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}})
            await post({"method": "notifications/cancelled", "params": {"requestId": 7}})
            return await first, other, log.read_text("utf-8").count('"tools/call"')

    first, other, calls = run(walk())
    assert first.status_code == 200
    assert '"id":7' in first.text.replace(" ", "")
    assert (other.status_code, other.json()["id"], calls) == (400, None, 1)
