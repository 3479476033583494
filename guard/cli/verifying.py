"""Verifying: the log that `guard audit verify` reads, opened for writing only where a record is to say that somebody verified it.

An auditor may have the file on a medium that nobody can write, and is told that no record was made: that is no failure. Used by `audit_verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from guard.cli import whose
from guard.cli.logs import file_log, file_of
from guard.cli.places import UsageError, existing_store
from guard.cli.show import spell
from guard.core import audit_proofs
from guard.core.log import Verifiable
from guard.core.ports import Store
from guard.core.values import Json
from guard.errors import StoreError
from guard.proof.checking import Report, plain

_UNWRITABLE = ("read_only", "unavailable")


Recorder: TypeAlias = Callable[[Report], str]
"""Writes down what was found; why it did not, empty where it did or was not asked to."""


@contextmanager
def verifiable(url: str, *, record: bool, policy: str | None = None) -> Iterator[tuple[Verifiable, Recorder]]:
    """The log of a store that is there already, and what writes down that it was verified, by whom the folder `policy` names (see `whose`). Raises UsageError where it is not there."""
    path = file_of(url)
    if path is not None and not record:
        with _reading(path) as log:
            yield log, lambda _: ""
        return
    opened = existing_store(url, locked=True)
    try:
        store = opened.__enter__()  # apart from what is done with it, whose errors are its own
    except UsageError as error:
        if path is None or getattr(error.__cause__, "code", "") not in _UNWRITABLE:
            raise
        with _reading(path) as log:
            yield log, lambda _: "the file cannot be written"
        return
    with closing(store):
        actor = whose.actor(store, policy) if record else {}
        yield store, (lambda report: recorded(store, report, actor)) if record else lambda _: ""


@contextmanager
def _reading(path: Path) -> Iterator[Verifiable]:
    with file_log(path) as log:
        if not log.current:
            raise UsageError(
                f"{spell(str(path))}: the store is of another version; open a copy that can be written once, without --no-record"
            )
        yield log


def recorded(store: Store, report: Report, actor: Mapping[str, Json]) -> str:
    """Write down that the log was verified, by whom, up to where and with which verdict; why that could not be."""
    event = audit_proofs.verified(actor, report.heads, _found(report))
    try:
        store.record((), [event])
    except StoreError as error:
        return str(error)
    return ""


def _found(report: Report) -> dict[str, Json]:
    """What a record keeps of a report: no text of it, since that may name files."""
    told = plain(report)
    found: dict[str, Json] = {
        "verdict": "whole" if report.ok else "broken",
        "proved": "nothing" if not report.ok else "checkpoint" if report.newest is not None and not report.unsigned else "chain",
        "records": report.records,
        "signatures": str(told["signatures"]),
    }
    if report.newest is not None:
        found["checkpoint"] = {"number": report.newest.number, "time": report.newest.time, "records": report.newest.records}
    if report.problems:
        placed = next((one for one in report.problems if type(one.chain) is int and type(one.seq) is int), None)
        found["problems"] = len(report.problems)
        found |= {} if placed is None else {"first": {"chain": placed.chain, "seq": placed.seq}}
    return found
