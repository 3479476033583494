"""OpenAI Agents SDK: real runs over the guard's tools come to the same as every other way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import framework_ways
import httpx
import pytest
from conformance_scenarios import BOSS, SCENARIOS, STAFF
from framework_ways import MIX, Agents, same
from wire_helpers import message

from guard import AsyncGuard, Guard
from guard.integrations.openai_agents import guard_layer

SCENES = {**SCENARIOS, "mix of what is offered": MIX}


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    pytest.importorskip("agents")
    with framework_ways.agents(tmp_path_factory.mktemp("policy")) as made:
        yield made


@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("name", sorted(SCENES.keys() - Agents.lost))
def test_the_same_as_on_a_wire(guard: Guard, name: str, held: Any) -> None:
    """Statuses, reasons, final arguments and redacted results are those of openai-chat, and the provider takes what is sent."""
    same(guard, Agents, held, name, SCENES[name])


OK = {"role": "assistant", "content": "ok"}


def run(agent: Any, given: Any) -> Any:
    from agents import RunConfig, Runner

    return Agents.loop.run_until_complete(Runner.run(agent, given, run_config=RunConfig(tracing_disabled=True)))


def made(chat: Any, name: str = "a", *more: Any) -> Any:
    from agents import Agent

    layer = guard_layer(chat)
    return Agent(name=name, tools=[*layer.tools, *more], hooks=layer.hooks, model=Agents.model)


def test_a_stored_run_that_is_resumed_twice_pays_once(guard: Guard) -> None:
    """The SDK's approval decides nothing: without a person's the call stays held, and with it it runs once, whatever is resumed again."""
    from agents import RunState

    chat = guard.open(STAFF, wire="openai-responses", conversation="twice", held="suspend")
    agent = made(chat)
    Agents.provider.script[:] = [message("openai-chat", ("c1", "held", '{"n": 1}')), OK, OK, OK]
    stored = run(agent, [chat.user("go")]).to_state().to_json()
    assert [one.words.text for one in guard.approvals.list(conversation="twice")] == ["Let me see."]
    statuses = []
    for decided in (False, True, True):
        if decided:
            for one in guard.approvals.list():
                if one.conversation == "twice" and one.status == "pending":
                    guard.approvals.approve(one.id, approver=BOSS)
        state = Agents.loop.run_until_complete(RunState.from_json(agent, stored))
        for item in state.get_interruptions():
            state.approve(item)
        said = run(agent, state).to_input_list()
        statuses.append([item["output"] for item in said if item.get("type") == "function_call_output"])

    assert "held_for_approval" in statuses[0][0]
    assert statuses[1:] == [['{"n":1}']] * 2
    assert sum(row.attempt for row in guard.store.rows(chat.ref)) == 1


def test_a_sub_agent_is_narrower_and_hand_overs_are_the_sdks(guard: Guard) -> None:
    """A child's agent as a tool: it has the child's tools alone, and the parent's call of it is none of the guard's."""
    chat = guard.open(STAFF, wire="openai-responses", conversation="parent")
    helper = made(chat.child(tools=["look"]), "helper")
    agent = made(chat, "parent", helper.as_tool("ask_helper", "Asks."))
    Agents.provider.requests.clear()
    Agents.provider.script[:] = [
        message("openai-chat", ("c1", "ask_helper", '{"input": "x"}'), ("c2", "act", '{"n": 1}')),
        message("openai-chat", ("c3", "look", '{"n": 3}')),
        OK,
        OK,
    ]
    run(agent, [chat.user("go")])
    assert [tool["function"]["name"] for tool in Agents.provider.requests[1]["tools"]] == ["look"]
    rows = guard.store.rows(chat.ref)
    found = sorted((row.outcome.tool, row.outcome.status, bool(row.key.ref.branch)) for row in rows if row.outcome)
    assert found == [("act", "done", False), ("look", "done", True)]


def test_without_the_hooks_each_call_is_judged_by_itself(guard: Guard) -> None:
    """Nothing runs unjudged."""
    from agents import Agent

    chat = guard.open(STAFF, wire="openai-responses", conversation="alone")
    agent = Agent(name="a", tools=guard_layer(chat).tools, model=Agents.model)
    Agents.provider.script[:] = [message("openai-chat", ("c1", "look", '{"m": 1}'), ("c2", "act", '{"n": 1}')), OK]
    run(agent, [chat.user("go")])
    found = {row.outcome.tool: row.outcome.status for row in guard.store.rows(chat.ref) if row.outcome}
    assert found == {"look": "refused", "act": "done"}


def test_cancelled_it_closes_every_call(tmp_path: Path, guard: Guard) -> None:
    """With async tools: what ran keeps its result, the others are told, and the cancellation goes on."""
    from agents import RunConfig, Runner

    begun = asyncio.Event()

    async def act(n: int) -> int:
        if n == 2:
            begun.set()
            await asyncio.sleep(60)
        return n

    async def go(own: AsyncGuard) -> list[str]:
        chat = own.open(STAFF, wire="openai-responses", conversation="c")
        Agents.provider.script[:] = [message("openai-chat", *((f"c{n}", "act", f'{{"n": {n}}}') for n in (1, 2, 3))), OK]
        task = asyncio.ensure_future(Runner.run(made(chat), [chat.user("go")], run_config=RunConfig(tracing_disabled=True)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [str(row.outcome and row.outcome.reason) for row in own.store.rows(chat.ref)]

    (tmp_path / "tools.yaml").write_text(
        "tools: {act: {kind: action, allow: [staff], approve: never}}\nlimits: {run: {calls: 9}}\n"
    )
    with AsyncGuard.load(tmp_path, tools={"act": act}, store="memory://") as own:
        assert Agents.loop.run_until_complete(go(own)) == ["None", "outcome_unknown", "interrupted"]


def test_the_sdks_own_kind_of_model(guard: Guard) -> None:
    """Over Responses: the mix comes to the same, beside reasoning and texts, and the provider takes the next request."""
    import openai
    from agents import Agent, OpenAIResponsesModel

    chat = guard.open(STAFF, wire="openai-responses", conversation="responses")
    layer = guard_layer(chat)
    web = httpx.AsyncClient(trust_env=False)
    client = openai.AsyncOpenAI(base_url=f"{Agents.provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)
    agent = Agent(name="a", tools=layer.tools, hooks=layer.hooks, model=OpenAIResponsesModel("m", client))
    Agents.provider.rejections.clear()
    Agents.provider.script[:] = [message("openai-responses", *MIX.calls), message("openai-responses")]
    result = run(agent, [chat.user("go")])
    Agents.loop.run_until_complete(web.aclose())

    assert Agents.provider.rejections == []
    rows = [row.outcome for row in guard.store.rows(chat.ref) if row.outcome]
    assert [(one.status, one.reason and str(one.reason)) for one in rows] == list(MIX.then)
    told = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert told == [one.content for one in rows]
