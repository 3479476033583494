"""Quiet: one look at the JSON text of a whole value that tells whether there is surely nothing to hide in it.

Never used to find or replace anything: that happens leaf by leaf. Sound because each condition here follows from a finding in any leaf or
under any key, and because writing JSON keeps digits, letters and the signs between them together. Comes before the walk of the redact room.
"""

from __future__ import annotations

import re

from guard.redactors.fold import plain
from guard.redactors.iban import iban_gate
from guard.redactors.national import formed, tells
from guard.redactors.phone import WORDS
from guard.redactors.secret import signed
from guard.redactors.views import SECRET_WORDS, grid, long_name, seven_digits, shape, twelve_digits

_DIAL = re.compile(r"\+ ?\(?[1-9]")


def quiet(text: str) -> bool:
    """Whether `detect` can find nothing in any leaf or key of the value that this JSON text was written from.

    False says nothing. Takes some microseconds for a record of two kilobytes.
    """
    bare = plain(text)
    if "@" in bare or "%40" in bare:
        return False
    low = bare.lower()
    if any(map(low.__contains__, SECRET_WORDS)) or (long_name(bare) and signed(bare)):
        return False
    if "curl " in bare or grid(bare) or iban_gate(bare) or formed(bare):
        return False
    return not (seven_digits(bare) and _numbered(bare, low))


def _numbered(bare: str, low: str) -> bool:
    """Whether digits may be a phone number or card: by a plus, by their shape, by their count, or by a word or key that says so."""
    if ("+" in bare and _DIAL.search(bare) is not None) or b"000-0000" in shape(bare) or twelve_digits(bare):
        return True
    return any(map(low.__contains__, WORDS)) or tells(bare, low)
