"""One behaviour elsewhere: over the sidecar's HTTP and through the MCP proxy each scenario is what it is on a wire."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conformance import Seen, loaded, play, way_of
from conformance_scenarios import SCENARIOS
from conformance_table import OTHERS, brings
from remote_ways import Proxy, Sidecar

from guard import Guard

REMOTE = {"`guard serve`": Sidecar, "`guard mcp`": Proxy}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Seen]]:
    """What each scenario comes to on the first wire."""
    with loaded(tmp_path_factory.mktemp("policy")) as guard:
        return {name: play(way_of(guard, "openai-chat", f"first {name}"), scenario) for name, scenario in SCENARIOS.items()}


@pytest.fixture(scope="module", params=REMOTE)
def remote(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Guard]]:
    with OTHERS[request.param][1](tmp_path_factory.mktemp("policy")) as guard:
        yield request.param, guard


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_elsewhere(remote: tuple[str, Guard], first: dict[str, list[Seen]], scenario: str) -> None:
    """Statuses, reasons, final arguments and redacted results; and what the other side is sent is what the ledger holds."""
    name, guard = remote
    kind = REMOTE[name]
    if brings(kind, name, scenario):
        tenant = f"{kind.__name__} {scenario}".replace(":", "")
        assert play(kind(guard, name, "answer", tenant), SCENARIOS[scenario]) == first[scenario]
