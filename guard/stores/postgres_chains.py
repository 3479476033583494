"""Which chain an audit record belongs to, and how the records of a transaction are sealed at its very end.

The server seals: it locks the row that is a chain's head, computes the hash and writes the record in one statement, and the COMMIT is behind it
already. So nobody waits for a program while a head is locked. Chains are locked in order. Comes after `postgres_wire` and `chain`, before `postgres_tables`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from guard.core.ports import Event
from guard.core.values import encode
from guard.stores import postgres_sql
from guard.stores.chain import UNSAID, around, storable
from guard.stores.postgres_wire import Reply, Wire

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


def seal(wire: Wire, events: Iterable[Event], now: float) -> list[Reply]:
    """Queue the records, those of one chain in their order and chains in theirs; the answers say where each stands. Raises as `write` does."""
    placed = sorted(((chain_of(event), event) for event in events), key=lambda pair: pair[0])
    beside = wire.stamps.beside()
    starts = {index for index, (chain, _) in enumerate(placed) if not index or placed[index - 1][0] != chain}
    written = [
        (chain, *around(event, chain, wire.stamps.stamp(now), beside if index in starts else UNSAID))
        for index, (chain, event) in enumerate(placed)
    ]
    return [wire.execute(postgres_sql.SEAL, (chain, before, storable(behind))) for chain, before, behind in written]
