"""Keys: the words in a field's name, however it is spelled.

`userPhoneNumber`, `user_phone-number` and `USER PHONE NUMBER` hold the same words. A key holds the names of the objects around a field as well: what
makes a value telling counts from any of them, what makes it ordinary mostly from the nearest. Pure; used by detectors that let the key decide.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from guard.core.redaction import BELOW, read

_WORD = re.compile("(?P<head>[A-Z]*)(?P<word>[A-Z][a-z]+)|[A-Z]+|[a-z]+|[0-9]+|[^\x00-\x7f]+")


@lru_cache(maxsize=4096)
def word_list(key: str) -> tuple[str, ...]:
    """The words of a key in order, in lower case. Of a very long one the beginning and the end are read."""
    return tokens(read(key))


def names_of(key: str) -> list[str]:
    """The names that a key is made of, from the outermost to that of the value itself."""
    return read(key).split(BELOW)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a short text in order, in lower case; nothing is remembered."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        if match["head"]:  # HTTPServer: the last capital belongs to the second word
            found += (match["head"].lower(), match["word"].lower())
        else:
            found.append(match.group().lower())
    return tuple(found)


@lru_cache(maxsize=4096)
def words_of(key: str) -> frozenset[str]:
    """The words of a key, and what stands before `key` or `pass` written together with it: `api_key` also holds `apikey`."""
    words = word_list(key)
    found = {
        f"{left}{'key' if right == 'keys' else right}" for left, right in pairwise(words) if right in {"key", "keys", "pass"}
    }
    return frozenset(words) | found
