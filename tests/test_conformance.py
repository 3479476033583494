"""One behaviour on every way: each scenario gives the same decisions, reasons, final arguments and redacted results on all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance import Seen, carried, loaded, play, way_of
from conformance_scenarios import SCENARIOS
from wire_helpers import answers, every, message, spelled
from wire_talk import EVENTS, legal

from guard import AsyncGuard, Guard, Session, ToolCall
from guard.integrations.decorator import guarded


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with loaded(tmp_path_factory.mktemp("policy")) as made:
        yield made


@pytest.fixture(scope="module")
def first(guard: Guard) -> dict[str, list[Seen]]:
    """What each scenario comes to on the first wire, whole."""
    return {name: play(way_of(guard, "openai-chat", f"first {name}"), scenario) for name, scenario in SCENARIOS.items()}


@pytest.mark.parametrize(("name", "scenario"), carried())
def test_the_same_everywhere(guard: Guard, first: dict[str, list[Seen]], name: str, scenario: str) -> None:
    """Statuses and reasons are those of the table, and everything else is what the first wire gives, to the letter."""
    wanted, way = SCENARIOS[scenario], way_of(guard, name, scenario)
    found = play(way, wanted)

    assert [(one.status, one.reason) for one in found] == [*wanted.then, *wanted.after]
    assert found == first[scenario]
    assert "people" not in "".join(one.content for one in found)
    assert "ann@example.com" not in "".join(one.content for one in found)


@every
@pytest.mark.parametrize("form", ["whole", "streamed", "suspended"])
def test_a_cancelled_turn_is_closed_on_every_wire(tmp_path: Path, name: str, form: str) -> None:
    """Cancelled between two actions: what ran has its result, the others are answered, and the saved history goes on as JSON."""
    ran: list[int] = []
    begun = asyncio.Event()

    async def act(n: int) -> int:
        ran.append(n)
        if n == 2:
            begun.set()
        await asyncio.sleep(60 if n == 2 else 0)
        return n

    async def go(guard: AsyncGuard) -> list[Any]:
        chat = guard.open(
            Session(principal="E1", roles=("staff",)),
            wire=name,
            conversation="c",
            held="suspend" if form == "suspended" else "answer",
        )
        history: list[Any] = [chat.user("go")]
        texts = [(f"c{n}", "act", json.dumps({"n": n})) for n in (1, 2, 3)]
        said = message(name, *((call, tool, spelled(name, text)) for call, tool, text in texts))
        streamed = form == "streamed"
        walk = chat.stream(EVENTS[name](texts), history=history).turn() if streamed else chat.handle(said, history=history)
        task = asyncio.ensure_future(walk)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        saved = json.dumps(chat.dump([*history, *(said["output"] if name == "openai-responses" else [said])]))
        return await chat.resume(json.loads(saved))

    (tmp_path / "tools.yaml").write_text(
        "tools:\n  act: {kind: action, allow: [staff], approve: never}\nlimits: {run: {calls: 9}}\n"
    )
    with AsyncGuard.load(tmp_path, tools={"act": act}, store="memory://") as guard:
        history = asyncio.run(go(guard))

    assert ran == [1, 2]
    legal(name, history)
    assert [call for call, _ in answers(name, history)] == ["c1", "c2", "c3"]
    told = [str(content) for _, content in answers(name, history)]
    assert told[0] == "1"
    assert [word in text for word, text in zip(("outcome_unknown", "interrupted"), told[1:], strict=True)] == [True, True]


@pytest.mark.parametrize("way", ["guard.call", "@guarded"])
def test_a_cancelled_call_without_a_wire_is_closed(tmp_path: Path, way: str) -> None:
    """Cancelled while the tool runs: what may have acted is unknown in the ledger and is not run again, and the cancellation goes on up."""
    ran: list[int] = []
    begun = asyncio.Event()

    async def act(n: int) -> int:
        ran.append(n)
        begun.set()
        await asyncio.sleep(60)
        return n

    async def go(guard: AsyncGuard) -> Any:
        chat = guard.open(Session(principal="E1", roles=("staff",)), wire="openai-chat", conversation="c")

        def again() -> Any:
            if way == "@guarded":
                return guarded(act)(chat, n=1)
            return guard.call(ToolCall("c1", "act", {"n": 1}), chat.session, conversation="c")

        task = asyncio.ensure_future(again())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        [row] = guard.store.rows(chat.ref)
        return [row.outcome, await again()]

    (tmp_path / "tools.yaml").write_text(
        "tools:\n  act: {kind: action, allow: [staff], approve: never}\nlimits: {run: {calls: 9}}\n"
    )
    with AsyncGuard.load(tmp_path, tools={"act": act}, store="memory://") as guard:
        found = asyncio.run(go(guard))
    assert [(one.status, str(one.reason)) for one in found] == [("unknown", "outcome_unknown")] * 2
    assert ran == [1]
