"""Results: whatever a tool returns becomes JSON, and nothing that a returned object does can hurt."""

from __future__ import annotations

import asyncio
import base64
import collections
import dataclasses
import enum
import ipaddress
import itertools
import pathlib
import sqlite3
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from guard.core.model import Image
from guard.core.values import encode
from guard.tools import normalise
from guard.tools.walk import DEPTH, ITEMS, NODES

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
URI = f"data:image/png;base64,{PNG}"
PICTURE = Image(data=PNG, media_type="image/png")
SHORT = "[image/png, 12 bytes, shown below]"


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    A = "a"


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


class Exits(Opaque):
    def __iter__(self) -> Iterator[Any]:
        raise SystemExit("LEAK")


class BrokenKeys(dict):
    def items(self) -> Any:
        raise RuntimeError("LEAK")


class BrokenDump(BaseModel):
    x: int = 1

    def model_dump(self, **kwargs: Any) -> Any:
        raise RuntimeError("LEAK")


class Liar(Opaque):
    @property
    def __class__(self) -> Any:
        return str


class Endless(Opaque):
    def __iter__(self) -> Iterator[Any]:
        return itertools.count()


class Nested:
    """An iterable whose items are iterables like itself, without end."""

    def __iter__(self) -> Iterator[Any]:
        yield Nested()


def breaks() -> Iterator[int]:
    yield 1
    raise RuntimeError("LEAK")


def unusual(*, cycle: bool = True) -> Any:
    value: dict[str, Any] = {"a": 1}
    value["self"] = [value]
    return value


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def wide() -> Any:
    value: list[Any] = []
    value.extend([value] * 1000)
    return value


def tower() -> Any:
    value: Any = {}
    value[Point(1, Decimal(2))] = 1
    value[Point(2, Decimal(2))] = 2
    return value


# -- values ------------------------------------------------------------------------------------------------------------------


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


# -- hostile objects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Opaque, id="repr that leaks"),
        pytest.param(NoStr, id="broken str"),
        pytest.param(NoAttributes, id="broken getattribute"),
        pytest.param(NoIter, id="broken iter"),
        pytest.param(Exits, id="iter that exits"),
        pytest.param(lambda: BrokenKeys(a=1), id="broken items"),
        pytest.param(BrokenDump, id="broken model_dump"),
        pytest.param(Liar, id="lies about its class"),
        pytest.param(Endless, id="without end"),
        pytest.param(Nested, id="nested without end"),
        pytest.param(breaks, id="generator that raises"),
        pytest.param(unusual, id="cycle"),
        pytest.param(wide, id="wide cycle"),
        pytest.param(lambda: deep(100_000), id="very deep"),
        pytest.param(lambda: {"x": deep(DEPTH + 50)}, id="deep in an object"),
        pytest.param(lambda: object, id="a class"),
        pytest.param(lambda: Colour, id="an enum class"),
        pytest.param(lambda: print, id="a function"),
        pytest.param(lambda: (row for row in [Opaque(), NoStr(), {"k": NoIter()}]), id="a generator of hostile objects"),
        pytest.param(lambda: {Opaque(): 1, NoStr(): 2}, id="hostile keys"),
        pytest.param(object, id="a bare object"),
    ],
)
def test_hostile(make: Any) -> None:
    """No object can make it raise, and no object's own text leaks."""
    normal = normalise(make())
    listed = normalise({"before": 1, "bad": make(), "after": [2]})

    assert "LEAK" not in encode(normal.value)
    assert "LEAK" not in encode(listed.value)
    assert listed.value["before"] == 1
    assert listed.value["after"] == [2]


def test_an_iterator_is_bounded_and_says_so() -> None:
    """At most ten thousand items are taken, and the list says that there were more."""
    told = normalise(itertools.count()).value

    assert len(told) == ITEMS + 1
    assert "truncated" in told[-1]
    assert len(normalise(iter(range(ITEMS))).value) == ITEMS


def test_a_generator_that_raises_has_failed() -> None:
    """Items that came before an error are never passed off as the whole result."""
    normal = normalise(breaks())

    assert normal.failed
    assert normal.value == [1, {"unserialisable": "generator"}]


def test_a_coroutine_that_nobody_awaited_has_failed() -> None:
    """A coroutine as a result means that the tool did not run; it is closed, so that no warning follows."""

    async def later() -> int:
        return 1

    normal = normalise(later())

    assert normal.failed
    assert normal.value == {"unserialisable": "coroutine"}


@pytest.mark.parametrize(
    "error", [pytest.param(KeyboardInterrupt, id="interrupt"), pytest.param(asyncio.CancelledError, id="cancelled")]
)
def test_interrupts_go_up(error: type[BaseException]) -> None:
    """A person's interrupt and a task's cancellation are not swallowed."""

    def items() -> Iterator[int]:
        yield 1
        raise error

    with pytest.raises(error):
        normalise(items())


