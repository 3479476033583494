"""What somebody can do to an audit log who may write all of it: each way on its own, at a random place. What can be noticed of it is in `test_tampering`.

A log is a mapping of chain to its records; a way takes one and gives another, with the chain and the record at which it began.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import postgres_kit
import psycopg
from stores_kit import NEXT, Clock, event

from guard.cli.audit_verify import stored_report
from guard.core.log import NOTHING, Sealed
from guard.core.ports import Store
from guard.proof import keys
from guard.proof.alone import check_files
from guard.proof.chains import ZEROS, record_hash
from guard.proof.checking import Report
from guard.proof.keeper import Checkpoints, Keeper
from guard.proof.notes import read_key
from guard.stores import open_store
from guard.stores.postgres_filing import WAIT

Log = dict[int, list[Sealed]]
Way = Callable[[Log, random.Random], tuple[Log, int, int]]
_PLACE = re.compile(r'"chain":\d+,"seq":\d+,')


@dataclass(frozen=True)
class Scene:
    """A store with records, three checkpoints among them, and some records behind the last."""

    store: Store
    url: str
    folder: Path
    log: Log
    key: keys.SigningKey

    @property
    def checkpoints(self) -> str:
        return str(self.folder / "checkpoints.jsonl")

    def verified(self, *, outside: bool = True) -> Report:
        return self.checked([self.checkpoints] if outside else [], self.key.public if outside else None)

    def checked(self, checkpoints: list[str], public: str | None) -> Report:
        """What `guard audit verify` says, which opens the store: whoever had it open before may know that another log stood there."""
        with closing(open_store(self.url)) as store:
            return stored_report(store, checkpoints, None if public is None else read_key(public))

    def exported(self, log: Log, *, outside: bool = True, cut: int | None = None) -> Report:
        path = self.folder / "export.jsonl"
        text = "".join(f"{line(one)}\n" for records in log.values() for one in records)
        path.write_text(text[:cut], "utf-8")
        return check_files([str(path)], [self.checkpoints] if outside else [], read_key(self.key.public) if outside else None)


def line(one: Sealed) -> str:
    return json.dumps({"chain": one.chain, "seq": one.seq, "prev": one.prev, "hash": one.hash, "body": one.body})


def scene(store: Store, url: str, folder: Path, clock: Clock) -> Scene:
    key = keys.make(folder / "k.key")
    keeper = Keeper(store, Checkpoints(key=folder / "k.key", to=[str(folder / "checkpoints.jsonl")]), start=False)
    for part in range(4):
        for number in range(36):
            store.record((), (event("call.end", conversation=f"{NEXT.conversation}-{number % 6}", n=number, text="\u202e\n{}"),))
            clock.now += 1
        if part < 3:
            assert keeper.look(now=True) is not None
    return Scene(store, url, folder, read(store), key)


def read(store: Store) -> Log:
    return {chain: list(records) for chain in range(store.chains) if (records := store.audit(chain=chain))}


CLEARED = ("DELETE FROM audit", "DELETE FROM filed", "DELETE FROM tags")


def put(made: Scene, log: Log) -> None:
    """Write a log over the stored one, with everything in the database that speaks of its end; what was filed about it is made again by whoever writes next."""
    rows = [(one.chain, one.seq, one.prev, one.hash, one.body) for records in log.values() for one in records]
    if made.url.startswith("sqlite"):
        with closing(sqlite3.connect(made.url.removeprefix("sqlite:///"))) as file:
            for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                file.execute(f"DROP TRIGGER {name}")
            for statement in CLEARED:
                file.execute(statement)
            file.executemany("INSERT INTO audit (chain, seq, prev, hash, body) VALUES (?, ?, ?, ?, ?)", rows)
            file.commit()
        return
    with psycopg.connect(made.url) as database, database.cursor() as cursor:
        cursor.execute(WAIT)  # a portion that is being filed would put copies of the log before beside this one
        cursor.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        cursor.execute("DROP INDEX IF EXISTS audit_prev")
        for statement in CLEARED:
            cursor.execute(statement)
        cursor.executemany("INSERT INTO audit (chain, seq, prev, hash, body) VALUES (%s, %s, %s, %s, %s)", rows)
        cursor.execute("UPDATE heads SET seq = 0, hash = %s", (ZEROS,))
        ends = [(records[-1].seq, records[-1].hash, chain) for chain, records in log.items() if records]
        cursor.executemany("UPDATE heads SET seq = %s, hash = %s WHERE chain = %s", ends)


def resealed(records: list[Sealed], *, chain: int | None = None, last: tuple[int, str] = NOTHING) -> list[Sealed]:
    """The same bodies as a chain that holds: what somebody writes who knows the recipe. Checkpoints among them are no longer any."""
    made: list[Sealed] = []
    for one in records:
        seq, prev = (made[-1].seq + 1, made[-1].hash) if made else (last[0] + 1, last[1])
        number = one.chain if chain is None else chain
        body = _PLACE.sub(f'"chain":{number},"seq":{seq},', one.body, count=1).replace("audit.checkpoint", "audit.other")
        made.append(Sealed(chain=number, seq=seq, prev=prev, hash=record_hash(number, seq, prev, body), body=body))
    return made


def without_checkpoints(log: Log) -> Log:
    """The log with other records in the place of its checkpoints, the chain written anew."""
    return {**log, 0: resealed(log[0])} if log.get(0) else log


def some(log: Log, rng: random.Random, *, inner: bool = False) -> tuple[int, int]:
    """A chain and the index of a record in it that the checkpoints cover; `inner`: not one of its ends."""
    chain = rng.choice([chain for chain, records in log.items() if len(records) > 20])
    most = len(log[chain]) // 2
    return chain, rng.randrange(1 if inner else 0, most)


def with_(log: Log, chain: int, records: list[Sealed]) -> Log:
    return {**log, chain: records}


def _body(log: Log, rng: random.Random, **changes: Any) -> tuple[int, int, Sealed]:
    chain, index = some(log, rng)
    one = log[chain][index]
    return chain, index, replace(one, **{name: give(one) for name, give in changes.items()})


def changed(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    one = log[chain][index]
    at = rng.randrange(len(one.body))
    other = one.body[:at] + chr((ord(one.body[at]) ^ 1) or 1) + one.body[at + 1 :]
    records = [*log[chain][:index], replace(one, body=other), *log[chain][index + 1 :]]
    return with_(log, chain, records), chain, index + 1


def deleted(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    return with_(log, chain, log[chain][:index] + log[chain][index + 1 :]), chain, index + 1


def inserted(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    """A record that fits behind the one before it; those behind are numbered anew."""
    chain, index = some(log, rng, inner=True)
    before, last = log[chain][:index], log[chain][index - 1]
    forged = resealed([log[chain][index]], last=(last.seq, last.hash))[0]
    forged = resealed([replace(forged, body=forged.body.replace("call.end", "call.END"))], last=(last.seq, last.hash))[0]
    return with_(log, chain, [*before, forged, *(replace(one, seq=one.seq + 1) for one in log[chain][index:])]), chain, index + 1


def reordered(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    records, other = list(log[chain]), rng.randrange(index + 1, len(log[chain]))
    one, two = records[index], records[other]
    records[index], records[other] = replace(two, seq=one.seq), replace(one, seq=two.seq)
    return with_(log, chain, records), chain, index + 1


def conversation_dropped(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain = some(log, rng)[0]
    name = re.search('"conversation":"[^"]*"', rng.choice([one.body for one in log[chain] if "conversation" in one.body]))
    assert name is not None
    kept = [one for one in log[chain] if name[0] not in one.body]
    first = next(one.seq for one in log[chain] if name[0] in one.body)
    return with_(log, chain, kept), chain, first


def column_edited(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    one = log[chain][index]
    other = rng.choice([replace(one, prev="ab" * 32), replace(one, hash="cd" * 32), replace(one, hash=one.hash.upper())])
    return with_(log, chain, [*log[chain][:index], other, *log[chain][index + 1 :]]), chain, index + 1


def moved_to_another_chain(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    """Two chains under each other's number; where there is one, a part of it under another number."""
    if len(log) > 1:
        one, two = rng.sample([chain for chain in log if len(log[chain]) > 1], 2)
        swapped = {one: [replace(r, chain=one) for r in log[two]], two: [replace(r, chain=two) for r in log[one]]}
        return {**log, **swapped}, min(one, two), 1
    chain, index = some(log, rng)
    return {chain: log[chain][:index], 1: [replace(r, chain=1) for r in log[chain][index:]]}, chain, index + 1


