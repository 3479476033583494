"""Rows: calls, counters and budgets of a store, held against its records page by page, each page as of one moment. Used by `audit_verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from guard.core.log import Head, Verifiable
from guard.proof.chains import Problem
from guard.proof.tables import Replay

_PAGE, _TOLD = 2000, 50


class _Behind:
    """Records that came since the log was read: they are taken in up to the moment of a page, and no further."""

    def __init__(self, store: Verifiable, replay: Replay, heads: Mapping[int, Head]) -> None:
        self._store, self._replay = store, replay
        self._known = {chain: seq for chain, (seq, _) in heads.items()}

    def up_to(self, heads: Mapping[int, Head]) -> None:
        for chain, (seq, _) in heads.items():
            while (after := self._known.get(chain, 0)) < seq:
                page = self._store.audit(chain=chain, after=after, limit=min(_PAGE, seq - after))
                for one in page:
                    self._replay.add(one.chain, one.seq, one.body)
                self._known[chain] = page[-1].seq if page else seq


def rows_against(store: Verifiable, replay: Replay, heads: Mapping[int, Head], *, cut: bool) -> list[Problem]:
    """What rows say that the records do not; `replay` has read these up to `heads`. `cut`: earlier ones left. The first so many are told."""
    if not getattr(store, "blocking", True):
        return []  # nobody but this program can change rows in memory
    found = _against(store, replay, heads, cut=cut)
    first = list(islice(found, _TOLD))
    more = sum(1 for _ in found)
    return [*first, *([Problem("", f"so are {more} more rows")] if more else [])]


def _against(store: Verifiable, replay: Replay, heads: Mapping[int, Head], *, cut: bool) -> Iterator[Problem]:
    behind, ran = _Behind(store, replay, heads), replay.ran
    first = store.heads()
    behind.up_to(first)
    began = ran.began()
    after, rows, now = store.ledgered(limit=_PAGE)
    while rows:
        behind.up_to(now)
        for row in rows:
            yield from ran.row(row, cut=cut)
        after, rows, now = store.ledgered(after, _PAGE)
    yield from ran.missing(began)
    last, talks, now = store.counted(limit=_PAGE)
    while talks:
        behind.up_to(now)
        for talk in talks:
            yield from ran.talks.against(talk, cut=cut)
        last, talks, now = store.counted(last, _PAGE)
    yield from (Problem("", f"budget {one}") for one in store.overdrawn())
