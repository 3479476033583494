"""What a kill holds of persons goes, by age once it was cleared and with a person who is erased; what it stops goes on being stopped, and the chain holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run
from erasing_kit import DAY
from record_kit import fitting
from votes_kit import BOSS, LASTING, Office, office

from guard import Guard, Session
from guard.cli.audit_verify import stored_report
from guard.core.kills import GONE, Kill
from guard.core.names import is_reference, real
from guard.core.ports import Store
from guard.core.redactor import under
from guard.redactors import REDACTOR
from guard.runner.erasing import Payloads
from guard.stores import open_store
from guard.stores.payload_keys import keyring

KIM = Session(principal="kim.doe@example.com", roles=("chief",))
LEE = Session(principal="lee.roe@example.com", roles=("chief",))
KEYS = "0123456789abcdef" * 4


@pytest.fixture(params=LASTING)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """An office on a store of each kind."""
    with office(tmp_path, request.param) as made:
        yield made


def payloads(desk: Office) -> Payloads:
    """The raw values of an office."""
    return Payloads(desk.guard.store, desk.guard.redactor)


def erase(desk: Office, person: str | None = None, reference: str | None = None, tenant: str | None = None) -> tuple[str, ...]:
    """Erase what a person is called and wrote in kills; of which."""
    theirs = payloads(desk).theirs(person, reference, tenant)
    foreseen = payloads(desk).kills(theirs)
    found = tuple(name for one in payloads(desk).erase_kills(theirs, who="root", reason="request") for name in one.kills)
    assert set(found) == set(foreseen)
    assert payloads(desk).kills(theirs) == payloads(desk).erase_kills(theirs, who="root", reason="again") == ()
    return found


def cleared(desk: Office, store: Store) -> Kill:
    """A kill that was set and cleared just now, in another store or by its own clock."""
    now = desk.guard.hands
    kills = Guard(policy=desk.guard.policy, store=store, tools=now.tools, redactor=under(REDACTOR, store.secret)).kills
    made = kills.set(by=KIM, reason="wrong amounts", tool="pay")
    return kills.clear(made, by=LEE, reason="mended")


def whole(desk: Office) -> bool:
    """Whether log, tables and rows verify."""
    return stored_report(desk.guard.store, [], None).problems == []


def test_age_takes_names_and_reasons_of_what_was_cleared(desk: Office) -> None:
    """So long after it was cleared, no sooner; the record names the kill, and is the last of it: sweeping again finds nothing."""
    kills = desk.guard.kills
    old, live = (kills.set(by=KIM, reason="wrong amounts", tool="pay", conversation=name) for name in ("old", "live"))
    desk.clock.now += 40 * DAY
    kills.clear(old, by=LEE, reason="mended")
    desk.clock.now += 29 * DAY
    assert payloads(desk).sweep(30 * DAY) == ()
    assert [real(one) for one in kills.show(old).people] == [KIM.principal, LEE.principal]
    desk.clock.now += 2 * DAY
    assert [one.kills for one in payloads(desk).sweep(30 * DAY)] == [(old.id,)]
    after = kills.show(old)
    assert (after.reason, after.cleared_why, after.status, after.at) == ("", "", "cleared", old.at)
    assert [real(one) for one in after.people] == [str(one) for one in after.people]
    assert all(map(is_reference, after.people))
    kept = kills.show(live)
    assert (kept.reason, kept.status, real(kept.by)) == ("wrong amounts", "set", KIM.principal)
    [record] = desk.events("payload.erased")
    assert (record["erased"]["kills"], record["actor"], record["tenant"]) == ([old.id], {"type": "clock"}, old.stop.tenant)
    assert "conversation" not in record
    fitting(json.dumps(record))
    assert payloads(desk).sweep(0) == ()
    assert whole(desk)


def test_one_in_force_goes_on_after_its_person_was_erased(desk: Office) -> None:
    """It keeps its reason, is listed and refuses calls; who set it is a reference. Cleared later, it goes by age like any other."""
    kills = desk.guard.kills
    made = kills.set(by=KIM, reason="wrong amounts", tool="pay")
    assert erase(desk, "kim.doe@example.com") == (made.id,)
    desk.restart()
    kills = desk.guard.kills
    [listed] = kills.list()
    assert (listed.id, listed.reason, real(listed.by), listed.by) == (made.id, "wrong amounts", str(made.by), made.by)
    assert desk.propose(1).outcomes[0].reason == "killed"
    [record] = desk.events("payload.erased")
    assert (record["erased"]["kills"], record["actor"]["ref"], "tenant" in record) == ([made.id], "root", False)
    assert whole(desk)
    kills.clear(made, by=LEE, reason="mended")
    desk.clock.now += 31 * DAY
    assert [one.kills for one in payloads(desk).sweep(30 * DAY) if one.kills] == [(made.id,)]
    assert kills.show(made).reason == ""
    assert whole(desk)


@pytest.mark.parametrize(
    ("who", "left"),
    [(KIM, ("", "mended", [None, LEE.principal])), (LEE, ("wrong amounts", "", [KIM.principal, None]))],
    ids=["who-set", "who-cleared"],
)
def test_only_what_is_theirs_goes_with_a_person(desk: Office, who: Session, left: tuple[str, str, list[str | None]]) -> None:
    """By name or by reference: of a kill that one set and another cleared, the other's name and reason stay."""
    kills = desk.guard.kills
    one, two = (kills.set(by=KIM, reason="wrong amounts", tool="pay", conversation=name) for name in ("c1", "c2"))
    for kill in (one, two):
        kills.clear(kill, by=LEE, reason="mended")
    assert erase(desk, reference="person_" + "a" * 40) == erase(desk, "nobody@example.com") == ()
    assert erase(desk, who.principal, tenant="another") == ()
    assert set(erase(desk, reference=str(desk.guard.known(who).who))) == {one.id, two.id}
    for kill in map(kills.show, (one, two)):
        told = [None if is_reference(name) else name for name in map(real, kill.people)]
        assert (kill.reason, kill.cleared_why, told) == left
    assert erase(desk, who.principal) == ()
    assert whole(desk)


