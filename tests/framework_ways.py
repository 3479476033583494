"""The ways through frameworks: real agents of the real packages, their models at the scripted provider over HTTP. Rows beside `conformance.WAYS`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
from conformance import Seen, Way, loaded, play, seen, way_of
from conformance_scenarios import DONE, HELD, Call, Scenario
from provider import Provider, _completion
from wire_helpers import answers, message

from guard import Guard


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """One event loop for many runs, so that a client of theirs can live as long."""
    with asyncio.Runner() as runner:
        yield runner.get_loop()


class Framework(Way):
    """A conversation of openai-chat, brought by an agent."""

    provider: ClassVar[Provider]
    model: ClassVar[Any]
    loop: ClassVar[asyncio.AbstractEventLoop]
    lost: ClassVar[frozenset[str]] = frozenset()  # scenarios that the framework cannot bring

    @property
    def wire(self) -> str:
        return "openai-chat"

    @property
    def turns(self) -> int:
        return max((row.key.turn for row in self.rows()), default=0)

    def rows(self) -> list[Any]:
        return [row for row in self.guard.store.rows(self.chat.ref) if row.outcome is not None]

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        named = [(call_id, self.told(tool), text) for call_id, tool, text in calls]
        said = _completion(message("openai-chat", *named), {}, 1)
        if cut:
            said["choices"][0]["finish_reason"] = "length"
        self.provider.rejections.clear()
        self.provider.script[:] = [said, {"role": "assistant", "content": "ok"}]
        self.run()
        return self.newest(len(calls))

    def newest(self, count: int) -> list[Seen]:
        """What the ledger has of the newest turn, which is what the provider was sent."""
        assert self.provider.rejections == []
        rows = [row.outcome for row in self.rows() if row.key.turn == self.turns]
        assert len(rows) == count
        if not self.provider.script:
            sent = [content for _, content in answers("openai-chat", self.provider.requests[-1]["messages"])][-count:]
            assert all(text == one.content for text, one in zip(sent, rows, strict=True) if isinstance(one.content, str))
        return [seen(one, self.own) for one in rows]

    def run(self) -> None:
        """Have the agent go on until it is done or pauses."""
        raise NotImplementedError


class LangChain(Framework):
    """`create_agent` with the middleware; a held call is answered."""

    lost = frozenset({"refuse: a repeated key", "refuse: no object"})

    def __post_init__(self) -> None:
        from langchain.agents import create_agent
        from langgraph.checkpoint.memory import InMemorySaver

        from guard.integrations.langchain import guard_middleware

        super().__post_init__()
        self.thread: Any = {"configurable": {"thread_id": "t"}}
        self.agent = create_agent(self.model, middleware=[guard_middleware(self.chat)], checkpointer=InMemorySaver())

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return True

    def run(self) -> None:
        self.agent.invoke({"messages": self.history}, self.thread)
        self.history = []

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        from langgraph.types import Command

        if self.held == "suspend":
            self.agent.invoke(Command(resume="look"), self.thread)
        else:
            self.provider.script[:] = [{"role": "assistant", "content": "ok"}]
            self.agent.invoke({"messages": self.chat.settled()}, self.thread)
        assert self.provider.script == []
        return [seen(row.outcome, self.own) for row in self.rows()]


@contextmanager
def langchain(folder: Path) -> Iterator[Guard]:
    """A guard, and a model of LangChain at the scripted provider."""
    from langchain_openai import ChatOpenAI

    with loaded(folder) as made, Provider([]) as provider, httpx.Client(trust_env=False) as web:
        model: Any = ChatOpenAI(model="m", base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)  # type: ignore[arg-type]
        LangChain.provider, LangChain.model = provider, model
        yield made


@contextmanager
def _asked(kind: type[Framework], folder: Path, model: Callable[[Any], Any]) -> Iterator[Guard]:
    """A guard, and a model of a framework that asks by OpenAI's own client."""
    import openai

    with loaded(folder) as made, Provider([]) as provider, looping() as kind.loop:
        web = httpx.AsyncClient(trust_env=False)
        client = openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)
        kind.provider, kind.model = provider, model(client)
        yield made
        kind.loop.run_until_complete(web.aclose())


def agents(folder: Path) -> AbstractContextManager[Guard]:
    """The same for the OpenAI Agents SDK."""
    from agents import OpenAIChatCompletionsModel

    return _asked(Agents, folder, lambda client: OpenAIChatCompletionsModel("m", client))


