"""A log of which much is not filed yet answers every filter, and makes every report, as one does of which everything is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import postgres_kit
import pytest
from audit_month_kit import Dial, month, write
from cli_kit import in_process
from search_kit import HOSTILE
from test_filing_tail import unfile
from test_search import SEARCHES, hostile

from guard.auditing import spoofs, timeline
from guard.auditing.log import size, tenants
from guard.auditing.month import report
from guard.core.searching import Sought
from guard.stores import open_store, postgres_filer, sifting
from guard.stores.log import FileLog
from guard.stores.migrations import migrate

FILTERS = {
    "everything": (),
    "refused": ("--refused",),
    "held": ("--held",),
    "spoof": ("--spoof",),
    "shadow": ("--shadow",),
    "approved by": ("--approved-by", "m.okafor"),
    "actor": ("--actor", "j.lindqvist"),
    "principal": ("--principal", "E10001"),
    "person": ("--person", "E10002", "--tenant", "acme"),
    "person whom nobody knows": ("--person", "nobody@example.com"),
    "tool": ("--tool", "weather"),
    "tool, seldom": ("--tool", "get_invoice", "--refused"),
    "reason": ("--reason", "rule_refused"),
    "kind": ("--kind", "approval.resolved"),
    "kinds": ("--kind", "approval.*"),
    "tenant": ("--tenant", "globex"),
    "conversation": ("--conversation", "conv-000150"),
    "conversation and kind": ("--conversation", "conv-000150", "--kind", "call.end"),
    "a month": ("--month", "2026-11"),
    "a week": ("--since", "2026-11-20", "--until", "2026-11-27"),
    "the newest": ("--limit", "7"),
    "the newest of a tool": ("--tool", "refund", "--limit", "3"),
    "the newest before a day": ("--until", "2026-11-20", "--limit", "3"),
}
ASKED = {
    **{name: sought for name, (sought, _) in SEARCHES.items()},
    "a tag": Sought(tags=("nobody",)),
    "day": Sought(until=1_793_900_000.0),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders with the same log of a month and of hostile texts: one wholly filed, one of which the last two thirds are not."""
    filed = tmp_path_factory.mktemp("filed")
    clock = Dial(0.0)
    with closing(open_store(f"sqlite:///{filed}/guard.db", clock=clock)) as store:
        number = write(store, month("2026-11", conversations=200), clock, page=20)
        for text in HOSTILE.values():
            store.record((), hostile(text))
        store.catch_up()
    lying = tmp_path_factory.mktemp("lying")
    shutil.copy(filed / "guard.db", lying / "guard.db")
    unfile(lying / "guard.db", number // 3)
    return filed, lying


@pytest.fixture(params=[0, sifting.LEAST], ids=["sifted", "read"])
def least(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little lies unfiled, texts are looked through; or all are read."""
    monkeypatch.setattr(sifting, "LEAST", request.param)


@pytest.mark.usefixtures("least")
@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_shows_the_same(
    logs: tuple[Path, Path], name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """To the last character; most filters find something."""
    told = [in_process(folder, monkeypatch, capfd)("audit", *FILTERS[name], "--json") for folder in logs]
    assert told[0] == told[1]
    assert (told[0].out == "") is (name in {"shadow", "person whom nobody knows"})


def answers(log: Any) -> dict[str, Any]:
    """What a log says to whoever asks for anything."""
    found: dict[str, Any] = {"size": size(log), "tenants": tenants(log)}
    for tenant in (None, "acme"):
        found[f"report {tenant}"] = {**report(log, "2026-11", tenant=tenant), "made_at": "", "over": ""}
    for name, sought in ASKED.items():
        for newest in (True, False):
            one = replace(sought, newest=newest)
            found[f"search {name} {newest}"] = log.search(one)
            found[f"columns {name} {newest}"] = log.filed(one, ("at", "ts", "tool", "spoof"))
        if sought.limit is None:
            found[f"counts {name}"] = (log.tally(sought, ("day", "kind", "verdict")), log.tally(sought, ()))
    found["spoofs"] = list(spoofs.proposals(log, Sought()))
    found["life"] = [timeline.life(log, place) for place in timeline.candidates(log, "conv-000150/1/0")]
    return found


@pytest.mark.usefixtures("least")
def test_searches_counts_lives_and_reports_are_the_same(logs: tuple[Path, Path]) -> None:
    """Asked through a log that only reads, in whatever order."""
    with closing(FileLog(logs[0] / "guard.db")) as filed, closing(FileLog(logs[1] / "guard.db")) as lying:
        assert answers(lying) == answers(filed)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database in which nobody files by himself."""
    monkeypatch.setattr(postgres_filer, "MOMENT", 600.0)
    with postgres_kit.database() as url:
        migrate(url)
        yield url


@pytest.mark.slow
def test_on_postgresql_they_are_the_same_too(server: str) -> None:
    """Of all chains together."""
    clock = Dial(0.0)
    with closing(open_store(server, clock=clock)) as store:
        write(store, month("2026-11", conversations=60), clock)
        for text in HOSTILE.values():
            store.record((), hostile(text))
        assert postgres_kit.run(server, "SELECT COUNT(*) FROM filed") == [(0,)]
        lying = answers(store)
        store.catch_up()
        assert answers(store) == lying
