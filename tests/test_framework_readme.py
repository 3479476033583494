"""The README's lines about frameworks work as they stand there, with real agents at the scripted provider."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from provider import Provider
from wire_helpers import message

from guard import Guard, Session
from guard.core.reasons import Reason

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
[CODE] = re.findall(r"^```python\n(from guard.integrations.decorator.*?)^```", README, re.MULTILINE | re.DOTALL)
[SHIP] = re.findall(r"^```python\n(@guarded\n.*?)^```", README, re.MULTILINE | re.DOTALL)
ANN = Session(principal="c_123", roles=("customer",))


@pytest.fixture
def space(tmp_path: Path) -> Any:
    policy = "  {0}: {{kind: {1}, allow: [customer]{2}, bind: {{customer_id: session.principal}}}}\n"
    rows = policy.format("order_status", "read", "") + policy.format("ship", "action", ", approve: never")
    (tmp_path / "tools.yaml").write_text(f"tools:\n{rows}limits: {{run: {{calls: 9}}}}\n")
    found: dict[str, Any] = {}
    exec(compile(CODE + SHIP, "README.md", "exec"), found)  # noqa: S102 - the README is the program under test
    tools = {"order_status": lambda order_id, customer_id: f"{order_id} of {customer_id}", "ship": found["ship"]}
    with Guard.load(tmp_path, tools=tools, store="memory://") as found["guard"]:
        yield found


@pytest.mark.parametrize("name", ["langchain", "openai_agents", "pydantic_ai"])
def test_the_lines_of_a_framework_work(space: Any, name: str) -> None:
    """The model reads what the guard gave, with the session's own field."""
    package = pytest.importorskip({"openai_agents": "agents"}.get(name, name))
    quiet = getattr(package, "set_tracing_disabled", lambda _: None)  # nothing is sent anywhere
    quiet(True)
    script = [message("openai-chat", ("c1", "order_status", '{"order_id": "A17"}')), {"role": "assistant", "content": "Sent."}]
    with Provider(script) as provider:
        try:
            asyncio.run(_run(space[f"with_{name}"], name, provider))
        finally:
            quiet(False)
    assert [one["content"] for one in provider.requests[-1]["messages"] if one["role"] == "tool"] == ["A17 of c_123"]
    assert provider.rejections == []


async def _run(lines: Any, name: str, provider: Provider) -> None:
    import openai

    url = f"{provider.url}/v1"
    if name == "langchain":
        chat_model = pytest.importorskip("langchain_openai").ChatOpenAI
        with httpx.Client(trust_env=False) as web:
            await asyncio.to_thread(
                lines, chat_model(model="m", base_url=url, api_key="x", http_client=web), ANN, "Where is A17?"
            )
        return
    async with openai.AsyncOpenAI(base_url=url, api_key="x", http_client=httpx.AsyncClient(trust_env=False)) as client:
        await lines(_model(name, client), ANN, "Where is A17?")


def _model(name: str, client: Any) -> Any:
    if name == "openai_agents":
        from agents import OpenAIChatCompletionsModel

        return OpenAIChatCompletionsModel("m", client)
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))


def test_the_lines_of_the_decorator_work(space: Any) -> None:
    """Called with the conversation, without the session's field."""
    guard, ship = space["guard"], space["ship"]
    assert ship(guard.open(ANN, wire="openai-chat", conversation="c"), order_id="A17").status == "done"
    other = Session(principal="x", roles=("visitor",))
    assert ship(guard.open(other, wire="openai-chat", conversation="d"), order_id="A17").reason == Reason.NOT_AUTHORIZED
