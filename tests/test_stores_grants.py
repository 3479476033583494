"""What every store does with grants: keeping, counting and summing with the claim, giving back, ending; one contract for all three."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from stores_kit import NEXT, REF, Clock, asking, charge, claim, key, kinds, outcome, proposal, quota, row

from guard.core.granting import Asking, FindGrants, UseGrant
from guard.core.grants import Giver, Grant, Use
from guard.core.model import CallKey
from guard.core.ports import Claim, ClaimAnswer, Conflict, Record, Store, Won
from guard.core.reasons import Reason
from guard.errors import ApprovalError


def grant(**fields: Any) -> Grant:
    given: dict[str, Any] = {
        "id": "gr_1", "tenant": "acme", "principal": "E1", "conversation": None, "tool": "pay", "definition": "def", "kind": "action",
        "rule": "r", "scope": "amount", "constraint": {"field": "amount", "at_most": Decimal(50), "sum": Decimal("90.10"), "where": {"to": "A"}},
        "policy": "p1", "approval": "a1", "givers": (Giver(by="B1", roles=("boss",), at=1_800_000_000.25),), "at": 1_800_000_000.25,
        "until": 1_800_000_900.0, "uses": 3, "reason": "usual",
    }  # fmt: skip
    return Grant(**{**given, **fields})


def told(kind: str) -> Any:
    return lambda one: {"kind": kind, "tenant": "acme", "grant": {"id": one.id, "used": one.used, "summed": one.summed}}


def given(store: Store, clock: Clock, made: Grant | None = None) -> Grant:
    """A grant from an approved call of turn 90."""
    made = made or grant()
    if store.approval(made.approval) is None:
        place = key(90)
        question = proposal(made.approval, now=clock.now, fingerprint=f"first-{made.approval}", at=place)
        store.ask(asking(question))
        store.vote(made.approval, status="approved", by="B1", reason=None, event={"kind": "approval.resolved", "tenant": "acme"})
    return store.give(made, told("grant.created"))


def use(made: Grant, **fields: Any) -> Use:
    return Use(**{"grant": made.id, "terms": made.terms, "definition": made.definition, "event": told("grant.used"), **fields})


def claimed(
    store: Store, made: Grant, at: CallKey, amount: Any = "10", *, again: bool = False, drawn: Use | None = None, **fields: Any
) -> ClaimAnswer:
    """Take a call that pays so much to A under a grant."""
    arguments = {"amount": Decimal(str(amount)), "to": "A", **fields.pop("arguments", {})}
    mark = f"f{at.ref.conversation}-{at.turn}-{at.position}"
    taken = row("started", at, fingerprint=mark, mark=mark, arguments=arguments, **fields)
    return store.claim(
        Claim(
            row=taken,
            approval=None,
            event={"kind": "call.begin", "tenant": "acme"},
            lease=5,
            again=again,
            grant=drawn or use(made),
        )
    )


def left(store: Store, made: Grant) -> tuple[int, Decimal]:
    found = store.grant(made.id)
    assert found is not None
    return found.used, found.summed


def test_a_grant_comes_back_as_it_was_given(store: Store, clock: Clock) -> None:
    """Every field and every digit, found by id, person and approval; nothing for anybody else."""
    made = given(store, clock)
    assert store.grant("gr_1") == made == grant()
    assert made.terms == grant().terms
    assert store.grants() == store.grants(tenant="acme", principal="E1") == store.grants(approval="a1") == (made,)
    assert store.grants(principal="E2") == store.grants(tenant="globex") == store.grants(approval="a2") == ()
    assert store.grant("gr_2") is None

    def found(**fields: Any) -> tuple[Grant, ...]:
        place = key(ref=replace(REF, **{name: value for name, value in fields.items() if name != "tool"}))
        [standing] = store.find_grants(FindGrants(calls=(Asking(key=place, tool=fields.get("tool", "pay"), fingerprint="f"),)))
        return standing.grants

    assert found() == found(conversation="new") == (made,)
    assert found(tool="look") == found(tenant="globex", conversation="x") == found(principal="E2", conversation="y") == ()
    clock.now = 1_800_000_900.0
    assert found() == ()


def test_what_is_drawn_stands_with_the_claim(store: Store, clock: Clock) -> None:
    """Counted and summed in the transaction that takes the call, with its record; the last cent fits and no more."""
    made = given(store, clock)
    assert isinstance(claimed(store, made, key(1), "40.05"), Won)
    assert isinstance(claimed(store, made, key(1, ref=NEXT), "50"), Won)
    assert left(store, made) == (2, Decimal("90.05"))
    refused = claimed(store, made, key(2), "0.06")
    assert isinstance(refused, Conflict)
    assert (refused.approval, store.call(key(2))) == (True, None)
    assert isinstance(claimed(store, made, key(3), "0.05"), Won)
    assert left(store, made) == (3, Decimal("90.10"))
    assert isinstance(claimed(store, made, key(4), "0"), Conflict)
    assert kinds(store).count("grant.used") == kinds(store).count("call.begin") == 3


BAD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("another definition", {"drawn": {"definition": "new"}}, {}),
    ("other terms", {"drawn": {"terms": "x"}}, {}),
    ("no such grant", {"drawn": {"grant": "gr_2"}}, {}),
    ("another tool", {"tool": "wire"}, {}),
    ("too much in one call", {"amount": "50.01"}, {}),
    ("less than nothing", {"amount": "-1"}, {}),
    ("another payee", {"arguments": {"to": "B"}}, {}),
    ("no payee", {"arguments": {"to": None}}, {}),
    ("no amount", {"arguments": {"amount": None}}, {}),
    ("another person", {"at": key(1, ref=replace(REF, principal="E2", conversation="theirs"))}, {}),
    ("another tenant", {"at": key(1, ref=replace(REF, tenant="globex"))}, {}),
    ("another conversation", {"at": key(1, ref=NEXT)}, {"conversation": "conv-1"}),
    ("a parent of its branch", {}, {"conversation": "conv-1", "branch": "/child"}),
    ("it is over", {}, {"until": 1_799_999_999.0}),
    ("not enough people gave it", {}, {"need": 2}),
    ("other arguments", {}, {"scope": "same_call", "constraint": {"arguments": "d", "fingerprint": "fconv-1-1-0"}}),
]


@pytest.mark.parametrize(("call", "fields"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_the_claim_checks_everything_again(store: Store, clock: Clock, call: dict[str, Any], fields: dict[str, Any]) -> None:
    """Whatever was judged before, the transaction that takes the call compares grant and call: else nothing is taken, drawn or recorded."""
    made = given(store, clock, grant(**fields))
    call = {"at": key(1), **call}
    drawn = use(made, **call.pop("drawn", {}))

    assert isinstance(claimed(store, made, call.pop("at"), call.pop("amount", "10"), drawn=drawn, **call), Conflict)
    assert left(store, made) == (0, Decimal(0))
    assert "call.begin" not in kinds(store)


def test_a_revoked_grant_takes_nothing_more(store: Store, clock: Clock) -> None:
    """Between judging and claiming it may be taken back: then nobody takes the call. It is revoked once, and stays so."""
    made = given(store, clock)
    after = store.revoke_grant("gr_1", by="B2", reason="left", event=told("grant.revoked"))
    assert (after.revoked_by, after.revoked_at, after.revoked_why) == ("B2", clock.now, "left")
    assert isinstance(claimed(store, made, key(1)), Conflict)
    for name, code in (("gr_1", "already_decided"), ("gr_2", "not_found")):
        with pytest.raises(ApprovalError) as error:
            store.revoke_grant(name, by="B2", reason=None, event=told("grant.revoked"))
        assert error.value.code == code
    with pytest.raises(ApprovalError) as error:
        store.give(grant(), told("grant.created"))
    assert error.value.code == "already_given"
    assert store.grant("gr_1") == after


def test_what_did_not_run_gives_back_what_it_drew(store: Store, clock: Clock) -> None:
    """By the rule of every sum: a call that was not started gives back use and sum, one that failed its sum, one in doubt nothing."""
    made = given(store, clock, grant(uses=9, constraint={**grant().constraint, "sum": Decimal(500)}))
    store.take(quota((key(1), (charge(5, name="sum:x", scope="own"), charge(1, scope="own2")))))
    for turn in range(1, 5):
        assert isinstance(claimed(store, made, key(turn), turn), Won)
    assert left(store, made) == (4, Decimal(10))

    never = outcome(status="refused", reason=Reason.INTERRUPTED)
    failed = outcome(status="failed", reason=Reason.TOOL_FAILED)
    ends = [
        ("refused", never),
        ("failed", failed),
        ("done", outcome()),
        ("unknown", outcome(status="unknown", reason=Reason.OUTCOME_UNKNOWN)),
    ]
    for turn, (status, ended) in enumerate(ends, 1):
        fingerprint = f"fconv-1-{turn}-0"
        store.record(
            (replace(row(status, key(turn), fingerprint=fingerprint, mark=fingerprint, outcome=ended), at=clock.now),), ()
        )
    assert left(store, made) == (3, Decimal(7))
    assert store.take(quota((key(20), (charge(10, 10, name="sum:x", scope="own"),)))) == (None,), (
        "the limit's own sum came back, too"
    )


def test_a_lost_call_goes_on_under_the_use_that_it_made(store: Store, clock: Clock) -> None:
    """Taken again after its lease, it draws nothing more, though the grant is spent or over by now; once it is revoked, nobody takes it."""
    made = given(store, clock, grant(uses=1))
    taken: dict[str, Any] = {"effect": "idempotent", "idem": "k", "repeat": True}
    assert isinstance(claimed(store, made, key(1), **taken), Won)
    clock.now = 1_800_001_000.0
    [standing] = store.find_grants(FindGrants(calls=(Asking(key=key(1), tool="pay", fingerprint="fconv-1-1-0"),)))
    assert (standing.taken, [one.id for one in standing.grants]) == ("gr_1", ["gr_1"])
    again = claimed(store, made, key(1), again=True, **taken)
    assert isinstance(again, Won)
    assert (again.attempt, left(store, made)) == (2, (1, Decimal(10)))
    clock.now += 10
    store.revoke_grant("gr_1", by="B1", reason=None, event=told("grant.revoked"))
    assert isinstance(claimed(store, made, key(1), again=True, **taken), Conflict)
    assert kinds(store).count("grant.used") == 1


def test_a_question_that_it_answers_ends_with_the_claim(store: Store, clock: Clock) -> None:
    """An open question about the very call is closed in the same transaction; one with other content at its place stands in the way."""
    made = given(store, clock)
    store.ask(asking(proposal("a2", now=clock.now, fingerprint="fconv-1-1-0", at=key(1))))
    store.ask(asking(proposal("a3", now=clock.now, fingerprint="other", at=key(2))))

    assert isinstance(claimed(store, made, key(1)), Won)
    ended = store.approval("a2")
    assert ended is not None
    assert (ended.status, ended.ended_by) == ("cancelled", "gr_1")
    assert isinstance(claimed(store, made, key(2)), Conflict)
    assert kinds(store).count("approval.cancelled") == 1


@pytest.mark.parametrize("end", ["rejected", "over"])
def test_a_no_and_an_end_count_more(store: Store, clock: Clock, end: str) -> None:
    """A call that somebody rejected, or whose time for a decision is over, is not taken under a grant."""
    made = given(store, clock)
    store.ask(asking(proposal("a2", now=clock.now, fingerprint="fconv-1-1-0", at=key(1))))
    if end == "rejected":
        store.vote("a2", status="rejected", by="B1", reason=None, event={"kind": "approval.resolved", "tenant": "acme"})
        [standing] = store.find_grants(FindGrants(calls=(Asking(key=key(1), tool="pay", fingerprint="fconv-1-1-0"),)))
        assert standing.grants == ()
    else:
        clock.now += 101

    assert isinstance(claimed(store, made, key(1)), Conflict)
    assert left(store, made) == (0, Decimal(0))


def test_a_look_up_is_counted_once_for_its_place(store: Store, clock: Clock) -> None:
    """Handling the same turn again uses nothing more; what failed gives nothing back."""
    made = given(store, clock, grant(kind="read", tool="look"))

    def used(turn: int, amount: int = 50) -> Conflict | None:
        arguments = {"amount": amount, "to": "A"}
        return store.use_grant(UseGrant(key=key(turn), tool="look", arguments=arguments, fingerprint=f"l{turn}", use=use(made)))

    assert (used(1), used(1), left(store, made)) == (None, None, (1, Decimal(50)))
    failed = outcome(status="failed", reason=Reason.TOOL_FAILED)
    store.record((row("failed", key(1), tool="look", kind="read", fingerprint="l1", mark="", outcome=failed),), ())
    assert left(store, made) == (1, Decimal(50))
    assert isinstance(used(2, 41), Conflict)
    assert (used(2, 40), used(3, 0), left(store, made)) == (None, None, (3, Decimal(90)))
    assert isinstance(used(4, 0), Conflict)
    assert kinds(store).count("grant.used") == 3


def test_giving_follows_the_approval(store: Store, clock: Clock) -> None:
    """No grant without its approval, nor from one that is pending, rejected or over; with a yes of one's own while others are awaited."""
    for name, status in (("p", ""), ("r", "rejected")):
        store.ask(asking(proposal(name, now=clock.now, fingerprint=name, at=key(ord(name)))))
        if status:
            store.vote(name, status=status, by="B1", reason=None, event={"kind": "approval.resolved", "tenant": "acme"})
    for name, code in (("none", "not_found"), ("p", "not_approved"), ("r", "not_approved")):
        with pytest.raises(ApprovalError) as error:
            store.give(grant(approval=name), told("grant.created"))
        assert error.value.code == code
    clock.now += 101
    with pytest.raises(ApprovalError, match="expired"):
        store.give(grant(approval="p"), told("grant.created"))
    assert "grant.created" not in kinds(store)


