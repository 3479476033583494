"""OIDC: signing in at an OpenID provider: code flow with PKCE, state and nonce; issuer, audience and signature of the ID token checked.

What has to be remembered until the person comes back stands in a cookie of their browser, signed by this server: nobody else's answer fits it. What the
provider says of a person becomes roles only by the operator's table. Needs the extra `oidc` (authlib). Comes after settings; before signing.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx

from guard.core.model import Session
from guard.core.values import Json
from guard.errors import GuardError
from guard.extras import install
from guard.web.settings import Provider

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Signatures that an ID token may have: never none, never one made with the client's secret."""
MINUTES = 10
"""For signing in at the provider."""
_LEEWAY = 60  # seconds between two clocks
_SECONDS = 10.0  # for one answer of the provider
_KEEP, _PAUSE = 3_600.0, 10.0  # seconds that metadata and keys are kept, and at least between two tries
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_LONGEST = 32_768  # characters of an ID token


class SignInError(GuardError):
    """Somebody could not be signed in. The text is for the log: it holds no secret and nothing that the provider wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that waits for its answer. `until` is in seconds since the epoch."""

    state: str
    nonce: str
    verifier: str
    onward: str
    until: float


def needs_authlib() -> None:
    """Raises GuardError, with what to install, where authlib is missing."""
    try:
        import authlib  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise GuardError(f"signing in with oidc: needs the extra oidc: {install('oidc')}") from error


