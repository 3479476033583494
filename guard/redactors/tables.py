"""Tables: whether a JSON text may hold a name that stands beside its value: without the other half of such a pair no word in it is one.

Part of the first look at a whole value, with google-re2 and without; true too often, never wrongly false, on a text without escapes. Looks for
literals only, which costs nearly nothing. Pure. Comes before `saying` and `gates`.
"""

from __future__ import annotations

from guard.core.roles import COLUMN_WORDS, VALUE_WORDS

_VALUES = tuple(f'{word}"' if len(word) > 1 else f'"{word}"' for word in VALUE_WORDS)
_HEADS = tuple(f'{word}"' for word in COLUMN_WORDS if not any(word != other and word.endswith(other) for other in COLUMN_WORDS))
_COLUMNS = tuple(f'{word}":[' for word in COLUMN_WORDS)


class Tables:
    """What the three questions say of one text, each asked once at most: it may hold as many words that tell as it has room for."""

    __slots__ = ("_headed", "_listed", "_text", "_valued", "lines")

    def __init__(self, text: str) -> None:
        self._text = text
        self.lines = "\n" in text or "\r" in text  # whether a table may be written in it
        self._valued: bool | None = None
        self._headed: bool | None = None
        self._listed: bool | None = None

    def valued(self) -> bool:
        """As below."""
        if self._valued is None:
            self._valued = valued(self._text)
        return self._valued

    def headed(self) -> bool:
        """As below."""
        if self._headed is None:
            self._headed = headed(self._text)
        return self._headed

    def listed(self) -> bool:
        """As below."""
        if self._listed is None:
            self._listed = listed(self._text)
        return self._listed


def valued(text: str) -> bool:
    """Whether a field is there that may hold what another one names."""
    low = text.lower()
    return any(sign in low for sign in _VALUES)


def headed(text: str) -> bool:
    """Whether a field is there that may name columns."""
    low = text.lower()
    return any(sign in low for sign in _HEADS)


def listed(text: str) -> bool:
    """Whether a list is there whose items may name others: columns, rows or pairs, flags."""
    close = "".join(text.split())
    if '"-' in text or "[[" in close or ",[" in close:
        return True
    low = close.lower()
    return any(sign in low for sign in _COLUMNS)
