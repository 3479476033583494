"""Results that are values: each kind of object has its one JSON form."""

from __future__ import annotations

import collections
import dataclasses
import ipaddress
import pathlib
import sqlite3
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, SecretStr
from results_kit import Colour, Level, Name

from guard.core.values import encode
from guard.tools import normalise


class Point(NamedTuple):
    x: int
    y: Decimal


@dataclasses.dataclass
class Row:
    id: str
    at: datetime
    tags: set[str]


class Order(BaseModel):
    id: int
    amount: Decimal
    colour: Colour = Colour.RED


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "LIE"

    __repr__ = __str__


def tower() -> Any:
    value: Any = {}
    value[Point(1, Decimal(2))] = 1
    value[Point(2, Decimal(2))] = 2
    return value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(None, None, id="null"),
        pytest.param("", "", id="empty text"),
        pytest.param(True, True, id="bool"),
        pytest.param(Decimal("3860.00"), Decimal("3860.00"), id="decimal"),
        pytest.param(Decimal("NaN"), None, id="decimal nan"),
        pytest.param(Decimal("sNaN"), None, id="signalling nan"),
        pytest.param(1.5, 1.5, id="float"),
        pytest.param({"mean": float("nan")}, {"mean": None}, id="nan"),
        pytest.param([float("inf")], [None], id="infinity"),
        pytest.param(2**70, 2**70, id="large integer"),
        pytest.param(10**5000, {"unserialisable": "int"}, id="integer too long to write"),
        pytest.param((1, "a"), [1, "a"], id="tuple"),
        pytest.param({3, 1, 2}, [1, 2, 3], id="set"),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="frozenset"),
        pytest.param(range(3), [0, 1, 2], id="range"),
        pytest.param(collections.deque([1]), [1], id="deque"),
        pytest.param(iter([1, 2]), [1, 2], id="iterator"),
        pytest.param(Point(1, Decimal("2.50")), {"x": 1, "y": Decimal("2.50")}, id="namedtuple"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param(Level.HIGH, 3, id="int enum"),
        pytest.param(Name.A, "a", id="text enum"),
        pytest.param(date(2024, 5, 1), "2024-05-01", id="date"),
        pytest.param(datetime(2024, 5, 1, 3, 45, tzinfo=UTC), "2024-05-01T03:45:00+00:00", id="datetime"),
        pytest.param(timedelta(days=1, seconds=90, microseconds=500_000), "P1DT90.5S", id="timedelta"),
        pytest.param(timedelta(seconds=-1), "-PT1S", id="negative timedelta"),
        pytest.param(timedelta(0), "PT0S", id="no time"),
        pytest.param(b"text\n", "text\n", id="printable bytes"),
        pytest.param(b"", "", id="no bytes"),
        pytest.param(bytearray(b"x"), "x", id="bytearray"),
        pytest.param(memoryview(b"x"), "x", id="memoryview"),
        pytest.param(uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(pathlib.PurePosixPath("/a/b"), "/a/b", id="path"),
        pytest.param(ipaddress.ip_address("10.0.0.1"), "10.0.0.1", id="ip"),
        pytest.param(Fraction(1, 3), "1/3", id="fraction: no rounding"),
        pytest.param(
            Row("a", datetime(2024, 1, 1, tzinfo=UTC), {"t"}),
            {"id": "a", "at": "2024-01-01T00:00:00+00:00", "tags": ["t"]},
            id="dataclass",
        ),
        pytest.param(Order(id=1, amount=Decimal("1.50")), {"id": 1, "amount": Decimal("1.50"), "colour": "red"}, id="model"),
        pytest.param([Order(id=1, amount=Decimal(2))], [{"id": 1, "amount": Decimal(2), "colour": "red"}], id="models in a list"),
        pytest.param({2: "a", "2": "b", None: "c", True: "d"}, {"2": "a", "2 (2)": "b", "null": "c", "true": "d"}, id="odd keys"),
        pytest.param({date(2024, 5, 1): 1}, {"2024-05-01": 1}, id="a date as key"),
        pytest.param(tower(), {"<Point>": 1, "<Point> (2)": 2}, id="tuples as keys"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param({"a\udfff": ["\ud800"]}, {"a\ufffd": ["\ufffd"]}, id="lone surrogates inside"),
        pytest.param(Text("kept"), "kept", id="a text that lies about itself"),
        pytest.param({"v": SecretStr("LEAK")}, {"v": {"unserialisable": "SecretStr"}}, id="a secret stays one"),
        pytest.param(complex(1), {"unserialisable": "complex"}, id="complex"),
        pytest.param(ValueError("LEAK"), {"unserialisable": "ValueError"}, id="an exception"),
    ],
)
def test_value(value: object, told: Any) -> None:
    """Each kind of object has the one JSON form that the module documents, with the same digits."""
    normal = normalise(value)

    assert normal.value == told
    assert repr(normal.value) == repr(told)
    assert type(normal.value) is type(told)
    assert encode(normal.value) is not None


def test_bytes_that_are_no_text() -> None:
    """Binary data never reaches the model: its length and digest stand for it."""
    told = normalise({"f": b"\xff\x00"}).value["f"]

    assert told["bytes"] == 2
    assert len(told["sha256"]) == 64


def test_a_row_of_a_database() -> None:
    """A row of sqlite3, which has keys yet is no mapping, becomes an object; a cursor becomes a list of them."""
    with sqlite3.connect(":memory:") as base:
        base.row_factory = sqlite3.Row
        cursor = base.execute("select 1 as a, 'x' as b")
        told = normalise(cursor)
    base.close()

    assert told.value == [{"a": 1, "b": "x"}]


def test_plain_json_is_the_same_object() -> None:
    """What is JSON already is not copied."""
    value = {"a": [1, 2.5, None, "x"], "b": {"c": Decimal("1.0")}}

    assert normalise(value).value is value
