"""Reading: what stood in the policy's places at one moment, as bytes: nothing is parsed, so that looking for changes costs little.

What is compiled later is exactly what was read here, whatever happens to the files meanwhile. Comes after source and written; before load.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from guard.errors import GuardError, Problem
from guard.policy.problems import Problems
from guard.policy.source import File, read_case_files, read_folder

Place: TypeAlias = str | os.PathLike[str]
Places: TypeAlias = Place | Sequence[Place]
"""One policy folder, or several as layers, the widest first."""
ROWS = "database"
"""The name of the rules of a database: a problem with a row stands at `database:N`. No file of a folder is called so."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The files of a folder, those that hold its cases, the rules of a database as a file with one line for each row, and what was wrong.

    Of several folders: `layers` are they, the widest first; `files` those of all, `cases` those of the narrowest.
    """

    place: str
    files: tuple[File, ...]
    cases: tuple[File, ...] = ()
    rows: File | None = None
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    written: tuple[object, ...] = ()  # when each file was written, as the file system says
    layers: tuple[Reading, ...] = ()

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


def read_places(places: Places, rows: File | None = None, problems: Sequence[Problem] = ()) -> Reading:
    """Read one folder, or several as layers. What is wrong is kept with it and told when it is compiled."""
    several = places_of(places)
    return read_place(several[0], rows, problems) if len(several) == 1 else _read_layers(several, rows, problems)


def places_of(places: Places) -> tuple[Place, ...]:
    """The folders, the widest first. Raises GuardError where none is named."""
    found = (places,) if isinstance(places, str | os.PathLike) else tuple(places)
    if not found:
        raise GuardError("no policy folder is named")
    return found


def read_place(place: Place, rows: File | None = None, problems: Sequence[Problem] = (), *, alone: bool = True) -> Reading:
    """Read the folder, which stands `alone` or is one of several layers. What is wrong is kept with it and told when it is compiled."""
    found = Problems()
    files = read_folder(place, found, alone=alone)
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


def _read_layers(places: Sequence[Place], rows: File | None, problems: Sequence[Problem]) -> Reading:
    """Every file stands behind its layer's name, so that a problem says in which folder it is."""
    last = len(places) - 1
    layers = [
        _named(read_place(place, rows if index == last else None, problems if index == last else (), alone=False), label)
        for index, (place, label) in enumerate(zip(places, labels(places), strict=True))
    ]
    twice = [str(place) for index, place in enumerate(places) if _real(place) in map(_real, places[:index])]
    return Reading(
        place=" + ".join(layer.place for layer in layers),
        files=tuple(file for layer in layers for file in layer.files),
        cases=layers[-1].cases,
        rows=rows,
        errors=(
            *(Problem(file=place, message="the folder is named twice", cure="name each layer once") for place in twice),
            *(problem for layer in layers for problem in layer.errors),
        ),
        warnings=tuple(problem for layer in layers for problem in layer.warnings),
        written=tuple(stamp for layer in layers for stamp in layer.written),
        layers=tuple(layers),
    )


def labels(places: Sequence[Place]) -> tuple[str, ...]:
    """What each layer is called: its folder's last name where that tells them apart, else the whole path."""
    short = [Path(place).name for place in places]
    return tuple(short) if all(short) and len(set(short)) == len(short) else tuple(str(place).rstrip("/") for place in places)


def _real(place: Place) -> str:
    return os.path.realpath(place)


def _named(layer: Reading, label: str) -> Reading:
    def name(file: File) -> File:
        return File(f"{label}/{file.name}", file.data)

    def told(problem: Problem) -> Problem:
        return problem if problem.file in {layer.place, ROWS} else replace(problem, file=f"{label}/{problem.file}")

    return replace(
        layer,
        place=label,
        files=tuple(map(name, layer.files)),
        cases=tuple(map(name, layer.cases)),
        errors=tuple(map(told, layer.errors)),
        warnings=tuple(map(told, layer.warnings)),
    )


def _written(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)
