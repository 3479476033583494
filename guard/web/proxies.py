"""Proxies: a person whom a reverse proxy signed in, named by headers; believed only from a proxy that the operator lists.

From anybody else the same headers name nobody. Comes after settings; before people.
"""

from __future__ import annotations

import hmac

from starlette.requests import Request

from guard.core.model import Session
from guard.web.bodies import RequestError
from guard.web.settings import Proxy, Settings


def named_by_proxy(request: Request, settings: Settings) -> Session | None:
    """The person that a trusted proxy names; None where it names none, or nobody trusted sent it. Raises RequestError (400) for a name written twice."""
    proxy = settings.proxy
    if proxy is None or not _trusted(request, settings, proxy):
        return None
    principal = _once(request, proxy.principal)
    if not principal:
        return None
    groups = _once(request, proxy.groups) if proxy.groups else ""
    tenant = _once(request, proxy.tenant_header) if proxy.tenant_header else proxy.tenant
    if not tenant:
        raise RequestError("the proxy names no tenant", 403)
    return Session(principal=principal, tenant=tenant, roles=proxy.roles_of(group.strip() for group in groups.split(",")))


def _trusted(request: Request, settings: Settings, proxy: Proxy) -> bool:
    """Whether the connection comes from a listed address, and the request holds the shared secret where there is one."""
    if proxy.addresses and not settings.listed(request.client.host if request.client else ""):
        return False
    if proxy.secret:
        given = request.headers.getlist(proxy.secret_header)
        return len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "surrogatepass"), proxy.secret.encode())
    return bool(proxy.addresses)


def _once(request: Request, name: str) -> str:
    """A header that stands there once or not at all: of two nobody knows which one the proxy wrote."""
    given = request.headers.getlist(name)
    if len(given) > 1:
        raise RequestError("the proxy's headers name two people", 400)
    return given[0].strip() if given else ""
