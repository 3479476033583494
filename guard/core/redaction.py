"""Redaction: what a policy says about detectors, compiled: regions, detectors of its own, and the kinds that are always hidden.

Data only. Nothing in here can turn a kind off. Comes after values and dialect; `guard.redactors` makes a redactor of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

MASKS: Mapping[str, str] = MappingProxyType(
    {
        "secret": "[secret]",
        "email": "[email]",
        "card": "[card]",
        "iban": "[iban]",
        "ssn": "[ssn]",
        "id": "[id number]",
        "ip": "[ip address]",
        "mac": "[mac address]",
        "phone": "[phone]",
    }
)
"""What stands in a text where something was hidden, by kind. These kinds are always hidden."""

CUT = "[cut]"
"""The key of a note that says how much of something is shown; no field that a tool returns is called so."""
CUT_NOTE = re.compile(r"([0-9]{1,12}) of ([0-9]{1,12}) shown")
"""The note itself. Nothing in it is ever hidden."""
_TAILED = re.compile(r"[ \t\r\n]?\[cut: ([0-9]{1,12}) of ([0-9]{1,12}) characters shown\]")


def cut_tail(text: str) -> re.Match[str] | None:
    """The note behind a text that was cut, with the blank before it. Nothing in it is ever hidden."""
    if not text.endswith(" characters shown]"):
        return None
    at = text.rfind("[cut: ")
    return _TAILED.fullmatch(text, at - 1 if at > 0 and text[at - 1] in " \t\r\n" else max(0, at))


NAMED: Mapping[str, str] = MappingProxyType(
    {"PERSON": "[name]", "LOCATION": "[place]", "NRP": "[group]", "ORGANIZATION": "[organization]"}
)
"""What Presidio may be asked for, with what stands in its place: nothing that the detectors here find better."""


_WORD = "\ufffd"


def unmasking(masks: Iterable[str]) -> Callable[[str], str]:
    """What reads the name of a field with a word of no meaning for these masks: what was hidden in a name says nothing of what stands below it.

    One that is always known and stands right behind a letter or a digit is the name's own: `user[phone]`.
    """
    fixed, own = (sorted(map(re.escape, some)) for some in (set(MASKS.values()), set(masks) - set(MASKS.values())))
    first = f"(?:{'|'.join(fixed)})"
    edge = r"(?:(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]\])|(?<=\\[nrt])|(?<=%3[dD]))"
    found = re.compile(f"(?:{'|'.join((*own, edge + first))})(?:{'|'.join((*own, *fixed))})*")
    return lambda name: found.sub(_WORD, name) if "[" in name else name


unmasked = unmasking(NAMED.values())
"""The same for the masks that are always known."""


BELOW = "\x1f"
"""Stands in a key between the name of a field and that of the object which it belongs to, further out first. White space to `str.split`."""

_HEAD, _TAIL = 200, 400  # characters of a key that are read: the outermost names, and those next to the value
LONGEST = _HEAD + _TAIL
"""Characters of a key that is read as it is."""


def read(key: str) -> str:
    """What is read of a key: all, or its beginning and its end. Nothing more is read of what it gives, and of a key made of that."""
    return key if len(key) <= LONGEST else f"{key[:_HEAD]}{BELOW}{key[-_TAIL:]}"


LABEL, CELL = "\x1e", "\x1d"
"""Stand before a name in a key that stands beside its value: as a field that says so, or only in a row, a pair or a list. No name holds them."""

SECONDS = 20.0
"""The most time that looking through one result may take: a policy may set less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDetector:
    """A detector that a policy writes: a pattern of the dialect, words that must tell of it, what stands in its place, and a check.

    Without `words` the pattern alone decides. `check` is `luhn`, or a module of python-stdnum (`pt.nif`); None: every match counts.
    """

    name: str
    pattern: str
    mask: str
    words: tuple[str, ...] = ()
    check: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What a policy adds to what is hidden anyway. `regions` are those whose national phone numbers count, `names` what Presidio looks for.

    `seconds`: processor time for all texts of one result; one that takes longer is withheld.
    """

    regions: tuple[str, ...] = ()
    own: tuple[OwnDetector, ...] = ()
    names: tuple[str, ...] = ()
    seconds: float = SECONDS


REDACTION = Redaction()
"""A policy that adds nothing."""
