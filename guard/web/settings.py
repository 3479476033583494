"""Settings: how people reach the console and who says who they are. What `console.yaml` holds, compiled by `settings_file`.

Data only. Comes before logins, people and everything that reads a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address

from starlette.requests import Request

Network = IPv4Network | IPv6Network
Roles = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A reverse proxy that signs people in. `addresses` are those that it connects from, `secret` is what it sends in `secret_header`.

    Where both are set, both must be right. `principal`, `groups` and `tenant_header` are names of headers; `tenant` holds where none says another.
    """

    addresses: tuple[Network, ...] = ()
    secret_header: str = ""
    secret: str = field(default="", repr=False)
    principal: str
    groups: str = ""
    tenant_header: str = ""
    tenant: str = "default"
    roles: Roles = field(default_factory=dict)

    def roles_of(self, groups: Iterable[str]) -> tuple[str, ...]:
        """The roles that the operator's table gives to these groups; a group that it does not name gives none."""
        return granted(self.roles, groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An OpenID provider. `principal`, `groups` and `tenant_claim` are names of claims."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    principal: str = "sub"
    groups: str = "groups"
    tenant_claim: str = ""
    tenant: str = "default"
    roles: Roles = field(default_factory=dict)
    scopes: tuple[str, ...] = ("vote",)
    ask: tuple[str, ...] = ("openid", "profile", "email")

    def roles_of(self, groups: Iterable[str]) -> tuple[str, ...]:
        """As a proxy's."""
        return granted(self.roles, groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The console of one server. `public_url` is where people reach it (empty: as they ask for it), `idle` and `absolute` bound a login, in seconds."""

    public_url: str = ""
    idle: float = 1_800.0
    absolute: float = 43_200.0
    proxy: Proxy | None = None
    proxy_scopes: tuple[str, ...] = ("vote",)
    provider: Provider | None = None
    link_keys: tuple[bytes, ...] = field(default=(), repr=False)  # that sign links to approvals: two while a key is changed

    @property
    def https(self) -> bool:
        """Whether people reach it by https."""
        return self.public_url.startswith("https://")

    @property
    def cookie(self) -> str:
        """The name of the cookie of a login; `__Host-` lets no other host or path write it."""
        return "__Host-guard" if self.https else "guard-login"

    def listed(self, address: str) -> bool:
        """Whether a connection from this address is the proxy's."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)
        return self.proxy is not None and any((mapped or found) in network for network in self.proxy.addresses)

    def address(self, request: Request) -> str:
        """Where a request comes from: what the listed proxy says it got it from, else the connection's other end."""
        peer = request.client.host if request.client else ""
        said = request.headers.getlist("x-forwarded-for")
        return said[-1].rpartition(",")[2].strip() if said and self.listed(peer) else peer


def granted(table: Roles, groups: Iterable[str]) -> tuple[str, ...]:
    """The roles of these groups, each once."""
    return tuple(dict.fromkeys(role for group in groups for role in table.get(group, ())))
