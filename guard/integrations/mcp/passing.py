"""Passing: messages that the guard does not judge (resources, prompts, logs, questions, errors) with everything hidden that a result would hide.

Every text at every depth is looked at under the fields that it stands in, names of fields as well. Nothing stays as it is for its name
alone: a uri or cursor in which something had to be hidden is shown as an address of the guard's own, which the client can send back.
Comes after media and messages; before relay.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from guard.core.beside import Frame, Note, fields, items, parts
from guard.core.redaction import BELOW, MASKS
from guard.core.values import Json, JsonObject
from guard.integrations.mcp.media import note, silent, spoken
from guard.integrations.mcp.messages import UnfitError

Detect = Callable[[str | None, str], tuple[str, tuple[str, ...]]]
"""The text to show and the kinds hidden, of a text and the fields that it stands in."""

_DEEPEST = 100
_CODE: Final = "q7Zk3xV9tRw2"  # what is a secret only where its name says so
_NONE: Final = Note()
_CODES = 100_000  # numbers of errors are smaller
_LONGEST = 300  # characters of the names of the fields that something stands in
_SHORTEST = 6  # characters of a secret that is looked for in an answer
_MOST = 10_000  # addresses that one session is given
_SCHEME: Final = "guard-hidden:"
_BACK = frozenset({"uri", "nextCursor", "cursor"})  # what a client sends back to the server as it got it
_OWN = frozenset({"progressToken", "maxTokens"})  # of the protocol, where it has them: no secret, though they are called so
_SCHEMA = frozenset({"requestedSchema", "inputSchema", "outputSchema"})
_MAPS = frozenset({"properties", "$defs", "definitions"})
_PARTS = frozenset({"items", "anyOf", "oneOf", "allOf", "additionalProperties"})
_WORDS = frozenset({"type", "title", "description", "format", "pattern", "required", "enumNames", "$ref", "$schema", "$id"})


def _below(above: str | None, name: str) -> str:
    return name if above is None else f"{above}{BELOW}{name}"[-_LONGEST:]


class Addresses:
    """The addresses of one session that say too much to be shown, and what they are shown as."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._real: dict[str, str] = {}
        self._numbers = itertools.count(1)

    def shown(self, address: str, hide: Callable[[str], str]) -> str:
        """The address, or what stands for it."""
        plain = unquote(address)
        if hide(address) == address and hide(plain) == plain and not address.startswith(_SCHEME):
            return address
        if address not in self._shown:
            if len(self._shown) >= _MOST:
                return f"{_SCHEME}none"
            self._shown[address] = own = f"{_SCHEME}{next(self._numbers)}"
            self._real[own] = address
        return self._shown[address]

    def sent(self, params: JsonObject) -> JsonObject:
        """The client's parameters, as the server knows them."""
        found: JsonObject = dict(params)
        for key in _BACK & params.keys():
            found[key] = self._real.get(params[key], params[key]) if type(params[key]) is str else params[key]
        ref = params.get("ref")
        if type(ref) is dict:
            found["ref"] = self.sent(ref)
        return found


