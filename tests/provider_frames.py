"""Frames of an AWS event stream, as Bedrock sends them: prelude with lengths and checksum, headers, payload, checksum."""

from __future__ import annotations

import json
import struct
from binascii import crc32
from typing import Any


def frames(events: list[dict[str, Any]]) -> bytes:
    """The events of one stream: each a dict of one event type and its payload; a type that ends in `Exception` is sent as one."""
    return b"".join(_frame(kind, payload) for event in events for kind, payload in event.items())


def _frame(kind: str, payload: Any) -> bytes:
    failed = kind.endswith("Exception")
    names = {
        ":message-type": "exception" if failed else "event",
        ":exception-type" if failed else ":event-type": kind,
        ":content-type": "application/json",
    }
    headers = b"".join(_header(name, value) for name, value in names.items())
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    text = value.encode()
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(text)) + text
