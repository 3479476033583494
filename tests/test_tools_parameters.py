"""Special parameters: keys of the guard's own, keywords, fixed ones, and those that a tool cannot have."""

from __future__ import annotations

import functools
import inspect
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field
from tools_kit import Desk, lambda_copy, one

from guard.errors import GuardError


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


class Choice(BaseModel):
    x: str = Field("", alias="y")


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        pytest.param(Annotated[str, Field(alias="y")], inspect.Parameter.empty, id="an alias"),
        pytest.param(Annotated[str, Field(alias="y")], "", id="an alias with a default"),
        pytest.param(Annotated[str, Field(validation_alias="y")], "", id="a validation alias"),
        pytest.param(Annotated[str, Field(validation_alias=AliasChoices("x", "y"))], "", id="aliases of which one is the name"),
        pytest.param(Annotated[str, Field(validation_alias=AliasPath("y", 0))], "", id="a path"),
        pytest.param(str, Field("", alias="y"), id="an alias in a default"),
    ],
)
def test_an_alias_on_a_parameter_is_refused(annotation: Any, default: Any) -> None:
    """A parameter has one name; the error names function and parameter. Aliases inside models are the model's business."""

    def f(x=default):
        return x

    f.__annotations__ = {"x": annotation}
    if default is inspect.Parameter.empty:
        f.__defaults__ = None
    with pytest.raises(GuardError, match="tool f: parameter x has an alias"):
        one(f)
    f.__annotations__, f.__defaults__ = {"x": Choice}, None
    assert one(f).accepts({"x": {"y": "a"}}) == ()


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
