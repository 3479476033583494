"""Making: the next checkpoint over the heads of a store's chains, where one is due, with its record.

The store calls it within the transaction that writes both, so that no two programs make the same one. Pure but for signing. Comes after `keys` and
before `keeper`.
"""

from __future__ import annotations

from guard.core.log import Checkpoint, Signer, Standing
from guard.core.ports import Event
from guard.core.values import keyed
from guard.proof.chains import ZEROS
from guard.proof.keys import SigningKey
from guard.proof.notes import NOTE, leaves_of, read_note, root_of
from guard.stores.stamp import time_text


def signer(key: SigningKey, log: str, *, every: float = 0.0, records: int = 1) -> Signer:
    """Makes a checkpoint where `records` new ones came since the last, or some did and it is `every` seconds old. `log` names the store."""

    def sign(standing: Standing) -> tuple[Checkpoint, Event] | None:
        last = standing.last
        new = standing.records - (last.records + 1 if last else 0)  # its own record is nothing new
        if new < 1 or (last is not None and new < records and standing.at - last.at < every):
            return None
        return _made(key, log, standing)

    return sign


def log_name(secret: bytes) -> str:
    """What a store is called in its checkpoints: a digest of its own key, so that those of two stores are not mixed up."""
    return keyed(secret, "guard-store-v1")[:16]


def _made(key: SigningKey, log: str, standing: Standing) -> tuple[Checkpoint, Event]:
    last = standing.last
    number = last.number + 1 if last else 1
    heads = [(chain, seq, own) for chain, (seq, own) in sorted(standing.heads.items())]
    root, previous = root_of(leaves_of(heads)), read_note(last.note).digest if last else ZEROS
    text = "\n".join(
        [
            NOTE,
            f"number {number}",
            f"log {log}",
            f"time {time_text(standing.at)}",
            f"records {standing.records}",
            f"root {root}",
            f"previous {previous}",
            *(f"chain {chain} {seq} {own}" for chain, seq, own in heads),
            "",
        ]
    )
    note = f"{text}\n{key.sign(text)}\n"
    told = {"number": number, "records": standing.records, "root": root, "previous": previous, "key": key.shown, "note": note}
    event: Event = {"kind": "audit.checkpoint", "actor": {"type": "service"}, "checkpoint": told}
    return Checkpoint(number=number, at=standing.at, records=standing.records, note=note), event
