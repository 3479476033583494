"""Secrets: those that a request carried are taken out of whatever comes back, in every spelling that a service may repeat them in.

Comes before endpoint; pure.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from guard.core.values import Json

HIDDEN = "[secret]"
_SHORTEST = 6  # characters of a secret that is looked for


class Secrets:
    """What may not come back."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values if len(value) >= _SHORTEST for form in _forms(value)}
        found = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        self._sought = re.compile(found, re.IGNORECASE) if forms else None

    def out_of(self, value: Json) -> Json:
        """The value without them, names of fields included; the same object where there are none. Raises RecursionError for deep nesting."""
        if self._sought is None:
            return value
        if isinstance(value, str):
            return self._sought.sub(HIDDEN, value)
        if isinstance(value, list):
            return [self.out_of(item) for item in value]
        if isinstance(value, dict):
            return {self.out_of(key): self.out_of(item) for key, item in value.items()}
        return value


def _forms(value: str) -> set[str]:
    """A secret as it stands in a text, in JSON and in JSON inside JSON, in a URL, in HTML, and encoded."""
    escaped = json.dumps(value)[1:-1]
    slashed = escaped.replace("/", "\\/")
    urls = (quote(value, safe=""), quote(value), quote_plus(value), quote(quote(value, safe=""), safe=""))
    raw = value.encode()
    encoded = (base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("="), raw.hex())
    return {value, escaped, slashed, json.dumps(escaped)[1:-1], html.escape(value), *urls, *encoded}
