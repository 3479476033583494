"""Registry and executors: names, schemas, judging and converting arguments."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from guard.core.values import encode
from guard.errors import GuardError
from guard.tools import RegisteredTool, Registry, registry, tool


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


class Host:
    """A registry of somebody else's: all it has is a mapping called tools."""

    def __init__(self) -> None:
        self.tools = {"host_look": look}


@tool(name="renamed", description="Another text.")
def original(x: str) -> str:
    """The first text."""
    return x


def one(function: Callable[..., Any]) -> RegisteredTool:
    (found,) = registry([function]).values()
    return found


def property_of(annotation: Any) -> dict[str, Any]:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    schema = one(f).schema
    assert schema is not None
    return schema["properties"]["x"]


# -- names -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(look, ["look"], id="one function"),
        pytest.param([look, look_later], ["look", "look_later"], id="functions"),
        pytest.param({"a": look, "b": lambda x: x}, ["a", "b"], id="a mapping names even a lambda"),
        pytest.param([Desk("t").find], ["find"], id="a bound method"),
        pytest.param([Desk("t")], ["Desk"], id="an object that can be called"),
        pytest.param([functools.partial(look, page=2)], ["look"], id="a partial"),
        pytest.param([original], ["renamed"], id="a marked function"),
        pytest.param({"mine": original}, ["mine"], id="the mapping's name beats the mark"),
        pytest.param(Host(), ["host_look"], id="a registry of somebody else's"),
        pytest.param(Registry([look]), ["look"], id="our own registry"),
        pytest.param(
            [look, {"b": look_later}, Registry([Desk("t").find]), (original,)], ["look", "b", "find", "renamed"], id="a mix"
        ),
        pytest.param(registry([look]), ["look"], id="what registry gave before"),
    ],
)
def test_names(tools: object, names: list[str]) -> None:
    """Every form in which a host may hand over tools gives them under the names expected."""
    assert names == list(registry(tools))


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        pytest.param([look, look], "two tools are called 'look'", id="twice the same name"),
        pytest.param([look, {"look": look_later}], "two tools are called 'look'", id="two functions with one name"),
        pytest.param([lambda x: x], "a lambda", id="a lambda"),
        pytest.param([3], "a value of type int is not a tool", id="a number"),
        pytest.param({"x": "look"}, "is not a tool (under 'x')", id="a text in a mapping"),
        pytest.param("look", "is not a tool", id="a text"),
        pytest.param([Line], "the class Line is not a tool", id="a class"),
        pytest.param({"": look}, "a name is a non-empty text", id="an empty name"),
        pytest.param({3: look}, "a name is a non-empty text", id="a name that is no text"),
        pytest.param([Desk.find], "a method without its object", id="an unbound method"),
        pytest.param([len], "has no name to be called by", id="a builtin"),
    ],
)
def test_not_a_tool(tools: object, text: str) -> None:
    """What cannot be a tool is an error at once, with a text that says what to do."""
    with pytest.raises(GuardError) as raised:
        registry(tools)

    assert text in str(raised.value)


def test_a_repeated_name_tells_both_places() -> None:
    """The error about a repeated name says where both functions stand."""
    with pytest.raises(GuardError) as raised:
        registry([look, {"look": original}])

    assert f"{__name__}.look" in str(raised.value)
    assert f"{__name__}.original" in str(raised.value)


def test_a_registry_collects_and_gives_back() -> None:
    """`Registry.add` works as a decorator and by hand, and leaves the function alone."""
    tools = Registry()

    @tools.add
    def first(x: str) -> str:
        return x

    tools.add(look, name="second")

    assert list(tools.tools) == ["first", "second"]
    assert first("x") == "x"
    with pytest.raises(GuardError):
        tools.add(look, name="second")


def test_description_is_the_first_paragraph() -> None:
    """The description is the docstring's first paragraph, or what the mark says."""
    assert one(look).description == "Find an order."
    assert one(original).description == "Another text."
    assert one(Desk("t")).description == "Call the desk."
    assert one(lambda_named).description == ""


def lambda_named(x):
    return x


def test_origin_and_colour() -> None:
    """A tool knows where its function stands and whether it must be awaited."""
    assert one(look).origin == f"{__name__}.look"
    assert one(look).is_async is False
    assert one(look_later).is_async is True
    assert one(functools.partial(look_later)).is_async is True


