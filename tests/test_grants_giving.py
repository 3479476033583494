"""Giving grants: who may, within which bounds, by how many people, and what is said before; children, and what is taken back with a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from grants_kit import BOSS, TOOLS, U1, code_of, desk, granted, policy, states, tried
from reports import Desk

from guard import ApprovalError, AsyncGuard, Session

OTHER_BOSS = Session(principal="b2", roles=("boss",))
A = {"amount": 100, "payee": "A"}


def asked(here: Desk, *, approved: bool = True) -> str:
    """The approval of one call."""
    turn = here.propose(("c1", "pay", A))
    if approved:
        here.approve(turn, "c1")
    return here.waiting(turn, "c1")


WIDER: list[tuple[str, str, dict[str, Any], str]] = [
    ("a scope that is not offered", "everything", {}, "offers no grant everything"),
    ("more of one call", "amount", {"at_most": 501}, "at most 500"),
    ("more in all", "amount", {"sum": "900.01"}, "at most 900"),
    ("more uses", "same_call", {"uses": 3}, "at most 2"),
    ("no uses at all", "same_call", {"uses": 0}, "from 1 up"),
    ("half a use", "same_call", {"uses": 1.5}, "from 1 up"),
    ("a later end", "same_call", {"until": 1_800_000_000 + 86_402}, "at most 1 day from now"),
    ("an end that is over", "same_call", {"until": 1_799_999_999}, "permits nothing"),
    ("an end without a zone", "amount", {"until": datetime(2027, 1, 16)}, "needs a zone"),  # noqa: DTZ001 - the mistake
    ("an amount where there is none", "tool_here", {"at_most": 5}, "belongs to an amount"),
    ("no number", "amount", {"at_most": "many"}, "is a number"),
    ("not a number", "amount", {"at_most": float("nan")}, "is a number"),
    ("endlessly much", "amount", {"sum": "Infinity"}, "is a number"),
]


@pytest.mark.parametrize(("scope", "bounds", "told"), [row[1:] for row in WIDER], ids=[row[0] for row in WIDER])
def test_nothing_wider_than_the_offer_is_given(tmp_path: Path, scope: Any, bounds: dict[str, Any], told: str) -> None:
    """A giver may only bound further what the policy offers; whatever else is asked for is refused, and nothing is kept."""
    here = desk(tmp_path)
    name = asked(here)

    with pytest.raises(ApprovalError, match=told) as error:
        here.guard.grants.give(name, by=BOSS, scope=scope, **bounds)
    assert code_of(error) == "not_offered"
    assert here.guard.grants.list(status=None) == ()


def test_a_giver_bounds_it_further(tmp_path: Path) -> None:
    """Own bounds count, each as exactly as it was written."""
    here = desk(tmp_path)
    end = datetime.fromtimestamp(here.clock.now + 60, UTC)
    grant = granted(here, "amount", at_most="99.90", sum=150, uses=2, until=end)

    assert tried(here, {"amount": 99.91, "payee": "A"}) == ["held"]
    assert tried(here, {"amount": 99.9, "payee": "A"}, {"amount": 50.2, "payee": "A"}) == ["done", "held"]
    assert tried(here, {"amount": 50.1, "payee": "A"}) == ["done"]
    assert here.guard.grants.show(grant).status(here.clock.now) == "spent"
    assert grant.until == end.timestamp()


def test_only_who_may_approve_gives_and_never_the_requester(tmp_path: Path) -> None:
    """A stranger learns nothing, the requester is told that another person must, and a grant needs a yes first."""
    here = desk(tmp_path)
    name = asked(here, approved=False)
    strangers = [(Session(principal="s1", roles=("staff",)), "not_found"), (U1, "not_entitled"), (BOSS, "not_approved")]
    strangers.append((replace(BOSS, tenant="acme"), "not_found"))
    strangers.append((replace(U1, roles=("staff", "boss")), "not_entitled"))

    for who, code in strangers:
        with pytest.raises(ApprovalError) as error:
            here.guard.grants.give(name, by=who, scope="same_call")
        assert code_of(error) == code
    assert here.guard.grants.list(status=None) == ()
    assert here.guard.grants.draft(name, by=BOSS, scope="same_call").scope == "same_call"
    assert here.guard.grants.list(status=None) == ()


def test_the_requester_gives_where_the_policy_says_self(tmp_path: Path) -> None:
    """`by: self` lets the requester give what the rule offers, for calls by that rule and no other."""
    text = policy().replace(
        "approve: {by: [boss], grants: [{scope: same",
        "approve: [{when: {amount: {maximum: 50}}, by: self, grants: [{scope: tool_here, uses: 5}]}, {by: [boss]}]\n        _: {x: [{scope: same",
    )
    text = "\n".join(line for line in text.splitlines() if "_: {x" not in line)
    here = desk(tmp_path, text)
    granted(here, "tool_here", by=U1, arguments={"amount": 5, "payee": "A"})

    assert tried(here, {"amount": 50, "payee": "Z"}) == ["done"]
    assert tried(here, {"amount": 51, "payee": "Z"}) == ["held"]
    here.closed()


def test_an_uncertain_rule_offers_nothing(tmp_path: Path) -> None:
    """Where the policy cannot tell which alternative applies, a grant of one of them covers nothing."""
    text = """
        tools:
          pay:
            kind: action
            allow: [staff]
            repeat: allow
            schema: {type: object, properties: {amount: {type: number}, vip: {type: string}}, required: [amount]}
            approve: [{when: {vip: x}, by: [boss], grants: [{scope: tool_here, uses: 9}]}, {by: [boss], grants: [{scope: tool_here, uses: 9}]}]
    """
    here = desk(tmp_path, text, tools={"pay": lambda amount, **_: "paid"})
    granted(here, "tool_here", arguments={"amount": 1, "vip": "x"})

    assert tried(here, {"amount": 2, "vip": "x"}) == ["done"]
    assert tried(here, {"amount": 2, "vip": "y"}) == ["held"]
    assert tried(here, {"amount": 2}) == ["held"]


def test_a_grant_needs_as_many_people_as_its_rule(tmp_path: Path) -> None:
    """`need: 2`: proposed with the first yes, live with the second person's agreement to the same terms; nobody counts twice."""
    here = desk(
        tmp_path,
        policy().replace("approve: {by: [boss], grants: [{scope: same", "approve: {by: [boss], need: 2, grants: [{scope: same"),
    )
    name, give = asked(here), here.guard.grants.give
    first = give(name, by=BOSS, scope="amount", sum=600)
    again = give(name, by=BOSS, scope="amount")
    assert (first.status(here.clock.now), len(again.givers)) == ("proposed", 1)
    with pytest.raises(ApprovalError) as error:
        give(name, by=OTHER_BOSS, scope="amount")
    assert code_of(error) == "not_approved"
    here.guard.approvals.approve(name, approver=OTHER_BOSS)
    here.settle()
    assert tried(here, {"amount": 5, "payee": "A"}) == ["held"]

    here.clock.now += 5
    with pytest.raises(ApprovalError) as error:
        give(name, by=OTHER_BOSS, scope="amount", sum=700)
    assert code_of(error) == "already_given"
    second = give(name, by=OTHER_BOSS, scope="amount")
    assert (second.id, second.status(here.clock.now), second.terms) == (first.id, "live", first.terms)
    here.say("Again.")
    assert tried(here, {"amount": 6, "payee": "A"}) == ["done"]
    assert [event["grant"]["have"] for event in here.audit("grant.created")] == [1, 2]
    here.closed()


