"""What runs is what was judged: a value that a tool's own validation turns into another is refused."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    Base64Bytes,
    Base64Str,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    RootModel,
    SecretStr,
    StringConstraints,
    model_validator,
)
from tools_kit import Colour, Place, one
from typing_extensions import TypedDict

Lower = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]


class Word(StrEnum):
    RED = "red"

    @classmethod
    def _missing_(cls, value: object) -> Word | None:
        return cls.RED if str(value).lower() == "red" else None


class Payee(BaseModel):
    to: Lower
    note: str = ""


class Renaming(BaseModel):
    to: str

    @model_validator(mode="after")
    def rename(self) -> Renaming:
        self.to = f"acct-of-{self.to}"
        return self


class Aliased(BaseModel):
    to: Lower = Field(validation_alias=AliasChoices("payee", "to"))


class Pair(NamedTuple):
    to: Lower
    n: int = 1


class Wide(TypedDict):
    to: Lower


class Wallet(RootModel[Lower]):
    pass


class Opaque:
    def __init__(self, text: str) -> None:
        self.text = text


def rules(annotation: Any, value: Any) -> set[tuple[str, str]]:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    accepts = one(f).accepts
    assert accepts is not None
    return {(issue.path, issue.rule) for issue in accepts({"x": value})}


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        pytest.param(Lower, " EVIL", "x", id="constraints that change a text"),
        pytest.param(Annotated[str, AfterValidator(lambda text: f"acct-of-{text}")], "bob", "x", id="a validator after"),
        pytest.param(Annotated[str, BeforeValidator(str.strip)], "a ", "x", id="a validator before"),
        pytest.param(Annotated[str | None, BeforeValidator(lambda text: text or None)], "", "x", id="a text made null"),
        pytest.param(
            Annotated[Any, AfterValidator(lambda value: "x" if value is None else value)], None, "x", id="null made a text"
        ),
        pytest.param(Annotated[Any, AfterValidator(lambda _: None)], True, "x", id="true made null"),
        pytest.param(Annotated[Any, AfterValidator(lambda _: None)], 5, "x", id="a number made null"),
        pytest.param(Annotated[Any, AfterValidator(lambda n: [n])], 5, "x", id="a number made a list"),
        pytest.param(Annotated[list[str], BeforeValidator(lambda text: text.split(","))], "a,b", "x", id="a text made a list"),
        pytest.param(Annotated[Any, AfterValidator(",".join)], ["a", "b"], "x", id="a list made a text"),
        pytest.param(Annotated[Any, AfterValidator(list)], {"a": 1}, "x", id="an object made a list"),
        pytest.param(Annotated[Any, AfterValidator(lambda items: items[:1])], ["a", "b"], "x", id="items dropped"),
        pytest.param(Annotated[Any, AfterValidator(sorted)], ["b", "a"], "x.0", id="items in another order"),
        pytest.param(Annotated[Any, AfterValidator(lambda items: {})], {"a": 1}, "x", id="keys dropped"),
        pytest.param(dict[Lower, int], {"EVIL": 1}, "x.EVIL", id="keys changed"),
        pytest.param(dict[int, str], {"01": "a"}, "x.01", id="keys that are other numbers"),
        pytest.param(Annotated[bytes, AfterValidator(bytes.lower)], "EVIL", "x", id="bytes changed"),
        pytest.param(Base64Str, "aGVsbG8=", "x", id="a text decoded into another text"),
        pytest.param(Word, "RED", "x", id="an enum that takes other spellings"),
        pytest.param(Json[list[Lower]], '["EVIL"]', "x.0", id="a text inside JSON text"),
        pytest.param(list[Lower], ["evil", "EVIL"], "x.1", id="a text in a list"),
        pytest.param(tuple[Lower, ...], ["EVIL"], "x.0", id="a text in a tuple"),
        pytest.param(deque[Lower], ["EVIL"], "x.0", id="a text in a queue"),
        pytest.param(Iterable[Lower], ["EVIL"], "x.0", id="a text in what is drawn later"),
        pytest.param(set[Lower], ["EVIL"], "x.0", id="a text in a set"),
        pytest.param(frozenset[Lower], ["evil", "EVIL"], "x.1", id="a text that falls together with another"),
        pytest.param(dict[str, Lower], {"a": "EVIL"}, "x.a", id="a text in an object"),
        pytest.param(dict[int, Lower], {"1": "EVIL"}, "x.1", id="a text under a key that is a number"),
        pytest.param(Payee, {"to": "EVIL"}, "x.to", id="a text in a model"),
        pytest.param(list[Payee], [{"to": "EVIL"}], "x.0.to", id="a text in a model in a list"),
        pytest.param(Renaming, {"to": "bob"}, "x.to", id="a model that changes itself"),
        pytest.param(Aliased, {"payee": "EVIL"}, "x.payee", id="a text under an alias"),
        pytest.param(Wide, {"to": "EVIL"}, "x.to", id="a text in a typed dict"),
        pytest.param(Pair, ["EVIL"], "x.0", id="a text in a named tuple"),
        pytest.param(Wallet, "EVIL", "x", id="a text in a model of one value"),
        pytest.param(Annotated[SecretStr, BeforeValidator(str.lower)], "EVIL", "x", id="a text in a secret"),
    ],
)
def test_a_value_that_the_tool_would_change_is_refused(annotation: Any, value: Any, path: str) -> None:
    """The issue names the place and says what to send; the value that was judged is never replaced by another."""
    assert rules(annotation, value) == {(path, "changed")}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        pytest.param(Lower, "evil", id="already in the tool's form"),
        pytest.param(Annotated[str, AfterValidator(lambda text: text)], "a", id="a validator that only looks"),
        pytest.param(datetime, "2026-05-01T12:00:00Z", id="a time"),
        pytest.param(UUID, "110bcd25-a55d-453a-8046-1297901ea002", id="a UUID"),
        pytest.param(Path, "a/b", id="a path"),
        pytest.param(Colour, "red", id="an enum"),
        pytest.param(Word, "red", id="an enum of texts"),
        pytest.param(Decimal, Decimal("1.10"), id="a decimal"),
        pytest.param(bytes, "é", id="bytes that are its UTF-8"),
        pytest.param(Base64Bytes, "aGVsbG8=", id="bytes that it encodes"),
        pytest.param(SecretStr, "x", id="a secret"),
        pytest.param(Wallet, "evil", id="a model of one value"),
        pytest.param(Json[dict[str, Decimal]], '{"a": 0.10}', id="JSON text"),
        pytest.param(Annotated[Any, AfterValidator(Opaque)], "x", id="a class of the host's from text"),
        pytest.param(Annotated[Any, AfterValidator(lambda value: Opaque("x"))], None, id="a class of the host's from null"),
        pytest.param(
            Annotated[Any, AfterValidator(lambda value: Opaque("x"))], {"a": 1}, id="a class of the host's from an object"
        ),
        pytest.param(set[Lower], ["a", "b"], id="a set"),
        pytest.param(set[Colour], ["red", "blue"], id="a set of enums"),
        pytest.param(set[UUID], ["110bcd25-a55d-453a-8046-1297901ea002"], id="a set of UUIDs"),
        pytest.param(set[bool | None], [True, None], id="a set of truth values"),
        pytest.param(deque[int], [1, 2], id="a queue"),
        pytest.param(Iterable[int], [1, 2], id="what is drawn later"),
        pytest.param(dict[int, str], {"1": "a", "2": "b"}, id="keys that are numbers"),
        pytest.param(dict[Colour, str], {"red": "a"}, id="keys that are enums"),
        pytest.param(Payee, {"to": "a"}, id="a model with a default"),
        pytest.param(Aliased, {"to": "a"}, id="a model with aliases"),
        pytest.param(Pair, ["a"], id="a named tuple with a default"),
        pytest.param(Place, {"city": "a"}, id="a dataclass"),
        pytest.param(Wide, {"to": "a"}, id="a typed dict"),
    ],
)
def test_a_value_that_means_the_same_is_accepted(annotation: Any, value: Any) -> None:
    """Richer types stand for what they were made from, and what is already in the tool's form passes."""
    assert rules(annotation, value) == set()


@pytest.mark.parametrize(("kind", "make"), [(set[float], Decimal), (set[Lower], str)], ids=["numbers", "texts"])
def test_large_sets_are_judged_in_linear_time(kind: Any, make: Any) -> None:
    """Members are compared by value, not each with each: eight times as many take about eight times as long."""

    def seconds(size: int) -> float:
        value = [make(n) for n in range(size)]
        begin = time.thread_time()
        assert rules(kind, value) == set()
        return time.thread_time() - begin

    assert seconds(16_000) < seconds(2_000) * 20 + 0.5


class Tricky(Enum):
    ONE = 1
    YES = True


@given(st.text())
def test_any_text_is_accepted_exactly_when_the_tool_leaves_it(text: str) -> None:
    """For every text: refused as changed when folding would change it, accepted otherwise."""
    expected = set() if text.strip().lower() == text else {("x", "changed")}

    assert rules(Annotated[str, AfterValidator(lambda value: value.strip().lower())], text) == expected


def test_a_truth_value_is_no_member_of_an_enum_of_numbers() -> None:
    """True equals 1 to Python, not to JSON."""
    assert rules(Tricky, 1) == set()
    assert rules(Tricky, True) == {("x", "type")}
