"""LangChain: real agents under the middleware come to the same as every other way; pauses, sub-agents and other middleware change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conformance import loaded, play, way_of
from conformance_scenarios import SCENARIOS

pytest.importorskip("langchain")
openai = pytest.importorskip("langchain_openai")

import httpx
from framework_ways import LangChain
from provider import Provider

from guard import Guard


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with (
        loaded(tmp_path_factory.mktemp("policy")) as made,
        Provider([]) as provider,
        httpx.Client(trust_env=False) as web,
    ):
        model = openai.ChatOpenAI(model="m", base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)
        LangChain.provider, LangChain.model = provider, model
        yield made


@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - LangChain.lost))
def test_the_same_as_on_a_wire(guard: Guard, name: str, held: Any) -> None:
    """Statuses, reasons, final arguments and redacted results are those of openai-chat, and the provider takes what is sent."""
    first = play(way_of(guard, "openai-chat", f"wire {held} {name}".replace(":", "")), SCENARIOS[name])
    assert play(LangChain(guard, "langchain", held, f"lang {held} {name}".replace(":", "")), SCENARIOS[name]) == first
