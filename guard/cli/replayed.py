"""Replayed: `guard diff --replay`: recorded decisions read from a store or a file and made again under both policies. Only reads."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from guard.cli.keys import key_from_environment
from guard.cli.places import UsageError, existing_store
from guard.cli.records import Entry, entries
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core import ports as p
from guard.core.exported import read_first
from guard.core.model import ConversationRef
from guard.core.values import Json, JsonObject
from guard.errors import ConversationError
from guard.policy import Loaded
from guard.review.logged import Logged
from guard.review.replay import Differs, Record, Replayed
from guard.review.replay import replay as again

KIND = "call.decided"


def replay(log: str, old: Loaded, new: Loaded, *, json: bool) -> int:
    """Exit code 1 when some recorded decision would be wider."""
    if "://" in log:
        with existing_store(log, key_from_environment()) as store:
            read = entries(store)[0]
            found, bodies, broken = again(_stored(store, read), old, new, store.load_ledger), [one.body for one in read], 0
    else:
        bodies, broken = _lines(log)
        found = again([Record(body) for body in bodies if body.get("kind") == KIND], old, new, Logged(bodies))
    lacking = lacks(bodies)
    if json:
        print(json_text(_plain(found, broken, lacking)))
    else:
        _tell(found, broken, lacking)
    return 1 if found.widens else 0


@dataclass(frozen=True, slots=True)
class Lacking:
    """How many records are not among those that were read, though one behind them in their chain is, and which months left the store."""

    records: int
    months: tuple[str, ...]


def lacks(bodies: Iterable[JsonObject]) -> Lacking:
    """What is missing between and before these records: their numbers have no gap where all are there."""
    chains: dict[int, set[int]] = {}
    months: dict[str, None] = {}
    for body in bodies:
        chain, seq, segment = body.get("chain"), body.get("seq"), body.get("segment")
        if type(chain) is int and type(seq) is int:
            chains.setdefault(chain, set()).add(seq)
        if body.get("kind") == "audit.segment_dropped" and isinstance(segment, Mapping):
            months[str(segment.get("month"))] = None
    records = sum(max(there) - len(there) for there in chains.values())
    return Lacking(records, tuple(months) if records else ())


def _stored(store: p.Store, read: Iterable[Entry]) -> Iterator[Record]:
    """The decisions of a store, each with its row."""
    rows: dict[ConversationRef, dict[tuple[str, int, int], p.CallRow]] = {}
    for entry in read:
        if entry.at("kind") != KIND:
            continue
        ref = _ref(entry)
        if ref not in rows:
            rows[ref] = {(row.key.ref.branch, row.key.turn, row.key.position): row for row in _rows(store, ref)}
        place = (str(entry.at("branch") or ""), entry.at("turn"), entry.at("position"))
        yield Record(entry.body, rows[ref].get(place))


def _rows(store: p.Store, ref: ConversationRef) -> Iterable[p.CallRow]:
    """The calls of a conversation; none where somebody proposed in one that is not theirs."""
    try:
        return store.rows(ref)
    except ConversationError:
        return ()


def _ref(entry: Entry) -> ConversationRef:
    return ConversationRef(
        tenant=str(entry.at("tenant")), principal=str(entry.at("principal")), conversation=str(entry.at("conversation"))
    )


def _lines(name: str) -> tuple[list[JsonObject], int]:
    """The records of a file, and how many of its lines cannot be read."""
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{spell(name)}: cannot be read ({error.strerror})") from error
    lines = [line for line in data.split(b"\n") if line.strip() and not _begins(line)]
    bodies = list(map(_parsed, lines))
    good = [body for body in bodies if body is not None]
    if lines and not good:
        raise UsageError(f"{spell(name)}: not a line of it is a record (write it with: guard audit --json > FILE)")
    return good, len(lines) - len(good)


def _begins(line: bytes) -> bool:
    """Whether it is the first line of an exported file, which is no record."""
    try:
        read_first(line.decode("utf-8"))
    except ValueError:
        return False
    return True


def _parsed(line: bytes) -> JsonObject | None:
    try:
        found: Json = json.loads(line.decode("utf-8"), parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict) and isinstance(found.get("body"), str):  # an exported record with its body as text
        return _parsed(found["body"].encode("utf-8", "replace"))
    return found if isinstance(found, dict) and "kind" in found else None


def _tell(found: Replayed, broken: int, lacking: Lacking) -> None:
    heads = ("", "when", "conversation", "tool", "who", "was", "would be", "rules", "hidden")
    rows = [_row(one) for one in found.differs]
    for line in table(heads, rows) if rows else []:
        print(line)
    counts = Counter((str(one.direction), one.old, one.new) for one in found.differs)
    for (direction, old, new), number in sorted(counts.items()):
        print(f"{number} x {old} -> {new} ({direction})")
    for reason, number in sorted(found.left.items()):
        print(f"{number} not replayed: {spell(reason)}")
    if found.hidden:
        print(f"{found.hidden} replayed with stand-ins for values that are hidden in the log")
    if lacking.records:
        left = f"; {', '.join(map(spell, lacking.months))} left the store: replay the exports as well" if lacking.months else ""
        print(f"{lacking.records} records of the log are missing here, and what they decided is not replayed{left}")
    if broken:
        print(f"{broken} lines cannot be read", file=sys.stderr)
    print(f"{found.same} decided alike, {len(found.differs)} would differ, {sum(found.left.values())} not replayed")


def _row(one: Differs) -> tuple[object, ...]:
    at = one.record.at
    who = f"{at('principal')} in {at('tenant')}"
    return (
        one.direction,
        at("ts"),
        at("conversation"),
        at("tool", "name"),
        who,
        one.old,
        one.new,
        "; ".join(one.rules),
        ", ".join(one.hidden),
    )


def _plain(found: Replayed, broken: int, lacking: Lacking) -> JsonObject:
    return {
        "ok": not found.widens,
        "same": found.same,
        "differ": [_one(one) for one in found.differs],
        "not_replayed": dict(found.left),
        "with_hidden_values": found.hidden,
        "unreadable_lines": broken,
        "missing_records": lacking.records,
        "dropped_months": list(lacking.months),
    }


def _one(one: Differs) -> Mapping[str, Json]:
    names = ("ts", "id", "tenant", "conversation", "principal", "turn", "position")
    known = {name: one.record.at(name) for name in names}
    return {
        **known,
        "tool": one.record.at("tool", "name"),
        "old": one.old,
        "new": one.new,
        "direction": str(one.direction),
        "hidden": list(one.hidden),
    }
