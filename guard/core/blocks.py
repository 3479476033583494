"""Blocks: what the content of an outcome consists of: texts, pictures, and PDFs. Data only; comes before the model, which has them under its own name."""

from __future__ import annotations

import base64
import binascii
import codecs
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

PDF = "application/pdf"
"""The type of the documents that go on as they are, where the policy shows them."""
_SIGNS: Final = (
    ("image/png", 0, b"\x89PNG"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
    (PDF, 0, b"%PDF-"),
)
"""How the data of each type begin that can be told from others: type, offset, bytes."""
KNOWN: Final = frozenset(name for name, _, _ in _SIGNS)
_HEAD = 12  # bytes in which every sign ends
_LEAST = 24  # bytes behind a sign that are looked at: a picture has others than those of text among them
_MOST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture in a tool's result, or a PDF (type `PDF`). `data` is base64 text; bytes are encoded. Raises ValueError for text that is not base64."""

    data: str
    media_type: str = "image/png"

    def __post_init__(self) -> None:
        given: object = self.data
        if isinstance(given, bytes | bytearray):
            object.__setattr__(self, "data", base64.b64encode(given).decode("ascii"))
            return
        try:
            base64.b64decode(self.data, validate=True)
        except (ValueError, TypeError):
            raise ValueError("a picture's data is base64 text, or bytes") from None

    @property
    def document(self) -> bool:
        """Whether it is no picture: no wire shows it as one."""
        return self.media_type == PDF

    @property
    def left_out(self) -> str:
        """The note in its place where it is not shown."""
        return f"[{self.media_type}, {size_of(self.data)}, left out]"


def type_of(data: str) -> str | None:
    """The type that base64 text begins like; None where that is none of `KNOWN`."""
    try:
        head = base64.b64decode(data[: _HEAD // 3 * 4], validate=True)
    except (binascii.Error, ValueError):
        return None
    return next((name for name, at, sign in _SIGNS if head.startswith(sign, at)), None)


def honest(image: Image) -> Block:
    """What data that are called a picture are: a picture of the type that they begin like, the text that they say, or a note in their place.

    The pixels of a picture, and what else its file holds, are read by nobody.
    """
    found = type_of(image.data)
    raw = b"" if found == PDF else base64.b64decode(image.data)
    if found is not None:
        rest = _said(raw[_HEAD:][:_MOST], final=len(raw) <= _HEAD + _MOST) if len(raw) >= _HEAD + _LEAST else None
        if rest is not None:
            return raw.decode("utf-8", "replace")
        return image if found == image.media_type else replace(image, media_type=found)
    said = _said(raw)
    if said is not None:
        return said
    return image.left_out if image.media_type in KNOWN else image


def _said(raw: bytes, *, final: bool = True) -> str | None:
    """The text that bytes are; None where they are none."""
    form = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(form)().decode(raw, final=final)
    except UnicodeDecodeError:
        return None
    return text if text.translate(_WHITE).isprintable() else None


_WHITE = dict.fromkeys(map(ord, "\t\n\r\f\u00a0\u200b\u2028\u3000"), " ")


def size_of(data: str) -> str:
    """How much base64 text holds, for people."""
    count = len(data.rstrip("=")) * 3 // 4
    if count < 1000:
        return f"{count} bytes"
    return f"{round(count / 1000)} KB" if count < 1_000_000 else f"{round(count / 1_000_000)} MB"


Block: TypeAlias = str | Image
Content: TypeAlias = str | tuple[Block, ...]
"""What goes back for a call: text, or text and pictures in order."""
