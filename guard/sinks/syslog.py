"""Syslog: a record as one message of RFC 5424, over UDP, TCP, TLS (RFC 5425) or a Unix socket. Comes after port and entry.

The body stands behind the structured data as JSON in printable ASCII, so that nothing in it can end a line or move a cursor; what is longer than the
bound goes out without arguments and rules, and says so. TCP and TLS frame by octet counting (RFC 6587). Syslog has no answer: a connection that was closed
is noticed, and what UDP loses nobody notices. Where each record must arrive, use a file or a webhook.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from guard.core.ports import Sealed
from guard.core.values import JsonObject, encode
from guard.sinks.entry import Entry, entry, grave
from guard.sinks.port import SinkError

MOST_BYTES = 8192
LEAST_BYTES = 1024
_PORTS = {"udp": 514, "tcp": 601, "tls": 6514}
_AUDIT, _WARNING, _INFORMATIONAL = 13, 4, 6  # a facility and two severities
_SD = "guard@32473"
_SHORT = ("id", "ts", "kind", "tenant", "conversation", "principal", "call_id", "approval")
_LONGEST = 200  # characters of a value in a message that is cut short
_UNSAFE = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where messages go: `udp`, `tcp`, `tls` or `unix`, and a host with its port or a path."""

    way: str
    place: tuple[str, int] | str

    @classmethod
    def of(cls, text: str) -> Address:
        """Read `udp://HOST:514`, `tcp://HOST:601`, `tls://HOST:6514` or `unix:///dev/log`. Raises ValueError."""
        parts = urlsplit(text)
        if parts.scheme == "unix" and not parts.netloc and parts.path:
            return cls("unix", parts.path)
        if parts.scheme in _PORTS and parts.hostname and parts.path in ("", "/") and "@" not in parts.netloc:
            return cls(parts.scheme, (parts.hostname, parts.port or _PORTS[parts.scheme]))
        raise ValueError("address: write udp://HOST:514, tcp://HOST:601, tls://HOST:6514 or unix:///dev/log")


def trusted(ca: Path | None = None, certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    """Whom to believe over TLS: the authorities of the machine, or those of the file `ca`; and what to show, where the receiver asks who sends.

    Raises ValueError for a file that cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise ValueError(f"ca: {_why(error)}") from None
    if certificate is None and key is not None:
        raise ValueError("certificate_key: the certificate is missing")
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (OSError, ValueError) as error:
            raise ValueError(f"certificate: {_why(error)}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted: give one that is not, readable by its owner alone")


def _why(error: Exception) -> str:
    """What went wrong, in words that hold nothing of what was sent."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({(error.reason or type(error).__name__).lower().replace('_', ' ')})"
    return str(error) if isinstance(error, ValueError) else getattr(error, "strerror", None) or type(error).__name__


class Syslog:
    """Sends one message for each record; none is longer than `max_bytes`. `trust` counts for TLS, see `trusted`."""

    def __init__(
        self,
        name: str,
        address: Address,
        *,
        max_bytes: int = MOST_BYTES,
        seconds: float = 10.0,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        if max_bytes < LEAST_BYTES:
            raise ValueError(f"max_bytes: at least {LEAST_BYTES}")
        self.name = name
        self._address, self._most, self._seconds = address, max_bytes, seconds
        self._trust = (trust or trusted()) if address.way == "tls" else None
        self._socket: socket.socket | None = None

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        sent = 0
        try:
            link = self._connected()
            for one in batch:
                self._out(link, message(entry(one), self._most))
                sent += 1
        except OSError as error:
            self.close()
            stream = self._address.way != "udp"  # what was written to a broken connection may not have arrived
            raise SinkError(f"it cannot be reached: {_why(error)}", sent=0 if stream else sent) from None

    def close(self) -> None:
        """Close the connection."""
        link, self._socket = self._socket, None
        if isinstance(link, ssl.SSLSocket):
            with suppress(OSError, ValueError):
                link.setblocking(False)
                link.unwrap()  # says that nothing more comes, and waits for no answer
        if link is not None:
            link.close()

    def _out(self, link: socket.socket, data: bytes) -> None:
        if link.type == socket.SOCK_STREAM:
            link.sendall(b"%d " % len(data) + data)
        else:
            link.send(data)

    def _connected(self) -> socket.socket:
        if self._socket is not None and self._socket.type == socket.SOCK_STREAM and _ended(self._socket):
            self.close()
        if self._socket is None:
            self._socket = self._connect()
        return self._socket

    def _connect(self) -> socket.socket:
        way, place = self._address.way, self._address.place
        if way in ("tcp", "tls") and not isinstance(place, str):
            link = socket.create_connection(place, self._seconds)
            return link if self._trust is None else self._shut(link, self._trust, place[0])
        if way == "udp" and not isinstance(place, str):
            family, kind, protocol, _, found = socket.getaddrinfo(*place, type=socket.SOCK_DGRAM)[0]
            return self._joined(socket.socket(family, kind, protocol), found)
        with suppress(OSError):
            return self._joined(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), place)
        return self._joined(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), place)

    def _shut(self, link: socket.socket, trust: ssl.SSLContext, host: str) -> ssl.SSLSocket:
        """The connection, encrypted, with a receiver whose certificate is for this host."""
        try:
            return trust.wrap_socket(link, server_hostname=host)
        except BaseException:
            link.close()
            raise

    def _joined(self, link: socket.socket, place: object) -> socket.socket:
        link.settimeout(self._seconds)
        try:
            link.connect(place)  # type: ignore[arg-type]  # as the system gave it
        except BaseException:
            link.close()
            raise
        return link


