"""Gemini, streamed: whole responses whose parts follow each other, put together to one response.

A call comes whole in one part, or its arguments come in pieces: `partialArgs` with a path and a value each, until `willContinue` is gone. A path
or value that cannot be understood makes the arguments unreadable, so that the call is refused. Comes after `streams`, before the wire.
"""

from __future__ import annotations

import re
from typing import Any

from guard.core.values import JsonObject
from guard.wires.plain import UNREADABLE, look, plain, shallow
from guard.wires.streams import CUT_OFF, worst

WHOLE = frozenset({"STOP"})
_SNAKE = re.compile("_([a-z])")
_STEP = re.compile(r"""\.([^.\[\]'"\s]+)|\[(\d{1,6})\]|\[(?:'([^'\\]*)'|"([^"\\]*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_MOST = 10_000  # entries of a list that a path may reach


class Contents:
    """Collects the responses of one streamed reply. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._parts: list[JsonObject] = []
        self._open: JsonObject | None = None  # the call whose arguments still come in pieces
        self._reasons: list[Any] = []
        self._more: dict[str, Any] = {}
        self._answered = False

    @property
    def ended(self) -> bool:
        """See Assembly."""
        return bool(self._reasons) and self._open is None

    def add(self, event: object) -> None:
        """See Assembly. Of several candidates the first one counts, as in a whole reply."""
        fields = _fields(event)
        for name in ("usageMetadata", "modelVersion", "promptFeedback"):
            if fields.get(name) is not None:
                self._more[name] = plain(fields[name], blobs=True)
        candidates = fields.get("candidates")
        for candidate in candidates if isinstance(candidates, list | tuple) else ():
            if look(candidate, "index") in (None, 0):
                self._candidate(_fields(candidate))

    def _candidate(self, candidate: dict[str, Any]) -> None:
        self._answered = True
        if candidate.get("finishReason") is not None:
            self._reasons.append(plain(candidate["finishReason"]))
        parts = look(candidate.get("content"), "parts")
        for part in parts if isinstance(parts, list | tuple) else ():
            self._part(_fields(part))

    def _part(self, fields: dict[str, Any]) -> None:
        call = fields.pop("functionCall", None)
        part = {name: plain(value, blobs=True) for name, value in fields.items()}
        if call is not None:
            self._call(_fields(call), part)
        elif not self._joined(part) and not (part.get("text", "-") == "" and set(part) <= {"text", "thought"}):
            self._parts.append(part)

    def _joined(self, part: JsonObject) -> bool:
        """Whether this text goes on with the part before it. A signature ends the part that it stands in."""
        last = self._parts[-1] if self._parts else {}
        texts = isinstance(part.get("text"), str) and isinstance(last.get("text"), str) and "thoughtSignature" not in last
        if not texts or part.get("thought") != last.get("thought") or set(part) - {"text", "thought", "thoughtSignature"}:
            return False
        self._parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        return True

    def _call(self, call: dict[str, Any], part: JsonObject) -> None:
        """A whole call, the first piece of one, or a further piece: one without a name or with the same id."""
        goes_on = self._open is not None and (not call.get("name") or (call.get("id") and call["id"] == self._open.get("id")))
        if self._open is None or not goes_on:
            self._open = {name: call[name] for name in ("id", "name") if call.get(name) is not None}
            if "args" in call:
                self._open["args"] = call["args"]
            self._parts.append({"functionCall": self._open, **part})
        elif part:
            self._parts[-1] |= part
        pieces = call.get("partialArgs")
        for piece in pieces if isinstance(pieces, list | tuple) else ():
            self._open["args"] = _put(self._open.get("args"), _fields(piece))
        if not call.get("willContinue"):
            self._open = None

    def cut(self) -> None:
        """See Assembly."""
        self._reasons.append(CUT_OFF)

    def reply(self) -> JsonObject:
        """See Assembly."""
        if not self._answered:
            return self._more
        reason = CUT_OFF if self._open is not None or not self._reasons else worst(self._reasons, WHOLE)
        candidate = {"content": {"role": "model", "parts": self._parts}, "finishReason": reason}
        return {**self._more, "candidates": [candidate]}


def _fields(value: object) -> dict[str, Any]:
    """The fields that are set, under their names on the wire."""
    return {_SNAKE.sub(lambda match: match[1].upper(), name): item for name, item in shallow(value).items() if item is not None}


def _put(arguments: Any, piece: dict[str, Any]) -> Any:
    """The arguments with one more piece. Texts of one path are joined; whatever does not fit makes all of them unreadable."""
    steps = _steps(piece.get("jsonPath"))
    given = [name for name in _VALUES if name in piece]
    if arguments == UNREADABLE or not steps or len(given) > 1:
        return UNREADABLE
    value: Any = "" if not given else None if given[0] == "nullValue" else piece[given[0]]
    root: Any = {} if arguments is None else arguments
    try:
        return _set(root, steps, value)
    except (TypeError, IndexError):
        return UNREADABLE


def _steps(path: object) -> list[str | int]:
    if not isinstance(path, str) or not path.startswith("$"):
        return []
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        if (match := _STEP.match(path, at)) is None:
            return []
        name = next((found for found in (match[1], match[3], match[4]) if found is not None), None)
        steps.append(int(match[2]) if name is None else name)
        at = match.end()
    return steps


def _set(place: Any, steps: list[str | int], value: Any) -> Any:
    """`place` with `value` at the end of the steps. Raises TypeError or IndexError where something else stands in the way."""
    if not steps:
        if isinstance(place, str) and isinstance(value, str):
            return place + value
        if place is not None:
            raise TypeError
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        fields = {} if place is None else place
        if not isinstance(fields, dict):
            raise TypeError
        return {**fields, step: _set(fields.get(step), rest, value)}
    items = [] if place is None else place
    if not isinstance(items, list) or step > len(items) or step >= _MOST:
        raise IndexError
    known = items[step] if step < len(items) else None
    return [*items[:step], _set(known, rest, value), *items[step + 1 :]]
