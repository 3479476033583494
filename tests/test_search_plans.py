"""By which index a search finds its records: of two that would do, the one that leads past fewer of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from search_kit import log
from stores_kit import Clock, records

from guard.core.searching import Sought
from guard.stores import filing, filing_sql, open_store

TIMES = {"since": 1_800_000_000.0, "until": 1_800_000_100.0}
MANY = tuple(f"c{number}" for number in range(200))
PLANS = {
    "a kind": (Sought(kinds=("call.end",), **TIMES), "filed_kind (kind=? AND at>? AND at<?)"),
    "a kind of conversations": (Sought(kinds=("call.end",), conversation=MANY, **TIMES), "filed_conversation (conversation=?)"),
    "kinds of a conversation": (Sought(kinds=("approval.*",), conversation="c", **TIMES), "filed_conversation (conversation=?)"),
    "a kind of an approval": (Sought(kinds=("call.end",), approval="ap", tenant="acme", **TIMES), "filed_approval (approval=?)"),
    "a kind of a call": (Sought(kinds=("call.end",), call="c", **TIMES), "filed_call (call=?)"),
    "approvals": (Sought(kinds=("approval.*",), asked=True, tenant="acme", **TIMES), "filed_asked (at>? AND at<?)"),
    "newest of a tenant": (Sought(tenant="acme", limit=10), "filed_at"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_search_goes_by_the_index_that_leads_past_fewest(tmp_path: Path, name: str) -> None:
    """A conversation, a call and an approval have few records, a kind and a span of time many."""
    sought, index = PLANS[name]
    path = tmp_path / "guard.db"
    open_store(f"sqlite:///{path}", clock=Clock()).close()
    with closing(sqlite3.connect(path)) as file:
        statement, values = filing_sql.filed(sought, ("seq",))
        plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(line.endswith(f"INDEX {index}") for line in plan), plan


@pytest.mark.parametrize("newest", [True, False])
def test_a_page_of_a_span_of_time_begins_behind_the_one_before(newest: bool) -> None:
    """Not at the beginning of the span, from where every page would take longer than the one before."""
    asked = Sought(newest=newest, behind=(1_800_000_050_000_000, 0, 7), **TIMES)
    statement, values = filing_sql.search(asked)
    wanted = (1_800_000_000_000_000, 1_800_000_050_000_001) if newest else (1_800_000_050_000_000, 1_800_000_100_000_000)
    assert tuple(values[:2]) == wanted
    assert "f.at >= ? AND f.at < ?" in statement


def test_days_are_counted_one_by_one_and_add_up(tmp_path: Path) -> None:
    """A span that begins and ends within a day, and one that is too long to be counted so."""
    clock = Clock(1_800_000_000.0)
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)) as store:
        for _ in range(40):
            store.record((), log()[:4])
            clock.now += 50_000
        store.catch_up()
        every = records(store)
        for since, until in (
            (1_800_030_000.0, 1_801_000_000.0),
            (1_800_000_000.0, 1_900_000_000.0),
            (1_800_000_000.0, 1_800_000_000.0),
        ):
            for by in (("day",), ("day", "verdict")):
                sought = Sought(since=since, until=until, tenant="acme")
                assert store.tally(sought, by) == filing.count(every, sought, by)
