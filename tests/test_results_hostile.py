"""Results that do harm: objects that break, leak, never end or are huge cannot hurt."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from results_kit import Colour, Endless, NoAttributes, NoIter, NoStr, Opaque

from guard.core.values import encode
from guard.tools import normalise
from guard.tools.walk import DEPTH, ITEMS, NODES


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
