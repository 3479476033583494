"""Grants as properties: one never turns a refusal into an allow, never lets run more than its constraint, and offers compare as they permit."""

from __future__ import annotations

import itertools
import warnings
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stores_kit import Clock

from guard import ApprovalError, Guard, PolicyWarning, Session, ToolCall
from guard.core.covering import constrained, fits, offered
from guard.core.grants import Giver, Grant, rule_mark
from guard.core.offers import Offer
from guard.core.paths import parse_path
from guard.core.reasons import Reason
from guard.core.rules import ApprovalRule

BOSS = Session(principal="b1", roles=("boss",))
U1 = Session(principal="u1", roles=("staff",))
OFFERS = "[{{scope: same_call, uses: 2}}, {{scope: tool_here, uses: 3}}, {{amount: amount, at_most: 50, sum: 90, same: [payee], uses: 4}}]"
some = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
RULES = (
    "refuse: [{when: {note: {pattern: '.*urgent.*'}}}]",
    "require: {amount: {maximum: 60}}",
    "limits: {calls: 4}",
    "limits: {sum: amount, per: payee, at_most: 80}",
    "checks: [nobody_called_x]",
)
calls = st.fixed_dictionaries(
    {
        "amount": st.decimals(min_value=-5, max_value=120, places=2, allow_nan=False),
        "payee": st.sampled_from(["A", "B", "X"]),
        "note": st.sampled_from(["", "urgent", "n"]),
    }
)


def policy(rules: list[str], *, grants: bool) -> str:
    own = "".join(f"    {rule}\n" for rule in rules)
    offers = OFFERS.format() if grants else ""
    asks = f"{{by: [boss]{f', grants: {offers}' if grants else ''}}}"
    return f"tools:\n  pay:\n    kind: action\n    allow: [staff]\n    repeat: allow\n{own}    approve: {asks}\n"


def a_guard(folder: Path, rules: list[str], ran: list[dict[str, Any]], *, grants: bool = True) -> Any:
    def pay(amount: float, payee: str, note: str = "") -> str:
        ran.append({"amount": amount, "payee": payee, "note": note})
        return "paid"

    (folder / "tools.yaml").write_text(policy(rules, grants=grants))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        checks = {"nobody_called_x": lambda arguments: "no" if arguments["payee"] == "X" else None}
        return Guard.load(folder, tools=[pay], store="memory://", clock=Clock(), checks=checks)


def propose(guard: Any, arguments: dict[str, Any], number: int) -> Any:
    raw = f'{{"amount": {arguments["amount"]}, "payee": "{arguments["payee"]}", "note": "{arguments["note"]}"}}'
    return guard.call(ToolCall("c", "pay", raw), U1, conversation="one", key=f"k{number}")


@some
@given(
    st.lists(st.sampled_from(RULES), unique=True, max_size=3),
    st.lists(calls, min_size=1, max_size=6),
    st.sampled_from(["same_call", "tool_here", "amount"]),
)
@example([RULES[0]], [{"amount": Decimal(1), "payee": "A", "note": "urgent"}], "tool_here")
@example(
    [RULES[3]], [{"amount": Decimal(50), "payee": "A", "note": ""}, {"amount": Decimal(45), "payee": "A", "note": "n"}], "amount"
)
@example([next(rule for rule in RULES if "limits" in rule)], [{"amount": Decimal(10), "payee": "A", "note": ""}] * 4, "same_call")
def test_a_grant_only_answers_a_hold(rules: list[str], proposed: list[dict[str, Any]], scope: Any) -> None:
    """Beside the same policy with no grant given, each call is held or done where it was held, and refused where it was refused."""
    rules = [rule for number, rule in enumerate(rules) if not any(one[:6] == rule[:6] for one in rules[:number])]
    with TemporaryDirectory() as place:
        ran: list[dict[str, Any]] = []
        guard, plain = a_guard(Path(place), rules, ran), a_guard(Path(place), rules, [])
        first = {"amount": Decimal(10), "payee": "A", "note": ""}
        for one in (guard, plain):
            held = propose(one, first, 0)
            one.approvals.approve(held.approval, approver=BOSS)
            assert propose(one, first, 0).status == "done"
        guard.grants.give(held_of(guard), by=BOSS, scope=scope)
        for number, arguments in enumerate(proposed, 1):
            with_it, without = propose(guard, arguments, number), propose(plain, arguments, number)
            assert without.status in ("held", "refused")
            if (with_it.status, with_it.reason) == ("refused", Reason.LIMIT_REACHED):
                continue  # what ran under the grant counts, what waits for a person does not
            assert with_it.status in (("held", "done") if without.status == "held" else ("refused",)), (with_it, without)
        guard.close()
        plain.close()


