"""LangChain: a name that the model made up and that no provider takes does not end the conversation: the history goes on under a name that fits."""

from __future__ import annotations

from collections.abc import Iterator

import framework_ways
import pytest
from conformance_scenarios import STAFF
from framework_ways import LangChain
from wire_helpers import message

from guard import Guard

NAMES = ("look ", " look", "functions.look", "look\nact", "look()", "", "x" * 300, "l\u043e\u043ek", "<look>", '{"name":"look"}')


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    pytest.importorskip("langchain_openai")
    with framework_ways.langchain(tmp_path_factory.mktemp("policy")) as made:
        yield made


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_no_provider_takes_does_not_end_the_conversation(guard: Guard, name: str) -> None:
    """It is refused as unknown, beside a call that runs; the provider takes the history that holds it, and no other tool is called by its stand-in."""
    from langchain.agents import create_agent

    from guard.integrations.langchain import guard_middleware

    chat = guard.open(STAFF, wire="openai-chat", conversation=f"named {NAMES.index(name)}")
    agent = create_agent(LangChain.model, middleware=[guard_middleware(chat)])
    LangChain.provider.rejections.clear()
    LangChain.provider.script[:] = [
        message("openai-chat", ("c1", name, "{}"), ("c2", "look", '{"n": 1}')),
        {"role": "assistant", "content": "ok"},
    ]
    state = agent.invoke({"messages": [chat.user("go")]})

    told = {
        one.tool_call_id: (one.artifact["status"], "unknown_tool" in str(one.content))
        for one in state["messages"]
        if one.type == "tool"
    }
    assert told == {"c1": ("refused", True), "c2": ("done", False)}
    assert (LangChain.provider.rejections, LangChain.provider.script) == ([], [])
