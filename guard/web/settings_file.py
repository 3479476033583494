"""Settings file: `console.yaml`, read with the policy's own reader: every mistake at once, each with file, line and cure.

Secrets are named by the environment variable that holds them and never stand in the file. Comes after settings; before the command that starts the
server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from guard.errors import GuardError
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import File, Item, read_yaml
from guard.sinks.signing import key_of
from guard.web.settings import Network, Provider, Proxy, Roles, Settings
from guard.web.tokens import PERSONAL

KEYS: Mapping[str, tuple[str, ...]] = {
    "console": ("public_url", "sessions", "proxy", "oidc", "link_keys"),
    "sessions": ("idle", "absolute"),
    "proxy": ("from", "secret", "principal", "tenant", "tenant_header", "groups", "roles", "scopes"),
    "proxy_secret": ("header", "env"),
    "oidc": ("issuer", "client_id", "client_secret", "principal", "tenant", "tenant_claim", "groups", "roles", "scopes", "ask"),
    "client_secret": ("env",),
    "link_key": ("env",),
}
"""What `console.yaml` may hold."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_LOCAL = ("127.0.0.1", "localhost", "::1")


class SettingsError(GuardError):
    """A file of settings that may not be used; the text holds every mistake."""


def read_settings(path: str, environment: Mapping[str, str]) -> Settings:
    """The settings of a file. Raises SettingsError with every mistake."""
    problems = Problems()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: the file cannot be read: {error.strerror}") from None
    item = read_yaml(File(path, data), problems)
    made = Settings() if item is None else _Reader(problems, environment).settings(item)
    if problems.errors:
        raise SettingsError("\n".join(str(one) for one in sorted(problems.errors, key=lambda one: one.line or 0)))
    return made