def _ended(link: socket.socket) -> bool:
    """Whether the other side has closed the connection."""
    seconds = link.gettimeout()
    link.setblocking(False)
    try:
        return link.recv(1, 0 if isinstance(link, ssl.SSLSocket) else socket.MSG_PEEK) == b""  # a receiver has nothing to say
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    finally:
        link.settimeout(seconds)


def message(one: Entry, most: int) -> bytes:
    """The message of a record, at most so many bytes."""
    refused = one.text("decision", "verdict") == "refuse" or grave(one)
    severity = _WARNING if refused else _INFORMATIONAL
    stamp = one.text("ts")
    when = stamp if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", stamp) else "-"
    head = (
        f"<{_AUDIT * 8 + severity}>1 {when} {_name(one.text('writer', 'host'), 255)} guard - {_name(one.kind, 32)} {_data(one)} "
    )
    whole = f"{head}{_ascii(one.sealed.body)}"
    if len(whole) > most:
        whole = f"{head}{_ascii(encode(_cut(one)))}"
    return whole[:most].encode()


def _cut(one: Entry) -> JsonObject:
    """What is said of a record that is too long: where the whole of it is found."""
    kept = {name: one.text(name)[:_LONGEST] for name in _SHORT if one.text(name)}
    return {"cut": True, "bytes": len(one.sealed.body.encode("utf-8", "surrogatepass")), **kept}


def _data(one: Entry) -> str:
    """The structured data: what a receiver filters by, escaped as the RFC says."""
    found = {
        "id": one.id,
        "chain": str(one.sealed.chain),
        "seq": str(one.sealed.seq),
        "hash": one.sealed.hash,
        "tool": one.text("tool", "name"),
        "verdict": one.text("decision", "verdict"),
        "code": one.text("decision", "code") or one.text("exec", "error"),
    }
    return f"[{_SD}{''.join(_parameter(name, value[:64]) for name, value in found.items() if value)}]"


def _parameter(name: str, value: str) -> str:
    quoted = _ascii(value).replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
    return f' {name}="{quoted}"'


def _name(text: str, longest: int) -> str:
    """A field of the header: printable ASCII without blanks."""
    return re.sub(r"[^\x21-\x7e]", "_", text)[:longest] or "-"


def _ascii(text: str) -> str:
    """JSON text in printable ASCII: what is not stands as an escape, which in JSON is the same value."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
