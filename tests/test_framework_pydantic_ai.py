"""Pydantic AI: real runs over the guard's toolset come to the same as every other way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import framework_ways
import pytest
from conformance_scenarios import BOSS, SCENARIOS, STAFF
from framework_ways import MIX, Pydantic, same
from wire_helpers import message, spelled

from guard import AsyncGuard, Guard
from guard.integrations.pydantic_ai import guard_toolset

SCENES = {**SCENARIOS, "mix of what is offered": MIX}


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    pytest.importorskip("pydantic_ai")
    with framework_ways.pydantic(tmp_path_factory.mktemp("policy")) as made:
        yield made


@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("name", sorted(SCENES.keys() - Pydantic.lost))
def test_the_same_as_on_a_wire(guard: Guard, name: str, held: Any) -> None:
    """Statuses, reasons, final arguments and redacted results are those of openai-chat, and the provider takes what is sent."""
    same(guard, Pydantic, held, name, SCENES[name])


OK = {"role": "assistant", "content": "ok"}


def agent_of(chat: Any) -> Any:
    from pydantic_ai import Agent, DeferredToolRequests

    return Agent(Pydantic.model, toolsets=[guard_toolset(chat)], output_type=[str, DeferredToolRequests])


def run(agent: Any, *prompt: Any, **more: Any) -> Any:
    return Pydantic.loop.run_until_complete(agent.run(*prompt, **more))


def results(result: Any) -> list[Any]:
    return [part.content for one in result.all_messages() for part in one.parts if part.part_kind == "tool-return"]


def test_an_approval_that_is_replayed_runs_nothing_again(guard: Guard) -> None:
    """Deferred results decide nothing: without a person's word the call is deferred again, with it it runs once, and altered it is held anew."""
    from pydantic_ai import DeferredToolResults, ToolApproved

    chat = guard.open(STAFF, wire="openai-chat", conversation="replayed", held="suspend")
    agent = agent_of(chat)
    Pydantic.provider.script[:] = [message("openai-chat", ("c1", "held", '{"n": 1}')), OK, OK, OK]
    first = run(agent, chat.user("go")["content"])
    history, yes = first.all_messages(), DeferredToolResults(approvals={"c1": True})
    assert first.output.metadata["c1"]["tool"] == "held"
    assert guard.approvals.show(first.output.metadata["c1"]["approval"]).words.text == "Let me see."

    again = run(agent, message_history=history, deferred_tool_results=yes)
    assert [one.tool_call_id for one in again.output.approvals] == ["c1"]
    guard.approvals.approve(first.output.metadata["c1"]["approval"], approver=BOSS)
    for _ in range(2):
        assert results(run(agent, message_history=history, deferred_tool_results=yes)) == ['{"n":1}']
    other = DeferredToolResults(approvals={"c1": ToolApproved(override_args={"n": 99})})
    assert "held_for_approval" in results(run(agent, message_history=history, deferred_tool_results=other))[0]
    assert sum(row.attempt for row in guard.store.rows(chat.ref)) == 1


def test_a_sub_agent_is_narrower(guard: Guard) -> None:
    """A child's agent is offered the child's tools alone."""
    child = guard.open(STAFF, wire="openai-chat", conversation="parent").child(tools=["look"])
    Pydantic.provider.script[:] = [message("openai-chat", ("c1", "look", '{"n": 3}')), OK]
    assert results(run(agent_of(child), child.user("go")["content"])) == ['{"n":3}']
    assert [tool["function"]["name"] for tool in Pydantic.provider.requests[-1]["tools"]] == ["look"]


def test_cancelled_it_closes_every_call(tmp_path: Path, guard: Guard) -> None:
    """With async tools: what ran keeps its result, the others are told, and the cancellation goes on."""
    begun = asyncio.Event()

    async def act(n: int) -> int:
        if n == 2:
            begun.set()
            await asyncio.sleep(60)
        return n

    async def go(own: AsyncGuard) -> list[str]:
        chat = own.open(STAFF, wire="openai-chat", conversation="c")
        Pydantic.provider.script[:] = [message("openai-chat", *((f"c{n}", "act", f'{{"n": {n}}}') for n in (1, 2, 3))), OK]
        task = asyncio.ensure_future(agent_of(chat).run(chat.user("go")["content"]))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [str(row.outcome and row.outcome.reason) for row in own.store.rows(chat.ref)]

    (tmp_path / "tools.yaml").write_text(
        "tools: {act: {kind: action, allow: [staff], approve: never}}\nlimits: {run: {calls: 9}}\n"
    )
    with AsyncGuard.load(tmp_path, tools={"act": act}, store="memory://") as own:
        assert Pydantic.loop.run_until_complete(go(own)) == ["None", "outcome_unknown", "interrupted"]


def test_a_model_of_another_provider(guard: Guard) -> None:
    """Over Anthropic: the mix comes to the same, and the provider takes the next request."""
    import anthropic
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    chat = guard.open(STAFF, wire="openai-chat", conversation="anthropic")
    web = anthropic.DefaultAsyncHttpxClient(trust_env=False)
    client = anthropic.AsyncAnthropic(base_url=Pydantic.provider.url, api_key="made-up", max_retries=0, http_client=web)
    agent = Agent(AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client)), toolsets=[guard_toolset(chat)])
    Pydantic.provider.rejections.clear()
    named = [(call, tool, spelled("anthropic", text)) for call, tool, text in MIX.calls]
    Pydantic.provider.script[:] = [message("anthropic", *named), message("anthropic")]
    result = run(agent, chat.user("go")["content"])
    Pydantic.loop.run_until_complete(web.aclose())

    assert Pydantic.provider.rejections == []
    rows = [row.outcome for row in guard.store.rows(chat.ref) if row.outcome]
    assert [(one.status, one.reason and str(one.reason)) for one in rows] == list(MIX.then)
    assert results(result) == [one.content for one in rows]
