"""Telling: keys that make more of a value than it says: whatever stands under them is looked at by itself.

A superset of the keys that any rule knows: the second word of a pair may stand in a key further inside. Pure; used by the first look at a whole
value.
"""

from __future__ import annotations

from collections.abc import Collection

from guard.core.redaction import MASKS, unmasking
from guard.redactors.fold import plain
from guard.redactors.keys import UNSPACED, tokens, words_of
from guard.redactors.languages import PASSWORDS_SPELLED, PHONES_SPELLED
from guard.redactors.national import IDS, SSN
from guard.redactors.phone import TELLING
from guard.redactors.secret_keys import STRONG, WEAK

_MOST = 4096

WORDS: frozenset[str] = frozenset(
    {*STRONG, *WEAK, *TELLING, *(word.split()[0] for row in (*SSN, *IDS) for word in row.words), *UNSPACED}
    | {"api", "access", "private", "secret", "pass", "pw", "passe"}
    | {*PASSWORDS_SPELLED, *PHONES_SPELLED}  # a half of such a key
    | {"cookie", "cookies"}
)
"""Each word that a rule knows as a key; of a pair the first, since what stands below the key of an object is looked at as well."""


class Telling(dict[str, bool]):
    """Whether a key tells; remembers the last few thousand. `more` are words or phrases of detectors that were added, `masks` say nothing."""

    def __init__(self, more: tuple[str, ...] = (), masks: Collection[str] = tuple(MASKS.values())) -> None:
        super().__init__()
        self._unmasked = unmasking(masks)
        self._words = WORDS | {tokens(word)[0] for word in more if word.isascii() and tokens(word)}
        self._parts = tuple(word for word in more if not word.isascii())

    def __missing__(self, key: str) -> bool:
        flat = self._unmasked(plain(key))
        known = not self._words.isdisjoint(words_of(flat)) or any(part in flat for part in self._parts)
        if len(key) <= 64:
            if len(self) >= _MOST:
                self.clear()
            self[key] = known
        return known
