"""Records that are about no single call (kills, grants, gaps, sinks, months, verifications): each says what it is about wherever somebody reads it."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from record_walk_kit import Walk
from stores_kit import records

from guard.auditing import blocks, month
from guard.auditing.entry import entry
from guard.auditing.steps import step
from guard.cli.audit_csv import write
from guard.sinks.cloudevents import cloudevent
from guard.sinks.entry import entry as sunk
from guard.sinks.entry import grave
from guard.sinks.formats import record
from guard.sinks.ocsf import ocsf
from guard.sinks.syslog import message

SAID = {
    "policy.loaded": "version ",
    "role.changed": "people added: cy",
    "config.changed": "tools changed: pay",
    "grant.created": "scope tool_here, pay for E1; uses 2",
    "grant.revoked": "used 1; enough",
    "kill.set": "stopped: the tool both in every tenant; wrong amounts; questions cancelled: 1; unused yeses revoked: 1",
    "kill.cleared": "let go on: the tool both in every tenant; mended",
    "audit.gap": "store_unavailable; 2027-01-15T09:18:20.000000Z to 2027-01-15T09:18:21.000000Z; refused, read: 1",
    "audit.export": "audit.html taken along; SHA-256 000",
    "audit.verify": "the log was verified and holds",
    "audit.segment_closed": "2026-12 was closed: 9 records",
    "audit.segment_dropped": "the records up to the end of 2026-12 left",
    "payload.erased": "calls: 1; asked for",
    "store.restored": "backup of the night before",
    "sink.spooled": "archive; records: 2 (1 to 2); the disk is full",
    "sink.dropped": "archive; records: 2 (1 to 2); the disk is full",
    "sink.failed": "archive; a file is gone",
}
"""What the report of a month says of a record of each kind among its changes and events."""


def test_the_report_says_what_each_change_and_event_is_about(walk: Walk) -> None:
    """Who and when stand beside it; no row is empty, on the page neither."""
    made: Any = month.report(walk.guard.store, "2027-01")
    rows = [*made["changes"]["rows"], *made["events"]["rows"]]
    assert {row["kind"] for row in rows} == set(SAID)
    found = {row["kind"]: row["said"] for row in reversed(rows)}
    assert [(kind, found[kind]) for kind, text in SAID.items() if text not in found[kind]] == []
    page = blocks.sections(made)
    assert [row["said"] for row in rows if not row["said"] or row["said"].replace("'", "&#x27;") not in page] == []


def test_the_report_counts_kills(walk: Walk) -> None:
    """How often somebody stopped calls, as a figure, and how many calls were refused by it among the reasons; for each tenant those that concern it."""
    made: Any = month.report(walk.guard.store, "2027-01")
    assert made["totals"]["kills"] == 1
    assert '<div class="r"><dt>kills</dt><dd>1</dd></div>' in blocks.sections(made)
    assert {row["reason"]: row["count"] for row in made["reasons"]}["killed"] >= 1
    for tenant in ("default", "acme"):
        assert month.report(walk.guard.store, "2027-01", tenant=tenant)["totals"]["kills"] == 1, (
            "it names no tenant, so it is for all"
        )
    assert month.report(walk.guard.store, "2026-12")["totals"]["kills"] == 0


def test_what_is_not_read_of_how_unknown_calls_ended_is_said(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that read as many records as it reads says so in its JSON and on its page, and another one does not."""
    whole: Any = month.report(walk.guard.store, "2027-01")
    assert (whole["unknown"]["cut"], whole["unknown"]["rows"][0]["ended"]) == (False, "found out that it took effect")
    assert "than one report reads" not in blocks.sections(whole)
    monkeypatch.setattr(month, "_SETTLED", 1)
    cut: Any = month.report(walk.guard.store, "2027-01")
    assert cut["unknown"]["cut"]
    assert "There are more records of this than one report reads" in blocks.sections(cut)


def test_a_row_of_a_spreadsheet_says_it(walk: Walk) -> None:
    """Which kill with which reason, with which verdict a log was verified, why there is a gap, and why a sink did not take records."""
    out = io.StringIO()
    write(map(entry, records(walk.guard.store)), out)
    rows = {row["kind"]: row for row in csv.DictReader(io.StringIO(out.getvalue()))}
    kill = rows["kill.set"]
    assert (kill["status"], kill["said"], kill["tool"], kill["actor"]) == ("set", "wrong amounts", "both", "B1")
    assert kill["kill"] == rows["kill.cleared"]["kill"] == rows["approval.cancelled"]["kill"]
    assert (rows["kill.cleared"]["status"], rows["kill.cleared"]["said"]) == ("cleared", "mended")
    assert (rows["audit.verify"]["status"], rows["audit.gap"]["reason"]) == ("whole", "store_unavailable")
    assert (rows["sink.dropped"]["reason"], rows["grant.revoked"]["said"]) == ("the disk is full", "enough")


def test_every_kind_goes_out_in_every_form(walk: Walk) -> None:
    """With its own kind and body; what somebody should look at is no mere information."""
    for one in map(sunk, records(walk.guard.store)):
        told, event = ocsf(one), cloudevent(one)
        assert (told["metadata"]["event_code"], event["type"], record(one)["kind"]) == (one.kind, f"guard.{one.kind}", one.kind)
        assert told["unmapped"]["guard"]["body"] == event["data"] == one.body
        refused = one.text("decision", "verdict") == "refuse"
        assert (told["severity"] == "Medium") == grave(one)
        assert message(one, 65_536).startswith(b"<108>" if grave(one) or refused else b"<110>")
    kinds = {one.kind for one in map(sunk, records(walk.guard.store)) if grave(one)}
    assert kinds == {"audit.gap", "kill.set", "sink.dropped", "store.restored", "call.unknown", "approval.revalidation_failed"}
    [whole] = [one for one in map(sunk, records(walk.guard.store)) if one.kind == "audit.verify"]
    assert grave(type(whole)(whole.sealed, {**whole.body, "verify": {"verdict": "broken"}}))


def test_a_record_that_is_shown_alone_says_it_too(walk: Walk) -> None:
    """As `guard audit show` and the console tell it."""
    told = {one.kind: (one.told, dict(one.facts).get("says", "")) for one in map(step, map(entry, records(walk.guard.store)))}
    for kind in ("audit.gap", "kill.set", "policy.loaded", "config.changed", "sink.dropped", "grant.created"):
        assert SAID[kind] in told[kind][1], kind
    assert told["audit.gap"][0] == "audit gap"
