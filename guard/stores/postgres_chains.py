"""Which chain an audit record belongs to, and how the records of a transaction are sealed at its very end.

A chain's head is a row that is locked last, in the order of the chains, once for all records of the transaction; from then on nothing but the
COMMIT is waited for. Comes after `postgres_wire` and `chain`, before `postgres_tables`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from guard.core.ports import Event
from guard.core.values import encode
from guard.errors import StoreError
from guard.stores import postgres_sql, sql
from guard.stores.chain import write
from guard.stores.postgres_wire import Wire

_TEXT: Final = r'("(?:[^"\\]|\\.)*")'
_WHERE: Final = re.compile(f'"tenant":{_TEXT},"conversation":{_TEXT}').search


def chain_of(event: Event) -> int:
    """The chain of an event: all records of a conversation stand in one, those of none in chain 0."""
    if isinstance(event, str):
        found = _WHERE(event)
        return 0 if found is None else _chain(found[1], found[2])
    tenant, conversation = event.get("tenant"), event.get("conversation")
    if not isinstance(tenant, str) or not isinstance(conversation, str):
        return 0
    return _chain(encode(tenant), encode(conversation))


@lru_cache(maxsize=4096)
def _chain(tenant: str, conversation: str) -> int:
    name = f"{tenant},{conversation}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:4]) % postgres_sql.CHAINS


def seal(wire: Wire, events: Iterable[Event], now: float) -> None:
    """Lock the heads, and queue the records behind them. Raises what `write` raises, before anything is queued for that record."""
    by_chain: dict[int, list[Event]] = {}
    for event in events:
        by_chain.setdefault(chain_of(event), []).append(event)
    heads = [(chain, wire.execute(postgres_sql.HEAD, (chain,))) for chain in sorted(by_chain)]
    for chain, reply in heads:
        head = reply.fetchone()
        if head is None:
            raise StoreError("a chain of the audit has no head: the database is damaged", code="damaged")
        seq, prev = head
        for event in by_chain[chain]:
            seq += 1
            own, body = write(event, chain, seq, prev, wire.stamps.stamp(now))
            wire.execute(sql.APPEND, (chain, seq, prev, own, body))
            prev = own
        wire.execute(postgres_sql.MOVE_HEAD, (seq, prev, chain))
