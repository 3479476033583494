"""Tokens: who may speak to the server. Each is shown once and kept as a hash, in a file that only its owner reads.

A token of a loop (`propose`, kind `agent`) can neither see nor decide approvals; one of a person (kind `human`) proposes nothing. Comes before
people and the server.
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
from typing import Any

from guard.errors import GuardError

SCOPES = ("propose", "read", "vote", "admin")
PERSONAL = frozenset({"read", "vote", "admin"})
"""Scopes of people: to see approvals, to decide about them, to run the console."""
MARK = "guard_"
"""How a secret begins."""
NAMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST = 200  # characters of a secret: nothing longer is worth a hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token without its secret.

    `tenant` of a loop's token is the only one whose sessions it may bring, empty for any; of a person's, where the person is. `person` is the principal,
    `roles` are what whoever wrote the file says of them, `expires` is in seconds since the epoch (None: never).
    """

    name: str
    scopes: tuple[str, ...]
    sha256: str
    tenant: str = ""
    kind: str = "agent"
    person: str = ""
    roles: tuple[str, ...] = ()
    expires: float | None = None


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

    def whose(self, secret: str, now: float) -> Token | None:
        """The token with this secret, unless it is over at `now`. Takes as long for a wrong secret as for a right one."""
        given, found = _hash(secret[:_LONGEST]), None
        for token in self.all():
            if hmac.compare_digest(token.sha256, given):
                found = token
        return found if found is not None and holds(found, now) else None

    def still(self, token: Token, now: float) -> bool:
        """Whether this very token, with what it allows, is still in the file and not over."""
        return holds(token, now) and token in self.all()

    def add(self, name: str, scopes: Iterable[str], *, tenant: str = "", **more: Any) -> str:
        """Make a token and give its secret, which cannot be had again. `more`: `person`, `roles`, `expires`.

        Raises GuardError for a name that is taken or none, and for scopes that do not go together.
        """
        known, wanted = self.all(), tuple(dict.fromkeys(scopes))
        if not NAMED.fullmatch(name):
            raise GuardError("a token's name is letters, digits, . _ and -")
        if any(token.name == name for token in known):
            raise GuardError(f"there is a token {name} already: remove it first")
        secret = MARK + secrets.token_urlsafe(32)
        kind = "human" if PERSONAL & {*wanted} else "agent"
        made = Token(name=name, scopes=wanted, sha256=_hash(secret), tenant=tenant, kind=kind, **more)
        _check(made)
        self._write((*known, made))
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


def holds(token: Token, now: float) -> bool:
    """Whether the token's time is not over."""
    return token.expires is None or now < token.expires


def _check(token: Token) -> None:
    """Raises GuardError for a token that says two things."""
    wanted = {*token.scopes}
    if not wanted or not wanted <= {*SCOPES}:
        raise GuardError(f"scopes: {', '.join(SCOPES)}")
    if "propose" in wanted and wanted & PERSONAL:
        raise GuardError("a token that proposes calls is a program's and can have no other scope: make two tokens")
    if token.kind != ("agent" if "propose" in wanted else "human"):
        raise GuardError("a token that proposes calls is of kind agent, any other one of kind human")
    if token.kind == "human" and not token.person:
        raise GuardError("a token that sees or decides is a person's: name the principal (--person)")
    if token.kind == "agent" and (token.person or token.roles):
        raise GuardError("a token that proposes calls is nobody's: leave person and roles out")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()  # of 256 random bits: nothing to guess


def _read(path: Path) -> tuple[Token, ...]:
    try:
        found = json.loads(path.read_text("utf-8"))["tokens"]
        tokens = tuple(_one(one) for one in found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GuardError(f"{path}: no file of tokens ({type(error).__name__})") from None
    for token in tokens:
        try:
            _check(token)
        except GuardError as error:
            raise GuardError(f"{path}: the token {token.name}: {error}") from None
    return tokens


def _one(entry: dict[str, Any]) -> Token:
    """A token as it is written. Raises TypeError for what is none."""
    lists = {name: tuple(entry.get(name, ())) for name in ("scopes", "roles")}
    token = Token(**{**entry, **lists})
    texts = (token.name, token.sha256, token.tenant, token.kind, token.person, *token.scopes, *token.roles)
    if not all(isinstance(text, str) for text in texts) or isinstance(entry.get("roles"), str):
        raise TypeError("a text is expected")
    if isinstance(token.expires, bool) or not isinstance(token.expires, int | float | None):
        raise TypeError("expires is a number of seconds")
    return token