class Oidc:
    """One provider as this server uses it. `redirect` is where people come back to, `secret` signs what the browser keeps."""

    def __init__(self, provider: Provider, *, redirect: str, secret: bytes) -> None:
        self._provider, self._redirect = provider, redirect
        self._secret = hmac.digest(secret, b"guard-oidc-v1", "sha256")
        self._told: Mapping[str, Any] = {}
        self._keys: Any = None
        self._at = {"metadata": -_KEEP, "keys": -_KEEP}

    async def begin(self, onward: str, now: float) -> tuple[str, str]:
        """Where to send the browser, and what its cookie holds until it is back. Raises SignInError."""
        begun = Begun(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            onward=onward,
            until=now + MINUTES * 60,
        )
        endpoint = (await self._metadata())["authorization_endpoint"]
        async with self._client() as client:
            url, _ = client.create_authorization_url(endpoint, state=begun.state, code_verifier=begun.verifier, nonce=begun.nonce)
        return url, self._sealed(begun)

    async def finish(self, cookie: str, query: Mapping[str, str], now: float) -> tuple[Session, str]:
        """Who came back, and where they wanted to go. Raises SignInError for whatever does not fit together."""
        begun = self._opened(cookie, now)
        if not hmac.compare_digest(query.get("state", "").encode(), begun.state.encode()):
            raise SignInError("the answer is to another request")
        if query.get("iss", self._provider.issuer) != self._provider.issuer:
            raise SignInError("the answer is from another provider")
        if "error" in query or not query.get("code"):
            raise SignInError("the provider signed nobody in")
        token = await self._exchanged(query["code"], begun.verifier)
        claims = await self._claims(token, begun.nonce, now)
        return self._session({**await self._further(token, claims), **claims}), begun.onward

    # -- what the browser keeps ------------------------------------------------------------------------------------------

    def _sealed(self, begun: Begun) -> str:
        body = base64.urlsafe_b64encode(json.dumps(asdict(begun)).encode()).decode()
        return f"{body}.{hmac.digest(self._secret, body.encode(), 'sha256').hex()}"

    def _opened(self, cookie: str, now: float) -> Begun:
        body, _, tag = cookie.partition(".")
        wanted = hmac.digest(self._secret, body.encode("utf-8", "surrogatepass"), "sha256").hex()
        if not hmac.compare_digest(tag.encode("utf-8", "surrogatepass"), wanted.encode()):
            raise SignInError("this browser began no sign-in here")
        begun = Begun(**json.loads(base64.urlsafe_b64decode(body)))
        if now > begun.until:
            raise SignInError("the sign-in took too long")
        return begun

    # -- what the provider says ------------------------------------------------------------------------------------------

    def _client(self) -> Any:
        from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415 - an extra

        return AsyncOAuth2Client(
            self._provider.client_id,
            self._provider.client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if self._provider.client_secret else "none",
            scope=" ".join(self._provider.ask),
            redirect_uri=self._redirect,
            code_challenge_method="S256",
            timeout=_SECONDS,
            trust_env=False,
        )

    async def _exchanged(self, code: str, verifier: str) -> Mapping[str, Any]:
        endpoint = (await self._metadata())["token_endpoint"]
        try:
            async with self._client() as client:
                found = await client.fetch_token(endpoint, code=code, code_verifier=verifier, grant_type="authorization_code")
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nobody is signed in
            raise SignInError(f"the provider gave no token ({type(error).__name__})") from None
        return dict(found)

    async def _claims(self, token: Mapping[str, Any], nonce: str, now: float) -> Mapping[str, Json]:
        from joserfc.errors import JoseError  # noqa: PLC0415 - comes with authlib

        text = token.get("id_token")
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise SignInError("the provider gave no ID token")
        for again in (False, True):  # a key that is not known may be new
            keys = await self._known_keys(again=again)
            try:
                return self._read(text, keys, {**token, "nonce": nonce}, now)
            except (JoseError, ValueError, TypeError, KeyError, UnicodeError, RecursionError) as error:
                why = type(error).__name__
        raise SignInError(f"the ID token is not as it must be ({why})")

    def _read(self, text: str, keys: Any, token: Mapping[str, Any], now: float) -> Mapping[str, Json]:
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - an extra
        from joserfc import jwt  # noqa: PLC0415 - comes with authlib

        read = jwt.decode(text, keys, algorithms=list(ALGORITHMS))
        params = {"nonce": token["nonce"], "client_id": self._provider.client_id, "access_token": token.get("access_token")}
        options = {
            "iss": {"essential": True, "value": self._provider.issuer},
            "aud": {"essential": True, "value": self._provider.client_id},
            "nonce": {"essential": True, "value": token["nonce"]},
        }
        claims = CodeIDToken(read.claims, read.header, options, params)
        claims.validate(now=int(now), leeway=_LEEWAY)
        return dict(claims)

    async def _further(self, token: Mapping[str, Any], claims: Mapping[str, Json]) -> Mapping[str, Json]:
        """What some providers say of the person only when they are asked with the access token; nothing of it stands against the ID token."""
        provider, endpoint = self._provider, (await self._metadata()).get("userinfo_endpoint")
        wanted = {provider.principal, provider.groups, *filter(None, [provider.tenant_claim])}
        if wanted <= claims.keys() or not isinstance(endpoint, str) or not isinstance(token.get("access_token"), str):
            return {}
        found = await self._fetched(endpoint, {"Authorization": f"Bearer {token['access_token']}"})
        if found.get("sub") != claims.get("sub"):
            raise SignInError("the provider speaks of two people")
        return found

    async def _known_keys(self, *, again: bool) -> Any:
        from joserfc.jwk import KeySet  # noqa: PLC0415 - comes with authlib

        if self._keys is None or monotonic() - self._at["keys"] > (_PAUSE if again else _KEEP):
            found = await self._fetched((await self._metadata())["jwks_uri"])
            try:
                self._keys, self._at["keys"] = KeySet.import_key_set(found), monotonic()  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - as above
                raise SignInError(f"the provider's keys are none ({type(error).__name__})") from None
        return self._keys

    async def _metadata(self) -> Mapping[str, Any]:
        if monotonic() - self._at["metadata"] > _KEEP:
            issuer = self._provider.issuer
            found = await self._fetched(issuer.rstrip("/") + "/.well-known/openid-configuration")
            if found.get("issuer") != issuer:
                raise SignInError("the provider calls itself by another issuer")
            secure = urlsplit(issuer).scheme
            for name in (*_ENDPOINTS, *({"userinfo_endpoint"} & found.keys())):
                if not isinstance(found.get(name), str) or (secure == "https" and urlsplit(found[name]).scheme != "https"):
                    raise SignInError(f"the provider names no {name}")
            self._told, self._at["metadata"] = found, monotonic()
        return self._told

    async def _fetched(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        try:
            async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
                answer = await client.get(url, headers=headers)
                answer.raise_for_status()
                found = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise SignInError(f"the provider cannot be asked ({type(error).__name__})") from None
        if not isinstance(found, dict):
            raise SignInError("the provider's answer is no object")
        return found

    def _session(self, claims: Mapping[str, Json]) -> Session:
        """The person, with the roles that the operator's table gives to their groups."""
        provider = self._provider
        principal, groups = claims.get(provider.principal), claims.get(provider.groups, [])
        if provider.principal == "email" and claims.get("email_verified") is not True:
            raise SignInError("the provider has not verified the address")
        tenant = claims.get(provider.tenant_claim) if provider.tenant_claim else provider.tenant
        if not isinstance(principal, str) or not principal or not isinstance(tenant, str) or not tenant:
            raise SignInError("a claim that the console needs is missing")
        names = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        return Session(
            principal=principal, tenant=tenant, roles=provider.roles_of(name for name in names if isinstance(name, str))
        )
