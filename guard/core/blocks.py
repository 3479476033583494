"""Blocks: what the content of an outcome consists of: texts, pictures, and PDFs. Data only; comes before the model, which has them under its own name."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TypeAlias

PDF = "application/pdf"
"""The type of the documents that go on as they are, where the policy shows them."""


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


def size_of(data: str) -> str:
    """How much base64 text holds, for people."""
    count = len(data.rstrip("=")) * 3 // 4
    if count < 1000:
        return f"{count} bytes"
    return f"{round(count / 1000)} KB" if count < 1_000_000 else f"{round(count / 1_000_000)} MB"


Block: TypeAlias = str | Image
Content: TypeAlias = str | tuple[Block, ...]
"""What goes back for a call: text, or text and pictures in order."""
