"""LangChain: real agents under the middleware come to the same as every other way; pauses, sub-agents and other middleware change nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import framework_ways
import httpx
import pytest
from conformance_scenarios import BOSS, SCENARIOS, STAFF
from framework_ways import LangChain, same
from wire_helpers import message

from guard import AsyncGuard, Guard, GuardError
from guard.extras import install
from guard.integrations.extras import needed
from guard.integrations.langchain import functions_of, guard_middleware

OK = {"role": "assistant", "content": "ok"}


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    pytest.importorskip("langchain_openai")
    with framework_ways.langchain(tmp_path_factory.mktemp("policy")) as made:
        yield made


@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - LangChain.lost))
def test_the_same_as_on_a_wire(guard: Guard, name: str, held: Any) -> None:
    """Statuses, reasons, final arguments and redacted results are those of openai-chat, and the provider takes what is sent."""
    same(guard, LangChain, held, name, SCENARIOS[name])


def agent_of(chat: Any, *more: Any) -> Any:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    return create_agent(LangChain.model, middleware=[*more, guard_middleware(chat)], checkpointer=InMemorySaver())


def script(*calls: Any, then: Any = OK) -> None:
    LangChain.provider.rejections.clear()
    LangChain.provider.script[:] = [message("openai-chat", *calls), then]


THREAD: Any = {"configurable": {"thread_id": "t"}}


def results(state: Any) -> list[str]:
    return [one.artifact["status"] for one in state["messages"] if one.type == "tool"]


def test_all_held_calls_of_a_message_are_shown_at_once_and_none_runs_a_sibling_again(guard: Guard) -> None:
    """Three interrupts, decided in any order; what a resume says decides nothing, and the free sibling ran once."""
    from langgraph.types import Command

    chat = guard.open(STAFF, wire="openai-chat", conversation="three", held="suspend")
    agent = agent_of(chat)
    script(("a", "act", '{"n": 9}'), *((name, "held", f'{{"n": {n}}}') for n, name in enumerate("bcd")))
    asked = agent.invoke({"messages": [chat.user("go")]}, THREAD)["__interrupt__"]
    assert [(one.value["tool"], bool(one.value["expires_at"])) for one in asked] == [("held", True)] * 3
    assert [one.words.text for one in guard.approvals.list(conversation="three")] == ["Let me see."] * 3

    for answer in ("approve", {"type": "approve"}):
        asked = agent.invoke(Command(resume={one.id: answer for one in asked}), THREAD)["__interrupt__"]
        assert len(asked) == 3
    ids = {one.value["call"]: one.value["approval"] for one in asked}
    guard.approvals.reject(ids["d"], approver=BOSS)
    guard.approvals.approve(ids["b"], approver=BOSS)
    asked = agent.invoke(Command(resume={one.id: "look" for one in asked}), THREAD)["__interrupt__"]
    assert [one.value["approval"] for one in asked] == [ids["c"]]
    guard.approvals.approve(ids["c"], approver=BOSS)
    state = agent.invoke(Command(resume="look"), THREAD)

    assert results(state) == ["done", "done", "done", "refused"]
    assert LangChain.provider.rejections == []
    assert [row.attempt for row in guard.store.rows(chat.ref)][:3] == [1, 1, 1]


def test_another_middleware_that_runs_the_calls_again_runs_nothing(guard: Guard) -> None:
    """The gate stands where calls run: a call that was declined stays declined, whatever the route to it (BR-105)."""
    from langchain.agents.middleware import after_model
    from langchain_core.messages import AIMessage

    chat = guard.open(STAFF, wire="openai-chat", conversation="again", held="suspend")
    sent: list[int] = []

    @after_model(can_jump_to=["tools"])
    def back(state: Any, runtime: Any) -> Any:
        if isinstance(state["messages"][-1], AIMessage) and not state["messages"][-1].tool_calls and not sent:
            sent.append(1)
            return {"messages": [state["messages"][1].model_copy(update={"id": "again"})], "jump_to": "tools"}
        return None

    agent = agent_of(chat, back)
    script(("c1", "held", '{"n": 1}'))
    LangChain.provider.script.append(OK)
    asked = agent.invoke({"messages": [chat.user("go")]}, THREAD)["__interrupt__"]
    guard.approvals.reject(asked[0].value["approval"], approver=BOSS)
    from langgraph.types import Command

    state = agent.invoke(Command(resume="look"), THREAD)
    assert sent == [1]
    assert set(results(state)) == {"refused"}
    assert all(row.attempt == 0 for row in guard.store.rows(chat.ref))


def test_a_call_that_other_middleware_changes_is_a_proposal_of_its_own(guard: Guard) -> None:
    """An edit walks the whole path: what runs is what was judged."""
    from langchain.agents.middleware import wrap_tool_call

    @wrap_tool_call
    def edit(request: Any, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "name": "closed", "args": {}}))

    chat = guard.open(STAFF, wire="openai-chat", conversation="edited")
    script(("c1", "act", '{"n": 1}'))
    state = agent_of(chat, edit).invoke({"messages": [chat.user("go")]}, THREAD)
    assert [one.artifact["reason"] for one in state["messages"] if one.type == "tool"] == ["not_authorized"]


def test_a_sub_agent_is_narrower(guard: Guard) -> None:
    """A child's agent shows and runs only what the child may have."""
    chat = guard.open(STAFF, wire="openai-chat", conversation="parent")
    child = chat.child(tools=["look"])
    script(("c1", "act", '{"n": 1}'), ("c2", "look", '{"n": 1}'))
    state = agent_of(child).invoke({"messages": [child.user("go")]}, THREAD)
    assert [tool["function"]["name"] for tool in LangChain.provider.requests[-1]["tools"]] == ["look"]
    assert [one.artifact["reason"] for one in state["messages"] if one.type == "tool"] == ["not_offered", None]


