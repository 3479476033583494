"""Closing: a month's records written to a file that can be checked without the store, and the records that say so and that they left.

A segment is a prefix of each chain: its records up to the one before the first that is dated at or after the end of the month, behind what was closed before. So
order is the number of a record, never its time. Comes after `segments`; the command line uses it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from guard.core.exported import first_line, record_line
from guard.core.log import NOTHING, Head, Log, Sealed, Tabled, numbered
from guard.core.ports import Event
from guard.core.values import Json
from guard.proof.killed import stop_digest
from guard.proof.segments import CLOSED, DROPPED
from guard.proof.tables import standing_digest
from guard.stores.stamp import time_text

_PAGE = 2000
_TS = re.compile(r'\{"v":1,"id":"[^"]*","ts":"([^"]{27})"').match
_CHUNK = 1 << 20


@dataclass(kw_only=True)
class Segment:
    """What was written: behind which record of each chain it begins, with which it ends, how many there are, and size and SHA-256 of the file."""

    number: int
    behind: Mapping[int, Head]
    first: dict[int, Head] = field(default_factory=dict)
    last: dict[int, Head] = field(default_factory=dict)
    records: int = 0
    size: int = 0
    digest: str = ""


def write(log: Log, path: Path, made: Segment, end: float, told: Callable[[int], None]) -> Segment:
    """Write the records up to `end` (seconds since the epoch) that follow `made.behind` into a new file; `told` hears how many so far.

    The file is on the disk, under its name, when this returns; readable by its owner only. Raises FileExistsError, another OSError, or ValueError where a record cannot be
    exported.
    """
    if path.exists():
        raise FileExistsError(17, "it is there already", str(path))
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    digest = hashlib.sha256()
    with os.fdopen(handle, "wb") as file:
        for line in _lines(log, made, time_text(end), told):
            data = f"{line}\n".encode()
            digest.update(data)
            made.size += file.write(data)
        file.flush()
        os.fsync(file.fileno())
    made.digest = digest.hexdigest()
    if not made.records:
        part.unlink()
        return made
    os.link(part, path)  # unlike a rename, this replaces nothing
    part.unlink()
    return made


def _lines(log: Log, made: Segment, end: str, told: Callable[[int], None]) -> Iterator[str]:
    yield first_line(made.number, made.behind)
    made.last.update(made.behind)
    for chain in range(log.chains):
        for one in _until(log, chain, made.behind.get(chain, NOTHING)[0], end):
            yield record_line(one)
            made.first.setdefault(chain, (one.seq, one.hash))
            made.last[chain] = (one.seq, one.hash)
            made.records += 1
            told(made.records)


def _until(log: Log, chain: int, after: int, end: str) -> Iterator[Sealed]:
    while page := log.audit(chain=chain, after=after, limit=_PAGE):
        for one in page:
            if moment(one) >= end:
                return
            yield one
        after = page[-1].seq


def moment(one: Sealed) -> str:
    """When a record was written, as text; such texts are in order as the times are. Raises ValueError."""
    found = _TS(one.body)
    return found[1] if found else str(json.loads(one.body)["ts"])


def file_digest(path: str | Path) -> tuple[str, int]:
    """SHA-256 and size of a file. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with Path(path).open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
            size += len(data)
    return digest.hexdigest(), size


def closed(made: Segment, month: str, until: float, actor: Mapping[str, Json], tabled: Mapping[str, Tabled]) -> Event:
    """The record of a closed month. It names the grants and kills that stand, since the records that gave and set them may leave."""
    grants = {name: standing_digest(one) for name, one in sorted(tabled.items()) if one.status == "given"}
    kills = {name: stop_digest(one) for name, one in sorted(tabled.items()) if one.status == "set"}
    told: dict[str, Json] = {"number": made.number, "month": month, "until": time_text(until), "records": made.records}
    told |= {"behind": numbered(made.behind), "first": numbered(made.first), "last": numbered(made.last)}
    told |= {"sha256": made.digest, "bytes": made.size, "grants": dict(grants), "kills": dict(kills)}
    return {"kind": CLOSED, "actor": dict(actor), "segment": told}


def dropped(number: int, month: str, digest: str, upto: Mapping[int, Head], actor: Mapping[str, Json]) -> Event:
    """The record that a closed month leaves: written in the transaction in which the first of its records go."""
    told: dict[str, Json] = {"number": number, "month": month, "sha256": digest, "last": numbered(upto)}
    return {"kind": DROPPED, "actor": dict(actor), "segment": told}
