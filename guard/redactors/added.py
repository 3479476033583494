"""Added: the rows that a policy adds to the table: detectors of its own, national phone numbers of its regions, and names that Presidio finds.

Each can only hide more. Plug-ins are imported here and nowhere else, on first use; one that is missing is an error that names the extra. Comes after
the table of detectors.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from guard.core.dialect import fault, runaway
from guard.core.redaction import OwnDetector, Redaction, read
from guard.extras import install
from guard.redactors.card import luhn
from guard.redactors.engine import finder, re2
from guard.redactors.find import Detector, Span
from guard.redactors.keys import tokens

_NEAR = 48  # characters before a finding in which a word may tell of it


def added(redaction: Redaction) -> tuple[Detector, ...]:
    """The rows of one policy. Raises ValueError for a pattern that cannot be run safely, ImportError for a plug-in that is missing."""
    found = [own(row) for row in redaction.own]
    if redaction.regions:
        from guard.redactors.regions import regional  # noqa: PLC0415 - only where a policy names a region

        found.append(regional(redaction.regions))
    if redaction.names:
        from guard.redactors.names import named  # noqa: PLC0415 - only where a policy asks for names

        found += named(redaction.names)
    return tuple(found)


def own(row: OwnDetector) -> Detector:
    """One detector of a policy, or of a host that writes it the same way."""
    wrong = fault(row.pattern)
    why = runaway(row.pattern) if wrong is None and re2() is None else None
    if wrong is not None or why is not None:
        raise ValueError(f"the pattern of {row.name}: {wrong[0] if wrong else why}")
    check, phrases = checked(row.check), tuple(map(_Phrase, row.words))
    search = finder(row.pattern)

    def rule(key: str | None, text: str) -> list[Span]:
        told = not phrases or (key is not None and any(phrase.told(key) for phrase in phrases))
        spans = [span for span in search(text) if told or any(phrase.near(text, span[0]) for phrase in phrases)]
        return [span for span in spans if check(text[span[0] : span[1]])]

    gate: Callable[[str], bool] = lambda text: bool(search(text))  # noqa: E731 - one line of its own
    return Detector(name=row.name, gate=gate, rule=rule, replacement=row.mask, shape=row.pattern, words=row.words)


class _Phrase:
    """One word or phrase that tells of a detector."""

    def __init__(self, phrase: str) -> None:
        self._part = "" if phrase.isascii() else phrase.lower()
        self._words = f" {' '.join(tokens(phrase))} "

    def told(self, key: str) -> bool:
        """Whether a key holds it."""
        return self._in(read(key))

    def near(self, text: str, start: int) -> bool:
        """Whether it stands shortly before."""
        return self._in(text[max(0, start - _NEAR) : start])

    def _in(self, text: str) -> bool:
        return self._part in text.lower() if self._part else self._words in f" {' '.join(tokens(text))} "


def checked(name: str | None) -> Callable[[str], bool]:
    """The check of this name: `luhn`, or a module of python-stdnum. Raises ImportError, with the extra, where that is missing."""
    if name is None:
        return bool
    if name == "luhn":
        return lambda text: luhn("".join(str(int(char)) for char in text if char.isdecimal()))
    try:
        module: Any = importlib.import_module(f"stdnum.{name}")
    except ImportError as error:
        raise ImportError(f"the check {name} needs python-stdnum: {install('ids')}") from error
    return partial(_valid, module.is_valid)


def _valid(check: Callable[[str], bool], text: str) -> bool:
    return bool(check(text))