def test_a_tool_that_runs_without_the_middleware_refuses(guard: Guard) -> None:
    """The tools that the model sees do nothing of their own."""
    stub = guard_middleware(guard.open(STAFF, wire="openai-chat", conversation="stub")).tools[0]
    with pytest.raises(GuardError, match=r"runs only under the guard: create the agent with middleware="):
        stub.invoke({"n": 1})


def test_what_a_tool_wraps_its_result_in_is_redacted_too(tmp_path: Path, guard: Guard) -> None:
    """A command or message that a tool returns is data like any other (BR-164)."""
    from langchain_core.messages import ToolMessage
    from langgraph.types import Command

    mail = "a@example.com"
    tools: Any = {
        "command": lambda: Command(update={"messages": [ToolMessage(mail, tool_call_id="c1")]}),
        "message": lambda: ToolMessage([{"type": "text", "text": mail}], tool_call_id="c1"),
    }
    (tmp_path / "tools.yaml").write_text(
        "tools: {command: {kind: read, allow: [staff]}, message: {kind: read, allow: [staff]}}\nlimits: {run: {calls: 9}}\n"
    )
    with Guard.load(tmp_path, tools=tools, store="memory://") as own:
        chat = own.open(STAFF, wire="openai-chat", conversation="c")
        script(("c1", "command", "{}"), ("c2", "message", "{}"))
        state = agent_of(chat).invoke({"messages": [chat.user("go")]}, THREAD)
    assert results(state) == ["done", "done"]
    assert mail not in str(state)
    assert str(state).count("[email]") >= 2


def test_asyncio_and_cancelling(tmp_path: Path, guard: Guard) -> None:
    """Siblings of a message are walked once together; cancelled, each call is closed in the ledger and the cancellation goes on."""
    import langchain_openai

    ran: list[int] = []
    begun = asyncio.Event()

    async def act(n: int) -> int:
        ran.append(n)
        if n == 2:
            begun.set()
            await asyncio.sleep(60)
        return n

    async def go(own: AsyncGuard) -> list[str]:
        chat = own.open(STAFF, wire="openai-chat", conversation="c")
        async with httpx.AsyncClient(trust_env=False) as web:
            model = langchain_openai.ChatOpenAI(
                model="m", base_url=f"{LangChain.provider.url}/v1", api_key="x", max_retries=0, http_async_client=web
            )
            from langchain.agents import create_agent

            agent = create_agent(model, middleware=[guard_middleware(chat)])
            script(*((f"c{n}", "act", f'{{"n": {n}}}') for n in (1, 2, 3)))
            task = asyncio.ensure_future(agent.ainvoke({"messages": [chat.user("go")]}))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return [str(row.outcome and row.outcome.reason) for row in own.store.rows(chat.ref)]

    (tmp_path / "tools.yaml").write_text(
        "tools:\n  act: {kind: action, allow: [staff], approve: never}\nlimits: {run: {calls: 9}}\n"
    )
    with AsyncGuard.load(tmp_path, tools={"act": act}, store="memory://") as own:
        assert asyncio.run(go(own)) == ["None", "outcome_unknown", "interrupted"]
    assert ran == [1, 2]


