"""The SQL of filing: how SQLite makes the copies of a record, and the statements that find records by them.

SQLite makes the copies of many records at once, after they were written, as `refiling` asks for it; nothing is filed in the transaction of a decision.
PostgreSQL's function is in `postgres_filing`. Every search names its values by `?`; nothing that a user wrote stands in a
statement. Comes after `filing`, before `sql_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from guard.core.searching import GROUPS, PLAIN, Sought, either
from guard.stores.filing import COLUMNS, DAY, PATHS, REFUSED_KINDS, TAGGED, WIDE, cut, instant

_NAMES: Final = ", ".join(("chain", "seq", *COLUMNS))


def _json(path: tuple[str, ...]) -> str:
    return f"json_extract(j, '$.{'.'.join(path)}')"


def _text(name: str) -> str:
    places = ", ".join(map(_json, PATHS[name]))
    found = f"substr({places if len(PATHS[name]) == 1 else f'COALESCE({places})'}, 1, {WIDE})"
    if name != "verdict":
        return found
    kinds = ", ".join(f"'{kind}'" for kind in REFUSED_KINDS)
    return f"CASE WHEN {_json(('kind',))} IN ({kinds}) THEN 'refuse' ELSE {found} END"


_TS: Final = _json(("ts",))
_MADE: Final = {
    "at": f"COALESCE(strftime('%s', substr({_TS}, 1, 19)) * 1000000 + substr({_TS}, 21, 6), 0)",
    "ts": _TS,
    **{name: _text(name) for name in PATHS},
    "turn": _json(("turn",)),
    "position": _json(("position",)),
    "spoof": f"COALESCE({_json(('spoof',))} NOT IN ('[]', '{{}}', ''), 0)",
    "shadow": f"COALESCE({_json(('decision', 'shadow'))} NOT IN ('[]', '{{}}', ''), 0)",
}
_COPIES: Final = ", ".join(_MADE[name] for name in COLUMNS)
_CLEAN: Final = (
    "CASE WHEN NOT json_valid({0}) THEN '{{}}' WHEN {0} GLOB '*\\ud*' OR {0} GLOB '*\\u0000*'"
    " THEN replace(replace({0}, '\\ud', '\\uf'), '\\u0000', '\\ufffd') ELSE {0} END"
)
_EACH_TAG: Final = " UNION ".join(
    f"SELECT substr(t.value, 1, {WIDE}), b.chain, b.seq FROM b, json_each(b.j, '$.{'.'.join(path)}') t WHERE t.type = 'text'"  # noqa: S608 - our own text
    for path in TAGGED
)
_HELD: Final = "{} GLOB '*\"hmac\":{{*'"  # as `instr` would find it, in a fifth of its time

_ROOM: Final = "chain = ? AND seq > ? AND seq <= ?"
FILL: Final = (
    f"INSERT OR IGNORE INTO filed ({_NAMES}) SELECT chain, seq, {_COPIES}"  # noqa: S608 - our own text
    f" FROM (SELECT chain, seq, {_CLEAN.format('body')} AS j FROM audit WHERE {_ROOM} ORDER BY seq)"
)
FILL_TAGS: Final = (
    f"WITH b AS (SELECT chain, seq, {_CLEAN.format('body')} AS j FROM audit WHERE {_ROOM} AND {_HELD.format('body')})"  # noqa: S608 - our own text
    f" INSERT OR IGNORE INTO tags (tag, chain, seq) {_EACH_TAG}"
)
FILLED: Final = "SELECT a.chain, MAX(a.seq), COALESCE((SELECT MAX(f.seq) FROM filed f WHERE f.chain = a.chain), 0) FROM audit a GROUP BY a.chain"
MARK: Final = (
    "SELECT COALESCE((SELECT MAX(seq) FROM audit WHERE chain = 0), 0), COALESCE((SELECT MAX(seq) FROM filed WHERE chain = 0), 0)"
)
"""The newest record of the one chain of a file, and the last one that is filed: everything up to it is."""
LYING: Final = "SELECT 0, COALESCE((SELECT MAX(seq) FROM filed WHERE chain = 0), 0), seq, hash FROM audit WHERE chain = 0 ORDER BY seq DESC LIMIT 1"
"""The chain, the last record that is filed, and number and hash of the newest."""
BEHIND: Final = "SELECT chain, seq, prev, hash, body FROM audit WHERE chain = ? AND seq > ? AND seq <= ?{} ORDER BY {} LIMIT ?"
"""Records of a chain; to be filled in: one condition more, and their order, see `sifting`."""
THESE: Final = "SELECT chain, seq, prev, hash, body FROM audit WHERE chain = ? AND seq IN ({})"
NUMBER: Final = "SELECT COUNT(*) FROM audit WHERE chain = ? AND seq > ? AND seq <= ?"
COPIES: Final = f"SELECT {_NAMES} FROM filed WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?"  # noqa: S608 - our own text
COPIED_TAGS: Final = "SELECT seq, tag FROM tags WHERE chain = ? AND seq > ? AND seq <= ?"
_PLACE: Final = "f.at, f.chain, f.seq"
_RECORD: Final = (
    "SELECT a.chain, a.seq, a.prev, a.hash, a.body, f.at FROM ({}) f JOIN audit a ON a.chain = f.chain AND a.seq = f.seq"
)
MOST: Final = 2**62
"""LIMIT of no limit."""
_FEW: Final = ("conversation", "call", "approval")


class Asking:
    """The conditions of one search, and their values in order. `kind`: the one kind, or beginning of kinds, that this part of it is for.

    `f.at` or `+f.at`: where kinds are found by their beginning, the time may not be what the database goes by. Where the records of a conversation, a
    call or an approval are sought, of which there are few, neither may time or kind.
    """

    def __init__(self, sought: Sought, kind: str | None) -> None:
        wide = kind is not None and kind.endswith("*")
        few = any(getattr(sought, name) is not None for name in _FEW)
        self.at = "+f.at" if few or (wide and not sought.asked) else "f.at"
        self.kind = (
            "f.kind || ''" if few or (wide and sought.asked) else "f.kind"
        )  # what belongs to approvals has an index by time of its own
        self.parts: list[str] = []
        self.values: list[Any] = []
        self._kind(kind)
        self._times(sought)
        for name in PLAIN:
            value = getattr(sought, name)
            if value is not None:
                self._put(f"f.{name} {_is(value)}", *map(cut, either(value)))
        if sought.verdict is not None and sought.verdict != "allow":
            self._put("f.verdict <> 'allow'")  # in the words of the index
        for name in ("spoof", "shadow"):
            if getattr(sought, name):
                self._put(f"f.{name} = 1")
        if sought.asked:
            self._put("f.approval IS NOT NULL")
        if sought.behind is not None:
            self._put(f"({self.at}, f.chain, f.seq) {'<' if sought.newest else '>'} (?, ?, ?)", *sought.behind)

    def _put(self, part: str, *values: Any) -> None:
        self.parts.append(part)
        self.values += values

    def _times(self, sought: Sought) -> None:
        """The times; of a page behind another one those that are left: a database would begin at the first one again."""
        least, most = (None if moment is None else instant(moment) for moment in (sought.since, sought.until))
        if least is not None:
            self._put(f"{self.at} >= ?", least if sought.behind is None or sought.newest else max(least, sought.behind[0]))
        if most is not None:
            self._put(f"{self.at} < ?", most if sought.behind is None or not sought.newest else min(most, sought.behind[0] + 1))

    def _kind(self, kind: str | None) -> None:
        if kind is not None and kind.endswith("*"):
            self._put(f"{self.kind} >= ? AND {self.kind} < ?", cut(kind[:-1]), cut(kind[:-1]) + "\U0010ffff")
        elif kind is not None:
            self._put(f"{self.kind} = ?", cut(kind))

    def where(self, *more: str) -> str:
        """All conditions, and some more."""
        parts = [*self.parts, *more]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def order(self, sought: Sought) -> str:
        """The order in which this part gives its records."""
        way = "DESC" if sought.newest else "ASC"
        return f"ORDER BY {self.at} {way}, f.chain {way}, f.seq {way}"


def _is(wanted: Any) -> str:
    """The comparison with one value, or with several any of which will do."""
    count = len(either(wanted))
    return "= ?" if count == 1 else f"IN ({', '.join('?' * count)})"


Source = tuple[str, list[Any], str]
"""FROM and WHERE, their values, and the order."""


def _sources(sought: Sought) -> list[Source]:
    """Where the places of records come from: a source for each kind, and for a person the records of the principal and those of each keyed hash."""
    kinds = _apart(sought.kinds) if sought.kinds else (None,)
    return [source for kind in kinds for source in _of_person(sought, Asking(sought, kind))]


def _apart(kinds: Sequence[str]) -> list[str]:
    """Kinds without those that another one covers, so that no record is found twice."""
    wide = [kind[:-1] for kind in kinds if kind.endswith("*")]
    return [kind for kind in dict.fromkeys(kinds) if not any(kind.startswith(one) and kind != f"{one}*" for one in wide)]


def _of_person(sought: Sought, asking: Asking) -> list[Source]:
    order = asking.order(sought)
    if sought.person is None and not sought.tags:
        return [(f"FROM filed f{asking.where()}", asking.values, order)]
    found: list[Source] = []
    if sought.person is not None:
        whose = asking.where(f"f.principal {_is(sought.person)}")
        found.append((f"FROM filed f{whose}", [*asking.values, *map(cut, either(sought.person))], order))
    if sought.tags:
        marks = ", ".join("?" * len(sought.tags))
        places = f"SELECT DISTINCT chain, seq FROM tags WHERE tag IN ({marks})"  # noqa: S608 - our own text
        joined = f"FROM ({places}) t JOIN filed f ON f.chain = t.chain AND f.seq = t.seq"
        found.append((f"{joined}{asking.where()}", [*sought.tags, *asking.values], order))
    return found


def _places(sought: Sought) -> tuple[str, list[Any]]:
    """The statement that gives the places (at, chain, seq) of all records, at most as many as asked for, and its values."""
    most = MOST if sought.limit is None else max(sought.limit, 0)
    each = [f"SELECT {_PLACE} {source} {order} LIMIT ?" for source, _, order in _sources(sought)]
    values = [value for _, given, _ in _sources(sought) for value in (*given, most)]
    named = [f"SELECT * FROM ({one}) AS s{number}" for number, one in enumerate(each)]  # noqa: S608 - our own text
    return (each[0] if len(each) == 1 else " UNION ".join(named)), values


def _ordered(sought: Sought) -> str:
    way = "DESC" if sought.newest else "ASC"
    return "ORDER BY " + ", ".join(f"f.{name} {way}" for name in ("at", "chain", "seq")) + " LIMIT ?"


def search(sought: Sought) -> tuple[str, list[Any]]:
    """The statement that finds records, each with its time in microseconds, and its values."""
    places, values = _places(sought)
    most = MOST if sought.limit is None else max(sought.limit, 0)
    return f"{_RECORD.format(places)} {_ordered(sought)}", [*values, most]


def filed(sought: Sought, names: Sequence[str]) -> tuple[str, list[Any]]:
    """The statement that gives columns of what is filed, and its values. Another name is a ValueError."""
    if not set(names) <= {*COLUMNS, "chain", "seq"}:
        raise ValueError(f"filed are {', '.join(COLUMNS)}")
    wanted = ", ".join(f"f.{name}" for name in names)
    most = MOST if sought.limit is None else max(sought.limit, 0)
    sources = _sources(sought)
    if len(sources) == 1:
        source, given, order = sources[0]
        return f"SELECT {wanted} {source} {order} LIMIT ?", [*given, most]
    places, values = _places(sought)
    joined = f"SELECT {wanted} FROM ({places}) p JOIN filed f ON f.chain = p.chain AND f.seq = p.seq"  # noqa: S608 - our own text
    return f"{joined} {_ordered(sought)}", [*values, most]


def tally(sought: Sought, by: Sequence[str]) -> tuple[str, list[Any]]:
    """The statement that counts records. `by` are names of `GROUPS`; anything else is a ValueError."""
    if not set(by) <= set(GROUPS):
        raise ValueError(f"records are counted by {', '.join(GROUPS)}")
    groups = ", ".join(f"f.at / {DAY}" if name == "day" else f"f.{name}" for name in by)
    sources = _sources(sought)
    source, values, _ = sources[0]
    if len(sources) > 1:  # a record may be in several
        each = " UNION ".join(f"SELECT f.chain, f.seq {one}" for one, _, _ in sources)
        values = [value for _, given, _ in sources for value in given]
        source = f"FROM filed f JOIN ({each}) u ON u.chain = f.chain AND u.seq = f.seq"
    grouped = f" GROUP BY {groups} ORDER BY {groups}" if by else ""
    return f"SELECT {groups + ', ' if by else ''}COUNT(*) {source}{grouped}", values
