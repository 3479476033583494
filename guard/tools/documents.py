"""Documents: files in a tool's return, in the spellings of Anthropic, OpenAI, Bedrock, Gemini and MCP, as blocks.

What is text goes on as text, through every door that text goes through. A PDF goes on as what it is, and the redact room says whether anybody may
see it: no detector reads it. Whatever else there is, is named by a note. Knows the forms of documents and nothing else of them. Pure. Comes
before `blocks`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from guard.core.model import PDF, Block, Image
from guard.core.values import Embedded

Shown = Callable[[str, str], Block]
"""A picture, or the text that stands for what no wire can show, of a media type and base64 text."""
_TEXTUAL = re.compile(r"text/[\w.+-]{1,60}|application/(?:[\w.+-]{1,60}\+)?(?:json|xml|yaml)", re.IGNORECASE)
_FORMATS = {"pdf": PDF, "txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html"}
_OF_DOCUMENT = frozenset({"type", "source", "title", "context", "citations", "cache_control"})
_OF_FILE = frozenset({"type", "file_data", "filename", "file_id", "file_url", "detail"})
_OF_KEYED = frozenset(
    {"format", "name", "source", "context", "citations", "mimeType", "mime_type", "data", "displayName", "display_name"}
)
"""A block holds nothing besides: a record of the host's that has more is data, and stays data."""
_URI = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,100})(?:;[\w.+-]{1,60}=[^;,]{0,100}){0,5};base64,", re.IGNORECASE)


def file_of(media: str, data: object, shown: Shown) -> Block:
    """The block of a file: `data` is base64 text, or bytes."""
    if isinstance(data, bytes | bytearray):
        data = base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        return Embedded(f"[{_named(media)}, left out]")
    media, body = media.partition(";")[0].strip().lower(), "".join(data.split())
    if media == PDF or _TEXTUAL.fullmatch(media):
        try:
            found = base64.b64decode(body, validate=True)
            if media == PDF and found.startswith(b"%PDF-"):
                return Image(data=body, media_type=PDF)
            if media != PDF:
                return Embedded(found.decode("utf-8-sig"))
        except (binascii.Error, ValueError):
            pass
    block = shown(media, body)
    return Embedded(block) if isinstance(block, str) else block


def _named(media: str) -> str:
    return media if re.fullmatch(r"[\w.+/-]{1,120}", media) else "a document"


def document(item: dict[str, Any], shown: Shown) -> Block | None:
    """A block `document` of Anthropic's; None for what is none."""
    source = item.get("source")
    if not isinstance(source, dict) or not item.keys() <= _OF_DOCUMENT:
        return None
    kind, data = source.get("type"), source.get("data")
    if kind == "text" and isinstance(data, str):
        return Embedded(data)
    if kind == "base64" and isinstance(data, str):
        return file_of(str(source.get("media_type") or ""), data, shown)
    if kind == "content":
        return _inner(source.get("content"))
    return _elsewhere(source.get("url") or source.get("file_id")) if kind in ("url", "file") else None


def _inner(content: object) -> Block | None:
    """A document that is made of texts."""
    if isinstance(content, str):
        return Embedded(content)
    texts = [part.get("text") if isinstance(part, dict) else None for part in content] if isinstance(content, list) else []
    return Embedded("\n".join(texts)) if texts and all(isinstance(text, str) for text in texts) else None  # type: ignore[arg-type]


def input_file(item: dict[str, Any], shown: Shown) -> Block | None:
    """A block `input_file` or `file` of OpenAI's; None for what is none."""
    inner = item.get("file") if item.get("type") == "file" else item
    if not isinstance(inner, dict) or not inner.keys() <= _OF_FILE:
        return None
    data = inner.get("file_data")
    if not isinstance(data, str):
        return _elsewhere(inner.get("file_url") or inner.get("file_id"))
    match = _URI.match(data)
    return file_of(PDF, data, shown) if match is None else file_of(match.group(1), data[match.end() :], shown)


def keyed(item: dict[str, Any], shown: Shown) -> Block | None:
    """A block that is named by its only field: `document` of Bedrock's, `inlineData` of Gemini's; None for everything else."""
    if len(item) != 1:
        return None
    name, inner = next(iter(item.items()))
    if not isinstance(inner, dict) or not inner.keys() <= _OF_KEYED:
        return None
    if name == "document" and isinstance(inner.get("format"), str) and isinstance(inner.get("source"), dict):
        source = inner["source"]
        if isinstance(source.get("text"), str):
            return Embedded(source["text"])
        media = str(_FORMATS.get(inner["format"], inner["format"]))
        return _inner(source["content"]) if "content" in source else file_of(media, source.get("bytes"), shown)
    if name in ("inlineData", "inline_data"):
        kind, data = inner.get("mimeType") or inner.get("mime_type"), inner.get("data")
        return file_of(kind, data, shown) if isinstance(kind, str) and isinstance(data, str | bytes) else None
    return None


def _elsewhere(where: object) -> Block | None:
    return Embedded(f"[document at {where}]") if isinstance(where, str) and where else None
