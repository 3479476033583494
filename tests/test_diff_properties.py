"""What `guard diff` calls safe is safe: random edits of a policy, judged by real guards over random calls."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from review_kit import RULES, TOOLS, loaded
from test_diff import EDITS, RULE_EDITS

from guard.core.model import Session
from guard.core.values import canonical
from guard.policy import Loaded
from guard.review.cases import Case, Proposal, Step
from guard.review.differ import compare
from guard.review.world import Happened, World

RANK = {"refuse": 0, "hold": 1, "allow": 2}
NUMBERS = ("maximum: 50}", "maximum: 500}", "exclusiveMinimum: 0", "at_most: 600", "calls: 3,", "calls: 20", "maxLength: 10")
ROLES = st.lists(st.sampled_from(["customer", "support", "boss", "trainee", "guest"]), max_size=3, unique=True)
SESSIONS = st.builds(
    lambda who, roles, tenant: Session(principal=who, roles=tuple(roles), tenant=tenant),
    st.sampled_from(["E1", "E7", "E9", "c_1"]),
    ROLES,
    st.sampled_from(["acme", "default"]),
)
REFUNDS = st.fixed_dictionaries(
    {"order_id": st.just("A17")},
    optional={
        "amount": st.sampled_from([-1, 0, 1, 20, 50, 51, 100, 300, 400, 500, 600]),
        "note": st.sampled_from(["fine", "urgent", "quick"]),
        "tip": st.just(1),
    },
)
LOOKS = st.fixed_dictionaries(
    {"order_id": st.sampled_from(["A17", "A17 and more than ten"])}, optional={"detail": st.sampled_from(["short", "all"])}
)
CALLS = st.one_of(
    st.tuples(st.just("refund"), REFUNDS),
    st.tuples(st.just("order_status"), LOOKS),
    st.tuples(st.just("close_account"), st.just({"account": "x"})),
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """A policy some edits away from the good one. Each is a known edit, or another number in one of its places."""
    tools, rules = TOOLS, RULES
    for old, new, _ in draw(st.lists(st.sampled_from([*EDITS.values()]), max_size=3)):
        tools = tools.replace(old, new, 1)
    for old, new, _ in draw(st.lists(st.sampled_from([*RULE_EDITS.values()]), max_size=2)):
        rules = rules.replace(old, new, 1)
    for spelled in draw(st.lists(st.sampled_from(NUMBERS), max_size=2)):
        head, _, tail = spelled.partition(": ")
        number = "".join(char for char in tail if char.isdigit())
        tools = tools.replace(spelled, f"{head}: {draw(st.integers(1, 700))}{tail[len(number) :]}", 1)
    return tools, rules


def judged(policy: Loaded, session: Session, tool: str, arguments: dict[str, object]) -> Happened:
    look = Proposal(
        tool="order_status", arguments={"order_id": "A17"}, returns={"order_id": "A17", "status": "lost", "total": 400}
    )
    steps = (Step(session="s", proposals=(look,)), Step(session="s", proposals=(Proposal(tool=tool, arguments=arguments),)))
    return World(policy).play(Case(name="c", sessions={"s": session}, steps=steps)).steps[-1].calls[0]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(edited(), edited(), st.lists(st.tuples(SESSIONS, CALLS), min_size=8, max_size=8))
def test_what_does_not_widen_permits_nothing_more(
    one: tuple[str, str], other: tuple[str, str], calls: list[tuple[Session, tuple[str, dict[str, object]]]]
) -> None:
    """If nothing widens from P to Q, no call is decided wider by Q than by P, unless what would run is another call."""
    with tempfile.TemporaryDirectory() as place:
        try:
            old, new = loaded(Path(place) / "old", *one), loaded(Path(place) / "new", *other)
        except Exception:
            return  # two edits that do not fit together
    assert compare(old, old).changes == ()
    _check(old, new, calls)
    _check(new, old, calls)
    with tempfile.TemporaryDirectory() as place:
        base = loaded(Path(place))
    _check(base, new, calls)
    _check(new, base, calls)


def _check(old: Loaded, new: Loaded, calls: list[tuple[Session, tuple[str, dict[str, object]]]]) -> None:
    for session, (tool, arguments) in calls if not compare(old, new).widens else ():
        before, after = judged(old, session, tool, arguments), judged(new, session, tool, arguments)
        same = before.arguments is None or canonical(before.arguments) == canonical(after.arguments)
        assert not same or RANK[after.decision] <= RANK[before.decision], (tool, arguments, session)
