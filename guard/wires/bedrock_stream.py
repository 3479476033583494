"""Amazon Bedrock ConverseStream: blocks with their deltas between `messageStart` and `messageStop`, put together to one answer.

Texts and thinking begin without a start of their own. A call that starts on an index in use is a new call; its arguments stay the text that
came: the core decodes them. Comes after `streams`, before the wire.
"""

from __future__ import annotations

from typing import Any

from guard.core.values import JsonObject
from guard.wires.plain import look, plain, read_json, shallow
from guard.wires.streams import CUT_OFF, STREAMED, worst

WHOLE = frozenset({"end_turn", "tool_use", "stop_sequence"})
_KNOWN = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"})


class Blocks:
    """Collects the events of one streamed answer. See `guard.wires.streams.Assembly`."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._places: dict[object, dict[str, Any]] = {}
        self._reasons: list[Any] = []
        self._usage: Any = None

    @property
    def ended(self) -> bool:
        """See Assembly."""
        return bool(self._reasons)

    def add(self, event: object) -> None:
        """See Assembly."""
        for kind, body in shallow(event).items():
            if kind == "contentBlockStart":
                self._start(look(body, "contentBlockIndex"), look(body, "start"))
            elif kind == "contentBlockDelta":
                self._delta(look(body, "contentBlockIndex"), look(body, "delta"))
            elif kind == "messageStop":
                self._reasons.append(plain(look(body, "stopReason")))
            elif kind == "metadata":
                self._usage = plain(look(body, "usage"))
            elif kind not in _KNOWN and kind.endswith("Exception"):
                self._reasons.append("error")

    def _start(self, index: object, start: object) -> None:
        made = dict[str, Any](plain(start, blobs=True) or {})
        self._places[index] = made
        self._blocks.append(made)

    def _delta(self, index: object, delta: object) -> None:
        if index not in self._places:
            self._start(index, {})
        block = self._places[index]
        for kind, piece in shallow(delta).items():
            if piece is None:
                continue
            if kind == "text":
                block["text"] = block.get("text", "") + str(piece)
            elif kind == "toolUse":
                use = block.setdefault("toolUse", {"toolUseId": "", "name": ""})
                use[STREAMED] = use.get(STREAMED, "") + _text(look(piece, "input"))
            elif kind == "reasoningContent":
                _think(block.setdefault("reasoningContent", {}), piece)
            else:
                _beside(block, kind, piece)

    def cut(self) -> None:
        """See Assembly."""
        self._reasons.append(CUT_OFF)

    def reply(self) -> JsonObject:
        """See Assembly."""
        reason = worst(self._reasons, WHOLE) if self._reasons else CUT_OFF
        message = {"role": "assistant", "content": [_whole(block) for block in self._blocks if block]}
        usage = {} if self._usage is None else {"usage": self._usage}
        return {"output": {"message": message}, "stopReason": reason, **usage}


def _text(piece: object) -> str:
    return piece if isinstance(piece, str) else ""


def _think(thinking: dict[str, Any], piece: object) -> None:
    """A piece of thinking: text, its signature, or bytes that only the provider can read."""
    if (redacted := look(piece, "redactedContent")) is not None:
        thinking["redactedContent"] = plain(redacted, blobs=True)
        return
    text = thinking.setdefault("reasoningText", {"text": ""})
    text["text"] += _text(look(piece, "text"))
    if signature := _text(look(piece, "signature")):
        text["signature"] = text.get("signature", "") + signature


def _beside(block: dict[str, Any], kind: str, piece: object) -> None:
    """A piece of what the provider brings itself: a source, or what a tool of its own gave."""
    given: Any = plain(piece, blobs=True)
    if kind == "citation":
        block.setdefault("citationsContent", {"content": [], "citations": []})["citations"].append(given)
    elif kind == "toolResult":
        result = block.setdefault("toolResult", {})
        result["content"] = [*result.get("content", []), *given]
    elif kind == "image":
        block["image"] = {**block.get("image", {}), **given}


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block with its pieces. A text with citations is one block in an answer that came whole.

    Of a tool that the provider runs itself the arguments are decoded here, and its result is a list, however little of it came.
    """
    if "citationsContent" in block and "text" in block:
        return {"citationsContent": {**block["citationsContent"], "content": [{"text": block["text"]}]}}
    if "toolResult" in block:
        return {**block, "toolResult": {"content": [], **block["toolResult"]}}
    use = block.get("toolUse")
    if use is None:
        return block
    text, rest = use.get(STREAMED, ""), {name: item for name, item in use.items() if name != STREAMED}
    if use.get("type") == "server_tool_use":
        read = read_json(text)
        return {**block, "toolUse": {**rest, "input": read if isinstance(read, dict) else {}}}
    return block if text.strip() else {**block, "toolUse": {"input": {}, **rest}}