def test_a_plain_name_stays_as_it_is_kept(desk: Office) -> None:
    """A name that tells nothing stands in the record as well and stays; what that person wrote goes."""
    kills = desk.guard.kills
    made = kills.set(by=BOSS, reason="wrong amounts", tool="pay", conversation="c1")
    assert erase(desk, BOSS.principal) == ()
    kills.clear(made, by=BOSS, reason="mended")
    assert erase(desk, BOSS.principal) == (made.id,)
    after = kills.show(made)
    assert (after.people, after.reason, after.cleared_why) == ((BOSS.principal, BOSS.principal), "", "")
    assert whole(desk)


def test_a_guard_sweeps_them_on_its_way(desk: Office) -> None:
    """Whoever opens a conversation now and then takes along what is too old."""
    made = desk.guard.kills.set(by=KIM, reason="wrong amounts", tool="pay", conversation="c1")
    desk.guard.kills.clear(made, by=KIM, reason="mended")
    desk.clock.now += 31 * DAY
    desk.guard.open(BOSS, wire="openai-chat", conversation="another")
    assert desk.guard.kills.show(made).reason == ""


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "encrypted"])
def test_no_byte_of_it_is_left_in_the_file(tmp_path: Path, keys: str | None) -> None:
    """Neither in the tables nor in what was freed."""
    more: Any = {} if keys is None else {"keys": keyring(keys)}
    store = open_store(f"sqlite:///{tmp_path}/guard.db", **more)
    with office(tmp_path, "memory") as desk:
        made = cleared(desk, store)
    assert [one.kills for one in Payloads(store, under(REDACTOR, store.secret)).sweep(-1)] == [(made.id,)]
    store.close()
    for path in tmp_path.glob("guard.db*"):
        assert not any(one.principal.encode() in path.read_bytes() for one in (KIM, LEE))


def test_the_commands_say_so(tmp_path: Path, run: Run) -> None:
    """A dry run, the erasure, the sweep and the list each name the kill; who stands in nothing else is found by it."""
    with office(tmp_path, "sqlite") as desk, closing(open_store(desk.url)) as own:
        made = cleared(desk, own)
    words = ("audit", "erase", "--person", KIM.principal, "--reason", "r")
    store = ("--store", desk.url)
    assert f"what they are called and wrote in the kill {made.id}" in run(*words, *store, "--dry-run").err
    assert run(*words, *store, "--dry-run", "--json").json["kills"] == [made.id]
    assert run(*words, *store, "--yes", "--json").json["kills"] == [made.id]
    again = run(*words, *store, "--yes")
    assert (again.code, "no record is about" in again.err) == (1, True)
    swept = run("audit", "sweep", "--keep", "0s", *store)
    assert f"erased names and reasons of the kill {made.id}" in swept.out
    assert GONE in run("kill", "list", "--all", *store).out
    told = run("audit", "--kind", "payload.erased", "--json", *store).out.splitlines()
    assert [json.loads(line)["erased"]["kills"] for line in told] == [[made.id], [made.id]]
