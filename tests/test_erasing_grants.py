"""What a grant holds of a person goes with the call that it came from: it ends by that, on record, and the chain stays whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard
from erasing_kit import DAY, HOME, payloads
from stores_kit import REF, Clock, asking, claim, key, kinds, proposal, records, row
from stores_kit import outcome as told
from test_stores_grants import claimed, given, grant

from guard.core.grant_records import given as given_record
from guard.core.granting import Asking, FindGrants
from guard.core.grants import Grant
from guard.core.model import Session
from guard.core.ports import Conflict, Store, Won
from guard.redactors import REDACTOR
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.stores.payload_keys import keyring

PLANTED = "PLANTED-4711-value"
WHERE = {"field": "amount", "at_most": 50, "sum": 90, "where": {"to": PLANTED}, "others": []}
KEYS = "0123456789abcdef" * 4


def made(store: Store, clock: Clock, **fields: Any) -> Grant:
    """A grant for payments to somebody, from the call of turn 90, which is done."""
    found = given(store, clock, grant(constraint=WHERE, reason=f"{PLANTED} is known", salt="s" * 32, **fields))
    fields: Any = {"fingerprint": "first-a1", "mark": "first-a1", "arguments": {"to": PLANTED}}
    assert isinstance(store.claim(claim(key(90), approval="a1", **fields)), Won)
    done = row("done", key(90), attempt=1, outcome=told(arguments={"to": PLANTED}), **fields)
    store.record((replace(done, at=store.now()),), ({"kind": "call.end", "tenant": "acme"},))
    return found


HOW: dict[str, Any] = {
    "the conversation": lambda store: payloads(store).erase(HOME, who="root", reason="request"),
    "the call": lambda store: payloads(store).erase(HOME, who="root", reason="request", calls={(90, 0)}),
    "the person": lambda store: next(payloads(store).erase(home, who="root", reason="r") for home in payloads(store).of("E1")),
}


@pytest.mark.parametrize("how", HOW)
def test_it_ends_with_what_it_came_from(store: Store, clock: Clock, how: str) -> None:
    """Values, amounts, reasons and the salt of its terms are gone; it covers nothing; two records say so, and the chain holds."""
    before = made(store, clock)
    found = HOW[how](store)
    assert found.grants == ("gr_1",)
    after = store.grant("gr_1")
    assert after is not None
    assert (after.status(clock.now), after.revoked_by, after.erased) == ("revoked", "guard", True)
    assert PLANTED not in repr(after)
    assert (after.salt, after.reason, after.terms != before.terms) == ("", None, True)
    assert (after.givers, after.principal, after.scope) == (before.givers, "E1", "amount")
    assert kinds(store)[-2:] == ["grant.revoked", "payload.erased"]
    [record] = [json.loads(one.body) for one in records(store)][-1:]
    assert record["erased"]["grants"] == ["gr_1"]
    assert PLANTED not in "".join(one.body for one in records(store)[-2:])
    [standing] = store.find_grants(FindGrants(calls=(Asking(key=key(1), tool="pay", fingerprint="f"),)))
    assert standing.grants == ()
    assert isinstance(claimed(store, before, key(1), arguments={"to": PLANTED}), Conflict)
    assert HOW[how](store).anything is False
    assert verify_store(store).ok


def test_another_calls_erasure_leaves_it(store: Store, clock: Clock) -> None:
    """Only the call that it came from takes it along; what was drawn on it by an erased call stays counted."""
    before = made(store, clock)
    assert isinstance(claimed(store, before, key(1), 40, arguments={"to": PLANTED}), Won)
    ended = row("done", key(1), fingerprint="fconv-1-1-0", mark="fconv-1-1-0", attempt=1, outcome=told())
    store.record((replace(ended, at=store.now()),), ({"kind": "call.end", "tenant": "acme"},))
    assert payloads(store).erase(HOME, who="root", reason="r", calls={(1, 0)}).grants == ()
    after = store.grant("gr_1")
    assert after is not None
    assert (after.status(clock.now), after.used, after.summed) == ("live", 1, 40)
    assert isinstance(claimed(store, before, key(2), 51, arguments={"to": PLANTED}), Conflict)


def test_a_sweep_leaves_one_in_force_and_takes_it_once_it_is_over(store: Store, clock: Clock) -> None:
    """By age the call goes, and the grant lives on; so many days after its own end it goes, too, though its call is long erased."""
    before = made(store, clock, until=clock.now + 60 * DAY)
    clock.now += 31 * DAY
    [swept] = payloads(store).sweep(30 * DAY)
    assert (swept.calls, swept.grants) == (((90, 0),), ())
    assert isinstance(claimed(store, before, key(1), 5, arguments={"to": PLANTED}), Won)
    clock.now += 30 * DAY
    assert payloads(store).sweep(30 * DAY) == ()
    clock.now += 30 * DAY
    [swept] = payloads(store).sweep(30 * DAY)
    assert (swept.calls, swept.grants) == ((), ("gr_1",))
    after = store.grant("gr_1")
    assert after is not None
    assert (after.status(clock.now), after.erased, after.revoked_at) == ("expired", True, None)
    clock.now -= 80 * DAY  # a clock that steps back wakes nothing
    assert after.status(clock.now) == "expired"
    assert isinstance(claimed(store, before, key(3), 5, arguments={"to": PLANTED}), Conflict)
    assert payloads(store).sweep(0) == ()


@pytest.mark.parametrize("scope", ["same_call", "tool_here"])
def test_an_erased_one_means_nothing_and_not_any(store: Store, clock: Clock, scope: Any) -> None:
    """Without its constraint no call fits it: that there is nothing to hold to never means that anything goes."""
    given_now = {"same_call": {"arguments": "d", "fingerprint": "f"}, "tool_here": {}}[scope]
    known = given(store, clock, grant(scope=scope, constraint=given_now, conversation="conv-1", until=None))
    payloads(store).erase(HOME, who="root", reason="r")
    assert isinstance(claimed(store, known, key(1)), Conflict)
    after = store.grant("gr_1")
    assert after is not None
    assert (after.status(clock.now), after.bounds().field) == ("revoked", None)


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "encrypted"])
def test_no_byte_of_it_is_left_in_the_file(tmp_path: Path, keys: str | None) -> None:
    """Neither in the tables nor in what was freed; and a record's digest of its terms can be guessed by nobody, its salt being gone."""
    clock = Clock()
    more: Any = {} if keys is None else {"keys": keyring(keys)}
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock, **more)
    known = made(store, clock)
    record = given_record(known, Session(principal="B1"), "host", REDACTOR)
    assert known.salt not in json.dumps(record, default=str)
    store.close()
    assert (PLANTED.encode() in (tmp_path / "guard.db").read_bytes()) == (keys is None)
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock, **more)
    payloads(store).erase(HOME, who="root", reason="r")
    assert verify_store(store).ok
    store.close()
    for path in tmp_path.glob("guard.db*"):
        assert PLANTED.encode() not in path.read_bytes()
        assert known.salt.encode() not in path.read_bytes()


def test_the_command_says_so(tmp_path: Path) -> None:
    """`guard audit erase` names the grants that it ended, as text and as JSON."""
    clock = Clock()
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)
    made(store, clock)
    store.ask(asking(proposal("other", now=clock.now, fingerprint="g", at=key(91, ref=REF))))
    store.close()
    ran = guard("audit", "erase", "--call", "conv-1:90:0", "--reason", "r", "--yes", "--json", cwd=tmp_path)
    assert (ran.code, ran.json["conversations"][0]["grants"]) == (0, ["gr_1"])
    assert guard("audit", "--verify", cwd=tmp_path).code == 0