# -- schemas -----------------------------------------------------------------------------------------------------------------


def test_schema_of_a_function() -> None:
    """The schema names each parameter, which are required and that there are no others; nothing is made up."""
    assert one(look).schema == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "page": {"type": "integer", "default": 1}},
        "required": ["order_id"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("annotation", "shape"),
    [
        pytest.param(str, {"type": "string"}, id="text"),
        pytest.param(bool, {"type": "boolean"}, id="bool"),
        pytest.param(float, {"type": "number"}, id="float"),
        pytest.param(Decimal, {"type": "number"}, id="a decimal is a plain number"),
        pytest.param(
            Annotated[Decimal, Field(gt=0, le=50)], {"type": "number", "exclusiveMinimum": 0, "maximum": 50}, id="bounds"
        ),
        pytest.param(Decimal | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}, id="or null"),
        pytest.param(list[Decimal], {"type": "array", "items": {"type": "number"}}, id="a list of decimals"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="datetime"),
        pytest.param(date, {"type": "string", "format": "date"}, id="date"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(
            Annotated[str, Field(description="The order.")], {"type": "string", "description": "The order."}, id="described"
        ),
        pytest.param(Any, {}, id="anything"),
    ],
)
def test_schema_of_an_annotation(annotation: Any, shape: dict[str, Any]) -> None:
    """Each annotation becomes the JSON Schema that a reader expects."""
    assert shape == property_of(annotation)


def test_no_annotation_is_an_open_schema() -> None:
    """A parameter without an annotation takes any JSON value."""
    assert one(lambda_named).schema["properties"] == {"x": {}}


def test_nested_models_are_closed() -> None:
    """Unknown fields of a model inside are refused by the schema, since pydantic would drop them silently."""

    def order(line: Line) -> None: ...

    order.__annotations__["line"] = Line
    schema = one(order).schema
    shape = schema["$defs"]["Line"]

    assert shape["additionalProperties"] is False
    assert shape["properties"]["price"] == {"type": "number"}


@pytest.mark.parametrize(
    ("default", "told"),
    [
        pytest.param(None, None, id="null"),
        pytest.param("x", "x", id="text"),
        pytest.param(True, True, id="bool"),
        pytest.param(0.5, 0.5, id="float"),
        pytest.param(Decimal("0.5"), 0.5, id="a decimal that a float says exactly"),
    ],
)
def test_defaults_stand_in_the_schema(default: Any, told: Any) -> None:
    """A default that JSON can say exactly is in the schema."""

    def f(x=default):
        return x

    shape = one(f).schema["properties"]["x"]

    assert shape == {"default": told}
    assert "required" not in one(f).schema


def test_defaults_that_json_cannot_say_are_left_to_python() -> None:
    """A default that would be rounded, or that is no JSON, is not in the schema, and the function still gets it."""
    exact = Decimal("0.12345678901234567890123")

    def f(x: Decimal = exact, y: float = float("inf")):
        return x, y

    f.__annotations__ = {"x": Decimal, "y": float}

    assert one(f).schema["properties"] == {"x": {"type": "number"}, "y": {"type": "number"}}
    assert one(f).run({}, "k") == (exact, float("inf"))


def test_a_default_inside_a_pydantic_field() -> None:
    """`x: int = Field(3)` means the default 3, in the schema and at the call."""

    def f(x=Field(3, description="How many.")):  # noqa: B008 - the spelling under test
        return x

    f.__annotations__ = {"x": int}

    assert one(f).schema["properties"] == {"x": {"type": "integer", "description": "How many.", "default": 3}}
    assert one(f).run({}, "k") == 3
    assert one(f).run({"x": 4}, "k") == 4