def test_one_approval_gives_one_grant_of_a_scope(tmp_path: Path) -> None:
    """Giving twice is giving once: a second click doubles no sum, another one's terms do not replace it, and what was revoked stays so."""
    here = desk(tmp_path)
    name, give = asked(here), here.guard.grants.give
    first = give(name, by=BOSS, scope="amount")
    here.clock.now += 60
    assert give(name, by=BOSS, scope="amount") == first
    for by, more in ((BOSS, {"sum": 800}), (OTHER_BOSS, {})):
        with pytest.raises(ApprovalError) as error:
            give(name, by=by, scope="amount", **more)
        assert code_of(error) == "already_given"
    here.guard.grants.revoke(first, by=OTHER_BOSS)
    with pytest.raises(ApprovalError, match="revoked by b2"):
        give(name, by=BOSS, scope="amount")
    assert len(here.audit("grant.created")) == 1


def test_taking_back_the_yes_takes_back_what_was_given_with_it(tmp_path: Path) -> None:
    """An approval that is revoked before its call ran ends the grants that were made from it."""
    here = desk(tmp_path)
    name = asked(here)
    grant = here.guard.grants.give(name, by=BOSS, scope="tool_here")
    here.guard.approvals.revoke(name, by=BOSS, reason="a mistake")

    assert here.guard.grants.show(grant).revoked_why == "the approval was revoked"
    here.settle()
    assert tried(here, {"amount": 5, "payee": "A"}) == ["held"]
    here.closed()


