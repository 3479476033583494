"""Filing: the few values of an audit record by which it can be found, as columns of a table beside the audit.

They are copies: the database makes them of the body once the record is written, and `columns` makes them again, so that whoever verifies can tell
whether a copy was changed. Escapes that a database cannot hold as text (half characters, zero characters) are replaced before anything is read, and long values are cut, in
both alike, so that no record can be kept out of the index by what stands in it. Pure. Comes after `chain`, before the SQL of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

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
_HELD = '"hmac":{'
_PLACES = tuple((name, tuple((path[0], path[1] if len(path) > 1 else "") for path in places)) for name, places in PATHS.items())
_decode = json.JSONDecoder(parse_float=Decimal).decode  # made once: `json.loads` would make one for each record
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)

Columns = dict[str, Any]
Judge = Callable[[Columns, frozenset[str]], bool]
Counts = tuple[tuple[tuple[Any, ...], int], ...]
"""How many records there are of each combination of values."""


def clean(body: str) -> str:
    """The body as it is read for copies: each half of a character, and each zero character, as another that every database can hold."""
    return body.replace("\\ud", "\\uf").replace("\\u0000", "\\ufffd")


def columns(body: str) -> Columns:
    """The copies of one record. Raises ValueError (or RecursionError) where the body cannot be read."""
    return _columns(_read(body))


def tags(body: str) -> frozenset[str]:
    """The keyed hashes that a body holds."""
    return _tags(body, _read(body)) if _HELD in body else frozenset()


def _read(body: str) -> dict[str, Any]:
    found = _decode(clean(body))
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _columns(found: dict[str, Any]) -> Columns:
    """One loop over what is copied: whoever verifies does this for every record there is."""
    out: Columns = {"at": 0, "ts": None}
    get = found.get
    for name, places in _PLACES:
        out[name] = None
        for top, inner in places:
            value = get(top)
            if inner:
                value = value.get(inner) if type(value) is dict else None
            if type(value) is str:
                out[name] = value[:WIDE]
                break
    ts = _text(get("ts"))
    out["at"], out["ts"] = micros(ts), ts
    out.update({name: value if type(value := get(name)) is int else None for name in ("turn", "position")})
    out["spoof"] = int(bool(get("spoof")))
    out["shadow"] = int(bool(_at(found, ("decision", "shadow"))))
    if out["kind"] in REFUSED_KINDS:
        out["verdict"] = "refuse"
    return out


def _tags(body: str, found: dict[str, Any]) -> frozenset[str]:
    if _HELD not in body:
        return frozenset()
    maps = [_at(found, path) for path in TAGGED]
    return frozenset(tag[:WIDE] for one in maps if isinstance(one, dict) for tag in one.values() if isinstance(tag, str))


def micros(ts: str | None) -> int:
    """A time text as microseconds since the epoch; 0 where there is none."""
    try:
        return (datetime.fromisoformat(ts or "") - _EPOCH) // _MICRO
    except (ValueError, TypeError):
        return 0


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _text(value: Any) -> str | None:
    return value[:WIDE] if isinstance(value, str) else None


# -- asking without an index -------------------------------------------------------------------------------------------


def judge(sought: Sought) -> Judge:
    """What says whether a record with these copies and keyed hashes is one of those that are looked for."""
    since = None if sought.since is None else instant(sought.since)
    until = None if sought.until is None else instant(sought.until)
    plain = [(name, tuple(map(cut, either(value)))) for name in PLAIN if (value := getattr(sought, name)) is not None]
    marks = [name for name in ("spoof", "shadow") if getattr(sought, name)]
    persons, anybody = tuple(map(cut, either(sought.person))), sought.person is None and not sought.tags

    kinds: dict[str | None, bool] = {}  # of each kind that was met, whether it is one that is sought

    def met(found: Columns, held: frozenset[str]) -> bool:
        kind = found["kind"]
        if kind not in kinds:
            kinds[kind] = _of_kind(kind or "", sought.kinds)
        if not kinds[kind]:
            return False
        at = found["at"]
        if (since is not None and at < since) or (until is not None and at >= until):
            return False
        for name, values in plain:
            if found[name] not in values:
                return False
        if (sought.asked and found["approval"] is None) or (marks and not all(found[name] for name in marks)):
            return False
        return anybody or (sought.person is not None and found["principal"] in persons) or not held.isdisjoint(sought.tags)

    return met


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


class Read(NamedTuple):
    """A record with its copies and keyed hashes; no copies where it cannot be read."""

    copies: Columns | None
    held: frozenset[str]
    record: Sealed


def read(record: Sealed) -> Read:
    """Read a record to look whether it is sought."""
    try:
        found = _read(record.body)
        return Read(_columns(found), _tags(record.body, found), record)
    except (ValueError, RecursionError):
        return Read(None, frozenset(), record)


def scan(records: Iterable[Read | Sealed], sought: Sought) -> list[tuple[Columns, Sealed]]:
    """Those of `records` that are looked for, in the order asked for, by looking at every one. One that cannot be read is not found."""
    found = sorted(_met(records, sought), key=_place, reverse=sought.newest)
    if sought.behind is not None:
        start = sought.behind
        found = [pair for pair in found if (_place(pair) < start if sought.newest else _place(pair) > start)]
    return found if sought.limit is None else found[: max(sought.limit, 0)]


def _met(records: Iterable[Read | Sealed], sought: Sought) -> list[tuple[Columns, Sealed]]:
    met = judge(sought)
    each = (one if isinstance(one, Read) else read(one) for one in records)
    return [(copies, record) for copies, held, record in each if copies is not None and met(copies, held)]


def _place(pair: tuple[Columns, Sealed]) -> tuple[int, int, int]:
    return pair[0]["at"], pair[1].chain, pair[1].seq


def count(records: Iterable[Read | Sealed], sought: Sought, by: tuple[str, ...]) -> Counts:
    """How many of `records` are looked for, for each combination of values, by looking at every one."""
    counts: dict[tuple[Any, ...], int] = {}
    for found, _ in _met(records, sought) if sought.behind is None and sought.limit is None else scan(records, sought):
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


def chosen(records: Iterable[Read | Sealed], sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """Columns of those of `records` that are looked for."""
    found = ({**made, "chain": one.chain, "seq": one.seq} for made, one in scan(records, sought))
    return tuple(tuple(made[name] for name in names) for made in found)


def filed(record: Sealed) -> Filed:
    """What has to be filed about a record. Raises as `columns` does."""
    found = _read(record.body)
    return Filed(seq=record.seq, columns=_columns(found), tags=_tags(record.body, found))


def differing(record: Sealed, stored: Filed | None) -> tuple[str, ...]:
    """For who verifies: the columns in which what is filed (`tags` among them) differs from the body; every one where nothing is, or the body cannot be read."""
    try:
        true = filed(record)
    except (ValueError, RecursionError):
        return COLUMNS
    if stored is None:
        return COLUMNS
    if stored.columns == true.columns and stored.tags == true.tags:
        return ()
    changed = tuple(name for name in COLUMNS if stored.columns.get(name) != true.columns[name])
    return changed if stored.tags == true.tags else (*changed, "tags")
