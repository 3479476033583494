"""OpenAI Agents SDK: real runs over the guard's tools come to the same as every other way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conformance import loaded, play, way_of
from conformance_scenarios import SCENARIOS
from framework_ways import Agents, looping
from provider import Provider

from guard import Guard


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    agents = pytest.importorskip("agents")
    import openai

    with loaded(tmp_path_factory.mktemp("policy")) as made, Provider([]) as provider, looping() as Agents.loop:
        web = httpx.AsyncClient(trust_env=False)
        client = openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="made-up", max_retries=0, http_client=web)
        Agents.provider, Agents.model = provider, agents.OpenAIChatCompletionsModel("m", client)
        yield made
        Agents.loop.run_until_complete(web.aclose())


@pytest.mark.parametrize("held", ["answer", "suspend"])
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - Agents.lost))
def test_the_same_as_on_a_wire(guard: Guard, name: str, held: Any) -> None:
    """Statuses, reasons, final arguments and redacted results are those of openai-chat, and the provider takes what is sent."""
    first = play(way_of(guard, "openai-chat", f"wire agents {held} {name}".replace(":", "")), SCENARIOS[name])
    assert play(Agents(guard, "agents", held, f"agents {held} {name}".replace(":", "")), SCENARIOS[name]) == first