def test_who_revokes(tmp_path: Path) -> None:
    """Whoever gave it, whoever may approve such calls, and the person whom it covers; for anybody else there is no such grant."""
    here = desk(tmp_path)
    grant = granted(here, "amount")
    for who in (Session(principal="s1", roles=("staff",)), replace(BOSS, tenant="acme")):
        with pytest.raises(ApprovalError) as error:
            here.guard.grants.revoke(grant, by=who)
        assert code_of(error) == "not_found"
    assert all(here.guard.grants.concerns(grant, who) for who in (BOSS, OTHER_BOSS, U1))
    assert here.guard.grants.revoke(grant, by=U1).revoked_by == "u1"


def test_giving_ends_with_the_rights_of_the_giver(tmp_path: Path) -> None:
    """Where the host says who somebody is today, a giver who left ends what they gave."""
    here = desk(tmp_path)
    granted(here, "tool_here")
    assert tried(here, {"amount": 5, "payee": "A"}) == ["done"]
    here.guard.session(lambda principal, tenant: Session(principal=principal, tenant=tenant, roles=("staff",)))

    assert tried(here, {"amount": 6, "payee": "A"}) == ["held"]


def test_a_childs_grant_stays_below_it_and_a_parents_reaches_down(tmp_path: Path) -> None:
    """What was given for a sub-agent's call covers neither its parent nor its siblings; what was given to the conversation covers its children."""
    here = desk(tmp_path)
    child, sibling = here.chat.child(name="one"), here.chat.child(name="two")
    turn = here.propose(("c1", "pay", A), chat=child)
    here.guard.approvals.approve(turn.pending[0].id, approver=BOSS)
    grant = here.guard.grants.give(turn.pending[0].id, by=BOSS, scope="tool_here")
    child.settled()

    assert (grant.branch, tried(here, {"amount": 1, "payee": "A"})) == ("/one", ["held"])
    assert tried(here, {"amount": 2, "payee": "A"}, chat=sibling) == ["held"]
    assert tried(here, {"amount": 3, "payee": "A"}, chat=child) == ["done"]
    assert tried(here, {"amount": 4, "payee": "A"}, chat=child.child(name="deep")) == ["done"]
    here.guard.grants.revoke(grant, by=BOSS)
    here.say("Again.")
    granted(here, "tool_here", arguments={"amount": 9, "payee": "A"})
    assert tried(here, {"amount": 5, "payee": "A"}, chat=sibling) == ["done"]


SECRET = """
    tools:
      pay:
        kind: action
        allow: [staff]
        approve: {by: [boss], secret: [payee], grants: [{amount: amount, at_most: 500, sum: 900, same: [payee], until: 7d}]}
"""


