"""Reading: what stood in the policy's places at one moment, as bytes: nothing is parsed, so that looking for changes costs little.

What is compiled later is exactly what was read here, whatever happens to the files meanwhile. Comes after source and written; before load.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from guard.errors import Problem
from guard.policy.problems import Problems
from guard.policy.source import File, read_case_files, read_folder

Place: TypeAlias = str | os.PathLike[str]
ROWS = "database"
"""The name of the rules of a database: a problem with a row stands at `database:N`. No file of a folder is called so."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The files of a folder, those that hold its cases, the rules of a database as a file with one line for each row, and what was wrong."""

    place: str
    files: tuple[File, ...]
    cases: tuple[File, ...] = ()
    rows: File | None = None
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    written: tuple[object, ...] = ()  # when each file was written, as the file system says

    @cached_property
    def mark(self) -> str:
        """The same for the same contents, what could not be read included."""
        told = hashlib.sha256()
        for file in (*self.files, *self.cases, *([self.rows] if self.rows else [])):
            _add(told, file.name.encode("utf-8", "surrogateescape"), file.data)
        _add(told, *(str(one).encode("utf-8", "backslashreplace") for one in (*self.errors, *self.warnings)))
        return told.hexdigest()

    @property
    def stamp(self) -> tuple[object, ...]:
        """The same where nobody wrote between two looks: a file that is cut off at both may have been whole between them."""
        return (self.mark, self.written)


def _add(told: hashlib._Hash, *parts: bytes) -> None:
    for part in (str(len(parts)).encode(), *parts):
        told.update(len(part).to_bytes(8, "big"))
        told.update(part)


def read_place(place: Place, rows: File | None = None, problems: Sequence[Problem] = ()) -> Reading:
    """Read the folder. What is wrong is kept with it and told when it is compiled."""
    found = Problems()
    files = read_folder(place, found)
    cases = read_case_files(place, found)
    return Reading(
        place=str(place),
        written=tuple(_written(Path(place, file.name)) for file in (*files, *cases)),
        files=tuple(files),
        cases=tuple(cases),
        rows=rows,
        errors=(*found.errors, *problems),
        warnings=tuple(found.warnings),
    )


def _written(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)