def test_mistakes_of_the_program_are_told(guard: Guard) -> None:
    """Another wire, no conversation, a guard of the other kind."""
    with pytest.raises(GuardError, match="open the conversation with wire='openai-chat'"):
        guard_middleware(guard.open(STAFF, wire="anthropic", conversation="w"))
    with pytest.raises(GuardError, match="this takes a conversation"):
        guard_middleware(guard)  # type: ignore[arg-type]


def test_a_missing_framework_is_an_error_that_names_the_extra() -> None:
    """Nothing is loaded before it is used."""
    with pytest.raises(GuardError, match="needs the extra langchain: " + re.escape(install("langchain"))):
        needed("langchain_that_is_not_there", "langchain")


def wanting(kind: Any) -> Any:
    from langchain_core.tools import tool

    def wants(n: int, more: Any) -> int:
        """Takes something of the graph's."""
        return n

    wants.__annotations__["more"] = kind
    return tool(wants)


def test_tools_of_langchain_are_tools_of_a_guard(tmp_path: Path, guard: Guard) -> None:
    """Their functions run under the guard; what LangChain hides from the model only by its mark belongs to the session (BR-054)."""
    from typing import Annotated

    from langchain_core.tools import InjectedToolArg, tool

    def mine(n: int, user: Any) -> str:
        """Look up one's own."""
        return f"{n} of {user}"

    mine.__annotations__["user"] = Annotated[str, InjectedToolArg]
    (tmp_path / "tools.yaml").write_text(
        "tools:\n  mine: {kind: read, allow: [staff], bind: {user: session.principal}}\nlimits: {run: {calls: 9}}\n"
    )
    with Guard.load(tmp_path, tools=functions_of(tool(mine)), store="memory://") as own:
        chat = own.open(STAFF, wire="openai-chat", conversation="c")
        script(("c1", "mine", '{"n": 1, "user": "E9"}'))
        state = agent_of(chat).invoke({"messages": [chat.user("go")]}, THREAD)
    assert [one.content for one in state["messages"] if one.type == "tool"] == ["1 of E1"]


@pytest.mark.parametrize("name", ["ToolRuntime", "InjectedState", "InjectedStore", "InjectedState()"])
def test_a_tool_that_wants_something_of_the_graph_is_told_apart(guard: Guard, name: str) -> None:
    """It could only run without what it wants."""
    from typing import Annotated

    from langgraph import prebuilt

    mark: Any = getattr(prebuilt, name.removesuffix("()"))
    kind = mark if name == "ToolRuntime" else Annotated[dict[str, Any], mark() if name.endswith(")") else mark]
    with pytest.raises(GuardError, match="wants takes more from the graph"):
        functions_of(wanting(kind))
    with pytest.raises(GuardError, match="has no function"):
        functions_of(object())


def test_a_call_that_could_not_be_read_never_runs_after_a_restart(guard: Guard) -> None:
    """The history holds `{}` in its place, so that the provider takes it: a new process that walks the message again refuses it again."""
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    saved = InMemorySaver()
    script(("a", "act", '{"n": 1'), ("b", "held", '{"n": 2}'))
    for step in range(2):
        chat = guard.open(STAFF, wire="openai-chat", conversation="restart", held="suspend")
        agent = create_agent(LangChain.model, middleware=[guard_middleware(chat)], checkpointer=saved)
        given: Any = Command(resume="look") if step else {"messages": [chat.user("go")]}
        state = agent.invoke(given, THREAD)
        for one in state.get("__interrupt__", ()):
            guard.approvals.approve(one.value["approval"], approver=BOSS)

    assert {one.tool_call_id: one.artifact["reason"] for one in state["messages"] if one.type == "tool"} == {
        "a": "malformed_arguments",
        "b": None,
    }
    rows = guard.store.rows(chat.ref)
    assert {row.outcome.tool: row.attempt for row in rows if row.outcome} == {"act": 0, "held": 1}
    assert LangChain.provider.rejections == []