def test_what_is_secret_is_shown_to_nobody(tmp_path: Path) -> None:
    """A value that the policy calls secret stands as a mask in the words and in the record, and binds all the same."""
    here = desk(tmp_path, SECRET)
    grant = granted(here, "amount", arguments={"amount": 1, "payee": "DE99SECRET"})

    told = " ".join(here.guard.grants.words(grant))
    assert "[secret: 10 characters" in told
    assert "DE99SECRET" not in told + str(here.audit("grant.created"))
    assert tried(here, {"amount": 1, "payee": "DE99OTHER"}) == ["held"]


WORDS = {
    "same_call": ("only with exactly the arguments of the call that was approved", "only in the conversation", "2 times at most"),
    "tool_here": ("with ANY arguments, whatever they are", "only in the conversation", "3 times at most"),
    "amount": (
        "amount is at most 500 in one call, and 900 in all calls together",
        'payee is exactly "A"',
        "every other argument may be ANYTHING: note",
        "in any conversation of this person",
        "any number of times",
        "until Friday, 2027-01-22 08:00:00 UTC",
    ),
}


@pytest.mark.parametrize("scope", WORDS)
def test_its_words_spell_out_what_it_permits(tmp_path: Path, scope: Any) -> None:
    """Whose calls, which arguments, where, how often, how much and until when: read before anything is given."""
    here = desk(tmp_path)
    draft = here.guard.grants.draft(asked(here), by=BOSS, scope=scope)
    told = "\n".join(here.guard.grants.words(draft))

    assert "Calls of pay for u1 (tenant default) run without a further question" in told
    assert [words for words in WORDS[scope] if words not in told] == []
    assert here.guard.grants.offers(draft.approval, by=BOSS)[0].scope == "same_call"


def test_hidden_characters_are_spelled_out(tmp_path: Path) -> None:
    """Nothing in the words can look like something else."""
    here = desk(tmp_path)
    grant = granted(here, "amount", arguments={"amount": 1, "payee": "A\u202eB\u200b"})

    assert 'payee is exactly "A[U+202E]B[U+200B]"' in "\n".join(here.guard.grants.words(grant))


def test_a_grant_cannot_be_widened_in_hand(tmp_path: Path) -> None:
    """What the guard gave out may be changed by nobody: the store holds its own copy, and another one's terms are no terms of it."""
    here = desk(tmp_path)
    grant = granted(here, "amount")
    grant.constraint["at_most"] = 10_000
    here.guard.grants.show(grant).constraint["where"] = {}
    for one in here.guard.grants.list():
        one.constraint.clear()

    assert tried(here, {"amount": 501, "payee": "A"}) == ["held"]
    assert tried(here, {"amount": 1, "payee": "B"}) == ["held"]
    assert tried(here, {"amount": 500, "payee": "A"}) == ["done"]


def test_the_asyncio_guard_has_the_same(tmp_path: Path) -> None:
    """Awaited, everything is as for plain callers."""
    here = desk(tmp_path, store="sqlite")
    name = asked(here)
    here.guard.close()

    async def go(guard: Any) -> list[Any]:
        grant = await guard.grants.give(name, by=BOSS, scope="amount", uses=1)
        draft = await guard.grants.draft(name, by=BOSS, scope="amount")
        shown, offers = await guard.grants.show(grant), await guard.grants.offers(name, by=BOSS)
        [listed] = await guard.grants.list(principal="u1")
        words, stands = guard.grants.words(grant), guard.grants.stands(grant)
        ended = await guard.grants.revoke(grant, by=BOSS, reason="done")
        return [grant == draft == shown == listed, len(offers), bool(words), stands, ended.revoked_by]

    guard = here.load(AsyncGuard)
    assert asyncio.run(go(guard)) == [True, 3, True, True, "b1"]
    guard.close()


def test_a_child_with_fewer_roles_gets_no_more_by_a_grant(tmp_path: Path) -> None:
    """What a child may not call stays refused, whatever its parent was given."""
    here = desk(tmp_path)
    granted(here, "tool_here")
    made: Callable[..., Any] = here.chat.child

    assert tried(here, {"amount": 1, "payee": "A"}, chat=made(roles=[], name="bare")) == ["refused"]
    assert states(here.seen[-1]) == ["refused"]
    assert TOOLS
