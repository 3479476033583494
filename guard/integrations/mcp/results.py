"""Results: what an MCP server answers to a call, as a value that the guard can judge, and the guard's outcome as MCP's result.

A result says the same thing up to twice, as text and in structure. The structured copy is the one that goes through redaction and field
rules; the text is made from it again, so that no copy can say more than the other. Pure. Before it stands `link`, after it `calls`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from guard.core.model import Image, Outcome
from guard.core.values import Json, JsonObject, encode, equal
from guard.integrations.mcp.media import media_type, note, read, silent, spoken
from guard.tools.blocks import blocks_of

_LONGEST = 2**53
_DOCUMENT = "guard:document"  # where a document stands that had no address of its own
_FIRST = 1_000_000  # characters of a text that are read as JSON to see whether it repeats the structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Mould:
    """The shape of one answer, kept beside its value: how the text repeats the structure, and the blocks that are no text.

    `bare`: there was a structure, with nothing in it.
    """

    structured: bool = False
    bare: bool = False
    said: Literal["whole", "text", "json"] = "whole"
    field: str = ""
    blocks: tuple[JsonObject, ...] = ()


def formed(result: Mapping[str, Json]) -> bool:
    """Whether this is the result of a call that is over: what is in it has the form that the protocol gives it. A null is nothing."""
    content, structured = result.get("content"), result.get("structuredContent")
    fits = content is None or (isinstance(content, list) and all(isinstance(block, dict) for block in content))
    over = result.get("resultType", "complete") == "complete" and (content is not None or "task" not in result)
    return fits and over and isinstance(result.get("isError"), bool | None) and isinstance(structured, dict | None)


def value_of(result: Mapping[str, Json]) -> JsonObject:
    """What the guard is given as the tool's return: an MCP result with nothing in it besides content, structure and the error flag."""
    content = result.get("content")
    blocks = [_read(block) for block in content] if isinstance(content, list) else []
    found: JsonObject = {"content": blocks, "isError": result.get("isError") is True}
    structured = result.get("structuredContent")
    return found | {"structuredContent": structured} if isinstance(structured, dict) else found


def _read(block: Json) -> Json:
    """The block, with text in base64 as text: it walks the same path as every other."""
    if not isinstance(block, dict):
        return block
    inner, data = block.get("resource"), block.get("data")
    if block.get("type") == "resource" and isinstance(inner, dict) and "blob" in inner:
        return {**block, "resource": spoken(inner)}
    said = read(block.get("mimeType"), data) if block.get("type") == "image" and isinstance(data, str) else None
    if isinstance(said, str):
        return {"type": "text", "text": note(block.get("mimeType"), data) if "\0" in said else said}
    return block