def test_too_many_values() -> None:
    """A result of more than a million values is cut and says so."""
    told = normalise({"rows": [0] * (NODES + 10)}).value

    assert len(told["rows"]) <= NODES + 1
    assert "truncated" in told["rows"][-1]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: "x" * 50_000_000, id="text"),
        pytest.param(lambda: b"x" * 50_000_000, id="bytes as text"),
        pytest.param(lambda: b"\xff" * 50_000_000, id="binary"),
        pytest.param(lambda: ["é" * 25_000_000], id="not ascii"),
        pytest.param(lambda: "data:image/png;base64," + "A" * 50_000_000 + "!", id="almost a data URI"),
    ],
)
def test_fifty_megabytes(make: Any) -> None:
    """Fifty megabytes cost a moment, not minutes."""
    value = make()
    begin = time.thread_time()
    normalise(value)

    assert time.thread_time() - begin < 5


def block_like() -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image", "image_url", "resource", "audio", "other"])},
        optional={
            "text": st.text() | st.none(),
            "data": st.text() | st.just(PNG),
            "mimeType": st.sampled_from(["image/png", "", "audio/mp3"]) | st.none(),
            "image_url": st.just(URI) | st.fixed_dictionaries({"url": st.just(URI) | st.text()}),
            "resource": st.none() | st.fixed_dictionaries({"uri": st.text()}, optional={"text": st.text(), "blob": st.just(PNG)}),
        },
    )


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.fractions()
    | st.sampled_from([Colour.RED, Level.HIGH, Name.A, URI, PICTURE, Opaque, NoStr, NoIter, Endless])
    | st.builds(Opaque)
    | st.builds(NoStr)
    | st.builds(NoAttributes)
)
KEYS = st.text() | st.integers() | st.floats() | st.none() | st.binary() | st.dates() | st.tuples(st.integers())
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner)
        | st.sets(st.integers() | st.text())
        | st.lists(inner).map(iter)
        | st.fixed_dictionaries({"content": st.lists(inner | block_like(), max_size=3)}, optional={"isError": st.booleans()})
    ),
    max_leaves=20,
)


@given(ANYTHING)
def test_total_and_json(value: object) -> None:
    """Whatever is returned: no exception, a value that is written as JSON, and blocks that are texts and pictures."""
    normal = normalise(value)

    text = encode(normal.value)
    text.encode()
    assert normal.blocks is None or all(isinstance(block, str | Image) for block in normal.blocks)
    assert isinstance(normal.failed, bool)


@given(ANYTHING)
def test_twice_is_once(value: object) -> None:
    """What came out is plain JSON: passing it through again changes nothing but the reading of content blocks."""
    once = normalise({"v": value})

    assert encode(normalise(once.value).value) == encode(once.value)