def test_an_own_schema_replaces_the_signature() -> None:
    """A schema given with the mark is used as it is; naming what the function does not take is an error."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "maxLength": 3}}, "additionalProperties": False}

    assert one(tool(schema=schema)(lambda_copy())).schema == schema
    with pytest.raises(GuardError, match="names y"):
        one(tool(schema={"type": "object", "properties": {"y": {}}})(lambda_copy()))


def lambda_copy() -> Callable[..., Any]:
    def f(x: str, user_id: str = "") -> str:
        return x + user_id

    return f


def test_the_idempotency_key_is_the_guards() -> None:
    """A parameter called idempotency_key is in no schema, refused from the model, and filled by the guard."""

    def pay(amount: int, idempotency_key: str):
        return amount, idempotency_key

    pay.__annotations__ = {"amount": int, "idempotency_key": str}
    found = one(pay)

    assert list(found.schema["properties"]) == ["amount"]
    assert found.parameters == {"amount"}
    assert [issue.path for issue in found.accepts({"amount": 1, "idempotency_key": "mine"})] == ["idempotency_key"]
    assert found.run({"amount": 1, "idempotency_key": "mine"}, "guard") == (1, "guard")


def test_keywords_are_open_but_never_carry_the_key() -> None:
    """`**kwargs` takes any argument except an idempotency key of the model's own making."""

    def send(to: str, **more):
        return {"to": to, **more}

    send.__annotations__ = {"to": str}
    found = one(send)

    assert found.parameters is None
    assert found.schema["additionalProperties"] is True
    assert found.accepts({"to": "a", "x": 1}) == ()
    assert found.accepts({"to": "a", "idempotency_key": "mine"}) != ()
    assert found.run({"to": "a", "x": 1, "idempotency_key": "mine"}, "guard") == {"to": "a", "x": 1}


def test_what_a_partial_fixes_the_model_cannot_set() -> None:
    """A keyword fixed with functools.partial is not a parameter any more, so that no call can overwrite it."""
    found = one(functools.partial(lambda_copy(), user_id="u1"))

    assert found.parameters == {"x"}
    assert [issue.path for issue in found.accepts({"x": "a", "user_id": "u2"})] == ["user_id"]
    assert found.run({"x": "a"}, "k") == "au1"


def test_star_arguments_are_refused() -> None:
    """Parameters that have no name to be called by are an error that names them."""

    def many(*items: str) -> None: ...

    def first(x: str, /) -> None: ...

    with pytest.raises(GuardError, match=r"tool many: parameter \*items"):
        one(many)
    with pytest.raises(GuardError, match="tool first: parameter x"):
        one(first)


def test_an_annotation_that_cannot_be_resolved() -> None:
    """The error names function and parameter; an unresolvable return annotation does not matter."""

    def f(order: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821 - the mistake under test
        return str(order)

    def g(x: str) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821 - harmless
        return x

    with pytest.raises(GuardError, match=r"tool f: the annotation 'Nowhere' of parameter order"):
        one(f)
    assert one(g).run({"x": "a"}, "") == "a"


def test_an_annotation_that_json_cannot_say() -> None:
    """Such a tool has no schema and no judge, and says which parameter is to blame, so that the policy must give the schema."""

    def f(client, x: str):
        return x

    f.__annotations__ = {"client": Desk, "x": str}
    found = one(f)

    assert found.schema is None
    assert found.accepts is None
    assert "parameter client of tool f" in found.trouble
    assert found.run({"client": 1, "x": "a"}, "") == "a"


def test_async_generators_are_refused() -> None:
    """A function whose result nobody could collect is an error at registration."""

    async def rows():
        yield 1

    with pytest.raises(GuardError, match="async generator"):
        one(rows)


# -- judging -----------------------------------------------------------------------------------------------------------------


def asks(annotation: Any, value: Any) -> tuple[tuple[str, str], ...]:
    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    accepts = one(f).accepts
    assert accepts is not None
    return tuple((issue.path, issue.rule) for issue in accepts({"x": value}))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        pytest.param(str, "a", id="text"),
        pytest.param(int, 5, id="int"),
        pytest.param(int, Decimal("5.0"), id="an integral decimal is an integer"),
        pytest.param(float, Decimal("0.1"), id="a decimal that a float says back"),
        pytest.param(float, 3, id="an integer is a number"),
        pytest.param(Decimal, Decimal("3860.00"), id="decimal"),
        pytest.param(Decimal, 2**70, id="a large integer as decimal"),
        pytest.param(float | None, None, id="null"),
        pytest.param(list[float], [1, Decimal("2.5")], id="numbers in a list"),
        pytest.param(dict[str, Decimal], {"a": Decimal("1.10")}, id="numbers in an object"),
        pytest.param(set[float], [Decimal("0.1"), 2], id="numbers in a set"),
        pytest.param(Line, {"sku": "a", "price": Decimal("1.10"), "weight": Decimal("0.5")}, id="a model"),
        pytest.param(Place, {"city": "a", "tier": 2}, id="a dataclass"),
        pytest.param(Colour, "red", id="an enum"),
        pytest.param(datetime, "2024-05-01T03:45:00Z", id="a datetime"),
        pytest.param(Literal["a"], "a", id="a literal"),
        pytest.param(Any, {"a": [Decimal("1.1")]}, id="anything"),
        pytest.param(str | list[str], ["a"], id="a union"),
    ],
)
def test_accepted(annotation: Any, value: Any) -> None:
    """Values that the signature means are accepted."""
    assert asks(annotation, value) == ()