SEEN: dict[str, Way] = {
    "changed": changed,
    "deleted": deleted,
    "inserted": inserted,
    "reordered": reordered,
    "conversation-dropped": conversation_dropped,
    "column-edited": column_edited,
}
"""What the chain alone shows, with the record at which it began."""


def truncated(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    return with_(log, chain, log[chain][:index]), chain, index + 1


def rewritten(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    chain, index = some(log, rng)
    before = log[chain][:index]
    last = (before[-1].seq, before[-1].hash) if before else NOTHING
    other = [replace(one, body=one.body.replace('"n":', '"m":')) for one in log[chain][index:]]
    return with_(log, chain, before + resealed(other, last=last)), chain, index + 1


def conversation_erased(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    """A conversation is dropped and the chain written anew behind it."""
    dropped, chain, first = conversation_dropped(log, rng)
    before = [one for one in dropped[chain] if one.seq < first]
    last = (before[-1].seq, before[-1].hash) if before else NOTHING
    return with_(log, chain, before + resealed(dropped[chain][len(before) :], last=last)), chain, first


def backup_restored(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    """An earlier state of the log, that went on with other records until it was as long as before."""
    cut, chain, first = truncated(log, rng)
    end = (cut[chain][-1].seq, cut[chain][-1].hash) if cut[chain] else NOTHING
    new = [replace(one, body=one.body.replace('"n":', '"again":')) for one in log[chain][first - 1 :] * 2]
    return with_(log, chain, cut[chain] + resealed(new, last=end)), chain, first


def chains_swapped(log: Log, rng: random.Random) -> tuple[Log, int, int]:
    """Two chains under each other's number, written anew so that each holds; the one of one chain under another number."""
    if len(log) == 1:
        return {0: [], 1: resealed(log[0], chain=1)}, 0, 1
    one, two = rng.sample([chain for chain in log if len(log[chain]) > 20], 2)
    return {**log, one: resealed(log[two], chain=one), two: resealed(log[one], chain=two)}, min(one, two), 1


UNSEEN: dict[str, Way] = {
    "truncated": truncated,
    "rewritten": rewritten,
    "conversation-erased": conversation_erased,
    "backup-restored": backup_restored,
    "chains-swapped": chains_swapped,
}
"""What only a checkpoint shows that was kept elsewhere."""


def plainly(url: str, *statements: str) -> None:
    """As somebody does who does not get past the triggers."""
    if not url.startswith("sqlite"):
        postgres_kit.run(url, *statements)
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()
