"""Notes: a checkpoint as text that can be signed and read again, the tree over its heads, and public keys.

A checkpoint is a signed note (C2SP): lines that name the newest record of each chain, an empty line, and one line for each signature (Ed25519). Its root
is that of RFC 6962 over one leaf a chain, `<chain> <seq> <hash>`, in the order of the chains: small enough to print or to post where all may see
it. Standard library only, but for the judge of signatures, which is there where `cryptography` is. Comes after `chains`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from guard.proof.chains import Problem, read_strictly

NOTE = "guard-audit-checkpoint-v1"
_HEX = re.compile("[0-9a-f]{64}")
_NAMES = ("number", "log", "time", "records", "root", "previous")


class Note(NamedTuple):
    """One checkpoint: what it says, its text as it is signed, and its signatures by name of the key."""

    number: int
    log: str
    time: str
    records: int
    root: str
    previous: str
    heads: tuple[tuple[int, int, str], ...]
    text: str
    signatures: tuple[tuple[str, bytes], ...]
    where: str = ""

    @property
    def digest(self) -> str:
        """What the next checkpoint names as the one before."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def root_of(leaves: list[bytes]) -> str:
    """The root of RFC 6962 over leaves, in hexadecimal digits."""
    return _root(leaves).hex()


def _root(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0] if leaves else b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + _root(leaves[:half]) + _root(leaves[half:])).digest()


def leaves_of(heads: Iterable[tuple[int, int, str]]) -> list[bytes]:
    """One leaf a chain."""
    return [f"{chain} {seq} {own}".encode() for chain, seq, own in heads]


def read_note(note: str, where: str = "") -> Note:
    """A checkpoint from its note. Raises ValueError when it is none."""
    text, mark, signed = note.partition("\n\n")
    lines = [line.split(" ") for line in text.split("\n")]
    names = ["number", "log", "time", "records", "root", "previous"]
    if not mark or lines[0] != [NOTE] or [line[0] for line in lines[1:7]] != names or any(len(line) != 2 for line in lines[1:7]):
        raise ValueError("it is no checkpoint of an audit log")
    number, log, time, records, root, previous = (line[1] for line in lines[1:7])
    heads = []
    for line in lines[7:]:
        if len(line) != 4 or line[0] != "chain" or not _HEX.fullmatch(line[3]):
            raise ValueError("a line of it says nothing about a chain")
        heads.append((int(line[1]), int(line[2]), line[3]))
    signatures = tuple(map(_signature, signed.rstrip("\n").split("\n")))
    return Note(int(number), log, time, int(records), root, previous, tuple(heads), text + "\n", signatures, where)


def _signature(line: str) -> tuple[str, bytes]:
    dash, _, rest = line.partition(" ")
    name, _, data = rest.partition(" ")
    if dash != "\u2014":
        raise ValueError("a signature cannot be read")
    return name, base64.b64decode(data, validate=True)


def read_checkpoints(path: str, problems: list[Problem]) -> list[Note]:
    """The checkpoints of a file: one JSON object a line with the text of a note in it."""
    found: list[Note] = []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            found.append(_told(read_strictly(line), where))
        except (ValueError, KeyError, TypeError, RecursionError):
            problems.append(Problem(where, "this line is no checkpoint"))
    return found


def _told(line: dict[str, Any], where: str) -> Note:
    """The note of a line. What else it says must be what the note says, which alone is signed."""
    note = read_note(line["note"], where)
    signed = {"note": line["note"], "number": note.number, "made": note.number, "records": note.records}
    if any(type(value) not in (int, str) or signed.get(name) != value for name, value in line.items()):
        raise ValueError("it says something that is not signed")
    return note


class Key(NamedTuple):
    """A public key: its name, its 4-byte id and its 32 bytes."""

    name: str
    id: bytes
    public: bytes


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""


def read_key(text: str) -> Key:
    """A public key: `name+id+base64`. Raises ValueError."""
    name, _, rest = text.strip().partition("+")
    own, _, data = rest.partition("+")
    raw = _decoded(data)
    right = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    if len(raw) != 33 or raw[0] != 1 or own != right.hex():
        raise ValueError("this is no public key: it is a text such as guard-audit+1a2b3c4d+AbC…, made by `guard audit key`")
    return Key(name, right, raw[1:])


Judge = Callable[[Key, bytes, bytes], bool]


def ed25519() -> Judge | None:
    """What says whether a signature is right; None where Python cannot tell."""
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - an extra
    except ImportError:
        return None

    def judge(key: Key, signature: bytes, text: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(key.public).verify(signature, text)
        except (InvalidSignature, ValueError):
            return False
        return True

    return judge


def signed(note: Note, key: Key, judge: Judge) -> bool:
    """Whether this key signed this note."""
    given = [data[4:] for name, data in note.signatures if name == key.name and data[:4] == key.id]
    return any(judge(key, signature, note.text.encode()) for signature in given)
