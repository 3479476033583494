"""The chain: how an audit record is sealed behind the one before, and how stored records are checked.

`hash` is SHA-256 over `guard-audit-v1`, a zero byte, chain (with its length), seq, prev and body (with its length); lengths and seq are 8
bytes, big-endian; chain is its decimal digits; prev is 32 bytes, zeros before the first record. Checking reads the stored bytes and never
writes JSON again. It finds changed, missing, added and reordered records; it cannot find that the newest ones were cut off. May not
read clocks or files. Comes after values and before every store.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guard.core.log import NOTHING, Head
from guard.core.ports import Event, Sealed, Store
from guard.core.replacing import replace
from guard.core.values import encode
from guard.errors import StoreError
from guard.stores.stamp import Stamps

GENESIS = "0" * 64
"""`prev` of the first record."""

_PAGE = 5000  # records that are held at a time
_OWN = frozenset({"v", "id", "ts", "mono", "chain", "seq", "prev", "hash"})
UNSAID = ("", "")
"""Beside the time of a record that was written together with the one before it."""
_LONE = re.compile("[\ud800-\udfff]")
_sha256 = hashlib.sha256
_PAIR = struct.Struct(">Q32sQ").pack
Row = tuple[int, int, str, str, str]
"""Chain, seq, prev, hash and body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a check found: how many records held, and where (in which chain) and why the first one did not."""

    ok: bool
    records: int
    first_bad_seq: int | None = None
    why: str = ""
    chain: int | None = None


def storable(text: str) -> str:
    """JSON text that UTF-8 can hold: half a surrogate pair, which only JSON escapes can write, becomes that escape again."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    return text


def seal(event: Event, *, chain: int, seq: int, prev: str, ts: str, record_id: str) -> Sealed:
    """Write the body of `event` and seal it. See `write`."""
    own, body = write(event, chain, seq, prev, (ts, record_id))
    return Sealed(chain=chain, seq=seq, prev=prev, hash=own, body=body)


def write(
    event: Event, chain: int, seq: int, prev: str, stamp: tuple[str, str], beside: tuple[str, str] = UNSAID
) -> tuple[str, str]:
    """Hash and body of the record of `event`; `stamp` is its time text and id, `beside` what stands behind the time (see `stamp.beside`).

    Raises ValueError when the event lacks `kind` or holds a field that the store writes, StoreError when it is not JSON.
    """
    before, behind = around(event, chain, stamp, beside)
    body = f"{before}{seq}{behind}"
    try:
        data = body.encode()
    except UnicodeEncodeError:
        body = storable(body)
        data = body.encode()
    return _hash(chain, seq, prev, data), body


def write_all(events: Sequence[Event], chain: int, head: tuple[int, str], stamps: Stamps, now: float) -> list[Row]:
    """The records of some events behind `head` (seq and hash), as `write` makes them one by one, where what they share is made once. Raises as it does.

    Which process wrote them, and when by its own clock, stands in the first of them and is so of all.
    """
    (seq, own), first, rows = head, _beginning(chain), list[Row]()
    last, beside = bytes.fromhex(own), stamps.beside()
    text, alone = stamps.text(now), f'","ts":"{stamps.text(now)}","chain":{chain},"seq":'
    middle = f'","ts":"{text}"{beside[0]},"chain":{chain},"seq":'
    for event, name in zip(events, stamps.names(now, len(events)), strict=True):
        seq += 1
        if isinstance(event, str):
            body = f'{{"v":1,"id":"{name}{middle}{seq},{event}}}'
        else:
            before, behind = around(event, chain, (text, name), beside)
            body = f"{before}{seq}{behind}"
        middle, beside = alone, UNSAID
        try:
            data = body.encode()
        except UnicodeEncodeError:
            body = storable(body)
            data = body.encode()
        last = _sha256(b"%b%b%b" % (first, _PAIR(seq, last, len(data)), data)).digest()
        prev, own = own, last.hex()
        rows.append((chain, seq, prev, own, body))
    return rows


