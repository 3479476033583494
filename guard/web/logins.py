"""Logins: who is signed in with a browser. Kept in this process's memory: the cookie holds nothing but a random name for it.

A login ends when it was not used for a while, when its time is over, when the person signs out, and with the token that it was made from. Signing in
always gives a new name, so that nobody can prepare one for somebody else. Comes before people; may not read requests.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, replace

from guard.core.model import Session
from guard.web.tokens import Token

_MOST = 10_000  # logins at once; the one unused for longest goes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One person at one browser. `token` is what it was made from, where it was one; `form` stands in every form that may change something."""

    name: str
    session: Session
    scopes: frozenset[str]
    assurance: str
    form: str
    begun: float
    used: float
    token: Token | None = None


class Logins:
    """The logins of one server. `idle` and `absolute`: seconds without use, and altogether."""

    def __init__(self, *, idle: float, absolute: float) -> None:
        self._idle, self._absolute = idle, absolute
        self._known: OrderedDict[str, Login] = OrderedDict()

    def begin(
        self, *, name: str, session: Session, scopes: frozenset[str], assurance: str, now: float, token: Token | None = None
    ) -> str:
        """Sign somebody in; gives what the cookie holds."""
        secret = secrets.token_urlsafe(32)
        form = secrets.token_urlsafe(32)
        self._known[_key(secret)] = Login(
            name=name, session=session, scopes=scopes, assurance=assurance, form=form, begun=now, used=now, token=token
        )
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return secret

    def find(self, secret: str, now: float) -> Login | None:
        """The login of a cookie, now used; None for one that is over or never was."""
        key = _key(secret)
        found = self._known.get(key)
        if found is None:
            return None
        if now - found.used > self._idle or now - found.begun > self._absolute:
            del self._known[key]
            return None
        self._known[key] = replace(found, used=max(now, found.used))
        self._known.move_to_end(key)
        return found

    def end(self, secret: str) -> None:
        """Sign out."""
        self._known.pop(_key(secret), None)


def _key(secret: str) -> str:
    return hashlib.sha256(
        secret.encode("utf-8", "surrogatepass")
    ).hexdigest()  # what is looked up tells nothing by how long it takes
