"""Results: what an MCP server answers to a call, as a value that the guard can judge, and the guard's outcome as MCP's result.

A result says the same thing up to twice, as text and in structure. The structured copy is the one that goes through redaction and field
rules; the text is made from it again, so that no copy can say more than the other. Pure. Before it stands `link`, after it `calls`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from guard.core.model import Image, Outcome
from guard.core.values import Json, JsonObject, encode, equal

_FIRST = 1_000_000  # characters of a text that are read as JSON to see whether it repeats the structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Mould:
    """The shape of one answer, kept beside its value: how the text repeats the structure, and the blocks that are no text."""

    structured: bool = False
    said: Literal["whole", "text", "json"] = "whole"
    field: str = ""
    blocks: tuple[JsonObject, ...] = ()


def formed(result: Mapping[str, Json]) -> bool:
    """Whether this is a result of tools/call at all: what is in it has the form that the protocol gives it."""
    content, structured = result.get("content", []), result.get("structuredContent")
    fits = isinstance(content, list) and all(isinstance(block, dict) for block in content)
    return fits and isinstance(result.get("isError", False), bool) and (structured is None or isinstance(structured, dict))


def value_of(result: Mapping[str, Json]) -> JsonObject:
    """What the guard is given as the tool's return: an MCP result with nothing in it besides content, structure and the error flag."""
    content = result.get("content")
    found: JsonObject = {"content": content if isinstance(content, list) else [], "isError": result.get("isError") is True}
    structured = result.get("structuredContent")
    return found | {"structuredContent": structured} if isinstance(structured, dict) and structured else found


def mould_of(value: Mapping[str, Json]) -> Mould:
    """How this answer was shaped."""
    blocks = tuple(block for block in value["content"] if isinstance(block, dict))
    structured = value.get("structuredContent")
    if not isinstance(structured, dict) or value["isError"]:
        return Mould(blocks=blocks)
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if len(structured) == 1 and len(texts) == 1:
        field, only = next(iter(structured.items()))
        if only == texts[0]:
            return Mould(structured=True, said="text", field=field, blocks=blocks)
        if equal(only, _json(texts[0])):
            return Mould(structured=True, said="json", field=field, blocks=blocks)
    return Mould(structured=True, blocks=blocks)


def _json(text: str) -> Json:
    if len(text) > _FIRST:
        return None
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def result_of(outcome: Outcome, mould: Mould | None, *, promised: bool) -> JsonObject:
    """The outcome as the result of tools/call. `mould` is None where nothing ran just now; `promised`: the tool has an output schema."""
    parts: Sequence[str | Image] = (outcome.content,) if isinstance(outcome.content, str) else outcome.content
    if outcome.error:
        return {"content": [_block(part) for part in parts], "isError": True}
    mould = mould or Mould(structured=promised)
    structured = _structured(parts) if mould.structured else None
    if structured is not None:
        pictures = [_block(part) for part in parts[1:]]
        text = {"type": "text", "text": _spoken(structured, mould)}
        return {"content": [text, *pictures], "structuredContent": structured, "isError": False}
    found: JsonObject = {"content": _blocks(parts, mould), "isError": False}
    return found | {"structuredContent": {}} if promised else found


def _structured(parts: Sequence[str | Image]) -> JsonObject | None:
    found = _json(parts[0]) if parts and isinstance(parts[0], str) else None
    return found if isinstance(found, dict) else None


def _spoken(structured: JsonObject, mould: Mould) -> str:
    """The text beside a structure: what it was made from, if that is still there, else the whole structure as JSON."""
    only = structured.get(mould.field) if mould.said != "whole" and len(structured) == 1 else None
    if mould.said == "text" and isinstance(only, str):
        return only
    if mould.said == "json" and only is not None:
        return encode(only)
    return encode(structured)


def _block(part: str | Image) -> JsonObject:
    if isinstance(part, Image):
        return {"type": "image", "data": part.data, "mimeType": part.media_type}
    return {"type": "text", "text": part}


def _blocks(parts: Sequence[str | Image], mould: Mould) -> list[JsonObject]:
    """The content, each sound, link and resource in its own form again, where the parts can still be told apart."""
    given = [block for block in mould.blocks if block.get("type") != "text" or block.get("text") != ""]
    if len(given) != len(parts):
        return [_block(part) for part in parts]
    return [_again(part, block) for part, block in zip(parts, given, strict=True)]


def _again(part: str | Image, block: JsonObject) -> JsonObject:
    kind, form = block.get("type"), _FORMS.get(str(block.get("type")))
    if isinstance(part, Image) or form is None or kind == "text":
        return _block(part)
    return form(part, block) or _block(part)


_LEFT_OUT = ", left out]"
"""How the text ends that stands for data which no wire can show."""


def _audio(part: str, block: JsonObject) -> JsonObject | None:
    kept = {key: block[key] for key in ("data", "mimeType") if isinstance(block.get(key), str)}
    sound = len(kept) == 2 and str(kept["mimeType"]).startswith("audio/") and part.endswith(_LEFT_OUT)
    return {"type": "audio", **kept} if sound else None


def _link(part: str, block: JsonObject) -> JsonObject | None:
    """A link as it came, if nothing in it had to be hidden."""
    said = " ".join(str(block[key]) for key in ("name", "uri", "description") if block.get(key))
    kept: JsonObject = {key: block[key] for key in ("uri", "name", "description", "mimeType", "size") if key in block}
    return {"type": "resource_link", **kept} if part == said else None


def _resource(part: str, block: JsonObject) -> JsonObject | None:
    inner: Any = block.get("resource")
    if not isinstance(inner, dict) or not isinstance(inner.get("uri"), str):
        return None
    head = {key: inner[key] for key in ("uri", "mimeType") if isinstance(inner.get(key), str)}
    if isinstance(inner.get("text"), str):
        return {"type": "resource", "resource": {**head, "text": part}}
    data = isinstance(inner.get("blob"), str) and part.endswith(_LEFT_OUT)
    return {"type": "resource", "resource": {**head, "blob": inner["blob"]}} if data else None


_FORMS = {"audio": _audio, "resource_link": _link, "resource": _resource}
