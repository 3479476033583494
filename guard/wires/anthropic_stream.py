"""Anthropic Messages, streamed: `message_start`, blocks with their deltas, `message_delta`, `message_stop`, put together to one message.

A block that starts on an index in use is a new block; a piece for an index without a block is one without name and id. The arguments of a call
stay the text that came: the core decodes them. Comes after `streams`, before the wire.
"""

from __future__ import annotations

from typing import Any

from guard.core.values import JsonObject
from guard.wires.plain import apart, look, plain, read_json, shallow
from guard.wires.streams import CUT_OFF, STREAMED, worst

WHOLE = frozenset({"end_turn", "tool_use", "stop_sequence", "pause_turn"})
_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Kind of delta → the block that it is for, and where in it and in the delta the text stands."""


class Blocks:
    """Collects the events of one streamed message, or what the SDK's helper makes of them. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._places: dict[object, dict[str, Any]] = {}
        self._reasons: list[Any] = []
        self._stopped = False
        self._model: Any = None
        self._usage: dict[str, Any] = {}

    @property
    def ended(self) -> bool:
        """See Assembly."""
        return self._stopped or bool(self._reasons)

    def add(self, event: object) -> None:
        """See Assembly."""
        match look(event, "type"):
            case "message_start":
                self._begin(look(event, "message"))
            case "content_block_start":
                self._start(look(event, "index"), look(event, "content_block"))
            case "content_block_delta":
                self._delta(look(event, "index"), look(event, "delta"))
            case "message_delta":
                self._counts(look(event, "usage"))
                self._reason(look(look(event, "delta"), "stop_reason"))
            case "message_stop":
                self._stopped = True
            case "error":
                self._reasons.append("error")

    def _begin(self, message: object) -> None:
        """The message as it is before its first block; some hosts send blocks along."""
        self._model = look(message, "model")
        self._counts(look(message, "usage"))
        self._reason(look(message, "stop_reason"))
        content = look(message, "content")
        for block in content if isinstance(content, list | tuple) else ():
            self._start(None, block)

    def _counts(self, usage: object) -> None:
        if usage is not None:
            self._usage |= {name: count for name, count in shallow(usage).items() if count is not None}

    def _reason(self, reason: object) -> None:
        if reason is not None:
            self._reasons.append(reason)

    def _start(self, index: object, block: object) -> None:
        fields = shallow(block)
        uses = fields.get("type") == "tool_use"
        made: dict[str, Any] = {name: apart(item, 0) if uses else plain(item) for name, item in fields.items()}
        self._places[index] = made
        self._blocks.append(made)

    def _delta(self, index: object, delta: object) -> None:
        kind = look(delta, "type")
        if kind == "citations_delta":
            block = self._block(index, "text")
            block["citations"] = [*(block.get("citations") or []), plain(look(delta, "citation"))]
        elif kind == "compaction_delta":
            block = self._block(index, "compaction")
            for place in ("content", "encrypted_content"):
                if isinstance(piece := look(delta, place), str):
                    block[place] = (block.get(place) or "") + piece
        elif isinstance(kind, str) and kind in _PIECES:
            form, place = _PIECES[kind]
            piece = look(delta, place)
            block = self._block(index, form)
            place = STREAMED if form == "tool_use" else place
            block[place] = (block.get(place) or "") + (piece if isinstance(piece, str) else "")

    def _block(self, index: object, form: str) -> dict[str, Any]:
        if index not in self._places:
            self._start(index, {"type": form})
        return self._places[index]

    def cut(self) -> None:
        """See Assembly."""
        self._reasons.append(CUT_OFF)

    def reply(self) -> JsonObject:
        """See Assembly."""
        reason = worst(self._reasons, WHOLE) if self._reasons else None if self._stopped else CUT_OFF
        content = [_whole(block) for block in self._blocks]
        usage = {"usage": self._usage} if self._usage else {}
        return {"role": "assistant", "content": content, "stop_reason": reason, "model": self._model, **usage}


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block with its pieces. Only of a tool that the provider runs itself are they decoded here; of ours without pieces, `input` counts."""
    text = block.get(STREAMED)
    if text is None:
        return block
    rest = {name: item for name, item in block.items() if name != STREAMED}
    if block.get("type") == "tool_use":
        return {**rest, STREAMED: text} if text.strip() else rest
    read = read_json(text)
    return {**rest, "input": read if isinstance(read, dict) else rest.get("input", {})}