def pydantic(folder: Path) -> AbstractContextManager[Guard]:
    """The same for Pydantic AI."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return _asked(Pydantic, folder, lambda client: OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))


MIX = Scenario(
    calls=(
        ("a", "look", '{"n": 1}'),
        ("b", "held", '{"n": 2}'),
        ("c", "level", "{}"),
        ("d", "act", '{"n": 4}'),
        ("e", "fails", "{}"),
    ),
    then=(DONE, HELD, ("refused", "session_fact_missing"), DONE, ("failed", "tool_failed")),
    decide="approve",
    after=(),
)
"""A mix of tools that are all offered: some frameworks know no others."""


class Agents(Framework):
    """`Runner.run` of the OpenAI Agents SDK."""

    lost = frozenset(
        {
            "refuse: an unknown tool",
            "refuse: no policy",
            "refuse: not permitted",
            "mix",
            "refuse: cut off",
            "empty ids",
            "one id twice",
        }
    )

    def __post_init__(self) -> None:
        from agents import Agent

        from guard.integrations.openai_agents import guard_layer

        super().__post_init__()
        self.layer = guard_layer(self.chat)
        self.agent = Agent(name="a", tools=self.layer.tools, hooks=self.layer.hooks, model=self.model)

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return True

    @property
    def wire(self) -> str:
        return "openai-responses"

    def run(self) -> None:
        self.result = self.runs(self.history)
        for item in (
            self.result.interruptions if not self.rows() else ()
        ):  # what the SDK itself pauses at: arguments that are no object
            state = self.result.to_state()
            state.approve(item)
            self.result = self.runs(state)

    def runs(self, given: Any) -> Any:
        from agents import RunConfig, Runner

        config = RunConfig(tracing_disabled=True, call_model_input_filter=self.layer.mended)
        result = self.loop.run_until_complete(Runner.run(self.agent, given, run_config=config))
        self.history = result.to_input_list()
        return result

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        if self.held == "suspend":
            state = self.result.to_state()
            for item in self.result.interruptions:
                state.approve(item)
            self.runs(state)
        else:
            self.provider.script[:] = [{"role": "assistant", "content": "ok"}]
            self.runs([*self.history, *self.chat.settled()])
        assert self.provider.script == []
        return [seen(row.outcome, self.own) for row in self.rows()]


class Pydantic(Framework):
    """`Agent.run` of Pydantic AI; held calls are deferred."""

    lost = frozenset({"refuse: an unknown tool", "refuse: no policy", "refuse: not permitted", "mix", "one id twice"})

    def __post_init__(self) -> None:
        from pydantic_ai import Agent, DeferredToolRequests

        from guard.integrations.pydantic_ai import guard_toolset

        super().__post_init__()
        self.agent: Any = Agent(
            self.model, toolsets=[guard_toolset(self.chat)], output_type=[str, DeferredToolRequests], retries=3
        )
        self.result: Any = None
        self.prompt: Any = self.history[0]["content"]

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return True

    def run(self) -> None:
        self.runs(self.prompt)
        self.prompt = "-"

    def runs(self, prompt: Any = None, **more: Any) -> None:
        before = None if self.result is None else self.result.all_messages()
        self.result = self.loop.run_until_complete(self.agent.run(prompt, message_history=before, **more))

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        from pydantic_ai import DeferredToolResults

        if self.held == "suspend":
            asked = self.result.output.approvals
            self.runs(deferred_tool_results=DeferredToolResults(approvals={one.tool_call_id: True for one in asked}))
        else:
            self.provider.script[:] = [{"role": "assistant", "content": "ok"}]
            [told] = self.chat.settled()
            self.runs(told["content"])
        assert self.provider.script == []
        return [seen(row.outcome, self.own) for row in self.rows()]


def same(guard: Guard, kind: type[Framework], held: Any, name: str, scene: Scenario) -> None:
    """Play a scene on the wire and through the framework, each in a conversation of its own: it comes to the same."""
    title = kind.__name__.lower()
    first = play(way_of(guard, "openai-chat", f"wire {title} {held} {name}".replace(":", "")), scene)
    assert play(kind(guard, title, held, f"{title} {held} {name}".replace(":", "")), scene) == first
