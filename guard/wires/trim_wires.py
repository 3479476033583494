"""Trim, wire by wire: where results, their pictures and follow-ups stand in a message, and how their texts are replaced there.

May not decide what is replaced. Pure; comes after the wires and `trim_parts`, before `trim`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from guard.core.values import Json, JsonObject, encode
from guard.wires.anthropic import Anthropic
from guard.wires.bedrock import Bedrock, as_bytes
from guard.wires.common import given_id
from guard.wires.gemini import PICTURES as GEMINI_PICTURES
from guard.wires.gemini import Gemini, paired_by
from guard.wires.history import Pairing
from guard.wires.openai_chat import PICTURES, OpenAIChat
from guard.wires.openai_responses import OpenAIResponses
from guard.wires.plain import look, read_json, sendable
from guard.wires.trim_parts import SHOWN, Result, Trim


class _Content(Trim):
    """For wires with the user's words as `content`: a text."""

    __slots__ = ()

    def said(self, message: JsonObject) -> str | None:
        """See Trim."""
        content = message.get("content")
        return content if message.get("role") == "user" and isinstance(content, str) else None

    def saying(self, message: JsonObject, text: str) -> JsonObject:
        """See Trim."""
        return {**message, "content": text}


class OpenAIChatTrimmer(_Content):
    """Results are messages; their pictures stand in a message of the user's role that the guard wrote."""

    __slots__ = ()
    wire: ClassVar[Pairing] = OpenAIChat()

    def found(self, message: JsonObject) -> Iterator[Result]:
        """See Trim."""
        if message.get("role") in ("tool", "function"):
            yield Result(part=0, id=given_id(message.get("tool_call_id")), text=_joined(message.get("content")))

    def shown(self, message: JsonObject) -> tuple[int, str, int] | None:
        """See Trim."""
        parts = message.get("content")
        if message.get("role") != "user" or not isinstance(parts, list) or look(parts[0] if parts else None, "text") != PICTURES:
            return None
        pictures = sum(look(part, "type") == "image_url" for part in parts)
        return (0, PICTURES, pictures) if pictures else None

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trim."""
        return {**message, "content": texts[0]} if 0 in texts else dict(message)


class OpenAIResponsesTrimmer(_Content):
    """Results are items of a form that belongs to their call; pictures stand within."""

    __slots__ = ()
    wire: ClassVar[Pairing] = OpenAIResponses()

    def found(self, message: JsonObject) -> Iterator[Result]:
        """See Trim."""
        for name in self.wire.answers(message):
            output = message.get("output")
            yield Result(part=0, id=name, text=_output(output), pictures=_count(output, ("input_image", "input_file")))

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trim. What a shell said stays where it said it, with how it ended."""
        if 0 not in texts:
            return dict(message)
        output = message.get("output")
        if message.get("type") != "shell_call_output" or not isinstance(output, list):
            return {**message, "output": texts[0]}
        last = output[-1] if output and isinstance(output[-1], dict) else {}
        place = "stderr" if last.get("stderr") and not last.get("stdout") else "stdout"
        return {**message, "output": [{**last, "stdout": "", "stderr": "", place: texts[0]}]}


