r"""Sifting: which records that are not filed yet may be among those that are looked for, as conditions on their stored text. Loses none.

Reading a record takes ten times as long as looking for some characters in its text. So where many lie unfiled, only those are read whose text holds what
is sought. In JSON a character of `_SURE` stands for itself, or is written `\u` and four digits: a run of such characters that stands in a value stands
in the text, too, unless there is a `\u` in it; a text with one is always read. None of these characters means anything to GLOB. What has no run that
is long enough is no condition. Where the newest are sought, their texts are put in the order of the times at their beginning, and some of these are enough; one that
begins otherwise makes that nothing is told from texts. Pure. Comes after `filing`, before `sql_search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from guard.core.searching import PLAIN, Sought, either
from guard.stores import filing
from guard.stores.filing import REFUSED_KINDS, Read, cut

LEAST: Final = 4_000
"""Records that are read whatever is sought: many searches of one store then share what was read."""

_SURE: Final = re.compile("[A-Za-z0-9_.:@ -]{3,}")
_MOST: Final = 20  # values of one field, each of which is looked for in every text
_NUMBERS: Final = frozenset({"turn", "position"})
_MARKS: Final = ("spoof", "shadow")  # found by the names of their fields
_HOLDS: Final = "body GLOB ?"
_ESCAPES: Final = "body GLOB '*\\u*'"

_HEAD: Final = '{"v":1,"id":"'
_NEXT: Final = '","ts":"'
_ID, _TIME = 36, 27  # characters
_BEGINS: Final = re.compile(
    re.escape(_HEAD) + f"[0-9a-f-]{{{_ID}}}" + re.escape(_NEXT) + r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\"", re.ASCII
)
NEWEST: Final = (
    f"substr(body, 1, {len(_HEAD)}) = '{_HEAD}' AND substr(body, {len(_HEAD) + _ID + 1}, {len(_NEXT)}) = '{_NEXT}',"
    f" substr(body, {len(_HEAD) + _ID + len(_NEXT) + 1}, {_TIME}) DESC, seq DESC"
)
"""The order in which texts that begin otherwise come first, then the newest."""


def enough(limit: int) -> int:
    """How many texts are read for so many records: some hold what is sought elsewhere."""
    return 4 * max(limit, 0) + 100


def suffice(reads: Sequence[Read], sought: Sought) -> bool:
    """Whether these, the first in the order of `NEWEST`, hold as many as are sought, and no later one can be newer."""
    whole = all(one.copies is not None and one.copies["at"] and _BEGINS.match(one.record.body) for one in reads)
    return whole and len(filing.scan(reads, sought)) == sought.limit


def sift(sought: Sought) -> tuple[str, list[str]]:
    """A condition on `body` that holds for every record that is sought, and its values; empty where nothing can be told from texts."""
    fields = [runs for runs in map(_runs, _fields(sought)) if runs]
    if not fields:
        return "", []
    each = " AND ".join(f"({' OR '.join([_HOLDS] * len(runs))})" for runs in fields)
    return f"(({each}) OR {_ESCAPES})", [f"*{run}*" for runs in fields for run in runs]


def _fields(sought: Sought) -> Iterable[tuple[object, ...]]:
    """For each field that is given: texts one of which every record holds that meets it."""
    for name in PLAIN:
        value = getattr(sought, name)
        if value is not None and name not in _NUMBERS:
            yield (*either(value), *REFUSED_KINDS) if name == "verdict" else either(value)
    for name in _MARKS:
        if getattr(sought, name):
            yield (name,)
    if sought.kinds:
        yield tuple(kind.removesuffix("*") for kind in sought.kinds)
    if sought.person is not None or sought.tags:
        yield (*(() if sought.person is None else either(sought.person)), *sought.tags)


def _runs(texts: tuple[object, ...]) -> list[str]:
    """The longest sure run of each text; none where one of them has none."""
    found = [max(_SURE.findall(cut(text)), key=len, default="") if isinstance(text, str) else "" for text in texts]
    return list(dict.fromkeys(found)) if all(found) and len(found) <= _MOST else []
