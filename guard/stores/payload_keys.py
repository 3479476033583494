"""Payload keys: the keys under which raw values are written, read from a text that lies outside of the database.

One key a line, in hexadecimal or base64, 32 bytes each; `#` begins a remark. The first one writes, all of them read: a new key goes on top, and the
old one stays below it for as long as something is written under it. No error and no repr holds a key. Comes before `locks`.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from guard.errors import StoreError

KEY_BYTES = 32
CODE = "payload_key"
"""The code of every StoreError about a key that is missing or wrong."""
_NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEX = re.compile(rf"[0-9A-Fa-f]{{{2 * KEY_BYTES}}}")


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys by their ids; `current` is the id of the one that writes."""

    current: str
    keys: dict[str, bytes] = field(repr=False)


def keyring(text: str, where: str = "the payload key") -> Keyring:
    """The keys that a text holds. Raises StoreError (`payload_key`) naming `where` and the line, never the text."""
    found: dict[str, bytes] = {}
    for number, line in enumerate(text.replace(",", "\n").splitlines(), 1):
        bare = line.partition("#")[0].strip()
        if bare:
            key = _key(bare, f"{where}, line {number}")
            found.setdefault(key_id(key), key)
    if not found:
        raise StoreError(f"{where} holds no key; make one with `guard audit payload-key FILE`", code=CODE)
    return Keyring(next(iter(found)), found)


Key: TypeAlias = str | os.PathLike[str] | Keyring
"""A payload key as a program names it: a file of keys, or `{NAME}` of a variable of the environment that holds them."""


def given_key(key: Key | None, environ: Mapping[str, str]) -> Keyring | None:
    """The keys that a program names; None for none. Raises StoreError, also for a variable that is not there: never a silent plain write."""
    if key is None or isinstance(key, Keyring):
        return key
    named = _NAMED.fullmatch(os.fspath(key))
    if named is None:
        return key_file(key)
    text = environ.get(named[1])
    if text is None:
        raise StoreError(f"payload_key={named[0]}: there is no such variable in the environment", code=CODE)
    return keyring(text, f"the variable {named[1]}")


def _key(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text) if _HEX.fullmatch(text) else base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        told = f"a key is {KEY_BYTES} bytes in hexadecimal or base64; make one with `guard audit payload-key FILE`"
        raise StoreError(f"{where}: {told}", code=CODE)
    return key


def key_id(key: bytes) -> str:
    """The name of a key: tells which one a row needs and nothing about it."""
    return hashlib.sha256(b"guard-payload-key-id-v1\0" + key).hexdigest()[:12]


def new_key() -> str:
    """A fresh key, as it stands in a file."""
    return token_hex(KEY_BYTES)


def key_file(path: str | os.PathLike[str]) -> Keyring:
    """The keys of a file. Raises StoreError; a file that others may read is told to the log."""
    name = os.fspath(path)
    try:
        text = Path(name).read_text("ascii")
        mode = stat.S_IMODE(Path(name).stat().st_mode)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise StoreError(f"the payload key file {name!a} cannot be read: {why}", code=CODE) from None
    if os.name == "posix" and mode & 0o007:
        logging.getLogger("guard").warning("the payload key file %s can be read by everybody: chmod 600", ascii(name))
    return keyring(text, f"the payload key file {name!a}")
