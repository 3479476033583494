"""OpenAI Responses, streamed: items with their deltas and the closing `response.completed`, put together to one response.

The provider's last word counts: the closing response over a finished item, a finished item over its pieces. An item that was never finished
stays `incomplete`, with the text that came. Comes after `streams`, before the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guard.core.values import JsonObject
from guard.wires.plain import apart, look, plain, shallow
from guard.wires.streams import CUT_OFF, worst

WHOLE = frozenset({"completed"})
_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_PAYLOADS = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.output_text": "text",
}
_NAMELESS: dict[str, JsonObject] = {
    "arguments": {"type": "function_call", "name": ""},
    "input": {"type": "custom_tool_call", "name": ""},
    "text": {"type": "message", "role": "assistant"},
}
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"})


@dataclass
class _Item:
    """An item on its way: where it stands, its id, what is known of it, and the pieces of its text."""

    index: object
    id: object
    fields: JsonObject
    done: bool = False
    pieces: dict[str, str] = field(default_factory=dict)

    def whole(self) -> JsonObject:
        """The item as far as it came; empty for one that says nothing before it is whole, such as reasoning."""
        if self.done:
            return self.fields
        if self.fields.get("type") in _CALLS:
            return {**self.fields, **self.pieces, "status": "incomplete"}
        if self.fields.get("type") != "message" or not self.pieces.get("text"):
            return {}
        said = {"type": "output_text", "text": self.pieces["text"], "annotations": []}
        return {**self.fields, "content": [said], "status": "incomplete"}


class Items:
    """Collects the events of one streamed response. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._last: JsonObject | None = None
        self._model: Any = None
        self._failed = False

    @property
    def ended(self) -> bool:
        """See Assembly."""
        return self._last is not None or self._failed

    def add(self, event: object) -> None:
        """See Assembly."""
        kind = look(event, "type")
        if not isinstance(kind, str):
            return
        if kind in _LAST:
            self._close(kind, look(event, "response"))
        elif kind in ("response.created", "response.in_progress"):
            self._model = look(look(event, "response"), "model") or self._model
        elif kind == "error":
            self._failed = True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(event, look(event, "item"), done=kind.endswith("done"))
        else:
            self._piece(kind, event)

    def _found(self, index: object, item_id: object, *, new: bool) -> _Item | None:
        """The item of an event: the one with its id, else the newest of its index that is not done. `new`: the event begins one."""
        here = [item for item in self._items if index is None or item.index in (None, index)]
        mine = [item for item in here if item_id is not None and item.id == item_id]
        going_on = [item for item in here if not item.done and not (new and item_id is not None)]
        found = mine or going_on
        return found[-1] if found else None

    def _item(self, event: object, given: object, *, done: bool) -> None:
        read = _read(given)
        index, item_id = look(event, "output_index"), read.get("id") or read.get("call_id")
        item = self._found(index, item_id, new=not done)
        if item is None:
            item = _Item(index, item_id, read)
            self._items.append(item)
        if done or not item.done:
            item.fields, item.done = read, done

    def _piece(self, kind: str, event: object) -> None:
        stem, _, what = kind.rpartition(".")
        if stem not in _PAYLOADS:
            return
        payload, index, item_id = _PAYLOADS[stem], look(event, "output_index"), look(event, "item_id")
        item = self._found(index, item_id, new=False)
        if item is None:  # a piece without the start of its item: a call without a name
            item = _Item(index, item_id, dict(_NAMELESS[payload]))
            self._items.append(item)
        piece = look(event, "delta") if what == "delta" else look(event, payload)
        if isinstance(piece, str):
            item.pieces[payload] = item.pieces.get(payload, "") + piece if what == "delta" else piece

    def _close(self, kind: str, response: object) -> None:
        fields = shallow(response)
        output = fields.pop("output", None)
        items = [_read(item) for item in output] if isinstance(output, list | tuple) else []
        kept = {
            name: plain(fields[name]) for name in ("id", "model", "usage", "incomplete_details") if fields.get(name) is not None
        }
        told = [self._last and self._last["status"], plain(fields.get("status")), kind.rpartition(".")[2]]
        status = worst([word for word in told if word is not None], WHOLE)
        self._last = {**kept, "status": status, "output": items}

    def cut(self) -> None:
        """See Assembly."""
        self._failed = True

    def reply(self) -> JsonObject:
        """See Assembly."""
        last = self._last or {"status": CUT_OFF, "output": []}
        if self._failed:
            last = {**last, "status": "failed"}
        found = [whole for item in self._items if (whole := item.whole())]
        return {"model": self._model, **last, "output": last["output"] or found}


def _read(item: object) -> JsonObject:
    """An item without fields that are null; a call that cannot be read must not cost its siblings their results."""
    fields = {name: value for name, value in shallow(item).items() if value is not None}
    return {name: apart(value, 0) if fields.get("type") in _CALLS else plain(value) for name, value in fields.items()}
