"""The API against its own description: whatever is sent, no 5xx, answers as described, and nothing changes without a vote scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from web_kit import Web, web

from guard import Session
from guard.web import approvals_api, audit_api, grants_api, kill_api, slowing
from guard.web.description import described

pytestmark = pytest.mark.slow
EXAMPLES = 8
OPERATIONS = [
    (path, method) for path, methods in described()["paths"].items() for method in methods if not path.endswith("/events")
]
"""Every operation but the stream of events, which has no end."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    before, slowing.FREE = slowing.FREE, 10**9  # a fuzz makes more mistakes than a person
    with web(tmp_path_factory.mktemp("web")) as running:
        running.waiting = [running.hold(number) for number in range(6)]  # type: ignore[attr-defined]
        running.stopped = stop(running)  # type: ignore[attr-defined]
        yield running
    slowing.FREE = before


@pytest.fixture(scope="module")
def credentials(shared: Web) -> dict[str, str]:
    """Of everybody."""
    stranger, voter = shared.token("stranger", "vote", roles=()), shared.token("voter", "vote", "admin")
    programs = {"program": shared.token("p", "propose")}
    return {"nobody": "", "reader": shared.token("r", "read"), "stranger": stranger, "voter": voter, **programs}


def operation(path: str, method: str) -> Any:
    """The operation as it is described."""
    return schemathesis.openapi.from_dict(described())[path][method.upper()]


def stop(shared: Web) -> str:
    """A kill that stops nothing here."""
    return shared.guard.kills.set(by=Session(principal="ops"), reason="r", conversation="elsewhere").id


def state(shared: Web) -> dict[str, Any]:
    """Everything that a vote, an edit, an end, a grant or a kill could change."""
    found = shared.guard.approvals.list(status=None)
    waiting = {one.id: one for one in found if one.id in shared.waiting}  # type: ignore[attr-defined]
    return {**waiting, "grants": shared.guard.grants.list(status=None), "kills": shared.guard.kills.list(status=None)}


def let_go(shared: Web) -> None:
    """Whatever was stopped goes on."""
    for kill in shared.guard.kills.list():
        shared.guard.kills.clear(kill, by=Session(principal="ops"), reason="r")


def tried(shared: Web, path: str, method: str, secret: str, waiting: list[str]) -> None:
    """Generated requests, and broken ones, at the approvals or kills that there are: each answer is one of the described, none is a 5xx."""
    client, known = shared.client(secret), described()["paths"][path][method]["responses"]
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    cases = st.one_of(*(operation(path, method).as_strategy(generation_mode=mode) for mode in modes))

    @given(case=cases, place=st.integers(0, len(waiting)))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def once(case: Any, place: int) -> None:
        if place < len(waiting) and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = waiting[place]
        answer = case.call(base_url=shared.url, headers=dict(client.headers))
        assert str(answer.status_code) in {*known, "405"}, answer.text
        assert answer.status_code < 500, answer.text

    once()


@pytest.mark.parametrize("who", ["nobody", "reader", "program", "stranger"])
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=str)
def test_nothing_changes_without_a_vote_scope(path: str, method: str, who: str, shared: Web, credentials: dict[str, str]) -> None:
    """Whatever is sent by somebody who may not vote, or not about these: no 5xx, and every approval, grant and kill stays as it was."""
    before = state(shared)
    there = [shared.stopped] if "kill" in path else shared.waiting  # type: ignore[attr-defined]
    tried(shared, path, method, credentials[who], there)
    assert state(shared) == before


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=str)
def test_no_request_of_a_voter_is_more_than_it_can_bear(path: str, method: str, shared: Web, credentials: dict[str, str]) -> None:
    """Somebody who may vote gets no 5xx either, whatever they send about approvals of their own to decide."""
    there = [stop(shared)] if "kill" in path else [shared.hold(100 + number) for number in range(2)]
    try:
        tried(shared, path, method, credentials["voter"], there)
    finally:
        let_go(shared)


def test_every_route_is_described() -> None:
    """And nothing is described that is not there."""
    there = {
        (route.path, method.lower())
        for route in [*approvals_api.routes(), *grants_api.routes(), *kill_api.routes(), *audit_api.routes()]
        for method in route.methods - {"HEAD"}
    }  # type: ignore[attr-defined]
    told = {(path, method) for path, methods in described()["paths"].items() for method in methods}
    assert there <= told
    assert {path for path, _ in told - there} == {f"/api/v1/{verb}" for verb in ("tools", "said", "decide", "report")}
