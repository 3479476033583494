"""Tokens: who may speak to the server. Each is shown once and kept as a hash, in a file that only its owner reads.

A token of a loop (`propose`) can neither see nor decide approvals. Comes before the server.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from guard.errors import GuardError

SCOPES = ("propose",)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MARK = "guard_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token without its secret. `tenant` is the only one whose sessions it may bring; empty for any."""

    name: str
    scopes: tuple[str, ...]
    sha256: str
    tenant: str = ""


class Tokens:
    """The tokens of a file; it is read again whenever it changed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._known: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Every token. Raises GuardError for a file that cannot be read as one: nobody is let in on a guess."""
        try:
            state = self._path.stat()
        except FileNotFoundError:
            return ()
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if seen != self._seen:
            self._known, self._seen = _read(self._path), seen
        return self._known

    def whose(self, secret: str) -> Token | None:
        """The token with this secret. Takes as long for a wrong secret as for a right one."""
        given, found = _hash(secret), None
        for token in self.all():
            if hmac.compare_digest(token.sha256, given):
                found = token
        return found

    def add(self, name: str, scopes: Iterable[str], *, tenant: str = "") -> str:
        """Make a token and give its secret, which cannot be had again. Raises GuardError for a name that is taken or none."""
        known, wanted = self.all(), tuple(dict.fromkeys(scopes))
        if not _NAME.fullmatch(name):
            raise GuardError("a token's name is letters, digits, . _ and -")
        if any(token.name == name for token in known):
            raise GuardError(f"there is a token {name} already: remove it first")
        if not wanted or not set(wanted) <= set(SCOPES):
            raise GuardError(f"scopes: {', '.join(SCOPES)}")
        secret = _MARK + secrets.token_urlsafe(32)
        self._write((*known, Token(name=name, scopes=wanted, sha256=_hash(secret), tenant=tenant)))
        return secret

    def remove(self, name: str) -> bool:
        """Whether there was such a token; from now on it lets nobody in."""
        known = self.all()
        kept = tuple(token for token in known if token.name != name)
        if kept != known:
            self._write(kept)
        return kept != known

    def _write(self, tokens: tuple[Token, ...]) -> None:
        text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2) + "\n"
        beside = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(self._path)
        self._seen = None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()  # of 256 random bits: nothing to guess


def _read(path: Path) -> tuple[Token, ...]:
    try:
        found = json.loads(path.read_text("utf-8"))["tokens"]
        return tuple(Token(**{**one, "scopes": tuple(one["scopes"])}) for one in found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GuardError(f"{path}: no file of tokens ({type(error).__name__})") from None
