"""People: whose request it is: of a bearer token, of a proxy that the operator trusts, or of a signed-in browser. Nothing else names anybody.

No body, path or query says who somebody is. A wrong bearer token is nobody, whatever else was sent. Comes after tokens, logins and proxies; before
guarding and the routes.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from starlette.requests import Request

from guard.core.model import Session
from guard.core.values import canonical
from guard.core.ways import Way
from guard.errors import GuardError
from guard.web.bodies import RequestError
from guard.web.logins import Login, Logins
from guard.web.proxies import named_by_proxy
from guard.web.settings import Settings
from guard.web.site import site
from guard.web.slowing import Slowing
from guard.web.tokens import Token, Tokens

IMPLIED = {"vote": frozenset({"read", "vote"}), "admin": frozenset({"read", "admin"})}
"""What a scope brings with it: nobody decides or runs the console unseeing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who sent a request, as the server found out.

    `scopes` are the most that this credential may do; what the person may do about one approval is judged by the policy. `name` is what to call the
    credential, `via` and `assurance` stand in the record of a vote. `ambient`: the browser sends it unasked, so forms must hold `form_token`.
    """

    session: Session
    scopes: frozenset[str]
    assurance: str
    via: str
    kind: Literal["human", "agent"]
    name: str
    ambient: bool = False
    form_token: str = ""


async def whose(request: Request) -> Person | None:
    """Whose request it is; None for nobody's. Raises RequestError where that cannot be found out (503), or too many wrong secrets came (429)."""
    here = site(request)
    found = await here.people.whose(request)
    if found is None:
        return None
    way = Way(assurance=cast("Any", found.assurance), via=cast("Any", found.via), addr=here.people.settings.address(request))
    return replace(found, session=replace(here.guard.known(found.session), way=way))


async def who_may(request: Request, scope: str) -> Person:
    """Whose request it is, where they may do this. Raises RequestError: 401 for nobody, 403 for a credential without the scope."""
    found = await whose(request)
    if found is None:
        raise RequestError("send Authorization: Bearer TOKEN, or sign in at /sign-in", 401)
    if found.kind != "human":
        raise RequestError("a program's token can neither see nor decide approvals; only a person's can", 403)
    if scope not in found.scopes:
        raise RequestError(f"this takes the scope {scope}, which {found.name} does not have", 403)
    return found


class People:
    """Everybody whom one server lets in. `known` gives the people of the policy in force, `secret` is the store's."""

    def __init__(
        self,
        *,
        tokens: Tokens,
        settings: Settings,
        clock: Callable[[], float],
        known: Callable[[], Mapping[str, Session]],
        secret: bytes,
    ) -> None:
        self.tokens, self.settings, self._clock, self._known, self._secret = tokens, settings, clock, known, secret
        self.logins = Logins(idle=settings.idle, absolute=settings.absolute)
        self.slowing = Slowing()

    async def whose(self, request: Request) -> Person | None:
        """See the function of this name."""
        given = request.headers.getlist("authorization")
        scheme, _, secret = given[0].partition(" ") if given else ("", "", "")
        if len(given) > 1:
            raise RequestError("two Authorization headers", 400)
        if scheme.lower() == "bearer":
            return await self._bearer(request, secret.strip())
        return self._by_proxy(request) or self._by_cookie(request)

    async def _bearer(self, request: Request, secret: str) -> Person | None:
        token = self.token(secret)
        if token is None:
            await self.slowing.wrong(self.settings.address(request))
            return None
        return self._person(self.login_of(token), "api", token.kind)

    def token(self, secret: str) -> Token | None:
        """The token with this secret. Raises RequestError (503) where the file cannot be read."""
        try:
            return self.tokens.whose(secret, self._clock())
        except GuardError:
            raise RequestError("the file of tokens cannot be read", 503) from None

    def _by_proxy(self, request: Request) -> Person | None:
        named = named_by_proxy(request, self.settings)
        if named is None:
            return None
        return self._person(self.login(named, self.settings.proxy_scopes, "proxy"), "console", "human")

    def _by_cookie(self, request: Request) -> Person | None:
        secret = request.cookies.get(self.settings.cookie)
        login = self.logins.find(secret, self._clock()) if secret else None
        if login is None or not secret:
            return None
        if login.token is not None and not self._still(login.token):
            self.logins.end(secret)
            return None
        return self._person(replace(login, session=self._whole(login.session)), "console", "human")

    def _still(self, token: Token) -> bool:
        try:
            return self.tokens.still(token, self._clock())
        except GuardError:
            raise RequestError("the file of tokens cannot be read", 503) from None

    def login_of(self, token: Token) -> Login:
        """What a token lets somebody do."""
        session = Session(principal=token.person or token.name, tenant=token.tenant or "default", roles=token.roles)
        found = self.login(session, token.scopes, "token")
        return replace(found, name=token.name, token=token)

    def login(self, session: Session, scopes: tuple[str, ...], assurance: str) -> Login:
        """Somebody who was found out to be this person, not signed in at a browser."""
        granted = frozenset(one for scope in scopes for one in IMPLIED.get(scope, {scope}))
        form = hmac.digest(
            self._secret, canonical(["guard-form-v1", assurance, session.tenant, session.principal]).encode(), "sha256"
        )
        return Login(
            name=session.principal, session=session, scopes=granted, assurance=assurance, form=form.hex(), begun=0.0, used=0.0
        )

    def sign_in(self, login: Login) -> str:
        """Begin a login at a browser; gives what its cookie holds."""
        return self.logins.begin(
            name=login.name,
            session=login.session,
            scopes=login.scopes,
            assurance=login.assurance,
            now=self._clock(),
            token=login.token,
        )

    def _person(self, login: Login, via: str, kind: str) -> Person:
        return Person(
            session=self._whole(login.session),
            scopes=login.scopes,
            assurance=login.assurance,
            via=via,
            kind="agent" if kind == "agent" else "human",
            name=login.name,
            ambient=via != "api",
            form_token=login.form if via != "api" else "",
        )

    def _whole(self, session: Session) -> Session:
        """With the roles and attributes that the policy in force gives this person under `people:`."""
        for one in self._known().values():
            if (one.principal, one.tenant) == (session.principal, session.tenant):
                roles = tuple(dict.fromkeys((*session.roles, *one.roles)))
                session = replace(session, roles=roles, attributes={**session.attributes, **one.attributes})
        return session
