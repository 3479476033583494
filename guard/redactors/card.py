"""Payment cards: 12 to 19 digits of a known issuer and length whose check digit is right, bare or in the groups that cards are printed in.

A detector of the table in `guard.redactors`; pure. Luhn alone accepts one number in ten, so issuer, length, grouping and neighbours are
judged as well, and a number under a key that names an order or an id is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from guard.redactors.edges import wordy
from guard.redactors.keys import names_of, words_of
from guard.redactors.views import dotted_fours, twelve_digits

_RUN = re.compile(r"[0-9]+(?:[ -][0-9]+)*")
_GROUP = re.compile("[0-9]+")
_DOTTED = re.compile(r"[0-9]{4}(?:\.[0-9]{4}){3}")
_TWELVE = b"0" * 12
_NUMERIC = bytes(ord("0" if chr(code) in "0123456789 -" else " ") for code in range(256))
"""A view in which a long number is a literal to look for: a nought for each digit, blank and dash."""
_GROUPED = bytes(code if chr(code) in "0123456789-" else ord("-") if code == 32 else 32 for code in range(256))
"""And one that is cut where no number goes on."""
_ID_WORDS = frozenset(
    {"id", "ids", "order", "orders", "tracking", "sku", "uuid", "guid", "serial", "isbn", "ean", "upc", "barcode", "hash"}
)
_CARD_WORDS = frozenset({"card", "cards", "pan", "creditcard", "cc", "payment"})
_PLAIN_WORDS = frozenset({"number", "num", "no", "nr", "value", "code", "ref", "reference", "key", "name"})
_SENTENCE = re.compile(r"[^0-9 -][ \t\r\n]|[ \t\r\n][^0-9 -]")
"""A blank beside something that belongs to no number."""
_VALUE = bytes(code - 48 if 48 <= code < 58 else 0 for code in range(256))
_DOUBLED = bytes(sum(divmod(2 * value, 10)) for value in _VALUE)

ISSUERS: tuple[tuple[str, int, int, frozenset[int]], ...] = (
    ("visa", 4, 4, frozenset({13, 16, 19})),
    ("mastercard", 51, 55, frozenset({16})),
    ("mastercard", 2221, 2720, frozenset({16})),
    ("amex", 34, 34, frozenset({15})),
    ("amex", 37, 37, frozenset({15})),
    ("diners", 300, 305, frozenset({14, 16, 19})),
    ("diners", 36, 36, frozenset({14, 16, 19})),
    ("diners", 38, 39, frozenset({14, 16, 19})),
    ("discover", 6011, 6011, frozenset(range(16, 20))),
    ("discover", 644, 659, frozenset(range(16, 20))),
    ("unionpay", 62, 62, frozenset(range(16, 20))),
    ("jcb", 3528, 3589, frozenset(range(16, 20))),
    ("jcb", 35, 35, frozenset({16})),  # issued and test numbers outside the registered range
    ("jcb", 1800, 1800, frozenset({15})),
    ("jcb", 2131, 2131, frozenset({15})),
    ("maestro", 50, 50, frozenset(range(12, 20))),
    ("maestro", 56, 58, frozenset(range(12, 20))),
    ("maestro", 6304, 6304, frozenset(range(12, 20))),
    ("maestro", 67, 67, frozenset(range(12, 20))),
)
"""Issuer, first and last prefix, lengths: what the schemes publish about their numbers."""
_BY_FIRST = {
    first: tuple((str(low), str(high), sizes) for _, low, high, sizes in ISSUERS if str(low)[0] == first) for first in "123456"
}
"""The same by the first digit, as texts: prefixes of one row are equally long, and none but the first digit is common to all."""


def card_gate(text: str) -> bool:
    """Whether twelve digits stand together, with nothing but spaces and dashes between them, or in fours with dots."""
    return twelve_digits(text) or dotted_fours(text)


def card_spans(key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all card numbers."""
    runs = (run.span() for place in _places(text) for run in _RUN.finditer(text, *place))
    found = [span for start, end in runs if end - start >= 12 for span in _in_run(text, start, end)]
    found += [match.span() for match in _DOTTED.finditer(text) if _is_dotted(text, match)] if dotted_fours(text) else []
    if found and key is not None and (words := words_of(key)) & _ID_WORDS and not words & _CARD_WORDS and _is_id(key, text):
        return [(start, end) for start, end in found if not text[start:end].isdigit()]  # no id is written in such groups
    return found


