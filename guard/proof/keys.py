"""Keys: making, keeping and using the Ed25519 key that signs checkpoints.

The secret half stands in a file of its own that only its owner may read, best on another disk or machine than the store: whoever has both can write the
log anew and sign it. Needs the package `cryptography` (extra `crypto`). Comes after `notes` and before `making`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.errors import GuardError
from guard.extras import install

NAME = "guard-audit"
_SECRET = "PRIVATE+KEY"  # noqa: S105 - how such a text begins
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SigningKeyError(GuardError):
    """A key cannot be made, read or used; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that signs. `public` is the text that anybody may know."""

    name: str
    public: str
    secret: Any

    @property
    def shown(self) -> str:
        """The name of the key with its id."""
        return "+".join(self.public.split("+")[:2])

    def sign(self, text: str) -> str:
        """The line that is put under a note."""
        data = bytes.fromhex(self.public.split("+")[1]) + self.secret.sign(text.encode())
        return f"\u2014 {self.name} {base64.b64encode(data).decode()}"


def make(path: str | Path, name: str = NAME) -> SigningKey:
    """Make a key and keep its secret half in a new file of mode 0600. Raises SigningKeyError."""
    if not name or any(char in "+ \n\r\t" or not char.isprintable() for char in name):
        raise SigningKeyError("the name of a key holds no blanks and no +")
    secret = _library().Ed25519PrivateKey.generate()
    text = f"{_SECRET}+{name}+{_id(name, secret).hex()}+{_base64(secret.private_bytes_raw())}\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SigningKeyError(f"{path}: this file is there already, and a key is never written over") from None
    except OSError as error:
        raise SigningKeyError(f"{path}: it cannot be written ({error.strerror})") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return _key(name, secret)


def load(path: str | Path) -> SigningKey:
    """Read a key. Raises SigningKeyError, also where others than its owner may read the file."""
    try:
        if os.name == "posix" and Path(path).stat().st_mode & _OTHERS:
            raise SigningKeyError(
                f"{path}: others may read this key (chmod 600 it, and make another one if they may have done so)"
            )
        text = Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise SigningKeyError(f"{path}: the key cannot be read ({getattr(error, 'strerror', None) or 'it is no text'})") from None
    try:
        *start, name, own, data = text.strip().split("+", 4)
        raw = base64.b64decode(data, validate=True)
        secret = _library().Ed25519PrivateKey.from_private_bytes(raw[1:])
        right = "+".join(start) == _SECRET and raw[0] == 1 and own == _id(name, secret).hex()
    except ValueError:
        right = False
    if not right:
        raise SigningKeyError(f"{path}: this is no key of `guard audit key`")
    return _key(name, secret)


def _key(name: str, secret: Any) -> SigningKey:
    public = f"{name}+{_id(name, secret).hex()}+{_base64(_public(secret))}"
    return SigningKey(name=name, public=public, secret=secret)


def _public(secret: Any) -> bytes:
    raw: bytes = secret.public_key().public_bytes_raw()
    return raw


def _base64(raw: bytes) -> str:
    return base64.b64encode(b"\1" + raw).decode()


def _id(name: str, secret: Any) -> bytes:
    return hashlib.sha256(name.encode() + b"\n\1" + _public(secret)).digest()[:4]


def _library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - an extra
    except ImportError:
        raise SigningKeyError(f"checkpoints are signed with one more package: {install('crypto')}") from None
    return ed25519
