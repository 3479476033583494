"""OpenAI Responses, streamed: items with their deltas and the closing `response.completed`, put together to one response.

The provider's last word counts: the closing response over a finished item, a finished item over its pieces. An item that was never finished
stays `incomplete`, with the text that came. Comes after `streams`, before the wire.
"""

from __future__ import annotations

from typing import Any

from guard.core.values import JsonObject
from guard.wires.plain import apart, look, plain, shallow
from guard.wires.streams import CUT_OFF

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


class Items:
    """Collects the events of one streamed response. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._items: dict[object, JsonObject] = {}
        self._done: set[object] = set()
        self._pieces: dict[object, dict[str, str]] = {}
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
            self._item(self._place(event), look(event, "item"), done=kind.endswith("done"))
        else:
            self._piece(kind, event)

    def _place(self, event: object) -> object:
        """Where an item stands: its index, or its id where a host gives no index. An index in use means a new item when the id differs."""
        index, item = look(event, "output_index"), look(event, "item")
        name = look(item, "id") or look(item, "call_id") or look(event, "item_id")
        place = (index if type(index) is int else -1, name if isinstance(name, str) else "")
        known = [found for found in self._items if isinstance(found, tuple) and _same(found, place)]
        return known[-1] if known else place

    def _item(self, place: object, item: object, *, done: bool) -> None:
        fields = shallow(item)
        calls = fields.get("type") in _CALLS
        read = {name: apart(value, 0) if calls else plain(value) for name, value in fields.items() if value is not None}
        if done or place not in self._done:
            self._items[place] = read
        if done:
            self._done.add(place)

    def _piece(self, kind: str, event: object) -> None:
        stem, _, what = kind.rpartition(".")
        if stem not in _PAYLOADS:
            return
        payload, place = _PAYLOADS[stem], self._place(event)
        if place not in self._items:  # a piece without the start of its item: a call without a name
            self._items[place] = dict(_NAMELESS[payload])
        pieces = self._pieces.setdefault(place, {})
        piece = look(event, "delta") if what == "delta" else look(event, payload)
        if isinstance(piece, str):
            pieces[payload] = pieces.get(payload, "") + piece if what == "delta" else piece

    def _close(self, kind: str, response: object) -> None:
        fields = shallow(response)
        output = fields.pop("output", None)
        items = [_read(item) for item in output] if isinstance(output, list | tuple) else []
        kept = {
            name: plain(fields[name]) for name in ("id", "model", "usage", "incomplete_details") if fields.get(name) is not None
        }
        status = fields.get("status") or kind.rpartition(".")[2]
        bad = self._last is not None and self._last["status"] not in WHOLE  # of two ends, one that does not say whole counts
        self._last = {**kept, "status": self._last["status"] if bad and self._last else plain(status), "output": items}

    def cut(self) -> None:
        """See Assembly."""
        self._failed = True

    def reply(self) -> JsonObject:
        """See Assembly."""
        last = self._last or {"status": CUT_OFF, "output": []}
        if self._failed:
            last = {**last, "status": "failed"}
        found = [item for place in self._items if (item := self._whole(place))]
        return {"model": self._model, **last, "output": last["output"] or found}

    def _whole(self, place: object) -> JsonObject:
        """An item as far as it came; empty for one that says nothing before it is whole, such as reasoning."""
        item, pieces = self._items[place], self._pieces.get(place, {})
        if place in self._done:
            return item
        if item.get("type") in _CALLS:
            return {**item, **pieces, "status": "incomplete"}
        if item.get("type") != "message" or not pieces.get("text"):
            return {}
        said = {"type": "output_text", "text": pieces["text"], "annotations": []}
        return {**item, "content": [said], "status": "incomplete"}


def _same(known: tuple[Any, ...], place: tuple[int, str]) -> bool:
    index, name = place
    if name and known[1]:
        return bool(name == known[1] and (index in (-1, known[0]) or known[0] == -1))
    return bool(index == known[0])


def _read(item: object) -> JsonObject:
    return {name: apart(value, 0) if look(item, "type") in _CALLS else plain(value) for name, value in shallow(item).items()}
