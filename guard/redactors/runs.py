"""Runs: long runs of letters, digits and signs in a text with a nought for each digit: keys of services, and what says something when it is decoded.

Part of the look without google-re2 (`quiet`), and sound as that is: true too often, never wrongly false. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits

from guard.redactors.nested import PLAIN, decoded
from guard.redactors.prefixes import PREFIXES

_LEAST = 16  # characters of a run that says something; a key has more
_MANY = b"a" * _LEAST
_VIEW = bytes(ord("a") if chr(code) in f"{ascii_letters}{digits}_.~/+=:-" else 32 for code in range(256))
_NOUGHT = bytes(ord("0") if chr(code) in digits else code for code in range(256))
_SIGNS = sorted({sign.encode().translate(_NOUGHT) for sign, _ in PREFIXES} | {b"eyJ"}, reverse=True)
_BEGUN = re.compile(b"(?<![A-Za-z0_])(?:" + b"|".join(map(re.escape, _SIGNS)) + b")")
_HEAD = 3  # letters by which most are known
_LETTERS = bytes(code if chr(code) in ascii_letters else 32 for code in range(256))
_WHOLE = frozenset(re.split(b"[^A-Za-z]", sign.lstrip(b"_"))[0] for sign in _SIGNS if not sign.isalpha() and sign[:1] != b"0")
_SHORT = tuple(sign for sign in _SIGNS if sign.isalpha() and len(sign) < _HEAD)
_HEADS = frozenset(sign[:_HEAD] for sign in _SIGNS if sign.isalpha() and len(sign) >= _HEAD)
"""The letters that a sign begins with: as a word of their own, or with other letters behind them."""
_RUN = re.compile(rb"[A-Za-z0-9_.~/+=:-]{20}")
_SIGNED = re.compile(rb"[.]atlasv0[.]|0Q~|0{7}:A[A-Za-z0_-]{6}|[0a-f]{6}-us0|0b0d[A-Za-z0]{38}")
"""Signs of keys that stand inside, with a nought for each digit."""
_INSIDE = (b".atlasv0.", b"Q~", b":A", b"-us", b"0b0d")
_SAYS, _SAYS_HEX = re.compile((PLAIN * 4).encode()), re.compile(b"0[0A-Fa-f]" * 12)
"""What an encoded run holds that says something, with a nought for each digit."""
_CODE = re.compile("[A-Za-z0-9/+_=-]{16,}")


def loud(joined: bytes, text: str) -> bool:
    """Whether a long run in these pieces of a text may be a key, or says something when it is decoded."""
    runs = b" ".join(_runs(joined))
    if _keyed(runs):
        return True
    return _coded(runs) and any(decoded(run) is not None for run in _CODE.findall(text))


def mute(piece: bytes) -> bool:
    """Whether a piece is no key and says nothing, whatever its digits are."""
    runs = b" ".join(_runs(piece))
    return not _keyed(runs) and not _coded(runs)


def _runs(joined: bytes) -> Iterator[bytes]:
    """The long runs, in order."""
    view = joined.translate(_VIEW)
    at = view.find(_MANY)
    while at >= 0:
        end = view.find(b" ", at)
        end = len(view) if end < 0 else end
        yield joined[at:end]
        at = view.find(_MANY, end)


def _keyed(runs: bytes) -> bool:
    if any(map(runs.__contains__, _INSIDE)) and _SIGNED.search(runs) is not None:
        return True
    words = runs.translate(_LETTERS).split()
    if (
        _WHOLE.isdisjoint(words)
        and _HEADS.isdisjoint([word[:_HEAD] for word in words])
        and not any(map(runs.__contains__, _SHORT))
    ):
        return False
    return any(_RUN.match(runs, match.start()) is not None for match in _BEGUN.finditer(runs))


def _coded(runs: bytes) -> bool:
    return _SAYS.search(runs) is not None or _SAYS_HEX.search(runs) is not None
