"""Filing: the few values of an audit record by which it can be found, as columns of a table beside the audit.

They are copies: the database makes them of the body once the record is written, and `columns` makes them again, so that whoever verifies can tell
whether a copy was changed. Escapes that a database cannot hold as text (half characters, zero characters) are replaced before anything is read, and long values are cut, in
both alike, so that no record can be kept out of the index by what stands in it. Pure. Comes after `chain`, before the SQL of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from guard.core.log import Sealed
from guard.core.searching import PLAIN, Filed, Sought, either

COLUMNS: Final = (
    *("at", "ts", "kind", "tenant", "conversation", "turn", "position", "call", "approval", "tool", "verdict", "state", "reason"),
    *("actor", "principal", "spoof", "shadow"),
)
"""What is copied, besides chain and seq: the columns of the table `filed`."""

DAY: Final = 86_400_000_000
"""Microseconds."""

WIDE: Final = 200
"""Characters of a value that are copied: an index entry has to fit into a page."""

PATHS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "kind": (("kind",),),
    "tenant": (("tenant",),),
    "conversation": (("conversation",),),
    "call": (("call_id",),),
    "approval": (("approval",),),
    "tool": (("tool", "name"),),
    "verdict": (("decision", "verdict"),),
    "state": (("approval_state", "decision"), ("approval_state", "status"), ("exec", "status")),
    "reason": (("decision", "code"), ("exec", "error")),
    "actor": (("actor", "ref"),),
    "principal": (("principal",),),
}
"""Where a text column comes from: the first of these places that holds something."""

TAGGED: Final = (("args", "hmac"), ("result", "hmac"))
"""Where a body holds keyed hashes of personal values, by their paths."""

REFUSED_KINDS: Final = ("tool.refused",)
"""Kinds that are refusals without a decision: their verdict is `refuse`."""

_HALF = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)

Columns = dict[str, Any]
Counts = tuple[tuple[tuple[Any, ...], int], ...]
"""How many records there are of each combination of values."""


def clean(body: str) -> str:
    """The body as it is read for copies: each half of a character, and each zero character, as another that every database can hold."""
    return body.replace("\\ud", "\\uf").replace("\\u0000", "\\ufffd")


def columns(body: str) -> Columns:
    """The copies of one record. Raises ValueError (or RecursionError) where the body cannot be read."""
    found = json.loads(clean(body), parse_float=Decimal)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    out: Columns = {name: _first(found, places) for name, places in PATHS.items()}
    ts = _text(found.get("ts"))
    out["at"], out["ts"] = micros(ts), ts
    out.update({name: found.get(name) if type(found.get(name)) is int else None for name in ("turn", "position")})
    out["spoof"] = int(bool(found.get("spoof")))
    out["shadow"] = int(bool(_at(found, ("decision", "shadow"))))
    if out["kind"] in REFUSED_KINDS:
        out["verdict"] = "refuse"
    return out


def tags(body: str) -> frozenset[str]:
    """The keyed hashes that a body holds."""
    if '"hmac":{' not in body:
        return frozenset()
    found = json.loads(clean(body), parse_float=Decimal)
    maps = [_at(found, path) for path in TAGGED]
    return frozenset(str(tag)[:WIDE] for one in maps if isinstance(one, dict) for tag in one.values() if isinstance(tag, str))


def micros(ts: str | None) -> int:
    """A time text as microseconds since the epoch; 0 where there is none."""
    try:
        return (datetime.fromisoformat(ts or "") - _EPOCH) // _MICRO
    except (ValueError, TypeError):
        return 0


def _first(body: Mapping[str, Any], places: Iterable[tuple[str, ...]]) -> str | None:
    return next((text for path in places if (text := _text(_at(body, path))) is not None), None)


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _text(value: Any) -> str | None:
    return value[:WIDE] if isinstance(value, str) else None


# -- asking without an index -------------------------------------------------------------------------------------------


def meets(found: Columns, held: frozenset[str], sought: Sought) -> bool:
    """Whether a record with these copies and keyed hashes is one of those that are looked for."""
    at = found["at"]
    if (sought.since is not None and at < instant(sought.since)) or (sought.until is not None and at >= instant(sought.until)):
        return False
    if any((wanted := getattr(sought, name)) is not None and found[name] not in map(cut, either(wanted)) for name in PLAIN):
        return False
    if (sought.spoof and not found["spoof"]) or (sought.shadow and not found["shadow"]):
        return False
    if sought.asked and found["approval"] is None:
        return False
    return _of_kind(found["kind"] or "", sought.kinds) and _about(found, held, sought)


def instant(seconds: float) -> int:
    """Seconds since the epoch in whole microseconds."""
    return round(seconds * 1_000_000)


def cut(value: Any) -> Any:
    """A sought value as a column holds it."""
    if not isinstance(value, str):
        return value
    return _HALF.sub(lambda half: chr(ord(half[0]) + 0x2000), value.replace("\0", "\ufffd"))[:WIDE]


def _of_kind(kind: str, kinds: tuple[str, ...]) -> bool:
    return not kinds or any(kind.startswith(one[:-1]) if one.endswith("*") else kind == one for one in kinds)


def _about(found: Columns, held: frozenset[str], sought: Sought) -> bool:
    if sought.person is None and not sought.tags:
        return True
    return (sought.person is not None and found["principal"] in map(cut, either(sought.person))) or not held.isdisjoint(
        sought.tags
    )


def scan(records: Iterable[Sealed], sought: Sought) -> list[tuple[Columns, Sealed]]:
    """Those of `records` that are looked for, in the order asked for, by reading every one. One that cannot be read is not found."""
    found = [(made, one) for one in records for made in _read(one) if meets(made, tags(one.body), sought)]
    found.sort(key=_place, reverse=sought.newest)
    if sought.behind is not None:
        start = sought.behind
        found = [pair for pair in found if (_place(pair) < start if sought.newest else _place(pair) > start)]
    return found if sought.limit is None else found[: max(sought.limit, 0)]


def _read(one: Sealed) -> Iterator[Columns]:
    try:
        yield columns(one.body)
    except (ValueError, RecursionError):
        return


def _place(pair: tuple[Columns, Sealed]) -> tuple[int, int, int]:
    return pair[0]["at"], pair[1].chain, pair[1].seq


def count(records: Iterable[Sealed], sought: Sought, by: tuple[str, ...]) -> Counts:
    """How many of `records` are looked for, for each combination of values, by reading every one."""
    counts: dict[tuple[Any, ...], int] = {}
    for found, _ in scan(records, sought):
        group = tuple(found["at"] // DAY if name == "day" else found[name] for name in by)
        counts[group] = counts.get(group, 0) + 1
    return _in_order(counts)


def sum_up(first: Counts, second: Counts) -> Counts:
    """Two counts as one."""
    if not second:
        return first
    counts = dict(first)
    for group, number in second:
        counts[group] = counts.get(group, 0) + number
    return _in_order(counts)


def _in_order(counts: Mapping[tuple[Any, ...], int]) -> Counts:
    return tuple(sorted(counts.items(), key=lambda pair: [(value is not None, value) for value in pair[0]]))


def chosen(records: Iterable[Sealed], sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """Columns of those of `records` that are looked for."""
    return tuple(tuple(made[name] for name in names) for made, _ in scan(records, sought))


def filed(record: Sealed) -> Filed:
    """What has to be filed about a record. Raises as `columns` does."""
    return Filed(seq=record.seq, columns=columns(record.body), tags=tags(record.body))


def differing(record: Sealed, stored: Filed | None) -> tuple[str, ...]:
    """For who verifies: the columns in which what is filed (`tags` among them) differs from the body; every one where nothing is, or the body cannot be read."""
    try:
        true = filed(record)
    except (ValueError, RecursionError):
        return COLUMNS
    if stored is None:
        return COLUMNS
    changed = tuple(name for name in COLUMNS if stored.columns.get(name) != true.columns[name])
    return changed if stored.tags == true.tags else (*changed, "tags")
