"""The registry: what may be a tool, and its name, description and origin."""

from __future__ import annotations

import functools

import pytest
from tools_kit import Desk, Line, lambda_named, look, look_later, one, original

from guard.errors import GuardError
from guard.tools import Registry, registry


class Host:
    """A registry of somebody else's: all it has is a mapping called tools."""

    def __init__(self) -> None:
        self.tools = {"host_look": look}


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

    assert "tools_kit.look" in str(raised.value)
    assert "tools_kit.original" in str(raised.value)


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


def test_origin_and_colour() -> None:
    """A tool knows where its function stands and whether it must be awaited."""
    assert one(look).origin == "tools_kit.look"
    assert one(look).is_async is False
    assert one(look_later).is_async is True
    assert one(functools.partial(look_later)).is_async is True
