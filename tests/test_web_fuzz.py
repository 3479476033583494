"""The API against its own description: whatever is sent, no 5xx, answers as described, and nothing changes without a vote scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from web_kit import Web, web

from guard.web import slowing
from guard.web.description import described

schemathesis = pytest.importorskip("schemathesis", exc_type=ImportError)
pytestmark = pytest.mark.slow
EXAMPLES = 12
OPERATIONS = [
    (path, method) for path, methods in described()["paths"].items() for method in methods if not path.endswith("/events")
]
"""Every operation but the stream of events, which has no end."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    before, slowing.FREE = slowing.FREE, 10**9  # a fuzz makes more mistakes than a person
    with web(tmp_path_factory.mktemp("web")) as running:
        running.waiting = [running.hold(number) for number in range(6)]  # type: ignore[attr-defined]
        yield running
    slowing.FREE = before


@pytest.fixture(scope="module")
def credentials(shared: Web) -> dict[str, str]:
    """Everybody but one who may vote."""
    stranger = shared.token("stranger", "vote", roles=())
    return {"nobody": "", "reader": shared.token("r", "read"), "program": shared.token("p", "propose"), "stranger": stranger}


def operation(path: str, method: str) -> Any:
    """The operation as it is described."""
    return schemathesis.openapi.from_dict(described())[path][method.upper()]


def state(shared: Web) -> dict[str, Any]:
    """Everything that a vote, an edit or an end could change."""
    found = shared.guard.approvals.list(status=None)
    return {one.id: one for one in found if one.id in shared.waiting}  # type: ignore[attr-defined]


@pytest.mark.parametrize("who", ["nobody", "reader", "program", "stranger"])
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=str)
def test_nothing_changes_without_a_vote_scope(path: str, method: str, who: str, shared: Web, credentials: dict[str, str]) -> None:
    """Generated requests, and broken ones, at the approvals that there are: each answer is one of the described, none is a 5xx."""
    client, before = shared.client(credentials[who]), state(shared)
    described_here = described()["paths"][path][method]["responses"]
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]

    @given(
        case=st.one_of(*(operation(path, method).as_strategy(generation_mode=mode) for mode in modes)), place=st.integers(0, 6)
    )
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def tried(case: Any, place: int) -> None:
        if place < 6 and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = shared.waiting[place]  # type: ignore[attr-defined]
        answer = case.call(base_url=shared.url, session=None, headers=dict(client.headers))
        assert str(answer.status_code) in {*described_here, "405"}, answer.text
        assert answer.status_code < 500, answer.text

    tried()
    assert state(shared) == before
