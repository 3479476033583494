"""Logs: the audit that a command reads: opened so that it cannot be changed, beside programs that write it. Used by `guard audit`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from guard.auditing.log import Log
from guard.cli.places import RESTORED, UsageError, check_file, existing_store
from guard.cli.show import spell
from guard.errors import StoreError

SLOW = "this store is of an earlier version, so every record is read; opening it with this version once (guard serve migrate) makes searching quick"


@contextmanager
def existing_log(url: str) -> Iterator[Log]:
    """The records of a store that is there already. Raises UsageError where it is not."""
    scheme, _, rest = url.partition("://")
    path = Path(rest.removeprefix("/"))
    if scheme != "sqlite" or not rest.startswith("/") or "?" in rest or "#" in rest:
        with existing_store(url, locked=True) as store:
            yield store
        return
    check_file(path)
    from guard.stores.log import FileLog  # noqa: PLC0415 - a store is imported when it is opened

    try:
        log = FileLog(path)
    except StoreError as error:
        raise UsageError(f"{spell(str(path))}: {error}") from error
    with closing(log):
        for said in [*([RESTORED] if log.older else []), *([] if log.indexed else [SLOW])]:
            print(f"guard: {said}", file=sys.stderr)
        yield log
