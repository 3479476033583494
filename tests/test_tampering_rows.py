"""Rows of calls, claims, counters and budgets that were changed past the guard, so that a call may run again or counts as done: all of it is found, on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stores_kit import url_of
from test_tampering_tables import KINDS, problems, run
from votes_kit import BOSS, PAY, Office

from guard.cli.audit_verify import stored_report

LIMITED = PAY.replace("limits: {{run: {{calls: 1000}}}}", "limits: {{conversation: {{calls: 1000}}}}")
WAYS: dict[str, tuple[str, str]] = {
    "started-again": ("UPDATE calls SET status = 'started' WHERE {paid}", "is started in the store, and ended by the records"),
    "held-again": ("UPDATE calls SET status = 'held', attempt = 0 WHERE {paid}", "at attempt 0 in the store"),
    "held-with-its-attempt": ("UPDATE calls SET status = 'held' WHERE {paid}", "is held in the store, and began by the records"),
    "failed-in-the-row": ("UPDATE calls SET status = 'failed' WHERE {paid}", "no record says that it failed"),
    "unknown-in-the-row": ("UPDATE calls SET status = 'unknown' WHERE {paid}", "is unknown in the store, and ended well"),
    "refused-in-the-row": ("UPDATE calls SET status = 'refused' WHERE {paid}", "no record says that it did not run"),
    "an-alias": ("UPDATE calls SET status = 'alias' WHERE {paid}", "is alias in the store, and began by the records"),
    "another-tool": ("UPDATE calls SET tool = 'other' WHERE {paid}", "has another tool in the store (other)"),
    "another-kind": ("UPDATE calls SET kind = 'read' WHERE {paid}", "has another kind in the store (read)"),
    "another-effect": ("UPDATE calls SET effect = 'idempotent' WHERE {paid}", "has another effect in the store (idempotent)"),
    "another-attempt": ("UPDATE calls SET attempt = 2 WHERE {paid}", "at attempt 2 in the store, and at attempt 1"),
    "claim-taken-out": ("DELETE FROM claims WHERE {paid}", "may be taken again in the store"),
    "row-taken-out": ("DELETE FROM calls WHERE {paid}", "is not among the calls of the store"),
    "row-moved": ("UPDATE calls SET turn = 77 WHERE {paid}", "is not among the calls of the store"),
    "another-outcome": ("UPDATE calls SET outcome = REPLACE(outcome, 'paid', 'paId') WHERE {paid}", "has another outcome"),
    "done-without-an-end": ("UPDATE calls SET status = 'done' WHERE {held}", "no record says that it ended well"),
    "started-without-a-begin": ("UPDATE calls SET status = 'started' WHERE {held}", "no record says that it began"),
    "unknown-without-a-record": ("UPDATE calls SET status = 'unknown' WHERE {held}", "no record says that it is unknown"),
    "refused-is-done": ("UPDATE calls SET status = 'done' WHERE {rejected}", "no record says that it ended well"),
    "claim-made-up": (
        "INSERT INTO claims (conversation, turn, position, fingerprint, at) SELECT conversation, turn, position, 'f', 1 FROM calls WHERE {held}",
        "no record says that it began",
    ),
    "turns-counted-back": ("UPDATE conversations SET turns = 1", "was counted back: 1 turns in the store"),
    "runs-counted-back": ("UPDATE conversations SET run = 0, words = 0", "0 messages of the user in the store"),
    "budget-counted-back": ("UPDATE budgets SET total = '0'", "says 0, and"),
    "budget-taken-out": ("DELETE FROM budgets", "is missing, and"),
    "budget-of-nonsense": ("UPDATE budgets SET total = 'x'", "says x, and"),
}
COPY = "CREATE TABLE kept_{0} AS SELECT * FROM {0}"
BACK = ("DELETE FROM {0}", "INSERT INTO {0} SELECT * FROM kept_{0}", "DROP TABLE kept_{0}")
_KEPT = ("calls", "claims", "conversations", "budgets")


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    with url_of(request.param, tmp_path) as url:
        made = Office(tmp_path, url, LIMITED.format(more=""))
        made.say("Please pay.")
        yield made
        made.guard.close()


def test_what_rows_say_of_calls_is_held_against_the_records(desk: Office) -> None:
    """Each way to change a row so that a call may run again, or counts for what it was not, is found and named; as it was, nothing is."""
    places = {}
    for amount, name in enumerate(("paid", "held", "rejected"), 1):
        asked = desk.ask(amount, call=name)
        places[name] = f"turn = {asked.turn} AND position = {asked.position}"
        if name == "paid":
            desk.approvals.approve(asked.id, approver=BOSS)
        elif name == "rejected":
            desk.approvals.reject(asked.id, approver=BOSS)
        desk.settle()
    assert problems(desk.guard.store) == []
    for way, (statement, told) in WAYS.items():
        run(desk.url, *map(COPY.format, _KEPT), statement.format(**places))
        found = [one.what for one in problems(desk.guard.store)]
        assert any(told in one for one in found), (way, found)
        run(desk.url, *(part.format(name) for name in _KEPT for part in BACK))
        assert problems(desk.guard.store) == [], way


def test_all_rows_taken_out_are_found(desk: Office) -> None:
    """Also where not one call is left."""
    asked = desk.ask(1, call="paid")
    desk.approvals.approve(asked.id, approver=BOSS)
    desk.settle()
    run(desk.url, "DELETE FROM calls", "DELETE FROM claims")
    assert any("is not among the calls of the store" in one.what for one in problems(desk.guard.store))


def test_many_changed_rows_are_counted(tmp_path: Path) -> None:
    """The first fifty are told, the others counted."""
    office = Office(tmp_path, f"sqlite:///{tmp_path}/guard.db", PAY.format(more=""))
    office.say("Please pay.")
    for number in range(60):
        office.approvals.reject(office.ask(number + 1, call=f"c{number}").id, approver=BOSS)
    office.settle()
    run(office.url, "UPDATE calls SET status = 'done' WHERE status = 'refused'")
    found = stored_report(office.guard.store, [], None).problems
    assert found[-1].what == "so are 10 more rows"
    assert len(found) == 51
    office.guard.close()