@pytest.mark.parametrize(
    ("annotation", "value", "issue"),
    [
        pytest.param(str, 5, ("x", "type"), id="a number is no text"),
        pytest.param(str, None, ("x", "type"), id="null is no text"),
        pytest.param(int, True, ("x", "type"), id="true is no integer"),
        pytest.param(int, "5", ("x", "type"), id="text is no integer"),
        pytest.param(int, Decimal("5.5"), ("x", "type"), id="a fraction is no integer"),
        pytest.param(bool, 1, ("x", "type"), id="one is not true"),
        pytest.param(float, Decimal("0.1000000000000000055"), ("x", "precision"), id="more digits than a float has"),
        pytest.param(float, 2**53 + 1, ("x", "precision"), id="an integer that a float rounds"),
        pytest.param(float, Decimal("1e400"), ("x", "precision"), id="beyond the largest float"),
        pytest.param(float, 10**400, ("x", "precision"), id="an integer beyond the largest float"),
        pytest.param(list[float], [1, Decimal("0.1000000000000000055")], ("x.1", "precision"), id="rounded inside a list"),
        pytest.param(set[float], [Decimal("0.1000000000000000055")], ("x.0", "precision"), id="rounded inside a set"),
        pytest.param(list[int], [True], ("x.0", "type"), id="true inside a list of integers"),
        pytest.param(list[int], ["1"], ("x.0", "type"), id="text inside a list of integers"),
        pytest.param(list[bool], [1], ("x.0", "type"), id="one inside a list of bools"),
        pytest.param(datetime, 1_700_000_000, ("x", "type"), id="a number is no datetime"),
        pytest.param(Line, {"sku": "a", "price": "1"}, ("x.price", "type"), id="text is no price"),
        pytest.param(Line, {"sku": "a", "price": 1, "weight": 2**53 + 1}, ("x.weight", "precision"), id="rounded inside a model"),
        pytest.param(Line, {"sku": "a"}, ("x.price", "required"), id="a field is missing"),
        pytest.param(Place, {"city": "a", "tier": "2"}, ("x.tier", "type"), id="text is no tier"),
        pytest.param(Colour, "green", ("x", "enum"), id="no such colour"),
        pytest.param(Annotated[int, Field(ge=1)], 0, ("x", "greater_than_equal"), id="below the bound"),
        pytest.param(
            Annotated[float, AfterValidator(round)], Decimal("1.5"), ("x", "precision"), id="a validator that moves the number"
        ),
    ],
)
def test_refused(annotation: Any, value: Any, issue: tuple[str, str]) -> None:
    """Values that pydantic would bend, round or reject are issues with path and rule."""
    assert issue in asks(annotation, value)


def test_missing_and_unknown() -> None:
    """A missing parameter and an unknown argument are issues of their own."""
    rules = {(issue.path, issue.rule) for issue in one(look).accepts({"page": 1, "ctx": {}})}

    assert rules == {("order_id", "required"), ("ctx", "additionalProperties")}


def picky(value: str) -> str:
    raise ValueError(f"do not send {value}")


def broken(value: str) -> str:
    raise RuntimeError(value)


@pytest.mark.parametrize("check", [pytest.param(picky, id="refuses"), pytest.param(broken, id="breaks")])
def test_a_validator_of_the_hosts_refuses_without_its_text(check: Callable[[str], str]) -> None:
    """Whatever a validator raises refuses, and its text, which may hold the value, stays inside."""

    def f(x):
        return x

    f.__annotations__ = {"x": Annotated[str, AfterValidator(check)]}
    (issue,) = one(f).accepts({"x": "my-secret-value"})

    assert issue.rule == "signature"
    assert "my-secret-value" not in repr(issue)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def hard(s, i, f, d, o, m, p, e, t, ls, a):  # noqa: PLR0917 - called by keyword, with every kind of parameter
    return s, i, f, d, o, m, p, e, t, ls, a