def around(event: Event, chain: int, stamp: tuple[str, str], beside: tuple[str, str] = UNSAID) -> tuple[str, str]:
    """What stands in a body before and behind its number, for a database that seals by itself. Raises as `write` does."""
    text = event if isinstance(event, str) else _members(event)
    (ts, name), own = stamp, beside[not isinstance(event, str) and "writer" in event]
    return f'{{"v":1,"id":"{name}","ts":"{ts}"{own},"chain":{chain},"seq":', f",{text}}}"


def _members(event: dict[str, Any]) -> str:
    """The JSON text of the members of an event, without the braces."""
    if "kind" not in event or not _OWN.isdisjoint(event):
        raise ValueError("an event holds `kind` and none of the fields that the store writes: " + ", ".join(sorted(_OWN)))
    try:
        return encode(event)[1:-1]
    except (ValueError, TypeError, RecursionError):
        raise StoreError("an event cannot be written as JSON") from None


def _hash(chain: int, seq: int, prev: str, body: bytes) -> str:
    return _sha256(_beginning(chain) + _PAIR(seq, bytes.fromhex(prev), len(body)) + body).hexdigest()


@lru_cache(maxsize=64)
def _beginning(chain: int) -> bytes:
    """What is hashed before the place of a record."""
    name = b"%d" % chain
    return b"guard-audit-v1\0" + len(name).to_bytes(8) + name


def verify(records: Iterable[Sealed], *, after: Sealed | None = None, start: Head = NOTHING) -> Verified:
    """Check the records of one chain in the order given, from its beginning or behind `after` (which is taken as true).

    `start`: up to this record, which must be there, earlier ones may have left the store.
    """
    last, good = after, 0
    for record in records:
        if last is None and _left(record, start):
            last = replace(record, seq=record.seq - 1, hash=record.prev)
        why = _wrong(record, last)
        if not why and last is not None and record.seq == start[0] and record.hash != start[1]:
            why = "the record is not the one up to which records left the store"
        if why:
            return Verified(ok=False, records=good, first_bad_seq=record.seq, why=why)
        last, good = record, good + 1
    return Verified(ok=True, records=good)


def _left(first: Sealed, start: Head) -> bool:
    return type(first.seq) is int and 1 < first.seq <= start[0]


def verify_chains(chains: Mapping[int, Iterable[Sealed]], starts: Mapping[int, Head] | None = None) -> Verified:
    """Check whole chains, each under its number; how many records held in all, and the first bad one of the first bad chain.

    `starts`: see `Log.beginnings`.
    """
    found = {chain: verify(records, start=(starts or {}).get(chain, NOTHING)) for chain, records in chains.items()}
    total = sum(one.records for one in found.values())
    bad = next((replace(one, records=total, chain=chain) for chain, one in found.items() if not one.ok), None)
    return bad or Verified(ok=True, records=total)


def verify_store(store: Store) -> Verified:
    """Check every chain of a store, from its first record to its newest."""
    return verify_chains({chain: _pages(store, chain) for chain in range(store.chains)}, store.beginnings())


def _pages(store: Store, chain: int) -> Iterator[Sealed]:
    """The records of a chain without holding all of them."""
    after = 0
    while page := store.audit(chain=chain, after=after, limit=_PAGE):
        yield from page
        after = max(record.seq for record in page)


def _wrong(record: Sealed, last: Sealed | None) -> str:
    if last is not None and record.chain != last.chain:
        return "the record is of another chain"
    expected = 1 if last is None else last.seq + 1
    if record.seq != expected:
        return f"the record stands where number {expected} must stand"
    if record.prev != (GENESIS if last is None else last.hash):
        return "the record does not follow the one before it"
    return _changed(record)


def _changed(record: Sealed) -> str:
    try:
        true = _hash(record.chain, record.seq, record.prev, record.body.encode())
        fields: Any = json.loads(record.body)
    except (ValueError, AttributeError, OverflowError, RecursionError):
        return "the record cannot be read"
    if true != record.hash:
        return "the record was changed"
    return "" if _copies_agree(record, fields) else "the record's columns differ from its body"


def _copies_agree(record: Sealed, fields: Any) -> bool:
    return (
        isinstance(fields, dict)
        and fields.get("v") == 1
        and fields.get("chain") == record.chain
        and fields.get("seq") == record.seq
        and isinstance(fields.get("kind"), str)
    )
