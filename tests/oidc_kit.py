"""An OpenID provider on loopback: discovery, authorization with PKCE, tokens, keys. It signs in whoever it is told to, and can be told to lie."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import threading
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from guard.web.server import Server, configured

CLIENT, SECRET = "guard", "s3cret-of-the-client"


@dataclass
class OpenId:
    """`person` are the claims of whoever signs in; `further` what is told of them beside the ID token; `lies` change claims (None: left out), `header` and `key` how they are signed."""

    now: float
    redirect: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "u_1", "groups": ["finance", "others"]})
    further: dict[str, Any] | None = None
    lies: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    key: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self.own = RSAKey.generate_key(2048, {"kid": "k1"}, private=True)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)

    async def _serve(self) -> None:
        app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discover),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/userinfo", self._userinfo),
            ]
        )
        self._server = Server(configured(app, "127.0.0.1", 0), self._started)
        await self._server.serve()

    def _started(self, address: str) -> None:
        self.issuer = address.removesuffix("/api/v1")
        self._ready.set()

    async def _discover(self, _: Request) -> Response:
        ends = {name: f"{self.issuer}/{path}" for name, path in ENDS.items()}
        ends |= {"userinfo_endpoint": f"{self.issuer}/userinfo"}
        return JSONResponse({"issuer": self.issuer, **ends, **self.metadata})

    async def _userinfo(self, request: Request) -> Response:
        known = request.headers.get("authorization") == "Bearer at"
        return JSONResponse({"sub": "u_1", **(self.further or {})} if known else {}, 200 if known else 401)

    async def _keys(self, _: Request) -> Response:
        return JSONResponse(KeySet([self.own]).as_dict(private=False))

    async def _authorize(self, request: Request) -> Response:
        """Everything that a provider insists on; the person has signed in already."""
        asked = dict(request.query_params)
        self.asked.append(asked)
        wanted = {"response_type": "code", "client_id": CLIENT, "redirect_uri": self.redirect, "code_challenge_method": "S256"}
        if any(asked.get(name) != value for name, value in wanted.items()) or "openid" not in asked["scope"].split():
            return JSONResponse({"error": "invalid_request"}, 400)
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return RedirectResponse(f"{self.redirect}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.issuer})}", 303)

    async def _token(self, request: Request) -> Response:
        pairs = dict(pair.split("=", 1) for pair in (await request.body()).decode().split("&"))
        asked = self._codes.pop(pairs.get("code", ""), None)
        login = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(pairs.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or request.headers.get("authorization") != login or challenge != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": "at", "token_type": "Bearer", "id_token": self._signed(asked["nonce"])})

    def _signed(self, nonce: str) -> str:
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": int(self.now), "exp": int(self.now) + 300, "nonce": nonce}
        told = {name: value for name, value in {**claims, **self.person, **self.lies}.items() if value is not None}
        header = {"alg": "RS256", "kid": "k1", **self.header}
        return jwt.encode(header, told, self.key or self.own, algorithms=["RS256", "HS256", "none"])


ENDS = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
HMAC_KEY = OctKey.import_key(SECRET)
