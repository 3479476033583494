"""Signing: what proves that a request came from this sender: an HMAC over id, time and body, under one key or two while they change.

    webhook-id, webhook-timestamp (seconds), webhook-signature: v1,BASE64 [v1,BASE64]

The scheme is that of Standard Webhooks, so that libraries of receivers know it. Also signs links that open a page: such a link shows, and decides
nothing. Pure: time is an argument. Comes before webhook and notice.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.core.values import encode

WITHIN = 300
"""Seconds that a receiver's clock may differ from the time that was signed."""
_PREFIX = "whsec_"
_LINK = "guard-link-v1"


def key_of(secret: str) -> bytes:
    """The bytes of a key: behind `whsec_` they are base64, else the text itself. Raises ValueError for fewer than 16 bytes."""
    try:
        found = base64.b64decode(secret[len(_PREFIX) :], validate=True) if secret.startswith(_PREFIX) else secret.encode()
    except binascii.Error:
        raise ValueError("behind whsec_ stands base64") from None
    if len(found) < 16:
        raise ValueError("a key has at least 16 bytes")
    return found


def signed(name: str, at: int, body: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """The headers that go with a body."""
    content = b"%s.%d." % (name.encode(), at) + body
    marks = [base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys]
    return {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": " ".join(f"v1,{mark}" for mark in marks)}


def verified(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes], now: float) -> bool:
    """For a receiver: whether one of the keys signed these headers (names in lower case) and body, not longer ago than `WITHIN`.

    Whoever acts on it must also remember ids: a request may arrive twice.
    """
    name, text, given = (headers.get(f"webhook-{part}", "") for part in ("id", "timestamp", "signature"))
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or abs(now - int(text)) > WITHIN or "." in name:
        return False
    wanted = signed(name, int(text), body, keys)["webhook-signature"].split()
    return any(hmac.compare_digest(one.encode(), mark.encode()) for one in wanted for mark in given.split())


def link_mark(key: bytes, approval: str, revision: int, audience: str, until: int) -> str:
    """What is put behind a link to an approval's page: for whom it was made and until when it opens. Its purpose is to view, nothing else."""
    content = encode([_LINK, "view", approval, revision, audience, until]).encode()
    return ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (content, hmac.digest(key, content, "sha256"))
    )


@dataclass(frozen=True, slots=True)
class Link:
    """What a link's mark says: which approval in which revision, for whom (empty: whoever gets it), and until when, in seconds since the epoch."""

    approval: str
    revision: int
    audience: str
    until: float


def link_said(keys: Sequence[bytes], mark: str) -> Link | None:
    """What a link's mark says, whether or not its time is over; None where no key signed it."""
    try:
        content, given = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in mark.split("."))
        if not any(hmac.compare_digest(hmac.digest(key, content, "sha256"), given) for key in keys):
            return None
        tag, purpose, *said = json.loads(content)
        found = Link(*said)
    except (ValueError, TypeError):
        return None
    return found if (tag, purpose) == (_LINK, "view") else None


def link_read(keys: Sequence[bytes], mark: str, now: float) -> tuple[str, int, str] | None:
    """Approval, revision and audience of a link's mark; None where no key signed it, or its time is over."""
    found = link_said(keys, mark)
    return (found.approval, found.revision, found.audience) if found is not None and now <= found.until else None