class AnthropicTrimmer(_Content):
    """Results are blocks of a message of the user's role, pictures and documents among them."""

    __slots__ = ()
    wire: ClassVar[Pairing] = Anthropic()

    def found(self, message: JsonObject) -> Iterator[Result]:
        """See Trim."""
        for part, block in _blocks(message, "content"):
            if look(block, "type") == "tool_result":
                inner, name = block.get("content"), given_id(block.get("tool_use_id"))
                yield Result(part=part, id=name, text=_joined(inner), pictures=_count(inner, ("image", "document")))

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trim."""
        blocks = enumerate(message["content"])
        return {**message, "content": [{**block, "content": texts[at]} if at in texts else block for at, block in blocks]}


class BedrockTrimmer(Trim):
    """Results are blocks of a message of the user's role, pictures and documents among them."""

    __slots__ = ()
    wire: ClassVar[Pairing] = Bedrock()

    def found(self, message: JsonObject) -> Iterator[Result]:
        """See Trim."""
        for part, block in _blocks(message, "content"):
            result = look(block, "toolResult")
            if isinstance(result, dict):
                yield _converse(part, result)

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trim."""
        blocks = enumerate(message["content"])
        return {**message, "content": [_told(block, texts[at]) if at in texts else block for at, block in blocks]}

    def said(self, message: JsonObject) -> str | None:
        """See Trim."""
        return _only_text(message, "content")

    def saying(self, message: JsonObject, text: str) -> JsonObject:
        """See Trim."""
        return {**message, "content": [{**message["content"][0], "text": text}]}

    def sent(self, message: JsonObject) -> JsonObject:
        """See Trimmer. What the SDK takes as bytes is bytes."""
        given: JsonObject = as_bytes(message)
        return given


class GeminiTrimmer(Trim):
    """Results are parts of a content of the user's role, objects each; their pictures and documents stand behind them in the same content.

    A result's part is its number among the results, so that it stays what it is when pictures go.
    """

    __slots__ = ()
    wire: ClassVar[Pairing] = Gemini()

    def found(self, message: JsonObject) -> Iterator[Result]:
        """See Trim."""
        given = [part["functionResponse"] for _, part in _blocks(message, "parts") if _answers(part)]
        for number, one in enumerate(given):
            within = one.get("parts")
            pictures = len(within) if isinstance(within, list) else 0
            yield Result(part=number, id=paired_by(one), text=_response(one.get("response")), pictures=pictures)

    def shown(self, message: JsonObject) -> tuple[int, str, int] | None:
        """See Trim."""
        gone = _pictures([part for _, part in _blocks(message, "parts")])
        pictures = sum("inlineData" in part for part in gone.values())
        return (SHOWN, GEMINI_PICTURES, pictures) if pictures else None

    def replaced(self, message: JsonObject, texts: Mapping[int, str]) -> JsonObject:
        """See Trim."""
        gone = _pictures(message["parts"]) if SHOWN in texts else {}
        label, number, parts = next(iter(gone), -1), -1, []
        for at, part in enumerate(message["parts"]):
            number += _answers(part)
            if at == label:
                parts.append({"text": texts[SHOWN]})
            elif at not in gone:
                parts.append(_answering(part, texts[number]) if _answers(part) and number in texts else part)
        return {**message, "parts": parts}

    def said(self, message: JsonObject) -> str | None:
        """See Trim."""
        return _only_text(message, "parts")

    def saying(self, message: JsonObject, text: str) -> JsonObject:
        """See Trim."""
        return {**message, "parts": [{**message["parts"][0], "text": text}]}


# -- Bedrock Converse --------------------------------------------------------------------------------------------------


def _converse(part: int, result: JsonObject) -> Result:
    content = result.get("content")
    inner = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block["text"] if isinstance(block.get("text"), str) else _json(block["json"]) for block in inner if _speaks(block)]
    pictures = sum(not _speaks(block) for block in inner)
    return Result(part=part, id=given_id(result.get("toolUseId")), text="\n".join(texts), pictures=pictures)


def _speaks(block: JsonObject) -> bool:
    return isinstance(block.get("text"), str) or "json" in block


def _told(block: JsonObject, text: str) -> JsonObject:
    return {**block, "toolResult": {**block["toolResult"], "content": [{"text": text}]}}


# -- Gemini ------------------------------------------------------------------------------------------------------------


def _answers(part: object) -> bool:
    return isinstance(look(part, "functionResponse"), dict)


def _response(response: Json) -> str:
    """The text of a result: what stands under `output` or `error` alone, else the whole object."""
    name = _sole(response)
    return str(response[name]) if name else _json(response)


def _sole(response: Json) -> str:
    """The name under which a response holds a text and nothing else."""
    names = list(response) if isinstance(response, dict) else []
    return names[0] if len(names) == 1 and names[0] in ("output", "error") and isinstance(response[names[0]], str) else ""


def _answering(part: JsonObject, text: str) -> JsonObject:
    """A result that says this text. An object that a host wrote stays one where the text says one."""
    given = part["functionResponse"]
    name, value = _sole(given.get("response")), read_json(text)
    response = value if not name and isinstance(value, dict) and value else {name or "output": text}
    kept = {key: item for key, item in given.items() if key != "parts"}
    return {**part, "functionResponse": {**kept, "response": response}}


def _pictures(parts: list[Any]) -> dict[int, JsonObject]:
    """The parts, by their index, with which the guard shows pictures of tools: a label, then a line and a picture by turns."""
    found: dict[int, JsonObject] = {}
    inside = False
    for at, part in enumerate(parts):
        text, picture = look(part, "text"), isinstance(look(part, "inlineData"), dict)
        before = found.get(at - 1, {})
        line = isinstance(text, str) and _LINE.fullmatch(text) is not None and ("inlineData" in before or _is_label(before))
        inside = _is_label(part) or (inside and (line or (picture and "text" in before and not _is_label(before))))
        if inside:
            found[at] = part
    return found


_LINE = re.compile(r"(?:Picture|Document) \d+, from .*:")


def _is_label(part: object) -> bool:
    return look(part, "text") == GEMINI_PICTURES


# -- what the wires share ------------------------------------------------------------------------------------------------


def _blocks(message: JsonObject, name: str) -> Iterator[tuple[int, Any]]:
    """The blocks of a message of the user's role, with their indexes."""
    content = message.get(name) if message.get("role") == "user" else None
    yield from enumerate(content if isinstance(content, list) else [])


def _only_text(message: JsonObject, name: str) -> str | None:
    blocks = [block for _, block in _blocks(message, name)]
    text = look(blocks[0], "text") if len(blocks) == 1 else None
    return text if isinstance(text, str) else None


def _count(content: object, kinds: tuple[str, ...]) -> int:
    return sum(look(one, "type") in kinds for one in content) if isinstance(content, list) else 0


def _joined(content: object) -> str:
    """The texts of a content, as one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(look(part, "text")) for part in parts if look(part, "type") in ("text", "input_text"))


def _output(output: object) -> str:
    """The text of a result's output; of a shell, all that it said."""
    if not isinstance(output, list) or not any(look(part, "stdout") or look(part, "stderr") for part in output):
        return _joined(output)
    return "\n".join(str(text) for part in output for text in (look(part, "stdout"), look(part, "stderr")) if text)


def _json(value: Json) -> str:
    return encode(sendable(value))
