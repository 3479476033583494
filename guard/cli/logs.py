"""Logs: the audit that a command reads: opened so that it cannot be changed, beside programs that write it. Used by `guard audit`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from guard.auditing.log import Log
from guard.cli.places import RESTORED, UsageError, check_file, existing_store
from guard.cli.show import spell
from guard.errors import StoreError

if TYPE_CHECKING:
    from guard.stores.log import FileLog

SLOW = "this store is of an earlier version, so every record is read; opening it with this version once (guard serve migrate) makes searching quick"


def file_of(url: str) -> Path | None:
    """The file that a URL names, where it names one as `open_store` takes it."""
    scheme, _, rest = url.partition("://")
    return Path(rest.removeprefix("/")) if scheme == "sqlite" and rest[:1] == "/" and not {*"?#"} & {*rest} else None


@contextmanager
def file_log(path: Path) -> Iterator[FileLog]:
    """A file's records, read beside whoever writes them. Raises UsageError where it is no store."""
    check_file(path)
    from guard.stores.log import FileLog  # noqa: PLC0415 - a store is imported when it is opened

    try:
        log = FileLog(path)
    except StoreError as error:
        raise UsageError(f"{spell(str(path))}: {error}") from error
    with closing(log):
        if log.older:
            print(f"guard: {RESTORED}", file=sys.stderr)
        yield log


@contextmanager
def existing_log(url: str) -> Iterator[Log]:
    """The records of a store that is there already. Raises UsageError where it is not."""
    path = file_of(url)
    if path is None:
        with existing_store(url, locked=True) as store:
            yield store
        return
    with file_log(path) as log:
        if not log.indexed:
            print(f"guard: {SLOW}", file=sys.stderr)
        yield log
