"""Quiet: one look at the JSON text of a whole value, without google-re2, that tells whether there is surely nothing to hide in it.

Never used to find or replace anything: that happens leaf by leaf. Sound because each condition follows from a finding in any leaf or under any
key, and because a text without escapes holds every leaf and number as it is. The text is cut at its quotes, brackets and commas, with a nought for
each digit, so that the pieces of a record are few; those that are not known are looked at together, for their form (`shapes`), their long runs (`runs`)
and their words (`saying`). A piece that comes again, and holds nothing whatever stands beside it and whatever its digits are, is remembered. Comes after
the rules, before `gates`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import filterfalse, islice

from guard.redactors.runs import loud, mute
from guard.redactors.saying import Saying
from guard.redactors.shapes import BLANK, asked, card_blocks, plain

_MOST = 8192
_NEW = 32  # pieces that are learnt from one text: most are in others as well
_LONGEST = 64  # characters of a piece that is remembered
_ID = 17  # of a block of digits: seventeen may be an id
_CUT = bytes(
    32 if chr(code) in '"{}[],' else BLANK if code == 32 else ord("0") if chr(code) in "123456789" else code
    for code in range(256)
)
_DIAL = re.compile(r"\+ ?\(?[1-9]")


class Quiet:
    """The look. `phone` is the gate of phone numbers that a word tells of, `column` that of words over a column of them."""

    def __init__(self, phone: str, column: str) -> None:
        self._saying = Saying(phone, column)
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
        new = set(filterfalse(self._plain.__contains__, raw.translate(_CUT).split()))
        if not self._blocks.isdisjoint(new):
            if card_blocks(raw):
                return False
            new.difference_update(self._blocks)
        return not new or self._still(new, text, raw)

    def _still(self, new: set[bytes], text: str, raw: bytes) -> bool:
        """Whether there is surely nothing in these pieces of a text; those that came before are remembered."""
        if not self._nothing(b" ".join(new), text, raw):
            return False
        if again := (new & self._seen) - self._other:
            self._learn(set(islice(again, _NEW)))
        self._seen = _more(self._seen, set(islice(new, _NEW)))
        return True

    def _nothing(self, joined: bytes, text: str, raw: bytes) -> bool:
        """Whether there is surely nothing in the pieces of a text that stand here with blanks between them."""
        if asked(joined, raw) or loud(joined, text):
            return False
        said = self._saying.of(joined)
        return not said or not self._saying.meant(said, text)

    def _learn(self, pieces: set[bytes]) -> None:
        """Remember which of these pieces hold nothing, whatever stands beside them and whatever their digits are."""
        said = self._saying.of(b" ".join(pieces))
        quiet = {one for one in pieces if len(one) <= _LONGEST and mute(one) and not (said and self._saying.alone(one))}
        blocks = {one for one in quiet if one.strip(b":").isdigit()}
        found = {one for one in quiet if plain(one)}
        self._plain = _more(self._plain, found)
        self._blocks = _more(self._blocks, {one for one in blocks - found if len(one) <= _ID})
        self._other = _more(self._other, pieces - found - self._blocks)


def _more(known: set[bytes], new: Collection[bytes]) -> set[bytes]:
    """What is remembered, with more; a set of its own where it grew too large, since somebody else may be reading the old one."""
    known = known if len(known) + len(new) < _MOST else set()
    known.update(new)
    return known
