"""The table of sinks: which kinds there are, which settings each takes, and how it is made. A new sink is one file and one row here.

Settings arrive as plain values of the types that the table names: whoever reads a file checks them and knows where they stand. Comes last but relay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from guard.sinks.formats import FORMATS
from guard.sinks.notice import NOTICES, Links
from guard.sinks.port import Bounds, Policy, Sink
from guard.sinks.signing import key_of

if TYPE_CHECKING:
    from guard.sinks.post import Post

TRACED = (
    "call.decided",
    "call.begin",
    "call.end",
    "call.unknown",
    "call.reconciled",
    "approval.",
    "grant.",
    "kill.",
    "policy.",
    "sink.",
)
"""What goes to OpenTelemetry where nothing else is asked for."""
Clock: TypeAlias = Callable[[], float]
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of sink. `keys` says of each setting what it is; those of `needs` must be there. `usual` holds where nothing else is written.

    Types: `text`, `path` (of an export, relative to the file), `file` (one that is there, likewise), `url`, `secret` (from the environment only), `secrets` (one or two), `texts`, `whole`, `flag`,
    `words` (a mapping of texts), `format`.
    """

    make: Callable[[str, Settings, Clock], Sink]
    keys: Mapping[str, str]
    needs: tuple[str, ...]
    usual: Bounds = field(default_factory=Bounds)
    policies: tuple[Policy, ...] = ("block", "spool", "drop")
    whole: bool = False  # every record goes there, from the first one on


def _post(settings: Settings) -> Post:
    from guard.sinks.post import Post  # noqa: PLC0415 - httpx is loaded where something is sent

    return Post(settings["url"], networks=settings.get("networks", ()), seconds=settings["timeout"])


def _links(settings: Settings) -> Links:
    page = settings["link"]
    if "{approval}" not in page or not page.startswith(("https://", "http://")):
        raise ValueError("link: write https://HOST/approvals/{approval}")
    key = settings.get("link_key")
    return Links(page=page, key=None if key is None else key_of(key), audience=settings.get("audience", ""))


def _jsonl(name: str, settings: Settings, _: Clock) -> Sink:
    from guard.sinks.jsonl import MOST_BYTES, JsonLines  # noqa: PLC0415 - a sink is imported when it is made

    form = settings.get("format", "record")
    most = settings.get("max_bytes") or MOST_BYTES
    return JsonLines(name, settings["path"], max_bytes=most, form=None if form == "record" else FORMATS[form].of)


def _webhook(name: str, settings: Settings, clock: Clock) -> Sink:
    from guard.sinks.webhook import Webhook  # noqa: PLC0415 - as above

    keys = [key_of(one) for one in settings.get("keys", ())]
    return Webhook(name, _post(settings), keys, FORMATS[settings.get("format", "record")], clock)


def _notify(name: str, settings: Settings, clock: Clock) -> Sink:
    from guard.sinks.notify import Notify  # noqa: PLC0415 - as above

    return Notify(name, _post(settings), [key_of(one) for one in settings["keys"]], _links(settings), clock)


def _slack(name: str, settings: Settings, _: Clock) -> Sink:
    from guard.sinks.slack import Slack  # noqa: PLC0415 - as above

    return Slack(name, _post(settings), _links(settings))


def _otel(name: str, settings: Settings, _: Clock) -> Sink:
    from opentelemetry import trace  # noqa: PLC0415 - an extra

    from guard.sinks.otel import OTel  # noqa: PLC0415 - as above

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        raise ValueError("no tracer provider is set in this program: start it with opentelemetry-instrument, or set one")
    paths = {attribute: tuple(path.split(".")) for attribute, path in settings.get("attributes", {}).items()}
    return OTel(name, arguments=settings.get("arguments", False), attributes=paths)


def _syslog(name: str, settings: Settings, _: Clock) -> Sink:
    from guard.sinks.syslog import MOST_BYTES, Address, Syslog, trusted  # noqa: PLC0415 - as above

    address, files = Address.of(settings["address"]), [settings.get(name) for name in _TLS]
    if address.way != "tls" and any(files):
        raise ValueError(f"{', '.join(_TLS)}: only for an address of tls://")
    trust = trusted(*files) if address.way == "tls" else None
    most = settings.get("max_bytes") or MOST_BYTES
    return Syslog(name, address, max_bytes=most, seconds=settings["timeout"], trust=trust)


_TLS = {"ca": "file", "certificate": "file", "certificate_key": "file"}
_URL = {"url": "url", "networks": "texts"}
_TELL = {**_URL, "link": "text", "link_key": "secret", "audience": "text"}

KINDS: dict[str, Kind] = {
    "jsonl": Kind(
        make=_jsonl,
        keys={"path": "path", "max_bytes": "whole", "format": "format"},
        needs=("path",),
        usual=Bounds(policy="block", batch=500),
        policies=("block", "drop"),
        whole=True,
    ),
    "webhook": Kind(make=_webhook, keys={**_URL, "keys": "secrets", "format": "format"}, needs=("url",)),
    "notify": Kind(make=_notify, keys={**_TELL, "keys": "secrets"}, needs=("url", "keys", "link"), usual=NOTICES),
    "slack": Kind(make=_slack, keys=_TELL, needs=("url", "link"), usual=NOTICES),
    "syslog": Kind(
        make=_syslog, keys={"address": "text", **_TLS, "max_bytes": "whole"}, needs=("address",), usual=Bounds(policy="drop")
    ),
    "otel": Kind(
        make=_otel, keys={"arguments": "flag", "attributes": "words"}, needs=(), usual=Bounds(kinds=TRACED, policy="drop")
    ),
}
BOUNDS: dict[str, str] = {
    "policy": "policy",
    "kinds": "texts",
    "batch": "whole",
    "queue": "whole",
    "age": "duration",
    "timeout": "duration",
    "attempts": "whole",
    "since": "since",
}
"""Settings that every sink takes."""
