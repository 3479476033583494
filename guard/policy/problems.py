"""Problems: collects every mistake of a policy folder, each with its place, and finds the name that was probably meant.

May not read files or raise on a mistake: whoever compiles goes on, so that all mistakes are reported at once. Comes before every other
file of this package.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Protocol

from guard.errors import Problem


class Spot(Protocol):
    """Something with a place in a policy file."""

    @property
    def file(self) -> str:
        """The file's name, relative to the folder."""

    @property
    def line(self) -> int | None:
        """The line, counted from 1."""


class Problems:
    """A list that compilers write to; errors stop the load, warnings travel with the policy."""

    def __init__(self) -> None:
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []
        self._known: set[Problem] = set()

    def error(self, spot: Spot, message: str, cure: str = "", *, code: str = "") -> None:
        """Add a mistake; the same one at the same place is kept once."""
        self._add(self.errors, Problem(file=spot.file, line=spot.line, message=message, cure=cure, code=code))

    def warn(self, spot: Spot, message: str, cure: str = "", *, code: str = "") -> None:
        """Add something that works but is probably not meant."""
        found = Problem(file=spot.file, line=spot.line, message=message, cure=cure, warning=True, code=code)
        self._add(self.warnings, found)

    def _add(self, target: list[Problem], problem: Problem) -> None:
        if problem not in self._known:
            self._known.add(problem)
            target.append(problem)


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_JOINERS = "\u200c\u200d"  # some scripts, and emoji, cannot be written without them


def is_invisible(char: str) -> bool:
    """Whether a reader could not see this character of a name: any blank but the plain space, controls, marks of direction."""
    return char != " " and not "!" <= char <= "~" and unicodedata.category(char) in _UNSEEN


def is_line_break(char: str) -> bool:
    """Whether an editor may show the text behind this character on another line or in another order than it is read here."""
    return char not in "\t " + _JOINERS and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}


def squash(name: str) -> str:
    """The name without `_`, `-` and case: `query_expense` and `queryExpense` are one."""
    return name.replace("_", "").replace("-", "").casefold()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None."""
    table = {squash(other): other for other in sorted(known, reverse=True)}
    found = difflib.get_close_matches(squash(name), table, n=1, cutoff=0.6)
    return table[found[0]] if found else None


def meant(name: str, known: Iterable[str]) -> str:
    """A cure: the nearest known name, or the list of them when there are few."""
    names = sorted(known)
    near = nearest(name, names)
    if near is not None:
        return f"did you mean {near}?"
    return f"known: {', '.join(names)}" if names and len(names) <= 12 else ""
