"""Blocks: texts and pictures in the spellings that tools use, and data URIs, as the model's own `Block`s.

Knows the block forms of MCP, Anthropic and OpenAI and nothing else of them. Pure; before it stands a tool's return, after it `results`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from guard.core.blocks import honest, size_of
from guard.core.model import Block, Image
from guard.core.values import Embedded
from guard.tools import documents

_SHOWN = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
PICTURES = frozenset(_SHOWN.values())
"""The types of pictures that go on: each is known by how its data begin."""
_URI = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,100})?(?:;[\w.+-]{1,60}=[^;,]{0,100}){0,5};base64,", re.IGNORECASE)
_BODY = re.compile(r"[A-Za-z0-9+/_=\s-]*")
_EXTRA = frozenset({"type", "annotations", "_meta", "meta", "cache_control", "citations"})


def shown(kind: str, data: str) -> Block:
    """A picture, or the text that stands for what no wire can show. `data` is base64 text."""
    media = kind.lower() or "application/octet-stream"
    body = "".join(data.split())
    if media in _SHOWN and _decodes(body):
        return honest(Image(data=body, media_type=_SHOWN[media]))
    return left_out(media, body)


def left_out(media: str, body: str) -> str:
    """The note in the place of base64 text that is not shown."""
    return f"[{media}, {size_of(body)}, left out]"


def _decodes(body: str) -> bool:
    try:
        return bool(base64.b64decode(body, validate=True))
    except (binascii.Error, ValueError):
        return False


def media_of(image: Image) -> str:
    """The text that stands for a picture inside a value."""
    return f"[{image.media_type}, {size_of(image.data)}, shown below]"


def data_uri(text: str) -> Block | None:
    """What a text is that is wholly a base64 data URI; None for every other text."""
    bare = text.strip()
    match = _URI.match(bare)
    if match is None or _BODY.fullmatch(bare, match.end()) is None:
        return None
    return shown(match.group(1) or "text/plain", bare[match.end() :])


def join(blocks: Iterable[Block]) -> str:
    """The blocks as one text, each picture as its short text."""
    return "\n".join(block if isinstance(block, str) else media_of(block) for block in blocks)


def blocks_of(items: Any) -> tuple[Block, ...] | None:
    """The blocks that a list is wholly made of; None when anything else is in it, or when it holds plain texts alone."""
    found: list[Block] = []
    formal = False
    for item in items:
        block = _block(item)
        if block is None or len(found) >= 10_000:
            return None
        formal = formal or not isinstance(item, str)
        found.append(block)
    return tuple(found) if formal else None


def _block(item: Any) -> Block | None:
    if isinstance(item, str | Image):
        return item if isinstance(item, str) else honest(item)
    if type(item) is not dict:
        dump = getattr(type(item), "model_dump", None)
        item = dump(item) if callable(dump) else None
    if isinstance(item, dict) and "type" not in item:
        return documents.keyed(item, shown)
    kind = item.get("type") if isinstance(item, dict) else None
    read = _FORMS.get(kind) if isinstance(kind, str) else None
    return None if read is None else read(item)


def _of_text(item: dict[str, Any]) -> Block | None:
    text = item.get("text")
    return text if isinstance(text, str) and item.keys() <= _EXTRA | {"text"} else None


def _of_image(item: dict[str, Any]) -> Block | None:
    source = item.get("source")
    if isinstance(source, dict):
        data, media = source.get("data"), source.get("media_type")
    else:
        data, media = item.get("data"), item.get("mimeType") or item.get("mime_type")
    return shown(media, data) if isinstance(data, str) and isinstance(media, str) else None


def _of_url(item: dict[str, Any]) -> Block | None:
    inner = item.get("image_url")
    url = inner.get("url") if isinstance(inner, dict) else inner
    if not isinstance(url, str):
        return None
    return data_uri(url) or (f"[image at {url}]" if not url.startswith("data:") else None)


def _of_resource(item: dict[str, Any]) -> Block | None:
    inner = item.get("resource")
    if not isinstance(inner, dict):
        return None
    text, blob = inner.get("text"), inner.get("blob")
    if isinstance(text, str):
        return Embedded(text)
    media = inner.get("mimeType") or inner.get("mime_type") or ""
    return documents.file_of(str(media), blob, shown) if isinstance(blob, str) else None


def _of_link(item: dict[str, Any]) -> Block | None:
    if not (item.get("uri") and isinstance(item.get("name"), str)):
        return None
    return Embedded(" ".join(str(item[key]) for key in ("name", "uri", "description") if item.get(key)))


_FORMS: dict[str, Callable[[dict[str, Any]], Block | None]] = {
    "text": _of_text,
    "input_text": _of_text,
    "image": _of_image,
    "audio": _of_image,
    "image_url": _of_url,
    "input_image": _of_url,
    "document": partial(documents.document, shown=shown),
    "input_file": partial(documents.input_file, shown=shown),
    "file": partial(documents.input_file, shown=shown),
    "resource": _of_resource,
    "resource_link": _of_link,
}
