"""Passes: the gates with google-re2, looked for in two passes over a text instead of one.

An automaton that counts digits and letters for many patterns at once grows with nearly every text that it has not seen before, and making a state costs
much more than using one. So what is about words is one set, and what is about the forms of numbers and ids another one, which tells letters from digits
and of both only what encoded text is told by: both are nearly complete after a few texts. A gate whose form is there is
then asked by itself, where that makes a difference. May not hide anything. Comes after the rules, before `gates`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from guard.redactors.engine import re2
from guard.redactors.nested import SAYS_BASE64
from guard.redactors.shapes import FORMS

_MEMORY = 64 << 20
_CANARY = b"a@example.com"
_SIGN = "[ .-]"
FORMED: Mapping[str, str] = {
    "id": re.sub(r"\[-\+A\]|-", lambda match: "[ .+A-]" if len(match.group()) > 1 else _SIGN, FORMS),
    "card": "0(?:[ -]?0){11}",
    "iban": "AA00(?:[ -]?[A0]){11}",
    "ip": r"0\.0{1,3}\.0{1,3}\.0|::[A0]|[A0]::|(?:[A0]{1,4}:){6}",
    "mac": r"[A0]{2}(?:[:-][A0]{2}){5}|[A0]{4}\.[A0]{4}\.[A0]{4}",
    "dial": r"\+ ?\(?0(?:[ ./()-]{0,3}0){6}",
    "grouped": "000[)]?[-. ]? ?000[-.]0000|000[ -]0000[ -]0000",
    "base64": SAYS_BASE64.pattern,
    "hex": "[A0]{24}",
}
"""What every text holds that these gates match, with `A` for a letter and `0` for a digit; others are looked for as they are."""
_SIGNS = {"A": "A-Za-z", "0": "0-9"}
_SHAPED = frozenset(FORMED) - {"base64"}
SHORTER: Mapping[str, str] = {"inside": "[.]atlasv1[.]|[0-9]Q~|[0-9]:A[A-Za-z0-9_-]{6}|[0-9a-f]-us[0-9]"}
"""What stands in the set of words for a gate that counts."""


def spelled(name: str) -> str:
    """The form of a gate as a pattern."""
    if name not in _SHAPED:
        return FORMED[name]
    pieces = re.split(r"(\{[0-9,]+\})", FORMED[name])
    return "".join(piece if piece[:1] == "{" and piece[-1:] == "}" else _classes(piece) for piece in pieces)


def _classes(piece: str) -> str:
    inside, out = False, []
    for char in piece:
        inside = char == "[" or (inside and char != "]")
        signs = _SIGNS.get(char, char)
        out.append(signs if inside or len(signs) == 1 else f"[{signs}]")
    return "".join(out)


class Passes:
    """All gates, by the numbers that they have in `patterns`: names and patterns. What is in `unsure` must be asked by itself."""

    def __init__(self, patterns: Sequence[tuple[str, str]]) -> None:
        raw = tuple(pattern.encode() for _, pattern in patterns)
        self.each = alone(raw)
        self._spoken = [number for number, (name, _) in enumerate(patterns) if name not in FORMED]
        self._formed = [number for number, (name, _) in enumerate(patterns) if name in FORMED]
        self.unsure = frozenset(number for number, (name, _) in enumerate(patterns) if name in FORMED or name in SHORTER)
        words = [patterns[number] for number in self._spoken]
        self._words = _built(tuple(SHORTER.get(name, pattern).encode() for name, pattern in words), canary=True)
        self._forms = _built(tuple(spelled(patterns[number][0]).encode() for number in self._formed))

    def __call__(self, raw: bytes) -> list[int]:
        """The numbers of the gates that match somewhere, and of `unsure` ones whose form is there."""
        words, forms = self._words.Match(raw), self._forms.Match(raw)
        found = [self._spoken[number] for number in words] if words else []
        return found + [self._formed[number] for number in forms] if forms else found


@cache
def _built(patterns: tuple[bytes, ...], *, canary: bool = False) -> Any:
    """The set of these patterns. Raises RuntimeError where it does not even find what was planted."""
    found = re2().Set.SearchSet(_options())
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    if canary and not found.Match(_CANARY):
        raise RuntimeError("the set of gates does not match what it must match")
    return found


@cache
def alone(patterns: tuple[bytes, ...]) -> tuple[Any, ...]:
    """Each of these patterns by itself."""
    return tuple(re2().compile(pattern, _options()) for pattern in patterns)


def _options() -> Any:
    options = re2().Options()
    options.encoding = options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return options
