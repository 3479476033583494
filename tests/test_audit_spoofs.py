"""Spoof attempts are counted as proposals: a call that is judged again before it runs is one attempt, in the report and in `guard audit --spoof`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import Run
from search_kit import record
from votes_kit import BOSS, Office, office

from guard.auditing import month, spoofs
from guard.core.searching import Sought


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path, "sqlite") as made:
        yield made


def test_an_approved_call_is_one_attempt(desk: Office, run: Run) -> None:
    """Its proposal is shown and counted; that it was judged again before it ran is on record, and no second attempt."""
    asked = desk.ask(account="A-2")
    desk.approvals.approve(asked.id, approver=BOSS)
    desk.settle()
    desk.propose(7, call="c2", account="A-3")
    decided = [one for one in desk.events("call.decided") if one.get("spoof")]
    assert [one["decision"]["verdict"] for one in decided] == ["hold", "allow", "hold"]
    store = desk.guard.store
    now = month.moments.month_of(desk.clock.now)
    made = month.report(store, now)
    assert made["totals"]["spoof_attempts"] == made["spoofs"]["all"] == len(made["spoofs"]["rows"]) == 2
    assert [row["verdict"] for row in made["spoofs"]["rows"]] == ["hold", "hold"]
    url = ("--store", desk.url, "--json", "--spoof")
    shown = [json.loads(line)["id"] for line in run("audit", *url).out.splitlines()]
    assert shown == [decided[0]["id"], decided[2]["id"]]
    assert [json.loads(line)["id"] for line in run("audit", *url, "--limit", "1").out.splitlines()] == shown[1:]


def test_an_attempt_of_last_month_is_not_one_of_this(desk: Office) -> None:
    """Where a question waits over the end of a month, the attempt stands in the month of its proposal; what belongs to no call counts as it is."""
    store, clock = desk.guard.store, desk.clock
    spoof = record("call.decided", spoof=["user_id"], decision={"verdict": "hold"})
    store.record((), [spoof])
    clock.now += 100
    since = clock.now
    clock.now += 100
    store.record((), [spoof, {"kind": "x.y", "spoof": ["a"]}, {"kind": "x.y", "spoof": ["a"]}])
    assert spoofs.count(store, Sought()) == 3
    assert spoofs.count(store, Sought(since=since)) == 2
    assert spoofs.count(store, Sought(until=since)) == 1
    assert [one.text("kind") for one in spoofs.proposals(store, Sought(since=since))] == ["x.y", "x.y"]
