"""What the tests of the results share: a picture, enums, text blocks, and objects that do not behave."""

from __future__ import annotations

import base64
import enum
import itertools
from collections.abc import Iterator
from typing import Any

from guard.core.model import Image

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
URI = f"data:image/png;base64,{PNG}"
PICTURE = Image(data=PNG, media_type="image/png")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    A = "a"


class Opaque:
    secret = "LEAK"

    def __repr__(self) -> str:
        return "LEAK"

    __str__ = __repr__


class NoStr(Opaque):
    def __repr__(self) -> str:
        raise RuntimeError("LEAK")

    __str__ = __repr__


class NoAttributes(Opaque):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("LEAK")


class NoIter(Opaque):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("LEAK")


class Endless(Opaque):
    def __iter__(self) -> Iterator[Any]:
        return itertools.count()


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
