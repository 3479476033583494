"""Numbered: the files of an export as they lie in a folder: their names, what the newest one holds, and which records stand in any of them.

Only reads. Comes after `core.exported`; before jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from guard.core.exported import read_first, read_record
from guard.core.ports import Sealed

_DIGITS = 6


@dataclass(slots=True, kw_only=True)
class Found:
    """The newest file: its number (0: there is none), how many bytes of it are whole lines, and how far the chains go with it."""

    number: int = 0
    good: int = 0
    heads: dict[int, tuple[int, str]] = field(default_factory=dict)


class Numbered:
    """The files `NAME.000001.jsonl`, `NAME.000002.jsonl`, … beside `base`, which is `NAME.jsonl`. `chained`: they begin with a line of heads."""

    def __init__(self, base: Path, *, chained: bool) -> None:
        self._base, self._chained = base, chained
        self._names = re.compile(rf"{re.escape(base.stem)}\.([0-9]{{{_DIGITS},}}){re.escape(base.suffix)}")

    def path(self, number: int) -> Path:
        """The file of a number."""
        return self._base.with_name(f"{self._base.stem}.{number:0{_DIGITS}}{self._base.suffix}")

    def numbers(self) -> list[int]:
        """The numbers of the files that there are, the newest first."""
        if not self._base.parent.is_dir():
            return []
        found = (self._names.fullmatch(one.name) for one in self._base.parent.iterdir())
        return sorted((int(one[1]) for one in found if one is not None), reverse=True)

    def newest(self) -> Found:
        """What the newest file holds. Raises OSError, and ValueError for one that is no export."""
        numbers = self.numbers()
        if not numbers:
            return Found()
        found = Found(number=numbers[0])
        with self.path(numbers[0]).open("rb") as file:
            for number, line in enumerate(file):
                if not line.endswith(b"\n"):
                    break
                found.good += len(line)
                if self._chained and not number:
                    found.heads = read_first(line.decode())[1]
                elif self._chained:
                    one = read_record(line[:-1].decode())
                    found.heads[one.chain] = (one.seq, one.hash)
        return found

    def holds(self, wanted: Sealed) -> bool:
        """Whether some file holds this very record; the newest file is asked first."""
        return any(self._in(number, wanted) for number in self.numbers())

    def _in(self, number: int, wanted: Sealed) -> bool:
        end = f',"hash":"{wanted.hash}"}}\n'.encode()
        return any(line.endswith(end) for line in self._lines(number))

    def _lines(self, number: int) -> Iterator[bytes]:
        with self.path(number).open("rb") as file:
            yield from file
