"""OpenAI Chat Completions, streamed: `chat.completion.chunk` events put together to one completion.

Which call a piece belongs to: a known id on its index, else the newest call of that index; a new id, or a name once arguments have begun,
starts a new call. Compatible hosts are read as well: no index, no id, an id or name in every piece, all calls on index 0, whole objects as
arguments, a `message` where no `delta` said anything. Pieces are joined and never repaired. Comes after `streams`, before the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guard.core.values import JsonObject, encode
from guard.wires.common import given_id
from guard.wires.plain import arguments_of, is_json, look, plain, sendable
from guard.wires.streams import CUT_OFF, Parts, worst

WHOLE = frozenset({"stop", "tool_calls", "function_call"})
_PAYLOAD = {"function": "arguments", "custom": "input"}
_OWN = frozenset({"role", "tool_calls", "function_call"})


@dataclass
class _Call:
    id: str = ""
    kind: str = ""
    name: str = ""
    payload: Any = None
    more: dict[str, Any] = field(default_factory=dict)

    def begun(self) -> bool:
        return self.payload not in (None, "")

    def ended_before(self, name: str, *, more: bool) -> bool:
        """Whether a piece with this name begins another call: with another name, or with arguments where these are whole."""
        whole = isinstance(self.payload, dict) or (isinstance(self.payload, str) and is_json(self.payload))
        return self.begun() and (name != self.name or (more and whole))

    def entry(self) -> JsonObject:
        kind = self.kind or "function"
        body = {"name": self.name, _PAYLOAD.get(kind, "arguments"): "" if self.payload is None else self.payload}
        return {**self.more, "id": self.id, "type": kind, kind: body}


class Chunks:
    """Collects the chunks of one streamed completion, or what the SDK's helper makes of them. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._message = Parts()
        self._calls: list[_Call] = []
        self._places: dict[int, list[_Call]] = {}
        self._old: _Call | None = None  # the deprecated function_call
        self._told = False  # a delta said something
        self._reasons: list[Any] = []
        self._usage: Any = None
        self._model: Any = None

    @property
    def ended(self) -> bool:
        """See Assembly."""
        return bool(self._reasons)

    def add(self, event: object) -> None:
        """See Assembly. Of several choices the first one counts, as in a whole reply."""
        chunk = look(event, "chunk") if look(event, "type") == "chunk" else event
        if look(chunk, "error") is not None:
            self._reasons.append("error")
        self._usage = look(chunk, "usage") or self._usage
        self._model = look(chunk, "model") or self._model
        choices = look(chunk, "choices")
        for choice in choices if isinstance(choices, list | tuple) else ():
            if look(choice, "index") in (None, 0):
                self._choice(choice)

    def _choice(self, choice: object) -> None:
        delta = look(choice, "delta")
        if not self._told:
            self._told = _says(delta)
            delta = delta if self._told else look(choice, "message") or delta
        if (reason := look(choice, "finish_reason")) not in (None, ""):
            self._reasons.append(reason)
        if delta is None:
            return
        for name, piece in dict[str, Any](plain(delta)).items():
            if name not in _OWN:
                self._message.add(name, piece)
        entries = look(delta, "tool_calls")
        for entry in entries if isinstance(entries, list | tuple) else ():
            self._entry(entry)
        if (old := look(delta, "function_call")) is not None:
            self._old = self._old or _Call()
            _take(self._old, look(old, "name"), look(old, "arguments"))

    def _entry(self, entry: object) -> None:
        kind = look(entry, "type")
        body = next((found for name in _PAYLOAD if (found := look(entry, name)) is not None), None)
        name = look(body, "name")
        payload = look(body, "arguments") if look(body, "input") is None else look(body, "input")
        told = name if isinstance(name, str) else ""
        call = self._call(look(entry, "index"), given_id(look(entry, "id")), told, more=payload not in (None, ""))
        if isinstance(kind, str) and kind:
            call.kind = kind
        elif look(entry, "custom") is not None:
            call.kind = "custom"
        known = {"index", "id", "type", *_PAYLOAD}
        call.more |= {key: item for key, item in dict[str, Any](plain(entry)).items() if key not in known and item is not None}
        _take(call, name, payload)

    def _call(self, index: object, call_id: str, name: str, *, more: bool) -> _Call:
        """The call that a piece belongs to, a new one where it cannot be an earlier one's."""
        here = self._places.get(index, []) if type(index) is int else self._calls
        mine = [call for call in (here or ([] if name else self._calls)) if call_id and call.id == call_id]
        if mine:
            return mine[-1]
        last = here[-1] if here else None
        if last is not None and not (call_id and last.id) and not (name and last.ended_before(name, more=more)):
            last.id = last.id or call_id
            return last
        made = _Call(id=call_id)
        self._calls.append(made)
        if type(index) is int:
            self._places.setdefault(index, []).append(made)
        return made

    def cut(self) -> None:
        """See Assembly."""
        self._reasons.append(CUT_OFF)

    def reply(self) -> JsonObject:
        """See Assembly."""
        message: JsonObject = {"role": "assistant", "content": None, **self._message.fields}
        if self._calls:
            message["tool_calls"] = [call.entry() for call in self._calls]
        elif self._old is not None:
            message["function_call"] = self._old.entry()["function"]
        reason = worst(self._reasons, WHOLE) if self._reasons else CUT_OFF
        reply = {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        return {**reply, "model": self._model, "usage": self._usage}


def _says(delta: object) -> bool:
    return delta is not None and any(piece not in (None, "", []) for name, piece in plain(delta).items() if name != "role")


def _take(call: _Call, name: object, payload: object) -> None:
    """A piece of a call. A name comes whole, repeated, or in pieces before the arguments; arguments are text, or an object at once."""
    if isinstance(name, str) and name != call.name and not call.begun():
        call.name += name
    if payload is None:
        return
    piece = payload if isinstance(payload, str) else arguments_of(payload)
    if call.payload in (None, ""):
        call.payload = piece
    elif piece != "":
        call.payload = _text(call.payload) + _text(piece)


def _text(piece: Any) -> str:
    return piece if isinstance(piece, str) else encode(sendable(piece))
