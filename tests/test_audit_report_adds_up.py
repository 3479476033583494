"""The tiles of a month add up, and its list of changes says what each change was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from search_kit import record
from votes_kit import BOSS, CHIEF, Office, office

from guard.auditing import blocks, month
from guard.core import audit_exports


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path, "memory", ", expires: 1h") as made:
        yield made


def report(desk: Office) -> Any:
    return month.report(desk.guard.store, month.moments.month_of(desk.clock.now))


def tiles(page: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"<dt>([^<]*)</dt><dd>([\d,]*)</dd>", page)}


def test_questions_that_a_kill_ended_have_a_tile_and_were_not_decided_in_time(desk: Office) -> None:
    """Every question stands on exactly one tile, and the section of those that nobody decided names the others."""
    desk.approvals.reject(desk.ask(5, call="c5"), approver=BOSS)
    desk.approvals.approve(desk.ask(1), approver=BOSS)
    for number in (2, 3):
        desk.ask(number, call=f"c{number}")
    desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
    made = report(desk)
    page = blocks.sections(made)
    shown = tiles(page)
    assert (shown["cancelled"], shown["revoked"]) == (2, 1)
    ends = ("approved", "rejected", "expired", "undecided", "cancelled", "revoked", "superseded")
    assert sum(shown[name] for name in ends) == made["totals"]["asked"] == 4
    assert "was decided in time" not in page
    assert "or before the yes was used: 2 cancelled, 1 revoked; see Every approval." in page
    assert "No question expired, and none waits undecided." in page


def test_calls_that_were_allowed_ended_well_or_badly_or_nobody_knows(desk: Office) -> None:
    """A call whose outcome was unknown twice is one; one that came to an end after all stands under its end."""
    store = desk.guard.store

    def call(conversation: str, *kinds: tuple[str, str]) -> None:
        given = [("call.decided", ""), *kinds]
        for kind, status in given:
            how = {"exec": {"status": status}} if status else {"decision": {"verdict": "allow"}}
            store.record((), [record(kind, conversation=conversation, **how)])

    for number in range(3):
        call(f"a{number}", ("call.end", "ok"))
    call("b", ("call.end", "error"))
    call("c", ("call.unknown", "unknown"), ("call.unknown", "unknown"), ("call.reconciled", "ok"))
    call("d", ("call.unknown", "unknown"), ("call.end", "ok"))
    shown = tiles(blocks.sections(report(desk)))
    assert (shown["allowed"], shown["ended well"], shown["failed"], shown["outcome unknown"]) == (6, 4, 1, 1)


def test_changes_and_events_say_what_they_were(desk: Office) -> None:
    """What a kill stopped, why and what it ended; which sink or file records went to, and how many."""
    desk.ask(2)
    kill = desk.guard.kills.set(by=CHIEF, reason="wrong amounts", tool="pay")
    desk.guard.kills.clear(kill.id, by=CHIEF, reason="mended")
    events = [audit_exports.begins("siem", "ocsf", (), {}), audit_exports.ends("siem", "ocsf", 12, {0: 12})]
    taken = audit_exports.taken("report", "audit-2026-11.html", "f" * 64, {"type": "human", "ref": "m"}, "default")
    desk.guard.store.record((), [*events, taken])
    made = report(desk)
    said = {row["kind"]: row["said"] for row in made["changes"]["rows"]}
    where = "the tool pay in every tenant"
    assert said["kill.set"] == f"stopped: {where}; wrong amounts; questions cancelled: 1"
    assert said["kill.cleared"] == f"let go on: {where}; mended"
    exports = [row["said"] for row in made["events"]["rows"] if row["kind"] == "audit.export"]
    taken_along = f"audit-2026-11.html taken along; SHA-256 {'f' * 64}"
    assert exports == ["records go to siem from here on", "12 records sent to siem", taken_along]
