"""Quiet: one look at the JSON text of a whole value, without google-re2, that tells whether there is surely nothing to hide in it.

Never used to find or replace anything: that happens leaf by leaf. Sound because each condition follows from a finding in any leaf or under any
key, and because a text without escapes holds every leaf and number as it is. The text is cut at its quotes, brackets and commas, with a nought for
each digit, so that the pieces of a record are few; each is looked at once, for its form (`shapes`), its words (`saying`) and its length. A piece
that comes again, and holds nothing whatever its digits are, is remembered. Comes after the rules, before `gates`.
"""

from __future__ import annotations

import re

from guard.redactors.nested import SAYS_BASE64, decoded
from guard.redactors.saying import Saying
from guard.redactors.shapes import BLANK, asked, card_blocks, plain

_MOST = 8192
_NEW = 64  # pieces: a text with more that are new is like none before, and what is in it is learnt another time
_LONGEST = 64  # characters of a piece that is remembered
_ID = 17  # of a block of digits: seventeen may be an id
_CUT = bytes(
    32 if chr(code) in '"{}[],' else BLANK if code == 32 else ord("0") if chr(code) in "123456789" else code
    for code in range(256)
)
_AROUND = b":" + bytes([BLANK])
_CODE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0/+_-="
_LEAST = 16  # characters of a run that says something, or may be a key
_DIAL = re.compile(r"\+ ?\(?[1-9]")
_INSIDE = (b".atlasv0.", b"Q~", b":A", b"-us", b"0b0d")
_SIGNED = re.compile(rb"[.]atlasv0[.]|0Q~|0{7}:A[A-Za-z0_-]{6}|[0a-f]{6}-us0|0b0d[A-Za-z0]{38}")
"""Signs of keys that stand inside, with a nought for each digit."""
_SAYS = re.compile(f"{SAYS_BASE64.pattern}|(?:0[0A-Fa-f]){{12}}".encode())
"""What an encoded run holds that says something, with a nought for each digit."""
_RUN = re.compile("[A-Za-z0-9/+_=-]{16,}")


class Quiet:
    """The look. `phone` is the gate of phone numbers that a word tells of."""

    def __init__(self, phone: str) -> None:
        self._saying = Saying(phone)
        self._seen: set[bytes] = set()
        self._plain: set[bytes] = set()  # holds nothing
        self._blocks: set[bytes] = set()  # digits that may be a card
        self._other: set[bytes] = set()  # is looked at each time

    def __call__(self, text: str) -> bool:
        """Whether `detect` can find nothing in any leaf or key of the value that this JSON text was written from, nor in the text itself.

        False says nothing. The text holds no escape and nothing that folding changes.
        """
        if "@" in text or ("%" in text and ("%4" in text or "%3" in text)):
            return False
        if "+" in text and _DIAL.search(text) is not None:
            return False
        if not text.isascii() and self._saying.other(text):
            return False
        raw = text.encode("utf-8", "surrogatepass")
        new = set(raw.translate(_CUT).split()).difference(self._plain)
        if not self._blocks.isdisjoint(new):
            if card_blocks(raw):
                return False
            new.difference_update(self._blocks)
        return not new or self._still(new, text, raw)

    def _still(self, new: set[bytes], text: str, raw: bytes) -> bool:
        """Whether there is surely nothing in these pieces of a text."""
        joined = b" ".join(new)
        if asked(joined, raw):
            return False
        said = self._saying.of(joined)
        if (said and self._saying.meant(said, text, raw)) or _long(new, text):
            return False
        if (again := (new & self._seen) - self._other) and len(new) < _NEW:
            self._learn(again)
        self._seen = _more(self._seen, new)
        return True

    def _learn(self, pieces: set[bytes]) -> None:
        """Remember which of these pieces hold nothing, whatever stands beside them and whatever their digits are."""
        quiet = {one for one in pieces if len(one) <= _LONGEST and not _says(one) and not self._saying.of(one)}
        blocks = {one for one in quiet if one.strip(b":").isdigit()}
        found = {one for one in quiet if plain(one)}
        self._plain = _more(self._plain, found)
        self._blocks = _more(self._blocks, {one for one in blocks - found if len(one) <= _ID})
        self._other = _more(self._other, pieces - found - self._blocks)


def _more(known: set[bytes], new: set[bytes]) -> set[bytes]:
    """What is remembered, with more; a set of its own where it grew too large, since somebody else may be reading the old one."""
    known = known if len(known) + len(new) < _MOST else set()
    known.update(new)
    return known


def _says(piece: bytes) -> bool:
    return len(piece) >= _LEAST and (_SAYS.search(piece) is not None or _SIGNED.search(piece) is not None)


def _long(pieces: set[bytes], text: str) -> bool:
    """Whether a long piece may be a key with a sign inside, or says something when it is decoded."""
    long = [one for one in pieces if len(one) >= _LEAST]
    if not long:
        return False
    joined = b" ".join(long)
    if any(map(joined.__contains__, _INSIDE)) and _SIGNED.search(joined) is not None:
        return True
    runs = [run for one in long if not (run := one.strip(_AROUND)).translate(None, _CODE)]
    return _SAYS.search(b" ".join(runs)) is not None and any(decoded(run) is not None for run in _RUN.findall(text))