def held_of(guard: Any) -> str:
    """The approval that was spent."""
    [spent] = guard.approvals.list(status="consumed")
    return str(spent.id)


@some
@given(
    st.lists(st.tuples(calls, st.booleans()), min_size=1, max_size=12),
    st.integers(1, 4),
    st.decimals(min_value=1, max_value=50, places=2),
    st.decimals(min_value=50, max_value=90, places=2),
)
def test_never_more_than_was_given(plan: list[tuple[dict[str, Any], bool]], uses: int, at_most: Decimal, total: Decimal) -> None:
    """Whatever is proposed, one by one or handled twice: what ran under the grant is what it says, counted and summed to the cent."""
    with TemporaryDirectory() as place:
        ran: list[dict[str, Any]] = []
        guard = a_guard(Path(place), [], ran)
        first = {"amount": Decimal(1), "payee": "A", "note": ""}
        held = propose(guard, first, 0)
        guard.approvals.approve(held.approval, approver=BOSS)
        grant = guard.grants.give(held.approval, by=BOSS, scope="amount", uses=uses, at_most=at_most, sum=total)
        propose(guard, first, 0)
        ran.clear()
        under = Decimal(0)
        for number, (arguments, twice) in enumerate(plan, 1):
            before = guard.grants.show(grant)
            status = propose(guard, arguments, number).status
            fit = arguments["payee"] == "A" and 0 <= arguments["amount"] <= at_most
            room = before.used < uses and before.summed + arguments["amount"] <= total
            assert status == ("done" if fit and room else "held")
            under += arguments["amount"] if status == "done" else 0
            if twice:
                assert propose(guard, arguments, number).status == status
        after = guard.grants.show(grant)
        assert (after.used, after.summed) == (len(ran), under)
        assert after.used <= uses
        assert under <= total
        assert all(one["payee"] == "A" for one in ran)
        guard.close()


bounds = st.none() | st.integers(1, 5)
offers = st.one_of(
    st.builds(Offer, scope=st.sampled_from(["same_call", "tool_here"]), uses=bounds, until=bounds),
    st.builds(
        Offer,
        scope=st.just("amount"),
        field=st.sampled_from([parse_path("a", "arguments"), parse_path("b", "arguments")]),
        at_most=st.integers(1, 4).map(Decimal),
        sum=st.none() | st.integers(4, 8).map(Decimal),
        same=st.sampled_from([(), (parse_path("c", "arguments"),), (parse_path("c", "arguments"), parse_path("d", "arguments"))]),
        uses=bounds,
        until=bounds,
    ),
)
arguments = st.fixed_dictionaries({name: st.integers(0, 5) for name in "abcd"})


@settings(max_examples=300, deadline=None)
@given(offers, offers, arguments, arguments)
def test_what_an_offer_covers_permits_no_more(
    wide: Offer, narrow: Offer, approved: dict[str, Any], proposed: dict[str, Any]
) -> None:
    """Where one offer covers another, every call that the narrower one's grant fits fits the wider one's; and each covers itself."""
    assert wide.covers(wide)
    rule = ApprovalRule(by=("boss",), grants=(wide,))
    made = [a_grant(offer, rule, approved) for offer in (narrow, wide)]
    assert offered(made[1], rule)
    assert offered(made[0], rule) == wide.covers(narrow)
    if wide.covers(narrow):
        fit = [fits(one, proposed, "f") for one in made]
        assert fit[1] or not fit[0]
        assert made[1].uses is None or (made[0].uses is not None and made[0].uses <= made[1].uses)


def a_grant(offer: Offer, rule: ApprovalRule, approved: dict[str, Any]) -> Grant:
    constraint = constrained(offer, approved, "f")
    assert constraint is not None
    return Grant(
        id="gr_1", tenant="t", principal="p", conversation=None, tool="x", definition="d", kind="action", rule=rule_mark(rule), scope=offer.scope,
        constraint=constraint, uses=offer.uses, until=None if offer.until is None else 1_800_000_000.125 + offer.until, policy="v",
        approval="a", givers=(Giver(by="b", roles=("boss",), at=0.0),), at=1_800_000_000.125,
    )  # fmt: skip


def test_covering_is_transitive() -> None:
    """A covers B and B covers C: A covers C, for all small offers; so that layers may be compared one by one."""
    numbers: tuple[int | None, ...] = (None, 1, 2)
    small = [Offer(scope="tool_here", uses=uses, until=until) for uses in numbers for until in numbers]
    for one, two, three in itertools.product(small, repeat=3):
        if one.covers(two) and two.covers(three):
            assert one.covers(three)
    assert ApprovalError
