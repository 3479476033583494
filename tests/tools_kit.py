"""What the tests of the tools share: types, functions and objects to register, and a way to register one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from pydantic import BaseModel

from guard.tools import RegisteredTool, registry, tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    sku: str
    price: Decimal
    weight: float = 1.0


@dataclasses.dataclass
class Place:
    city: str
    tier: int = 1


def look(order_id: str, page: int = 1) -> dict[str, Any]:
    """Find an order.

    More than the model needs to know.
    """
    return {"order_id": order_id, "page": page}


async def look_later(order_id: str) -> str:
    """Find an order, later."""
    await asyncio.sleep(0)
    return order_id


class Desk:
    """An object with a method and a call of its own."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant

    def find(self, order_id: str) -> str:
        """Find at this desk."""
        return f"{self.tenant}/{order_id}"

    def __call__(self, order_id: str) -> str:
        """Call the desk."""
        return order_id


@tool(name="renamed", description="Another text.")
def original(x: str) -> str:
    """The first text."""
    return x


def one(function: Callable[..., Any]) -> RegisteredTool:
    (found,) = registry([function]).values()
    return found


def lambda_named(x):
    return x


def lambda_copy() -> Callable[..., Any]:
    def f(x: str, user_id: str = "") -> str:
        return x + user_id

    return f


def hard(s, i, f, d, o, m, p, e, t, ls, a):  # noqa: PLR0917 - called by keyword, with every kind of parameter
    return s, i, f, d, o, m, p, e, t, ls, a


hard.__annotations__ = {
    "s": str, "i": int, "f": float, "d": Decimal, "o": float | None, "m": Line, "p": Place, "e": Colour, "t": datetime, "ls": list[float],
}  # fmt: skip
