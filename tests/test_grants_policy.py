"""`grants:` in a policy: what may be written, what is warned about, what a narrower layer may write, and which way a difference goes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from layers_kit import ORG, Files, folders, loaded, org, pay
from policy_load_kit import LOOK, PAY, entry, folder, problems

from guard.core.offers import Offer
from guard.core.paths import parse_path
from guard.errors import PolicyError
from guard.policy import load_policy
from guard.policy.grants import UNBOUNDED
from guard.review.changes import Direction
from guard.review.differ import compare
from guard.review.grant_changes import spelled


def action(grants: str, more: str = "") -> str:
    return entry(f"    kind: action\n    allow: [staff]\n    approve: {{by: [boss], {more}grants: {grants}}}")


def path(text: str) -> object:
    return parse_path(text, "arguments")


def test_every_form_of_an_offer(tmp_path: Path) -> None:
    """A word, a scope with bounds, an amount with its own; one alone or several; without the key none."""
    text = action(
        "[same_call, {scope: tool_here, uses: 3, until: 90s}, {amount: amount, at_most: 5.10, sum: 20, same: [order_id], until: 7d}]"
    )
    [rule] = load_policy(folder(tmp_path, text), (PAY, LOOK)).policy.tools["pay"].approval

    amount = {
        "field": path("amount"),
        "at_most": Decimal("5.10"),
        "sum": Decimal(20),
        "same": (path("order_id"),),
        "until": 604_800.0,
    }
    assert rule.grants == (
        Offer(scope="same_call"),
        Offer(scope="tool_here", uses=3, until=90.0),
        Offer(scope="amount", **amount),
    )  # type: ignore[arg-type]
    [alone] = load_policy(folder(tmp_path, action("{scope: same_call, uses: 1}")), (PAY, LOOK)).policy.tools["pay"].approval
    assert alone.grants == (Offer(scope="same_call", uses=1),)
    [none] = (
        load_policy(folder(tmp_path, action("same_call").replace(", grants: same_call", "")), (PAY, LOOK))
        .policy.tools["pay"]
        .approval
    )
    assert none.grants == ()


MISTAKES = [
    ("an unknown word", "[everything]", "everything is no scope"),
    ("a misspelt word", "[same_cal]", "same_cal is no scope"),
    ("nothing", "[]", "an empty list"),
    ("an amount as a word", "[amount]", "an amount needs its argument"),
    ("an unknown key", "[{scope: same_call, times: 3}]", "unknown key times"),
    ("no scope", "[{uses: 3}]", "a scope is missing"),
    ("a sum without an amount", "[{scope: tool_here, sum: 3}]", "sum belongs to an amount"),
    ("an amount without its most", "[{amount: amount, sum: 3}]", "how much at most"),
    ("a sum below the most of one call", "[{amount: amount, at_most: 5, sum: 3}]", "sum 3 is less than at_most 5"),
    ("an argument that is not there", "[{amount: total, at_most: 5, sum: 9}]", "no argument total"),
    ("a text as an amount", "[{amount: note, at_most: 5, sum: 9}]", "note is no number"),
    ("many values", "[{amount: 'lines[*].price', at_most: 5, sum: 9}]", "may be many values"),
    ("tied to nothing", "[{amount: amount, at_most: 5, sum: 9, same: [payee]}]", "no argument payee"),
    ("no uses", "[{scope: same_call, uses: 0}]", "uses: 0 permits nothing"),
    ("half a use", "[{scope: same_call, uses: 1.5}]", "a whole number"),
    ("no time", "[{scope: same_call, until: 0s}]", "not a duration above 0"),
    ("two scopes", "[{scope: tool_here, amount: amount, at_most: 5}]", "no other scope"),
]


@pytest.mark.parametrize(("grants", "told"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_named_with_its_line(tmp_path: Path, grants: str, told: str) -> None:
    """Nothing is silently without effect: each mistake stands with file, line and cure."""
    found = problems(tmp_path, action(grants))
    assert [one for one in found if told in one.message and one.line == 6 and one.cure], found


def test_nobody_gives_where_nobody_is_asked(tmp_path: Path) -> None:
    """`by: never` asks nobody, so that there is no approval to give a grant from."""
    text = entry(
        "    kind: action\n    allow: [staff]\n    approve: [{when: {amount: {maximum: 5}}, by: never, grants: same_call}, {by: [boss]}]"
    )
    assert "nobody gives one" in problems(tmp_path, text)[0].message


WARNED = [
    ("[same_call]", ["neither how often nor how long"]),
    ("[tool_here, {scope: same_call, until: 1h}]", ["neither how often nor how long"]),
    ("[{amount: amount, at_most: 5, until: 1d}]", ["not how often"]),
    ("[{amount: amount, at_most: 5, sum: 9}, {amount: amount, at_most: 5, uses: 2}, {scope: tool_here, uses: 1}]", []),
]


@pytest.mark.parametrize(("grants", "told"), WARNED, ids=[row[0] for row in WARNED])
def test_a_grant_without_a_bound_is_a_warning(tmp_path: Path, grants: str, told: list[str]) -> None:
    """What bounds neither how often nor how long it may be used works, and is probably not meant."""
    warnings = load_policy(folder(tmp_path, action(grants)), (PAY, LOOK)).warnings
    found = [one.message for one in warnings if one.code == UNBOUNDED]
    assert len(found) == len(told)
    assert all(words in message for words, message in zip(told, found, strict=True))


OFFERED = "[{scope: same_call, uses: 3}, {amount: amount, at_most: 50, sum: 90, same: [order_id], until: 2d}]"
WIDE: Files = {**org(), "tools.yaml": ORG.replace("show: [order_id, amount]}", f"show: [order_id, amount], grants: {OFFERED}}}")}
LAYERS = [
    ("none", "approve: {by: [boss]}", ()),
    ("the same", "approve: {by: [boss], grants: [{scope: same_call, uses: 3}]}", ("same_call, 3 uses",)),
    ("fewer uses, an end", "approve: {by: [boss], grants: {scope: same_call, uses: 2, until: 1h}}", ("same_call, 2 uses, for 1 hour",)),
    (
        "a smaller amount, tied to more",
        "approve: {by: [boss], grants: [{amount: amount, at_most: 40, sum: 90, same: [order_id, note], until: 1d}]}",
        ("amount, amount at most 40, sum 90, same order_id, note, for 1 day",),
    ),
    ("more uses", "approve: {by: [boss], grants: [{scope: same_call, uses: 4}]}", None),
    ("no bound", "approve: {by: [boss], grants: [same_call]}", None),
    ("another scope", "approve: {by: [boss], grants: [{scope: tool_here, uses: 1}]}", None),
    ("a larger amount", "approve: {by: [boss], grants: [{amount: amount, at_most: 51, sum: 90, same: [order_id], until: 2d}]}", None),
    ("tied to less", "approve: {by: [boss], grants: [{amount: amount, at_most: 50, sum: 90, until: 2d}]}", None),
    ("longer", "approve: {by: [boss], grants: [{amount: amount, at_most: 50, sum: 90, same: [order_id], until: 3d}]}", None),
    ("of another argument", "approve: {by: [boss], grants: [{amount: desk, at_most: 1, sum: 1, same: [order_id], until: 1d}]}", None),
]  # fmt: skip


@pytest.mark.parametrize(("narrow", "offers"), [row[1:] for row in LAYERS], ids=[row[0] for row in LAYERS])
def test_a_narrower_layer_may_only_offer_less(tmp_path: Path, narrow: str, offers: tuple[str, ...] | None) -> None:
    """Each offer of a narrower folder lies within one of the wider one's; where it writes none, none may be given."""
    layers: list[Files] = [WIDE, pay(narrow)]
    if offers is None:
        with pytest.raises(PolicyError, match="more than may be given"):
            loaded(folders(tmp_path, *layers))
        return
    [rule] = loaded(folders(tmp_path, *layers)).policy.tools["pay"].approval
    assert tuple(map(spelled, rule.grants)) == offers


