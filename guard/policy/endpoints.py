"""Endpoints: `http:` of a tool, compiled: a request with places for arguments, or every mistake in it.

What an argument must be so that it can stand in its place is checked with the schema, before anybody decides. Comes after language;
before tools. Sends nothing and reads no environment.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from guard.core.endpoints import METHODS, RESPONSE_BYTES, Endpoint, Rest, Shape, Slot, Template
from guard.core.rules import Kind
from guard.policy import language
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

TIMEOUT = 30.0
"""Seconds that an endpoint may take, where the tool has no `timeout`."""
MOST_BYTES = 50_000_000
MOST_REDIRECTS = 5
_PORTS = 65_536
_PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([^{}]*)\}|[{}]")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "idempotency-key", "accept-encoding", "expect", "upgrade", "te"}
)
_BODILESS = frozenset({"GET", "HEAD", "DELETE"})
_SAFE = frozenset({"GET", "HEAD", "POST"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known of the tool that an endpoint belongs to."""

    name: str
    kind: Kind
    schema: Mapping[str, Any]
    problems: Problems

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The schemas of the top-level arguments, bound ones included."""
        found = self.schema.get("properties", {})
        return found if isinstance(found, Mapping) else {}


def endpoint(item: Item, around: Around) -> Endpoint | None:
    """Compile one `http:` block; None when it has no usable address. Other mistakes are reported and compiling goes on."""
    problems = around.problems
    fields = language.mapping(item, "http", problems)
    if "url" not in fields:
        problems.error(item, f"http: {around.name} has no url", "write url: https://api.example.com/orders/{order_id}")
        return None
    method = cast("Any", language.choice(fields.get("method"), problems, "http.method", METHODS, _usual(around.kind)))
    parts = _address(fields["url"], problems)
    if parts is None:
        return None
    rest, body = _body(fields.get("body"), method, around)
    found = Endpoint(
        method=method,
        scheme=cast("Any", parts.scheme),
        host=str(parts.hostname),
        port=parts.port or (443 if parts.scheme == "https" else 80),
        path=_path(parts, fields["url"], around),
        query=(*_asked(parts, fields["url"], around), *_pairs(fields.get("query"), "query", around)),
        headers=_headers(fields.get("headers"), around),
        body=body,
        rest=rest,
        redirects=_bounded(fields.get("redirects"), "redirects", MOST_REDIRECTS, 0, problems),
        hosts=frozenset(_host(spot, problems) for spot in _list(fields.get("hosts"), problems, "hosts")) - {""},
        networks=tuple(filter(None, (_network(spot, problems) for spot in _list(fields.get("networks"), problems, "networks")))),
        max_bytes=_bounded(fields.get("max_bytes"), "max_bytes", MOST_BYTES, RESPONSE_BYTES, problems),
    )
    _check(found, item, fields, around)
    return found


def _usual(kind: Kind) -> str:
    return "POST" if kind == "action" else "GET"


def _check(found: Endpoint, item: Item, fields: Mapping[str, Item], around: Around) -> None:
    """What the parts mean together."""
    problems = around.problems
    if around.kind != "action" and found.method not in _SAFE:
        problems.error(
            item, f"http: {found.method} changes something, and {around.name} is a {around.kind}", "write kind: action"
        )
    if found.redirects and (around.kind == "action" or found.method not in ("GET", "HEAD")):
        problems.error(fields["redirects"], "http.redirects: only a GET that changes nothing is sent on", "leave it out")
    if found.hosts and not found.redirects:
        problems.error(
            fields["hosts"], "http.hosts: nothing leads there without redirects", "write redirects: 1, or leave it out"
        )
    if found.scheme == "http" and not _local(found.host):
        if found.secrets:
            problems.error(fields["url"], "http.url: a secret would travel unencrypted", "write https://")
        else:
            problems.warn(fields["url"], "http.url: arguments and answers travel unencrypted", "write https://")
    lost = sorted(around.arguments.keys() - found.named) if found.rest == "none" else []
    if lost:
        cure = "name it in url, query, headers or body, or take it out of the schema"
        problems.error(item, f"http: the argument {', '.join(lost)} goes nowhere", cure)


def _local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# -- the address -----------------------------------------------------------------------------------------------------


def _address(item: Item, problems: Problems) -> SplitResult | None:
    """The parts of the url. Its scheme, host and port are constants: neither a model nor an environment chooses where a call goes."""
    spelled = language.text(item, problems, "http.url")
    try:
        parts = urlsplit(spelled)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), 0
    host = parts.hostname or ""
    if not spelled:
        return None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        problems.error(item, "http.url: not an address", "write https://HOST/PATH")
    elif any(char in parts.netloc for char in "{}$") or not _is_host(host):
        problems.error(item, "http.url: the host is a constant", "write it out; arguments may stand in the path and the query")
    elif "@" in parts.netloc or parts.fragment:
        problems.error(item, "http.url: no user, password or fragment", "write headers: {Authorization: 'Bearer ${TOKEN}'}")
    elif any(char <= " " or char == "\\" for char in spelled):
        problems.error(item, "http.url: a space or backslash", "write %20, or an argument in braces")
    else:
        return parts
    return None


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", host) is not None
    return True


def _path(parts: SplitResult, item: Item, around: Around) -> Template:
    if any(unquote(step) in (".", "..") for step in parts.path.split("/")):
        around.problems.error(item, "http.url: . or .. in the path", "write the path that is meant")
    return template(parts.path or "/", item, "http.url", around)


def _asked(parts: SplitResult, item: Item, around: Around) -> tuple[tuple[str, Template], ...]:
    """The query that stands in the url itself."""
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    return tuple((name, template(value, item, "http.url", around)) for name, value in pairs)


def _host(item: Item, problems: Problems) -> str:
    host = language.text(item, problems, "http.hosts").lower()
    name, colon, port = host.rpartition(":")
    good = _is_host(name) and port.isascii() and port.isdigit() and 0 < int(port) < _PORTS if colon else _is_host(host)
    if host and not good:
        problems.error(
            item, f"http.hosts: {host} is not a host", "write a name such as files.example.com, without scheme or path"
        )
    return host


def _network(item: Item, problems: Problems) -> str:
    spelled = language.text(item, problems, "http.networks")
    try:
        return str(ipaddress.ip_network(spelled)) if spelled else ""
    except ValueError:
        problems.error(item, f"http.networks: {spelled} is not a network", "write for example 10.2.0.0/16 or fd00::/8")
        return ""


def _list(item: Item | None, problems: Problems, what: str) -> list[Item]:
    return [] if item is None else language.sequence(item, problems, f"http.{what}")


def _bounded(item: Item | None, what: str, most: int, usual: int, problems: Problems) -> int:
    found = language.whole(item, problems, f"http.{what}")
    if item is not None and found is not None and found > most:
        problems.error(item, f"http.{what}: at most {most}", f"write {most} or less")
    return usual if found is None else found


# -- templates -------------------------------------------------------------------------------------------------------


def template(spelled: str, item: Item, what: str, around: Around) -> Template:
    """A text with places for arguments (`{name}`) and for secrets from the environment (`${NAME}`)."""
    found: list[str | Slot] = []
    end = 0
    for match in _PLACE.finditer(spelled):
        found.append(spelled[end : match.start()])
        end = match.end()
        secret, argument = match.groups()
        if secret:
            found.append(Slot(name=secret, secret=True))
        elif argument in around.arguments:
            found.append(Slot(name=argument))
        else:
            _no_such(argument, match[0], item, what, around)
    found.append(spelled[end:])
    return tuple(piece for piece in found if piece != "")


def _no_such(argument: str | None, spelled: str, item: Item, what: str, around: Around) -> None:
    if not argument:
        around.problems.error(item, f"{what}: a brace without a name", "write {argument} or ${NAME}")
        return
    cure = meant(argument, around.arguments) if around.arguments else f"write schema: below {around.name}"
    around.problems.error(item, f"{what}: {spelled} is not an argument of {around.name}", cure)


def _pairs(item: Item | None, what: str, around: Around) -> tuple[tuple[str, Template], ...]:
    if item is None:
        return ()
    found = []
    for name, below in language.entries(item, f"http.{what}", around.problems).items():
        spelled = language.text(below, around.problems, f"http.{what}.{name}")
        found.append((name, template(spelled, below, f"http.{what}.{name}", around)))
    return tuple(found)


def _headers(item: Item | None, around: Around) -> tuple[tuple[str, Template], ...]:
    pairs = _pairs(item, "headers", around)
    seen: set[str] = set()
    for name, pieces in pairs:
        spot = item.fields[name] if item else None
        plain = [piece for piece in pieces if isinstance(piece, str)]
        if spot is not None and not _TOKEN.fullmatch(name):
            around.problems.error(spot, f"http.headers: {name} is not a header's name", "write letters, digits and -")
        elif spot is not None and (name.lower() in _OWN or name.lower() in seen):
            around.problems.error(spot, f"http.headers: {name} is set by the guard, or twice", "leave it out")
        elif spot is not None and any(not " " <= char <= "~" for text in plain for char in text):
            around.problems.error(spot, f"http.headers.{name}: only visible ASCII", "leave out line breaks and other characters")
        seen.add(name.lower())
    return pairs


def _body(item: Item | None, method: str, around: Around) -> tuple[Rest, Shape]:
    """Where the arguments go that no template names, and the body as it is written."""
    if item is None:
        return ("query" if method in _BODILESS else "json"), None
    if method in ("GET", "HEAD"):
        around.problems.error(item, f"http.body: {method} has none", "leave it out; arguments go into the query")
        return "query", None
    if isinstance(item.value, dict):
        return "none", _shape(item, around)
    return cast("Rest", language.choice(item, around.problems, "http.body", ("json", "form", "none"), "json")), None


def _shape(item: Item, around: Around) -> Shape:
    if isinstance(item.value, str):
        return template(item.value, item, "http.body", around)
    if isinstance(item.value, dict):
        return {key: _shape(below, around) for key, below in item.fields.items()}
    if isinstance(item.value, list):
        return [_shape(below, around) for below in item.items]
    return item.value
