"""Streams through the real clients: every event passes unchanged, and the calls are those of the whole reply, handled when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from provider import Provider
from provider_frames import frames
from wire_helpers import answers, every
from wire_talk import CLIENTS, EVENTS, ask, legal, sse, streamed

from guard import AsyncGuard, Guard, GuardError, Reason, Session

SESSION = Session(principal="E1", roles=("staff",))
POLICY = """
tools:
  look: {kind: read, allow: [staff]}
  act: {kind: action, allow: [staff], approve: never}
limits: {run: {calls: 100}}
"""
CALLS = [("c1", "look", '{"n": 1, "text": "a b c d e f g"}'), ("c2", "act", '{"n": 2, "text": "h"}')]


class Ran(list[Any]):
    """What ran, in order."""

    def look(self, n: int, text: str = "") -> dict[str, Any]:
        self.append(("look", n, text))
        return {"n": n}

    def act(self, n: int, text: str = "") -> dict[str, Any]:
        self.append(("act", n, text))
        return {"n": n}


@pytest.fixture
def ran() -> Ran:
    return Ran()


@pytest.fixture
def guard(tmp_path: Any, ran: Ran) -> Any:
    (tmp_path / "tools.yaml").write_text(POLICY)
    with Guard.load(tmp_path, tools={"look": ran.look, "act": ran.act}, store="memory://") as made:
        yield made


@every
def test_a_stream_passes_on_and_its_calls_run_when_it_is_over(guard: Any, ran: Ran, name: str) -> None:
    """The host sees each event of the SDK as it is; nothing runs before `turn`, and then what the whole reply would have run."""
    chat = guard.open(SESSION, wire=name, conversation="c")
    script = [streamed(name, *CALLS), streamed(name, *CALLS), streamed(name)]
    with Provider(script) as provider, CLIENTS[name](provider) as client:
        messages = [chat.user("go")]
        plain = ask(name, client, messages, chat.tools, stream=True)
        wanted = [str(event) for event in (plain["stream"] if isinstance(plain, dict) else plain)]
        stream = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages)
        seen = [str(event) for event in stream]
        assert ran == []
        turn = stream.turn()
        messages += turn.append
        last = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages).turn()
        assert provider.rejections == []

    assert len(seen) == len(wanted) > 4
    assert stream.complete
    assert ran == [("look", 1, "a b c d e f g"), ("act", 2, "h")]
    assert answers(name, turn.messages) == [("c1", '{"n":1}'), ("c2", '{"n":2}')]
    assert stream.turn() is turn
    assert last.stop == "done"
    legal(name, messages)


@every
@pytest.mark.parametrize("part", [3, 6, 9])
def test_a_connection_that_breaks_off_runs_nothing(guard: Any, ran: Ran, name: str, part: int) -> None:
    """Bytes stop in the middle of a reply: calls that came are refused with their results; without any the error goes to the host."""
    chat = guard.open(SESSION, wire=name, conversation="c")
    body = sse(name, EVENTS[name](CALLS))
    size = len(frames(body) if isinstance(body, list) else body.encode())
    with Provider([body], cut=size * part // 10) as provider, CLIENTS[name](provider) as client:
        messages = [chat.user("go")]
        stream = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages)
        try:
            turn = stream.turn()
        except Exception:
            assert stream.error is not None
            assert ran == []
            return
    messages += turn.append
    assert not stream.complete
    assert ran == []
    assert {(one.status, one.reason) for one in turn.outcomes} <= {("refused", Reason.TRUNCATED_REPLY)}
    legal(name, messages)


@every
def test_an_error_of_the_source_goes_to_whoever_goes_over_it(guard: Any, ran: Ran, name: str) -> None:
    """In the host's own loop the error is the host's; taking the turn afterwards refuses what came."""

    def broken() -> Iterator[Any]:
        yield from EVENTS[name]([CALLS[1]])[:-2]
        raise ConnectionResetError("gone")

    chat = guard.open(SESSION, wire=name, conversation="c")
    stream = chat.stream(broken(), history=[chat.user("go")])
    with pytest.raises(ConnectionResetError):
        for _ in stream:
            pass
    turn = stream.turn()
    assert not [one for one in turn.outcomes if one.status != "refused"]
    assert ran == []
    with pytest.raises(ConnectionResetError):
        chat.stream(error_at_once()).turn()


def error_at_once() -> Iterator[Any]:
    yield {}
    raise ConnectionResetError("gone")


@every
def test_leaving_the_loop_early_loses_nothing(guard: Any, ran: Ran, name: str) -> None:
    """A host that stops looking and takes the turn gets all of it."""
    chat = guard.open(SESSION, wire=name, conversation="c")
    stream = chat.stream(iter(EVENTS[name](CALLS)), history=[chat.user("go")])
    for _ in stream:
        break
    assert [one.status for one in stream.turn().outcomes] == ["done", "done"]
    assert len(ran) == 2


@every
@pytest.mark.parametrize("form", ["async", "awaitable", "plain"])
def test_streams_in_an_asyncio_loop(tmp_path: Any, name: str, form: str) -> None:
    """The awaited stream does the same, whether its source is an async one, still to be awaited, or a plain one."""
    ran, events = Ran(), EVENTS[name](CALLS)

    async def source() -> AsyncIterator[Any]:
        for event in events:
            yield event

    async def later() -> AsyncIterator[Any]:
        return source()

    async def go() -> None:
        (tmp_path / "tools.yaml").write_text(POLICY)
        with AsyncGuard.load(tmp_path, tools={"look": ran.look, "act": ran.act}, store="memory://") as made:
            chat = made.open(SESSION, wire=name, conversation="c")
            given: Any = {"async": source, "awaitable": later, "plain": lambda: events}[form]()
            stream = chat.stream(given, history=[chat.user("go")])
            seen = [event async for event in stream]
            assert (seen, ran) == (events, [])
            turn = await stream.turn()
            assert [one.status for one in turn.outcomes] == ["done", "done"]
            assert await stream.turn() is turn

    asyncio.run(go())


def test_what_is_no_stream_is_misuse(guard: Any) -> None:
    """Something that cannot be gone over is said at once."""
    chat = guard.open(SESSION, wire="openai-chat", conversation="c")
    with pytest.raises(GuardError, match="go over with `for`"):
        chat.stream(3)