def mould_of(value: Mapping[str, Json]) -> Mould:
    """How this answer was shaped."""
    blocks = tuple(block for block in value["content"] if isinstance(block, dict))
    structured = value.get("structuredContent")
    if not isinstance(structured, dict) or value["isError"]:
        return Mould(blocks=blocks)
    if not structured:
        return Mould(bare=True, blocks=blocks)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How blocks go back in their own form: what hides in a text, how an address is shown, and bytes for what the text does not say."""

    hide: Callable[[str], str]
    address: Callable[[str], str]
    room: int


def result_of(outcome: Outcome, mould: Mould | None, *, promised: bool, way: Way | None = None) -> JsonObject:
    """The outcome as the result of tools/call.

    `mould` is None where nothing ran just now; `promised`: the tool has an output schema; without a `way` all goes back as texts and pictures.
    """
    parts: Sequence[str | Image] = (outcome.content,) if isinstance(outcome.content, str) else outcome.content
    if outcome.error:
        return {"content": [_block(part) for part in parts], "isError": True}
    mould = mould or Mould(structured=promised)
    structured = _structured(parts) if mould.structured else None
    if structured is not None:
        pictures = [_block(part) for part in parts[1:]]
        text = {"type": "text", "text": _spoken(structured, mould)}
        return {"content": [text, *pictures], "structuredContent": structured, "isError": False}
    found: JsonObject = {"content": _blocks(parts, mould, way), "isError": False}
    return found | {"structuredContent": {}} if promised or mould.bare else found


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
    if isinstance(part, Image) and part.document:
        return {"type": "resource", "resource": {"uri": _DOCUMENT, "mimeType": part.media_type, "blob": part.data}}
    if isinstance(part, Image):
        return {"type": "image", "data": part.data, "mimeType": part.media_type}
    return {"type": "text", "text": part}


def _blocks(parts: Sequence[str | Image], mould: Mould, way: Way | None) -> list[JsonObject]:
    """The content, each sound, link and resource in its own form again, where every part is surely what became of its block."""
    given = [block for block in mould.blocks if block.get("type") != "text" or block.get("text") != ""]
    if way is None or len(given) != len(parts) or not all(map(partial(_same, way), parts, given)):
        return [_block(part) for part in parts]
    room = way.room - sum(_size(part) for part in parts if isinstance(part, str))
    found = []
    for part, block in zip(parts, given, strict=True):
        again, more = _again(part, block, way) or (None, 0)
        fits = again is not None and more <= room
        room -= more if fits else 0
        found.append(again if again is not None and fits else _block(part))
    return found


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _same(way: Way, part: str | Image, block: JsonObject) -> bool:
    """Whether this part is what the path makes of this block, and of no other: its text with everything hidden, its picture, its note."""
    made = blocks_of([block])
    if made is not None and isinstance(made[0], Image) and made[0].document:
        return part in (made[0], made[0].left_out)
    if made is None or isinstance(part, Image) or isinstance(made[0], Image):
        return made == (part,)
    return part == way.hide(made[0])


def _again(part: str | Image, block: JsonObject, way: Way) -> tuple[JsonObject, int] | None:
    """The block in its own form, and the bytes of it that the part does not say."""
    form = _FORMS.get(str(block.get("type")))
    pictured = isinstance(part, Image) and not part.document
    return None if form is None or pictured else form("" if isinstance(part, Image) else part, block, way)


def _audio(_part: str, block: JsonObject, way: Way) -> tuple[JsonObject, int] | None:
    data, kind = block.get("data"), media_type(block.get("mimeType"), way.hide)
    if kind is None or not kind.startswith("audio/") or not isinstance(data, str) or not silent(kind, data, way.hide):
        return None
    return {"type": "audio", "data": data, "mimeType": kind}, len(data)


def _link(part: str, block: JsonObject, way: Way) -> tuple[JsonObject, int] | None:
    """A link as it came, if nothing in it had to be hidden."""
    kept: JsonObject = {key: block[key] for key in ("uri", "name", "description") if block.get(key)}
    if not all(isinstance(item, str) for item in kept.values()) or part != " ".join(
        kept[key] for key in ("name", "uri", "description") if key in kept
    ):
        return None
    if way.address(kept["uri"]) != kept["uri"]:
        return None
    kind, length = media_type(block.get("mimeType"), way.hide), block.get("size")
    more: JsonObject = {} if kind is None else {"mimeType": kind}
    if type(length) is int and 0 <= length < _LONGEST:
        more["size"] = length
    return {"type": "resource_link", **kept, **more}, _size(encode(more)) if more else 0


def _resource(part: str, block: JsonObject, way: Way) -> tuple[JsonObject, int] | None:
    inner: Any = block.get("resource")
    if not isinstance(inner, dict) or not isinstance(inner.get("uri"), str):
        return None
    uri, kind = way.address(inner["uri"]), media_type(inner.get("mimeType"), way.hide)
    head = {"uri": uri} if kind is None else {"uri": uri, "mimeType": kind}
    if isinstance(inner.get("text"), str):
        return {"type": "resource", "resource": {**head, "text": part}}, _size(encode(head))
    blob = inner.get("blob")
    if not isinstance(blob, str) or read(kind, blob) is not True:
        return None
    return {"type": "resource", "resource": {**head, "blob": blob}}, _size(encode(head)) + len(blob)


_FORMS = {"audio": _audio, "resource_link": _link, "resource": _resource}