def _is_id(key: str, text: str) -> bool:
    """Whether a text is all of an id: no sentence, under a name that says id, or a plain name right below one."""
    if _SENTENCE.search(text) is not None:
        return False
    *above, name = names_of(key)
    if not words_of(name).isdisjoint(_ID_WORDS):
        return True
    return bool(above) and not words_of(above[-1]).isdisjoint(_ID_WORDS) and words_of(name) <= _PLAIN_WORDS


def cards_in(raw: bytes) -> bool:
    """Whether a card may stand somewhere in the bytes of a text, whatever is beside it. True too often: for a fraction of zeros as well."""
    runs = {run.strip(b"-") for run in raw.translate(_GROUPED).split() if len(run) >= 12}
    return any(may_be(run.decode()) for run in runs)


def may_be(run: str) -> bool:
    """Whether a run of digits, with dashes between them, may be or hold a card."""
    if run.isdigit():
        return 12 <= len(run) <= 19 and _issued(run) and luhn(run)
    return len(run) >= 12 and bool(card_spans(None, run.replace("-", " ")))


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where at least twelve digits, blanks and dashes stand together."""
    view = text.encode("ascii", "replace").translate(_NUMERIC)
    start = view.find(_TWELVE)
    while start >= 0:
        end = view.find(b" ", start)
        end = len(view) if end < 0 else end
        yield start, end
        start = view.find(_TWELVE, end)


def _in_run(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cards inside one run of digit groups: windows of whole groups, from left to right, the longest first."""
    groups = [(start + match.start(), start + match.end()) for match in _GROUP.finditer(text[start:end])]
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(groups):
        last = next((stop for stop in range(min(index + 5, len(groups)), index, -1) if _is_card(text, groups[index:stop])), None)
        if last is not None:
            found.append((groups[index][0], groups[last - 1][1]))
        index = index + 1 if last is None else last
    return found


def _is_card(text: str, groups: list[tuple[int, int]]) -> bool:
    start, end = groups[0][0], groups[-1][1]
    if not 12 <= end - start - len(groups) + 1 <= 19 or not _printed(text, groups) or not _alone(text, start, end):
        return False
    digits = "".join(text[left:right] for left, right in groups)
    return len(set(digits)) > 1 and _issued(digits) and luhn(digits)


def _printed(text: str, groups: list[tuple[int, int]]) -> bool:
    """Whether the groups are those of a card: one block, or four digits first, then blocks of four to eight and a rest."""
    sizes = [right - left for left, right in groups]
    signs = {text[right] for _, right in groups[:-1]}
    return len(sizes) == 1 or (
        len(signs) == 1 and sizes[0] == 4 and all(4 <= size <= 8 for size in sizes[1:-1]) and 2 <= sizes[-1] <= 8
    )


def _alone(text: str, start: int, end: int) -> bool:
    """Whether nothing beside the number makes it part of something longer."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before and (wordy(before[-1]) or (before[-1] in ".-+" and len(before) == 2 and wordy(before[0]))):
        return False
    return not after or not (wordy(after[0]) or (after[0] in ".-+" and len(after) == 2 and wordy(after[1])))


def _is_dotted(text: str, match: re.Match[str]) -> bool:
    """Whether four groups with dots between them are all of a card."""
    digits = match.group().replace(".", "")
    return _alone(text, *match.span()) and len(set(digits)) > 1 and _issued(digits) and luhn(digits)


def _issued(digits: str) -> bool:
    size = len(digits)
    return any(size in lengths and low <= digits[: len(low)] <= high for low, high, lengths in _BY_FIRST.get(digits[0], ()))


def luhn(digits: str) -> bool:
    """Whether the check digit is right, doubling every second digit from the right."""
    raw = digits.encode()
    return (sum(raw[-1::-2].translate(_VALUE)) + sum(raw[-2::-2].translate(_DOUBLED))) % 10 == 0
