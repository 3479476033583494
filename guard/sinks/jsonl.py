"""JSON lines: an export of the audit in numbered files (`audit.000001.jsonl`, `audit.000002.jsonl`), which continue each other's chains.

Each file begins with a line that says where every chain goes on; a record is written once, also after a crash: what the files hold already is skipped.
Appended only, 0600, flushed to the disk before a batch counts as sent. A file that was deleted, moved or changed while it was open is noticed, goes on
record, and the export goes on in a new file, whose number and first line show what is missing. Comes after port and numbered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from guard.core.exported import first_line, record_line
from guard.core.ports import Sealed
from guard.core.values import encode
from guard.sinks.entry import Entry, entry
from guard.sinks.numbered import Numbered
from guard.sinks.port import SinkError

_NOTHING = (0, "0" * 64)
MOST_BYTES = 100_000_000


class JsonLines:
    """Writes records to files beside `path` (whose last part is `NAME.jsonl`), each at most about `max_bytes` long.

    `form` writes another form than the stored one; such files have no first line and no chain of their own, and after a crash may hold a record twice.
    """

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MOST_BYTES,
        form: Callable[[Entry], object] | None = None,
    ) -> None:
        self.name = name
        self._most, self._form = max_bytes, form
        self._files = Numbered(Path(path), chained=form is None)
        self._file: int | None = None
        self._number = 0
        self._good = 0  # bytes of the open file that count
        self._heads: dict[int, tuple[int, str]] = {}

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        try:
            if self._file is None:
                self._open()
            else:
                self._check()
            self._write(batch)
        except OSError as error:
            self._back()
            raise SinkError(f"it cannot be written: {error.strerror or type(error).__name__}") from None

    def close(self) -> None:
        """Close the file."""
        handle, self._file = self._file, None
        if handle is not None:
            os.close(handle)

    def _write(self, batch: Sequence[Sealed]) -> None:
        heads, lines = dict(self._heads), []
        for one in batch:
            if self._form is None and self._known(one, heads):
                continue
            lines.append(self._line(one))
            heads[one.chain] = (one.seq, one.hash)
        size = sum(map(len, lines))
        if not lines:
            return
        if self._good + size > self._most and self._good > len(self._head()):
            self._next()
        self._append(b"".join(lines))
        self._heads = heads

    def _line(self, one: Sealed) -> bytes:
        try:
            text = record_line(one) if self._form is None else encode(self._form(entry(one)))
        except ValueError as error:
            raise SinkError(f"record {one.seq} of chain {one.chain}: {error}") from None
        return text.encode() + b"\n"

    def _known(self, one: Sealed, heads: dict[int, tuple[int, str]]) -> bool:
        """Whether the files hold the record. Raises SinkError, once, where they and the audit have parted."""
        seq, own = heads.get(one.chain, _NOTHING)
        if (one.seq, one.prev) == (seq + 1, own):
            return False
        if one.seq <= seq and self._files.holds(one):
            return True
        self._heads = {**self._heads, one.chain: (one.seq - 1, one.prev)}
        raise self._lost(f"record {one.seq} of chain {one.chain} does not follow what the files hold")

    # -- files ---------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Go on in the newest file, without a line that was cut off; the first time make one."""
        try:
            found = self._files.newest()
        except ValueError:
            self._number = self._files.numbers()[0]
            raise self._lost("the newest file holds something else than records") from None
        self._number, self._good, self._heads = found.number, found.good, found.heads
        if not found.number:
            self._next()
            return
        if not found.good and self._form is None:  # not even its first line was written whole
            self._files.path(found.number).unlink()
            self._open()
            return
        self._file = os.open(self._files.path(found.number), os.O_WRONLY | os.O_APPEND)
        os.ftruncate(self._file, self._good)

    def _check(self) -> None:
        """Raise SinkError, once, where the open file is not the one that lies there, or is not as it was left."""
        handle = self._file or 0
        mine = os.fstat(handle)
        try:
            there = self._files.path(self._number).stat()
        except FileNotFoundError:
            raise self._lost("the file was moved or deleted while it was open") from None
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
            raise self._lost("the file was replaced while it was open")
        if mine.st_size != self._good:
            raise self._lost("the file was changed by somebody else while it was open")

    def _lost(self, why: str) -> SinkError:
        """Go on in a new file; what is raised about it."""
        self._next()
        return SinkError(f"{why}: it goes on in file {self._number}", tell=True)

    def _head(self) -> bytes:
        return f"{first_line(self._number, self._heads)}\n".encode() if self._form is None else b""

    def _next(self) -> None:
        """Begin the next file."""
        self.close()
        folder = self._files.path(1).parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._number = max([self._number, *self._files.numbers()[:1]]) + 1
        path = self._files.path(self._number)
        self._file, self._good = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600), 0
        try:
            self._append(self._head())
        except OSError:
            self.close()
            path.unlink(missing_ok=True)
            raise
        _flush_folder(folder)

    def _append(self, data: bytes) -> None:
        """Write all of it and flush it to the disk; until then it does not count."""
        handle, left = self._file or 0, memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
        self._good += len(data)

    def _back(self) -> None:
        """Take back what was written in part; where that cannot be done, the file is looked at anew."""
        if self._file is not None:
            try:
                os.ftruncate(self._file, self._good)
            except OSError:
                self.close()


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