def test_a_narrower_layer_cannot_begin_to_offer(tmp_path: Path) -> None:
    """Where the wider folder offers none, no layer below does."""
    with pytest.raises(PolicyError, match="more than may be given"):
        loaded(folders(tmp_path, org(), pay("approve: {by: [boss], grants: [{scope: same_call, uses: 1}]}")))


DIFFERENCES = [
    ("one is offered", "", "grants: [{scope: same_call, uses: 3}], ", {Direction.WIDENS}),
    ("none any more", "grants: [{scope: same_call, uses: 3}], ", "", {Direction.NARROWS}),
    ("more uses", "grants: [{scope: same_call, uses: 3}], ", "grants: [{scope: same_call, uses: 4}], ", {Direction.WIDENS}),
    ("fewer uses", "grants: [{scope: same_call, uses: 3}], ", "grants: [{scope: same_call, uses: 2}], ", {Direction.NARROWS}),
    ("another scope", "grants: [{scope: same_call, uses: 3}], ", "grants: [{scope: tool_here, uses: 3}], ", {Direction.WIDENS, Direction.NARROWS}),
    ("another order", "grants: [{scope: same_call, uses: 3}, {scope: tool_here, uses: 3}], ", "grants: [{scope: tool_here, uses: 3}, {scope: same_call, uses: 3}], ", {Direction.CHANGES}),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [row[1:] for row in DIFFERENCES], ids=[row[0] for row in DIFFERENCES])
def test_what_may_be_given_more_widens(tmp_path: Path, old: str, new: str, expected: set[Direction]) -> None:
    """An offer that no earlier one covers widens; one that no later one covers narrows."""
    both = []
    for name, grants in (("old", old), ("new", new)):
        (tmp_path / name).mkdir()
        text = entry(f"    kind: action\n    allow: [staff]\n    approve: {{{grants}by: [boss]}}")
        both.append(load_policy(folder(tmp_path / name, text), (PAY, LOOK)))
    found = [one for one in compare(*both).changes if one.what == "approve.grants"]

    assert {one.direction for one in found} == expected