class Mask:
    """What hides in the messages of one session."""

    def __init__(self, detect: Detect, addresses: Addresses) -> None:
        self._detect, self._addresses = detect, addresses

    def after(self, arguments: Json) -> Mask:
        """The same for the answer to a call with these arguments: a secret that they held is one wherever it stands."""
        secrets = sorted(self._secrets(arguments, None), key=len, reverse=True)

        def detect(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
            for secret in secrets:
                text = text.replace(secret, MASKS["secret"])
            return self._detect(key, text)

        return Mask(detect, self._addresses) if secrets else self

    def _secrets(self, value: Json, key: str | None, frame: Frame | None = None) -> set[str]:
        if type(value) is dict or type(value) is list:
            found = parts(value, key, frame, self._tells)
            return {one for _, item, under, note in found for one in self._secrets(item, under, note.frame)}
        whole = type(value) is str and len(value) >= _SHORTEST and self._detect(key, value)[0] == MASKS["secret"]
        return {value} if whole else set()

    def hide(self, text: str) -> str:
        """A text that stands nowhere in particular."""
        return self._detect(None, text)[0]

    def address(self, address: str) -> str:
        """A uri or cursor, as it may be shown."""
        return self._addresses.shown(address, self.hide)

    def message(self, value: Json) -> Json:
        """The parameters, result or error of a message. Raises UnfitError for what is nested too deeply."""
        return self._object(value, None, 0, self._at_top) if type(value) is dict else self._any(value, None, 0)

    def _at_top(self, name: str, item: Json, key: str, depth: int) -> Json:
        if name in _OWN:
            return self._any(item, None, depth)
        if name == "code" and type(item) is int and abs(item) < _CODES:
            return item
        if name == "_meta" and type(item) is dict:
            return self._object(item, None, depth, self._at_top)
        if name == "requestedSchema":
            return self._schema(item, None, depth)
        if name == "tools" and type(item) is list:
            return [
                self._object(one, None, depth, self._of_tool) if type(one) is dict else self._any(one, key, depth) for one in item
            ]
        return self._field(name, item, key, depth)

    def _of_tool(self, name: str, item: Json, key: str, depth: int) -> Json:
        return self._schema(item, None, depth) if name in _SCHEMA else self._field(name, item, key, depth)

    def _object(
        self,
        value: JsonObject,
        above: str | None,
        depth: int,
        field: Callable[[str, Json, str, int], Json],
        frame: Frame | None = None,
    ) -> JsonObject:
        if depth > _DEEPEST:
            raise UnfitError("nested too deeply")
        found: JsonObject = {}
        notes = fields(value.items(), self._tells, frame) or [_NONE] * len(value)
        for (name, item), beside in zip(value.items(), notes, strict=True):
            label = self.hide(name)
            while label in found or (label != name and label in value):
                label += "_"
            key = _below(above if beside.name is None else _below(above, beside.name), name)
            shown = (
                self._any(item, key, depth + 1, beside.frame) if beside.frame is not None else field(name, item, key, depth + 1)
            )
            found[label] = shown
        return found

    def _tells(self, name: str) -> bool:
        """Whether a code under such a name is a secret."""
        return bool(self._detect(name, _CODE)[1])

    def _list(self, value: list[Json], key: str | None, depth: int, frame: Frame | None) -> list[Json]:
        notes = items(value, frame, self._tells) or [_NONE] * len(value)
        keys = [key if note.name is None else _below(key, note.name) for note in notes]
        return [self._any(item, under, depth + 1, note.frame) for item, under, note in zip(value, keys, notes, strict=True)]

    def _field(self, name: str, item: Json, key: str, depth: int) -> Json:
        return self.address(item) if name in _BACK and type(item) is str else self._any(item, key, depth)

    def _any(self, value: Json, key: str | None, depth: int, frame: Frame | None = None) -> Json:
        if type(value) is str:
            return self._detect(key, value)[0]
        if value is None or type(value) is bool:
            return value
        if depth > _DEEPEST:
            raise UnfitError("nested too deeply")
        if type(value) is list:
            return self._list(value, key, depth, frame)
        if type(value) is not dict:
            shown, found = self._detect(key, str(value))
            return shown if found else value
        return self._media(value, key, depth) or self._object(value, key, depth, self._field, frame)

    def _media(self, value: JsonObject, key: str | None, depth: int) -> JsonObject | None:
        """A picture, a sound or a resource in base64; None for everything else."""
        data, media = value.get("data"), value.get("mimeType")
        if value.get("type") in ("image", "audio") and "data" in value:
            if not silent(media, data, self.hide):
                return {"type": "text", "text": self.hide(note(media, data))}
            rest = {name: item for name, item in value.items() if name != "data"}
            return {**self._object(rest, key, depth, self._field), "data": data}
        if "blob" not in value:
            return None
        told = spoken(value)
        blob = told.pop("blob", None)
        shown = self._object(told, key, depth, self._field)
        return shown if blob is None else {**shown, "blob": blob}

    def _schema(self, value: Json, key: str | None, depth: int) -> Json:
        """A schema: what its properties are called tells of their values, and not of what is said about them."""
        if type(value) is list:
            return [self._schema(item, key, depth + 1) for item in value]
        if type(value) is not dict:
            return self._any(value, key, depth)

        def part(name: str, item: Json, _key: str, below: int) -> Json:
            if name in _MAPS and type(item) is dict:
                return self._object(item, None, below, lambda own, one, _path, at: self._schema(one, own, at))
            if name in _PARTS:
                return self._schema(item, key, below)
            plain = name in _WORDS and (type(item) is str or type(item) is list)
            return self._any(item, None if plain else f"{key or ''} {name}".strip(), below)

        return self._object(value, None, depth, part)