hard.__annotations__ = {
    "s": str, "i": int, "f": float, "d": Decimal, "o": float | None, "m": Line, "p": Place, "e": Colour, "t": datetime, "ls": list[float],
}  # fmt: skip


def plain(s, i, f, d, o, a):
    return s, i, f, d, o, a


plain.__annotations__ = {"s": str, "i": int, "f": float, "d": Decimal, "o": float | None}


@pytest.mark.parametrize("function", [pytest.param(hard, id="through pydantic"), pytest.param(plain, id="plain")])
@given(st.data())
def test_judges_are_total_and_runs_follow(function: Callable[..., Any], data: st.DataObject) -> None:
    """For any JSON the judge answers without raising; what it accepts can be run, and no plain number has moved."""
    found = one(function)
    names = sorted(found.parameters or ())
    near = {"s": st.text(), "i": st.integers(), "f": st.decimals(-9, 9, places=3), "d": st.decimals(-9, 9), "o": st.none()}
    arguments = data.draw(st.fixed_dictionaries({name: near.get(name, JSON) | JSON for name in names}))

    issues = found.accepts(arguments)

    assert all(isinstance(issue.message, str) for issue in issues)
    if not issues:
        given_back = dict(zip(function.__code__.co_varnames, found.run(arguments, "k"), strict=False))
        for name in ("i", "d"):
            assert given_back[name] == arguments[name]
        assert Decimal(repr(given_back["f"])) == arguments["f"]


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_float_parameter_never_rounds(number: Decimal | int) -> None:
    """A number is accepted for a float exactly when the float says it back."""
    try:
        exact = Decimal(repr(float(number))) == number
    except OverflowError:
        exact = False

    assert exact == (asks(float, number) == ())


# -- running -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "value", "got"),
    [
        pytest.param(str, "a", "a", id="text"),
        pytest.param(int, Decimal("5.0"), 5, id="int from an integral decimal"),
        pytest.param(float, Decimal("0.1"), 0.1, id="float from a decimal"),
        pytest.param(Decimal, Decimal("3860.00"), Decimal("3860.00"), id="decimal as it is"),
        pytest.param(Decimal, 5, Decimal(5), id="decimal from an integer"),
        pytest.param(float | None, None, None, id="null"),
        pytest.param(Any, Decimal("1.50"), Decimal("1.50"), id="no annotation: the JSON value"),
        pytest.param(Colour, "red", Colour.RED, id="enum"),
        pytest.param(date, "2024-05-01", date(2024, 5, 1), id="date"),
        pytest.param(Literal["a"], "a", "a", id="literal"),
        pytest.param(Place, {"city": "a"}, Place("a"), id="dataclass"),
        pytest.param(Line, {"sku": "a", "price": Decimal("1.10")}, Line(sku="a", price=Decimal("1.10")), id="model"),
        pytest.param(list[float], [1, Decimal("2.5")], [1.0, 2.5], id="list"),
    ],
)
def test_run_converts(annotation: Any, value: Any, got: Any) -> None:
    """The function gets what its annotation asks for, of exactly that type and with exactly those digits."""

    def f(x):
        return x

    f.__annotations__ = {"x": annotation}
    result = one(f).run({"x": value}, "k")

    assert result == got
    assert type(result) is type(got)
    assert str(result) == str(got)


def test_run_returns_what_the_function_returns() -> None:
    """The returned object is untouched; a coroutine function gives a coroutine; the arguments stay as they were."""
    marker = object()
    arguments = {"x": Decimal("1.0")}

    def f(x):
        return marker

    f.__annotations__ = {"x": int}

    assert one(f).run(arguments, "") is marker
    assert repr(arguments) == "{'x': Decimal('1.0')}"
    assert asyncio.run(one(look_later).run({"order_id": "o"}, "")) == "o"
    assert one(Desk("t").find).run({"order_id": "o"}, "") == "t/o"


def test_the_schema_is_json() -> None:
    """Every schema can be written as JSON by the standard library, so that any SDK can send it."""
    found = one(hard)

    assert encode(found.schema).startswith("{")