def test_two_people_make_one_grant(store: Store, clock: Clock) -> None:
    """A second person adds to the same terms; the same person adds nothing, and a third one comes too late."""
    first = given(store, clock, grant(need=2))
    other = replace(first, givers=(Giver(by="B2", roles=("boss",), at=clock.now + 1),))
    assert given(store, clock, grant(need=2)) == first
    both = store.give(other, told("grant.created"))
    assert ([giver.by for giver in both.givers], both.status(clock.now)) == (["B1", "B2"], "live")
    with pytest.raises(ApprovalError, match="given from this approval by B1"):
        store.give(replace(first, givers=(Giver(by="B3", roles=("boss",), at=clock.now),)), told("grant.created"))
    assert isinstance(claimed(store, both, key(1)), Won)
    assert kinds(store).count("grant.created") == 2


def test_after_a_backup_was_put_back_no_grant_goes_on(store: Store, clock: Clock) -> None:
    """How often it was used since cannot be known."""
    made = given(store, clock)
    store.restored("disk", {"kind": "store.restored"}, lambda one: (one, {"kind": "call.unknown", "tenant": "acme"}))

    found = store.grant("gr_1")
    assert found is not None
    assert (found.status(clock.now), found.revoked_why) == ("revoked", "a backup was put back")
    assert isinstance(made, Grant)
    assert kinds(store).count("grant.revoked") == 1


def test_a_failed_transaction_draws_nothing(store: Store, clock: Clock) -> None:
    """What cannot be recorded is not counted: the use, the claim and their records stand together or not at all."""
    made = given(store, clock)
    with pytest.raises(Exception, match=r"."):
        claimed(store, made, key(1), drawn=use(made, event=lambda _: {"kind": object()}))

    assert left(store, made) == (0, Decimal(0))
    assert isinstance(claimed(store, made, key(1)), Won)
    assert left(store, made) == (1, Decimal(10))
    assert Record(rows=(), events=()).asks == ()
    assert claim().grant is None