# -- content blocks and pictures ---------------------------------------------------------------------------------------------


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("value", "told", "blocks"),
    [
        pytest.param([text_block("a")], "a", None, id="one text is a text"),
        pytest.param([text_block("a"), text_block("b")], "a\nb", ("a", "b"), id="two texts"),
        pytest.param([text_block("")], "", None, id="an empty text is empty"),
        pytest.param(
            [text_block("a"), {"type": "image", "data": PNG, "mimeType": "image/png"}],
            f"a\n{SHORT}",
            ("a", PICTURE),
            id="MCP image",
        ),
        pytest.param(
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, text_block("a")],
            f"{SHORT}\na",
            (PICTURE, "a"),
            id="Anthropic image",
        ),
        pytest.param(
            [text_block("a"), {"type": "image_url", "image_url": {"url": URI}}], f"a\n{SHORT}", ("a", PICTURE), id="OpenAI image"
        ),
        pytest.param(["a", PICTURE], f"a\n{SHORT}", ("a", PICTURE), id="texts and pictures"),
        pytest.param(("a", PICTURE), f"a\n{SHORT}", ("a", PICTURE), id="a tuple of them"),
        pytest.param(PICTURE, SHORT, (PICTURE,), id="a picture alone"),
        pytest.param(URI, SHORT, (PICTURE,), id="a data URI alone"),
        pytest.param({"rows": [{"img": URI}]}, {"rows": [{"img": SHORT}]}, (PICTURE,), id="a data URI deep inside"),
        pytest.param({"rows": [PICTURE]}, {"rows": [SHORT]}, (PICTURE,), id="a picture deep inside"),
        pytest.param(
            {"d": "data:application/pdf;base64,AAAA"}, {"d": "[application/pdf, 3 bytes, left out]"}, None, id="another type"
        ),
        pytest.param(
            {"d": "data:image/svg+xml;base64,AAAA"}, {"d": "[image/svg+xml, 3 bytes, left out]"}, None, id="no wire shows it"
        ),
        pytest.param({"d": "data:image/png;base64,A"}, {"d": "[image/png, 0 bytes, left out]"}, None, id="no base64"),
        pytest.param({"d": f"see {URI}"}, {"d": f"see {URI}"}, None, id="a URI in a sentence stays"),
        pytest.param(["a", "b"], ["a", "b"], None, id="a list of texts is data"),
        pytest.param([{"type": "order", "text": "a"}], [{"type": "order", "text": "a"}], None, id="records are data"),
        pytest.param(
            [text_block("a") | {"price": 1}], [{"type": "text", "text": "a", "price": 1}], None, id="records with a text are data"
        ),
        pytest.param([text_block("a"), 3], [{"type": "text", "text": "a"}, 3], None, id="not wholly blocks"),
        pytest.param(
            [text_block("a"), {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
            "a\n[audio/wav, 3 bytes, left out]",
            ("a", "[audio/wav, 3 bytes, left out]"),
            id="audio is left out",
        ),
        pytest.param(
            [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}], "inside", None, id="a resource's text"
        ),
        pytest.param({"content": [text_block("a")]}, "a", None, id="MCP result"),
        pytest.param({"content": "a", "isError": False}, {"content": "a", "isError": False}, None, id="an object with content"),
        pytest.param(
            {"content": [text_block("a")], "id": 1}, {"content": [text_block("a")], "id": 1}, None, id="an object with more"
        ),
    ],
)
def test_blocks(value: object, told: Any, blocks: Any) -> None:
    """Blocks in every spelling become texts and pictures in order; what merely resembles them stays data."""
    normal = normalise(value)

    assert normal.value == told
    assert normal.blocks == blocks
    assert not normal.failed


def test_a_large_picture_never_stays_in_the_value() -> None:
    """A picture inside an object leaves nothing but a short text with its size behind."""
    big = base64.b64encode(b"\x89PNG" + bytes(299_996)).decode()
    normal = normalise({"rows": [{"img": f"data:image/png;base64,{big}"}]})

    assert normal.value == {"rows": [{"img": "[image/png, 300 KB, shown below]"}]}
    assert normal.blocks == (Image(data=big),)


class Part(BaseModel):
    type: str
    text: str


class Reply(BaseModel):
    content: list[Part]
    isError: bool = False  # noqa: N815 - MCP's own spelling
    structuredContent: dict[str, Any] | None = None  # noqa: N815 - MCP's own spelling


@pytest.mark.parametrize(
    ("value", "told", "failed"),
    [
        pytest.param({"content": [text_block("no")], "isError": True}, "no", True, id="a dict that failed"),
        pytest.param(Reply(content=[Part(type="text", text="no")], isError=True), "no", True, id="an object that failed"),
        pytest.param(Reply(content=[Part(type="text", text="yes")]), "yes", False, id="an object that did not"),
        pytest.param(
            {"content": [text_block("{}")], "structuredContent": {"a": 1}}, {"a": 1}, False, id="structure wins over its text"
        ),
        pytest.param(
            {"content": [text_block("card declined")], "structuredContent": {}, "isError": True},
            "card declined",
            True,
            id="empty structure",
        ),
        pytest.param({"content": [], "isError": True}, "", True, id="failed without a word"),
        pytest.param({"content": [], "structuredContent": {"a": float("nan")}}, {"a": None}, False, id="structure is made JSON"),
        pytest.param({"ok": False, "x": 1}, {"ok": False, "x": 1}, True, id="ok is false"),
        pytest.param({"ok": 0}, {"ok": 0}, False, id="zero is not false"),
        pytest.param({"ok": True}, {"ok": True}, False, id="ok is true"),
        pytest.param(
            {"ok": False, "at": date(2024, 1, 1)}, {"ok": False, "at": "2024-01-01"}, True, id="ok is false beside a date"
        ),
        pytest.param([{"ok": False}], [{"ok": False}], False, id="only the top says so"),
        pytest.param([Part(type="text", text="a")], "a", False, id="a list of block objects"),
    ],
)
def test_failure_in_band(value: object, told: Any, failed: bool) -> None:
    """A tool that says in its result that it failed has failed, and its words are kept."""
    normal = normalise(value)

    assert normal.value == told
    assert normal.failed is failed


def test_an_exception_that_is_returned_is_a_failure() -> None:
    """A tool that returns what it should raise has failed, and the exception's text stays inside."""
    normal = normalise(ValueError("db://svc:pw@host"))

    assert normal.failed is True
    assert "svc" not in str(normal.value)
