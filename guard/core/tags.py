"""Tags: keyed hashes of personal values by the path at which they stand, so that a person's records can be found without storing the value.

Tagged is what a detector found or a rule about fields hid, and texts that the session owns. The key is the tenant's own, made of the store's, so that
equal values of two tenants have nothing in common. Secrets have no tag. Comes after `hiding` and before `audit`; pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

from guard.core.ports import Redactor
from guard.core.redaction import MASKS
from guard.core.values import Json, encode, keyed

MOST = 32
"""Tags of one record."""
_LONGEST = 200  # characters of a value that is tagged whole, and of a path
SIZE = 32
"""Hexadecimal digits of a tag."""
_SIGNS = re.compile(r"[\s().\-/+:]")
_FEWEST = 5  # digits of what is spelled with and without signs between them


def spelled(value: str) -> str:
    """One text for the spellings of a value: addresses without case, numbers of people, phones and accounts without signs, names without case."""
    text = unicodedata.normalize("NFKC", value).strip().casefold()
    if "@" in text:
        return text
    bare = _SIGNS.sub("", text)
    if bare.isalnum() and sum(map(str.isdigit, bare)) >= _FEWEST:
        return bare[2:] if text.startswith("00") else bare
    return " ".join(text.split())


@lru_cache(maxsize=1024)
def key_of(redactor: Redactor, tenant: str) -> bytes:
    """The key of a tenant's tags, of the store whose secret the redactor has."""
    return bytes.fromhex(redactor.derive(f"guard-tags-v1\0{tenant}"))


def tenant_key(secret: bytes, tenant: str) -> bytes:
    """The key of a tenant's tags, of the store's own: what `tagged` uses."""
    return bytes.fromhex(keyed(secret, f"guard-tags-v1\0{tenant}"))


@lru_cache(maxsize=4096)
def tag(key: bytes, text: str) -> str:
    """The tag of a value, however it is spelled."""
    return keyed(key, spelled(text))[:SIZE]


class Tags:
    """Gathers the tags of one record."""

    def __init__(self, redactor: Redactor, tenant: str) -> None:
        self._redactor, self._key = redactor, key_of(redactor, tenant)
        self.found: dict[str, str] = {}

    def put(self, path: str, value: Json) -> None:
        """Tag a text or number; a path that has one already gets a number behind it."""
        if isinstance(value, bool | list | dict) or value is None or len(self.found) >= MOST:
            return
        name, made = path[:_LONGEST], tag(self._key, value if isinstance(value, str) else str(value))
        if made in self.found.values():
            return
        self.found[name if name not in self.found else f"{name}#{len(self.found) + 1}"] = made

    def compare(self, value: Json, shown: Json, path: str = "", key: str | None = None) -> None:
        """Tag what was hidden: where `shown` is another than `value`. Names in paths are those that are shown."""
        if shown is value or len(self.found) >= MOST:
            return
        if isinstance(value, dict) and isinstance(shown, dict):
            for (name, item), (label, new) in zip(value.items(), shown.items(), strict=True):
                if name != label:
                    self._leaf(path, None, name)
                self.compare(item, new, f"{path}/{_step(label)}", name if key is None else f"{key} {name}")
        elif isinstance(value, list) and isinstance(shown, list):
            for index, (item, new) in enumerate(zip(value, shown, strict=True)):
                self.compare(item, new, f"{path}/{index}", key)
        elif value != shown and shown != MASKS["secret"]:  # of secrets there are no digests
            self._leaf(path, key, value)

    def _leaf(self, path: str, key: str | None, value: Json) -> None:
        text = value if isinstance(value, str) else str(value)
        pieces = self._redactor.spot(key, text[:20_000])
        if pieces is None:
            return
        for piece in pieces[:MOST]:
            self.put(path, piece)
        if not pieces and len(text) <= _LONGEST:
            self.put(path, text)

    def __str__(self) -> str:
        """The member that holds them, with a comma before it; nothing where there are none."""
        return f',"hmac":{encode(self.found)}' if self.found else ""


def _step(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def of_result(redactor: Redactor, tenant: str, pairs: Iterable[tuple[Json, Json]], ruled: Sequence[tuple[str, Json]]) -> str:
    """The tags of a result: of what detectors hid in it (values and what was shown), and of what its rules hid (path and value)."""
    found = list(pairs)
    if not found and not ruled:
        return ""
    tags = Tags(redactor, tenant)
    with suppress(Exception):  # the call has run: a record that finds fewer people is better than none
        for path, value in ruled:
            tags.put(path, value)
        for value, shown in found:
            tags.compare(value, shown)
    return str(tags)


def of_arguments(redactor: Redactor, tenant: str, pair: tuple[Json, Json], owned: Iterable[str]) -> str:
    """The tags of arguments: of what was hidden in them, and of texts that the session owns."""
    value, shown = pair
    texts = [(name, text) for name in owned if type(text := value.get(name)) is str]
    if shown is value and not texts:
        return ""
    tags = Tags(redactor, tenant)
    for name, text in texts:
        tags.put(f"/{_step(name)}", text)
    tags.compare(value, shown)
    return str(tags)
