"""The report of a busy month: every question of it counts, however many records there are, and what is cut says so."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from audit_month_kit import Dial, month, write
from stores_kit import url_of

from guard.auditing import blocks, page, questions
from guard.auditing.month import report
from guard.stores import open_store

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_the_same_however_little_is_read_at_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 7 records or of 20,000: figures, charts and lists are the same, with what became of each listed call."""
    clock = Dial(0.0)
    with url_of(kind, tmp_path) as url, closing(open_store(url, clock=clock)) as store:
        write(store, month("2026-11", conversations=400), clock, page=500)
        whole = report(store, "2026-11")
        monkeypatch.setattr(questions, "_PAGE", 7)
        monkeypatch.setattr(questions, "_ASKED", 3)
        assert report(store, "2026-11") == whole
        assert whole["totals"]["asked"] > 10
        assert "ended well" in {row["ran"] for row in whole["approvals"]["rows"]}
        assert (whole["approvals_cut"], whole["grants"]["cut"]) == (False, False)
        cut = report(store, "2026-11", most=20)
        assert cut["approvals_cut"]
        assert "There are more records of approvals than one report reads" in page.whole(cut)
        used = {
            **dict.fromkeys(("grant", "scope", "tool", "for", "approval"), "x"),
            "uses": 1,
            "left": 1,
            "first": "",
            "last": "",
        }
        few = {**whole, "grants": {"all": 1, "rows": [used], "cut": True}}
        assert "There are more records of this than one report reads" in blocks.sections(few)
