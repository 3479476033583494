"""Verifying: the log that `guard audit verify` reads, opened for writing only where a record is to say that somebody verified it.

An auditor may have the file on a medium that nobody can write, and is told that no record was made: that is no failure. Used by `audit_verify`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from guard.cli import whose
from guard.cli.places import RESTORED, UsageError, check_file, existing_store
from guard.cli.show import spell
from guard.core import audit_proofs
from guard.core.log import Counted, Head, Rowed, Sealed, Stray, Tabled
from guard.core.ports import Store
from guard.core.values import Json
from guard.errors import StoreError
from guard.proof.checking import Report, plain

_UNWRITABLE = ("read_only", "unavailable")


class Verifiable(Protocol):
    """What is read of a store in order to verify it: a part of `Store`, and of a file that is opened for reading alone."""

    chains: int

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> Sequence[Sealed]:
        """See `Store`."""

    def heads(self) -> Mapping[int, Head]:
        """See `Store`."""

    def strays(self) -> Sequence[Stray]:
        """See `Store`."""

    def tabled(self) -> Mapping[str, Tabled]:
        """See `Store`."""

    def ledgered(
        self, after: tuple[Any, ...] = (), limit: int = 1000
    ) -> tuple[tuple[Any, ...], Sequence[Rowed], Mapping[int, Head]]:
        """See `Store`."""

    def counted(self, after: str = "", limit: int = 1000) -> tuple[str, Sequence[Counted], Mapping[int, Head]]:
        """See `Store`."""

    def overdrawn(self) -> tuple[str, ...]:
        """See `Store`."""


Recorder: TypeAlias = Callable[[Report], str]
"""Writes down what was found; why it did not, empty where it did or was not asked to."""


@contextmanager
def verifiable(url: str, *, record: bool, policy: str | None = None) -> Iterator[tuple[Verifiable, Recorder]]:
    """The log of a store that is there already, and what writes down that it was verified, by whom the folder `policy` names (see `whose`). Raises UsageError where it is not there."""
    path = _file(url)
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


def _file(url: str) -> Path | None:
    """The file that a URL names, where it names one as `open_store` takes it."""
    scheme, _, rest = url.partition("://")
    return Path(rest.removeprefix("/")) if scheme == "sqlite" and rest[:1] == "/" and not {*"?#"} & {*rest} else None


@contextmanager
def _reading(path: Path) -> Iterator[Verifiable]:
    check_file(path)
    from guard.stores.log import FileLog  # noqa: PLC0415 - a store is imported when it is opened

    try:
        log = FileLog(path)
    except StoreError as error:
        raise UsageError(f"{spell(str(path))}: {error}") from error
    with closing(log):
        if not log.current:
            raise UsageError(
                f"{spell(str(path))}: the store is of another version; open a copy that can be written once, without --no-record"
            )
        if log.older:
            print(f"guard: {RESTORED}", file=sys.stderr)
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