class _Reader:
    """Compiles items; `environment` holds the secrets."""

    def __init__(self, problems: Problems, environment: Mapping[str, str]) -> None:
        self._problems, self._environment = problems, environment

    def settings(self, item: Item) -> Settings:
        """The whole file."""
        fields = self._fields(item, "console")
        public = self._url(fields.get("public_url"), "public_url", path=False)
        times = self._fields(fields["sessions"], "sessions") if "sessions" in fields else {}
        found: dict[str, Any] = {
            name: seconds
            for name in ("idle", "absolute")
            if (seconds := language.duration(times.get(name), self._problems, name)) is not None
        }
        if "proxy" in fields:
            found |= self._proxy(fields["proxy"])
        if "oidc" in fields:
            found["provider"] = self._provider(fields["oidc"])
        for name in ("proxy", "oidc"):
            if name in fields and not public:
                self._problems.error(
                    fields[name], f"{name} needs public_url", "write public_url: https://… as people type it into the browser"
                )
        return Settings(public_url=public, link_keys=self._link_keys(fields.get("link_keys")), **found)

    def _link_keys(self, item: Item | None) -> tuple[bytes, ...]:
        found = []
        for one in language.sequence(item, self._problems, "link_keys") if item is not None else ():
            secret = self._secret(self._fields(one, "link_key").get("env"), one)
            try:
                found += [key_of(secret)] if secret else []
            except ValueError as error:
                self._problems.error(one, f"link_keys: {error}", "set the variable to the link_key of the file of sinks")
        return tuple(found)

    def _proxy(self, item: Item) -> dict[str, Any]:
        fields = self._fields(item, "proxy")
        header, secret = self._proxy_secret(fields.get("secret"))
        addresses = self._addresses(fields.get("from"))
        if "from" not in fields and "secret" not in fields:
            self._problems.error(
                item, "the proxy is anybody", "write from: [address of the proxy], secret: {header:, env:} or both"
            )
        made = Proxy(
            addresses=addresses,
            secret_header=header,
            secret=secret,
            principal=self._header(fields.get("principal"), item, "principal", needed=True),
            groups=self._header(fields.get("groups"), item, "groups"),
            tenant_header=self._header(fields.get("tenant_header"), item, "tenant_header"),
            tenant=language.text(fields.get("tenant"), self._problems, "tenant", "default"),
            roles=self._roles(fields.get("roles")),
        )
        return {"proxy": made, "proxy_scopes": self._scopes(fields.get("scopes"))}

    def _proxy_secret(self, item: Item | None) -> tuple[str, str]:
        if item is None:
            return "", ""
        fields = self._fields(item, "proxy_secret")
        return self._header(fields.get("header"), item, "header", needed=True), self._secret(fields.get("env"), item)

    def _provider(self, item: Item) -> Provider:
        fields = self._fields(item, "oidc")
        words: dict[str, Any] = {
            name: language.text(fields[name], self._problems, name)
            for name in ("principal", "tenant", "tenant_claim", "groups")
            if name in fields
        }
        if "client_secret" in fields:
            inner = self._fields(fields["client_secret"], "client_secret")
            words["client_secret"] = self._secret(inner.get("env"), fields["client_secret"])
        if "ask" in fields:
            words["ask"] = tuple(dict.fromkeys(("openid", *language.texts(fields["ask"], self._problems, "ask"))))
        return Provider(
            issuer=self._url(self._needed(fields, item, "issuer"), "issuer", path=True),
            client_id=language.text(self._needed(fields, item, "client_id"), self._problems, "client_id"),
            roles=self._roles(fields.get("roles")),
            scopes=self._scopes(fields.get("scopes")),
            **words,
        )

    def _needed(self, fields: Mapping[str, Item], item: Item, name: str) -> Item | None:
        if name not in fields:
            self._problems.error(item, f"{name} is missing", f"write {name}: …")
        return fields.get(name)

    def _fields(self, item: Item, table: str) -> dict[str, Item]:
        return language.mapping(item, table, self._problems, keys=KEYS)

    def _roles(self, item: Item | None) -> Roles:
        if item is None:
            return {}
        found = language.entries(item, "roles", self._problems)
        return {group: language.texts(below, self._problems, group) for group, below in found.items()}

    def _scopes(self, item: Item | None) -> tuple[str, ...]:
        if item is None:
            return ("vote",)
        below = language.sequence(item, self._problems, "scopes")
        return tuple(language.choice(one, self._problems, "scopes", sorted(PERSONAL), "read") for one in below)

    def _addresses(self, item: Item | None) -> tuple[Network, ...]:
        found = []
        for text in language.texts(item, self._problems, "from"):
            try:
                found.append(ip_network(text))
            except ValueError:
                if item is not None:
                    self._problems.error(
                        item, f"from: {text[:60]} is no address", "write addresses or networks, 10.0.0.7 or 10.0.0.0/24"
                    )
        return tuple(found)

    def _header(self, item: Item | None, where: Item, what: str, *, needed: bool = False) -> str:
        found = language.text(item, self._problems, what)
        if item is None and needed:
            self._problems.error(where, f"{what} is missing", f"write {what}: the name of a header")
        elif found and not _HEADER.fullmatch(found):
            self._problems.error(item or where, f"{what}: {found[:60]} is no name of a header", "letters, digits and - only")
        return found

    def _secret(self, item: Item | None, where: Item) -> str:
        name = language.text(item, self._problems, "env")
        if item is None:
            self._problems.error(where, "env is missing", "write env: the environment variable that holds the secret")
        found = self._environment.get(name, "")
        if name and not found:
            self._problems.error(item or where, f"the environment variable {name} is not set", "set it before the server starts")
        return found

    def _url(self, item: Item | None, what: str, *, path: bool) -> str:
        text = language.text(item, self._problems, what)
        if not text or item is None:
            return ""
        try:
            parts = urlsplit(text)
            bare = (
                not (parts.query or parts.fragment or parts.username)
                and (path or parts.path in ("", "/"))
                and _host(parts.hostname)
            )
        except ValueError:
            bare = False
        if not bare or parts.scheme not in ("http", "https"):
            self._problems.error(
                item, f"{what}: {text[:60]} is not such a URL", f"write {what}: https://host{'/path' if path else ''}"
            )
        elif parts.scheme == "http" and not _loopback(parts.hostname or ""):
            self._problems.error(item, f"{what}: what is sent there is readable on the way", "write https://")
        return text if path else text.rstrip("/")


def _host(name: str | None) -> bool:
    return name is not None and re.fullmatch(r"[a-z0-9.:-]+", name) is not None


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL
