"""Redactors: ready detectors of personal data and secrets in one string of a value; one table.

`REDACTOR` is what the redact room is given. A detector only ever hides; adding one is a row in `DETECTORS` and a file beside this one. May not
import anything but the core; sees one string and the key it stands under, never serialised JSON. After it stands `core.redact`.

Each row has a gate: a necessary condition, cheap, judged on the whole text. Where the gate is false the rule cannot match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from guard.core.ports import Redactor
from guard.redactors.card import card_gate, card_spans
from guard.redactors.email import email_gate, email_spans
from guard.redactors.fold import folded, plain
from guard.redactors.gates import Gates
from guard.redactors.iban import iban_gate, iban_spans
from guard.redactors.ip import ip_gate, ip_spans
from guard.redactors.mac import mac_gate, mac_spans
from guard.redactors.masks import MASKS
from guard.redactors.national import id_gate, id_spans, ssn_gate, ssn_spans
from guard.redactors.phone import phone_gate, phone_spans
from guard.redactors.secret import SECRET_KEYS, hides, secret_gate, secret_spans
from guard.redactors.telling import Telling
from guard.redactors.views import still

__all__ = ["DETECTORS", "REDACTOR", "Detector", "Span", "detect"]

Span: TypeAlias = tuple[int, int]
"""Where a finding stands in the text: start, end (exclusive), in characters."""

_ROUNDS = 4
_LONG = 10_000  # characters of a text that is looked at only once
_NAME = 64  # characters of the longest name of a field that is remembered
_WHOLE = re.compile(r"([0-9]{1,40})\.0{1,40}")


class _Names(set[str]):
    """The last few thousand names of fields in which nothing was found."""

    def put(self, name: str) -> None:
        if len(self) >= 4096:
            self.clear()
        self.add(name)


_NAMES = _Names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One kind of thing to hide. `gate` must be true wherever `rule` finds something; `rule` gives the spans to hide."""

    name: str
    gate: Callable[[str], bool]
    rule: Callable[[str | None, str], list[Span]]
    replacement: str


DETECTORS: tuple[Detector, ...] = tuple(
    Detector(name=name, gate=gate, rule=rule, replacement=MASKS[name])
    for name, gate, rule in (
        ("secret", secret_gate, secret_spans),
        ("email", email_gate, email_spans),
        ("card", card_gate, card_spans),
        ("iban", iban_gate, iban_spans),
        ("ssn", ssn_gate, ssn_spans),
        ("id", id_gate, id_spans),
        ("ip", ip_gate, ip_spans),
        ("mac", mac_gate, mac_spans),
        ("phone", phone_gate, phone_spans),
    )
)
"""In order of rank: where two findings overlap, the longer one names the replacement, then the earlier row."""


def detect(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
    """Hide what is personal or secret in `text`, which stands under `key` (None in a list or at the top).

    Returns the text to show and the kinds hidden, in the order of the table; the same object and `()` where nothing was found. Applying it
    to its own answer changes nothing. Takes time linear in the text. A number under a telling key is passed as its text; the names of fields
    are passed as texts without a key, and those that hide nothing are remembered.
    """
    if key is not None and not key.isascii():
        key = plain(key)
    if key is not None and SECRET_KEYS[key] and hides(key, text):
        return MASKS["secret"], ("secret",)
    named = key is None and len(text) <= _NAME
    if (named and text in _NAMES) or (text.isascii() and still(text)):
        return text, ()
    shown, hidden = _hidden(key, text)
    if named and not hidden and text.isidentifier():
        _NAMES.put(text)
    return shown, hidden


def _hidden(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
    """What all rules find, again and again until they find nothing more."""
    whole = _WHOLE.fullmatch(text)
    if whole is not None and text != whole[1]:  # a decimal or float that is an integer: 4111111111111111.0
        shown, kinds = _hidden(key, whole[1])
        return (shown, kinds) if kinds else (text, ())
    hidden: set[str] = set()
    for _ in range(_ROUNDS):
        found = _found(key, text)
        if not found:
            break
        hidden |= {detector.name for *_, detector in found}
        text = _replaced(text, found)
    return text, tuple(detector.name for detector in DETECTORS if detector.name in hidden) if hidden else ()


def _found(key: str | None, text: str) -> list[tuple[int, int, Detector]]:
    """Every finding, with offsets into `text` itself; detectors look at a copy in which look-alike characters are plain ones."""
    flat, origin = folded(text)
    found: list[tuple[int, int, Detector]] = []
    for detector in DETECTORS:
        if detector.gate(flat):
            for start, end in detector.rule(key, flat):
                found.append((origin[start], origin[end - 1] + 1, detector) if origin else (start, end, detector))
    return found


def _replaced(text: str, found: list[tuple[int, int, Detector]]) -> str:
    """The text with each group of overlapping findings replaced once, by the name of its longest."""
    found.sort(key=lambda item: (item[0], -item[1]))
    pieces: list[str] = []
    done = index = 0
    while index < len(found):
        start, end, best = found[index]
        longest = end - start
        index += 1
        while index < len(found) and found[index][0] < end:
            length = found[index][1] - found[index][0]
            if length > longest:
                best, longest = found[index][2], length
            end = max(end, found[index][1])
            index += 1
        pieces += (text[done:start], best.replacement)
        done = end
    return "".join([*pieces, text[done:]])


class Sieve:
    """The first look at all texts of a value at once. `fast`: with google-re2, where it is installed."""

    def __init__(self, *, fast: bool = True) -> None:
        self.gates = Gates(fast=fast)

    def __call__(self, texts: Sequence[str]) -> Collection[str]:
        """The texts in which `detect` finds something under one ordinary key or another; there is surely nothing to hide in the others."""
        loud = self.gates.loud(texts)
        return {text for text in loud if len(text) > _LONG or detect(None, text)[1]} if loud else ()


@cache
def _sieve() -> Sieve:
    return Sieve()  # made on first use: importing guard stays cheap


def sift(texts: Sequence[str]) -> Collection[str]:
    """See `Sieve`."""
    return _sieve()(texts)


REDACTOR = Redactor(detect=detect, sift=sift, tells=Telling().__getitem__)
"""All detectors of the table: what the redact room and the audit are given."""
