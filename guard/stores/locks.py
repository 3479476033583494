"""Locks: raw values on their way into the table of payloads and back, under AES-GCM where the store has a key.

    $<id of the key>$<base64 of 12 random bytes, the cipher text and its 16 bytes of proof>

What is written is bound to the row that it stands in, so that no row can be put in the place of another. Once a store was opened with a key, nothing
is ever written plainly again: not by this program, and not by one that has no key (`registered`). What was written before the first key stays
readable. Needs the extra `crypto`, only where there is a key. Comes after `payload_keys`, before every store.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Collection
from typing import Any, Final

from guard.errors import StoreError
from guard.extras import install
from guard.stores.payload_keys import CODE, Keyring

MARK: Final = "$"
"""How a locked value begins: no JSON does."""
_NONCE: Final = 12

KEY_IDS: Final = "SELECT id FROM payload_keys"
ADD_KEY: Final = "INSERT INTO payload_keys (id, at) VALUES (?, ?) ON CONFLICT DO NOTHING"


class Lock:
    """What shuts and opens. `keys` are those that were given, `known` the ids that the store was written under so far."""

    def __init__(self, keys: Keyring | None = None, known: Collection[str] = ()) -> None:
        if keys is not None and known and not keys.keys.keys() & set(known):
            raise StoreError("the payloads of this store are encrypted under another key than the one given", code=CODE)
        self.lacking = keys is None and bool(known)
        self.fresh = keys.current if keys is not None and keys.current not in known else None  # to be registered first
        self._current = "" if keys is None else keys.current
        self._ciphers = {} if keys is None else _ciphers(keys)

    @property
    def key(self) -> str:
        """The id of the key that values are written under; empty where they are written plainly."""
        return self._current

    def check(self) -> None:
        """Raise StoreError where the store's payloads cannot be opened, since no key was given."""
        if self.lacking:
            raise StoreError("the payloads of this store are encrypted, and no payload key was given", code=CODE)

    def shut(self, name: str, body: str) -> str:
        """What is written for a body under this name."""
        if not self._current:
            self.check()
            return body
        nonce = os.urandom(_NONCE)
        locked = self._ciphers[self._current].encrypt(nonce, body.encode(), name.encode())
        return f"{MARK}{self._current}{MARK}{base64.b64encode(nonce + locked).decode()}"

    def open(self, name: str, stored: str) -> str:
        """The body that was shut under this name. Raises StoreError; a value that was changed or moved is damaged."""
        if not stored.startswith(MARK):
            return stored
        self.check()
        _, key, text = stored.split(MARK, 2) if stored.count(MARK) > 1 else ("", "", "")
        cipher = self._ciphers.get(key)
        if cipher is None:
            raise StoreError(f"a payload is encrypted under the key {ascii(key)[:20]}, which is not among those given", code=CODE)
        try:
            data = base64.b64decode(text)
            found: bytes = cipher.decrypt(data[:_NONCE], data[_NONCE:], name.encode())
            return found.decode()
        except Exception:  # noqa: BLE001 - whatever the cipher says of it: this is not what was written here
            raise StoreError("a stored payload is not what was written: the database is damaged", code="damaged") from None


OPEN = Lock()
"""Of a store without a key: everything passes as it is."""


def _ciphers(keys: Keyring) -> dict[str, Any]:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra, only where there is a key
    except ImportError:
        raise StoreError(f"a payload key needs one more package: {install('crypto')}", code=CODE) from None
    return {name: AESGCM(key) for name, key in keys.keys.items()}


def registered(lock: Lock, run: Callable[..., object], now: float, forbid: str, *, first: bool) -> None:
    """Write down that a store has payloads under this key now; with the `first` one the database itself takes nothing plain any more."""
    if lock.fresh is None:
        return
    if first:
        run(forbid)
    run(ADD_KEY, (lock.fresh, now))


FORBID_SQLITE: Final = (
    "CREATE TRIGGER payloads_locked BEFORE INSERT ON payloads WHEN substr(NEW.body, 1, 1) <> '$'"
    " BEGIN SELECT RAISE(ABORT, 'the payloads of this store are encrypted'); END"
)
FORBID_POSTGRES: Final = "ALTER TABLE payloads ADD CONSTRAINT payloads_locked CHECK (substr(body, 1, 1) = '$') NOT VALID"
"""What keeps a program without the key from writing: rows from before the first key stay as they are."""
