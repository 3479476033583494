"""Query: what `guard audit` shows of the records that were asked for: a table, lines of JSON or CSV, once or as they come. Only reads."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain as joined
from itertools import islice

from guard.auditing import left, spoofs
from guard.auditing import log as logs
from guard.auditing.entry import Entry, entry
from guard.auditing.log import Log
from guard.cli import audit_csv, audit_filters
from guard.cli.places import UsageError
from guard.cli.records import HEADS, json_line, row, table_lines, verdict_line
from guard.cli.tables import columns
from guard.core.searching import Sought
from guard.stores import filing
from guard.stores.chain import Verified, verify_chains

SHOWN = 200  # records of a table, unless --limit says otherwise
CHECKED = 50_000  # records that are checked on the way, in about a second
_POLL = 0.5  # seconds between two looks


def show(log: Log, arguments: argparse.Namespace) -> int:
    """Show the records. Exit code 1 when the chain was checked and does not hold."""
    asked = audit_filters.sought(arguments, log)
    whole = logs.size(log)
    plain = arguments.json or arguments.csv
    limit = arguments.limit or (None if plain else SHOWN)
    chosen = _chosen(log, asked, limit, filtered=audit_filters.given(arguments), whole=whole)
    first = next(found := iter(chosen), None)
    none = ["no record matches"] if first is None and whole else []
    more = (plain or not none) and _print(() if first is None else joined([first], found), arguments, limit)
    checked = (
        verify_chains({chain: log.audit(chain=chain) for chain in range(log.chains)}, log.beginnings())
        if whole <= CHECKED
        else None
    )
    for line in (*none, *_last(more and not arguments.limit, whole, checked)):
        print(line, file=sys.stderr if plain or (checked is not None and not checked.ok) else sys.stdout)
    audit_filters.tell_unknown_tool(arguments, log)
    if not more or asked.since is not None:
        _tell_left(log, asked)
    return 0 if checked is None or checked.ok else 1


def _tell_left(log: Log, asked: Sought) -> None:
    """Say which of the months that were asked for are not in the store any more."""
    for one in left.left(log, asked.since, asked.until):
        print(f"guard: {left.told(one)}", file=sys.stderr)


def _chosen(log: Log, asked: Sought, limit: int | None, *, filtered: bool, whole: int) -> Iterable[Entry]:
    """Oldest first, the newest ones where there is a limit. Without a filter every record is read, filed or not."""
    if asked.spoof:
        proposed = spoofs.proposals(log, asked)
        return proposed if limit is None else list(proposed)[-limit - 1 :]
    if limit is None:
        return logs.found(log, replace(asked, newest=False)) if filtered else logs.every(log)
    if not filtered and whole <= CHECKED:
        return list(logs.every(log))[-limit - 1 :]
    return list(logs.found(log, replace(asked, limit=limit + 1)))[::-1]


def _print(chosen: Iterable[Entry], arguments: argparse.Namespace, limit: int | None) -> bool:
    """Print them; whether there were more than the limit."""
    more = False
    if limit is not None:
        held = list(chosen)
        chosen, more = held[-limit:], len(held) > limit
    if arguments.csv:
        said = audit_csv.loss(audit_csv.write(chosen, sys.stdout))
        if said:
            print(f"guard: {said}", file=sys.stderr)
        return more
    for line in map(json_line, chosen) if arguments.json else table_lines(list(chosen)):
        print(line)
    return more


def _last(more: bool, whole: int, checked: Verified | None) -> Iterator[str]:  # noqa: FBT001 - what was found
    if more:
        yield "older ones are not shown: narrow the search, or write --limit N"
    yield f"{whole} records, not checked here (run: guard audit verify)" if checked is None else verdict_line(checked)


# -- as they come ------------------------------------------------------------------------------------------------------


def follow(log: Log, arguments: argparse.Namespace) -> int:
    """Show the newest records and then each one as it is written, until Ctrl-C."""
    if arguments.csv:
        raise UsageError("--follow and --csv: a CSV file has an end (write --json)")
    asked = audit_filters.sought(arguments, log)
    cursors = dict.fromkeys(range(log.chains), 0)
    for chain in cursors:
        cursors[chain] = _end(log, chain)
    most, lines = arguments.limit or 10, _Lines(json=arguments.json)
    once = spoofs.Once(log, replace(asked, since=log.now())) if asked.spoof else None
    first = (
        list(logs.found(log, replace(asked, limit=most)))[::-1] if once is None else list(spoofs.proposals(log, asked))[-most:]
    )
    audit_filters.tell_unknown_tool(arguments, log)
    if asked.since is not None:
        _tell_left(log, asked)
    try:
        lines.put(first)
        while True:
            time.sleep(_POLL)
            new = _new(log, asked, cursors)
            lines.put(new if once is None else filter(once.new, new))
    except KeyboardInterrupt:
        return 0


def _end(log: Log, chain: int) -> int:
    """The seq of the newest record of a chain."""
    high = 1
    while log.audit(chain=chain, after=high - 1, limit=1):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log.audit(chain=chain, after=middle - 1, limit=1) else (low, middle)
    return low


def _new(log: Log, asked: Sought, cursors: dict[int, int]) -> list[Entry]:
    found = []
    for chain, after in cursors.items():
        page = log.audit(chain=chain, after=after, limit=logs.PAGE)
        if page:
            cursors[chain] = page[-1].seq
            found += [entry(one) for _, one in filing.scan(page, replace(asked, newest=False))]
    return sorted(found, key=lambda one: one.text("ts"))


class _Lines:
    """Lines as they come: a column grows when a cell needs it."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._widths = [len(head) for head in HEADS]
        self._begun = False

    def put(self, found: Iterable[Entry]) -> None:
        """Show some more."""
        rows = list(islice(found, None))
        if self._json:
            for one in rows:
                print(json_line(one), flush=True)
            return
        cells = [row(one) for one in rows]
        for line in columns(HEADS, cells, self._widths, head=not self._begun):
            print(line, flush=True)
        self._begun = True
