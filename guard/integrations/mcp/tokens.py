"""Tokens: who a bearer token says is signed in: a JWT of one issuer for one audience, checked with `joserfc` (extra `jwt`).

Whatever is not surely right is nobody: a token that has no end, is for somebody else, or is signed with a key or in a way that was not asked
for. May not log a token. Used by `guard mcp --http`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from guard.core.model import Session
from guard.core.values import Json, encode
from guard.errors import GuardError
from guard.extras import install

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
_LEEWAY = 30  # seconds between two clocks
_LONGEST = 16_384  # characters of a token
_KEEP, _PAUSE = 300.0, 10.0  # seconds that fetched keys are kept, and at least between two tries
_SECONDS = 10.0  # to fetch keys


def needs_joserfc() -> None:
    """Raises GuardError, with what to install, where joserfc is missing."""
    try:
        import joserfc  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise GuardError(f"bearer tokens need the extra jwt: {install('jwt')}") from error


@dataclass(kw_only=True)
class Tokens:
    """What a token must be. `keys` is a file or a URL, `claims` says which claim gives which field of the session."""

    keys: str
    issuer: str
    audience: str
    claims: Mapping[str, str]
    algorithms: Sequence[str] = ALGORITHMS
    _set: Any = None
    _at: float = -_KEEP
    _failed: float = -_PAUSE  # when they were asked for in vain
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def session(self, token: str | None) -> Session | None:
        """Who is signed in; None for nobody. Raises GuardError when the keys cannot be had."""
        from joserfc.errors import JoseError  # noqa: PLC0415 - an extra

        if token is None or len(token) > _LONGEST:
            return None
        for again in (False, True):  # a key that is not known may be new
            keys = await self._known(again=again)
            try:
                return self._read(token, keys)
            except (JoseError, ValueError, TypeError, KeyError, UnicodeError, RecursionError):
                continue
        return None

    async def _known(self, *, again: bool) -> Any:
        if self._due(again=again):
            async with self._one:  # anybody may send a token: however many come, one asks
                if self._due(again=again):
                    await self._fetch()
        return self._set

    def _due(self, *, again: bool) -> bool:
        return self._set is None or asyncio.get_running_loop().time() - self._at > (_PAUSE if again else _KEEP)

    async def _fetch(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._failed < _PAUSE:
            raise GuardError(f"the keys of the tokens could not be had from {self.keys} a moment ago")
        try:
            self._set, self._at = await self._fetched(), now
        except GuardError:
            self._failed = asyncio.get_running_loop().time()
            raise

    async def _fetched(self) -> Any:
        from joserfc.jwk import KeySet  # noqa: PLC0415 - an extra

        try:
            if self.keys.startswith(("https://", "http://")):
                async with httpx.AsyncClient(timeout=_SECONDS) as client:
                    answer = await client.get(self.keys)
                    answer.raise_for_status()
                    text = answer.text
            else:
                text = Path(self.keys).read_text("utf-8")  # noqa: ASYNC240 - a small local file
            return KeySet.import_key_set(json.loads(text))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with them, there are none
            raise GuardError(f"the keys of the tokens cannot be had from {self.keys}: {type(error).__name__}") from None

    def _read(self, token: str, keys: Any) -> Session:
        from joserfc import jwt  # noqa: PLC0415 - an extra

        read = jwt.decode(token, keys, algorithms=list(self.algorithms))
        demands: dict[str, Any] = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self.audience},
            "exp": {"essential": True},
        }
        jwt.JWTClaimsRegistry(leeway=_LEEWAY, **demands).validate(read.claims)
        return self._session(read.claims)

    def _session(self, claims: Mapping[str, Json]) -> Session:
        found = {name: _claim(claims, path) for name, path in self.claims.items()}
        principal, tenant = _named(found.get("principal")), "default"
        if "tenant" in self.claims:  # one that the token leaves open is nobody's, and never that of everybody without one
            tenant = _named(found.get("tenant"))
        attributes = {
            name.removeprefix("attributes."): value
            for name, value in found.items()
            if name.startswith("attributes.") and value is not None
        }
        whole = Session(principal=principal, tenant=tenant, roles=_roles(found.get("roles")), attributes=attributes)
        encode(attributes).encode()  # half a character could be written down nowhere
        return whole


def _named(value: Json) -> str:
    """A name. Raises ValueError for what is none."""
    if not isinstance(value, str) or not value:
        raise ValueError("a claim is missing")
    value.encode()
    return value


def _roles(value: Json) -> tuple[str, ...]:
    """Roles: a list of names, or a text of them with spaces. Raises ValueError for anything else: which part of it are roles nobody says."""
    if isinstance(value, str):
        value = [*value.split()]
    if not isinstance(value, list | None):
        raise ValueError("roles are names")
    return tuple(map(_named, value or ()))


def _claim(claims: Mapping[str, Json], path: str) -> Json:
    """A claim by its name, or by dotted names where it stands inside another."""
    if path in claims:
        return claims[path]
    value: Json = claims
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
