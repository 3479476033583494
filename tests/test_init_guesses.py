"""What `guard init` guesses, and in which direction it errs: what is not plainly a look-up is an action that a person approves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from init_kit import CALLER, Desk, desk, guesses, kinds

from guard import Guard, ToolCall
from guard.core.rules import Kind
from guard.review.init.found import Found
from guard.review.init.kinds import guess_kind


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return desk(tmp_path, monkeypatch, capfd)


NAMES: dict[str, Kind] = {
    "get_order": "read",
    "getOrder": "read",
    "get-order": "read",
    "orders.get": "read",
    "orders/list": "read",
    "mcp__github__get_issue": "read",
    "mcp__github__create_issue": "action",
    "calendar_find_event": "read",
    "GetHTTPStatus": "read",
    "queryTravelPolicy": "read",
    "order_status": "read",
    "order_item": "action",
    "user_lookup": "read",
    "buscar_cliente": "read",
    "sucheKunde": "read",
    "calcAmountOver": "compute",
    "calculate_tip": "compute",
    "convert_currency": "compute",
    "create_order": "action",
    "bestellung_löschen": "action",
    "get_and_delete": "action",
    "search_then_book": "action",
    "get_post": "read",
    "post_message": "action",
    "check_inventory": "read",
    "check_in_guest": "action",
    "list_updates": "action",
    "refund": "action",
    "frobnicate": "action",
    "read": "read",
    "": "action",
    "123": "action",
    "__proto__": "action",
    "查询": "action",
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_the_name_says_what_a_tool_does(name: str, kind: Kind) -> None:
    """The verb counts in every way of writing; a word for an act outweighs it wherever it stands; nothing known is an action."""
    assert guess_kind(Found(name=name)).kind == kind


OTHERS: dict[str, tuple[Found, Kind, str]] = {
    "description": (Found(name="weather", description="Returns the weather of a city."), "read", "description begins"),
    "description acts": (Found(name="weather", description="Sets the weather."), "action", "description says set"),
    "look-up that acts": (
        Found(name="get_token", description="Creates a token and returns it."),
        "action",
        "description says create",
    ),
    "second verb": (Found(name="get_mail", description="Fetch mails and delete them."), "action", "description says delete"),
    "later sentence": (
        Found(name="get_mail", description="Fetch mails. Delete them with another tool."),
        "read",
        "name says get",
    ),
    "foreign description": (Found(name="weather", description="Returns the weather.", foreign=True), "action", "nothing tells"),
    "claim to read": (Found(name="frob", claims={"readOnlyHint": True}, foreign=True), "action", "claims that it only reads"),
    "claim beside an act": (Found(name="delete_all", claims={"readOnlyHint": True}), "action", "name says delete"),
    "claim to change": (Found(name="get_x", claims={"readOnlyHint": False}), "action", "server says"),
    "claim to destroy": (Found(name="get_x", claims={"destructiveHint": True, "readOnlyHint": True}), "action", "server says"),
    "claim that is no flag": (Found(name="get_x", claims={"readOnlyHint": "false"}), "read", "name says get"),
    "get": (Found(name="pets", method="GET"), "read", "method is GET"),
    "head": (Found(name="pets", method="HEAD"), "read", "method is HEAD"),
    "post": (Found(name="searchPets", method="POST"), "action", "method is POST"),
    "get that acts": (Found(name="deletePet", method="GET"), "action", "name says delete"),
    "get that is said to act": (
        Found(name="jump", method="GET", description="Triggers a run."),
        "action",
        "description says trigger",
    ),
    "any command": (Found(name="query_db", schema={"properties": {"sql": {"type": "string"}}}), "action", "argument sql"),
    "odd schema": (Found(name="get_x", schema={"properties": []}), "read", "name says get"),
}


@pytest.mark.parametrize(("tool", "kind", "why"), OTHERS.values(), ids=OTHERS.keys())
def test_other_signs_count_towards_the_strict_side(tool: Found, kind: Kind, why: str) -> None:
    """A server's claim about itself and a word of a description never make a look-up of what looks like an act."""
    guess = guess_kind(tool)
    assert guess.kind == kind
    assert why in guess.why


def _list(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "get_x", "parameters": {"type": "object", "properties": fields}}]


TEXT = {"type": "string"}
IDENTITIES: dict[str, tuple[Any, str, bool]] = {
    "user_id": (TEXT, "session.principal", True),
    "userId": (TEXT, "session.principal", True),
    "USER-ID": (TEXT, "session.principal", True),
    "X-User-Id": (TEXT, "session.principal", True),
    "customer_number": ({}, "session.principal", True),
    "kunden_nr": (TEXT, "session.principal", True),
    "usuario_id": (TEXT, "session.principal", True),
    "用户ID": (TEXT, "session.principal", True),
    "tenant_id": ({"type": ["string", "null"]}, "session.tenant", True),
    "employee_no": ({"type": "integer"}, "session.employee_no", True),
    "account_id": (TEXT, "session.principal", False),
    "owner": (TEXT, "session.principal", False),
    "email": (TEXT, "session.email", False),
    "role": (TEXT, "session.roles", False),
    "job_level": (TEXT, "session.job_level", False),
    "organization_id": (TEXT, "session.tenant", False),
    "user_id ": ({"type": "array"}, "session.principal", False),
}


@pytest.mark.parametrize(("name", "rest"), IDENTITIES.items(), ids=IDENTITIES.keys())
def test_arguments_that_say_who_are_bound_or_proposed(name: str, rest: tuple[Any, str, bool], here: Desk) -> None:
    """What is the caller's own by its name is bound; what only may be is a comment that needs two characters removed."""
    shape, source, active = rest
    told = here.init(_list(**{name: shape, "city": TEXT}))

    assert guesses(told, "get_x") == {"kind": ("read", True), f"bind.{name}": (source, active)}
    bound = {binding.field for binding in here.loaded().policy.tools["get_x"].bindings}
    assert bound == ({name} if active else set())


def test_everything_commented_can_be_uncommented(here: Desk) -> None:
    """Without any other change the folder loads, and means what the comments said."""
    fields = dict.fromkeys(("user_id", "job_level", "email", "order_id", "role"), TEXT)
    here.init(
        [
            {"name": "get_x", "parameters": {"type": "object", "properties": fields, "required": ["order_id"]}},
            {"name": "send_y", "parameters": {"type": "object", "properties": {"department": TEXT}}},
        ]
    )
    text = here.text()
    head, tools = text.split("\ntools:\n")
    opened = re.sub(r"(?m)^( +)# ", r"\1", tools)
    (here.path / "policies" / "tools.yaml").write_text(f"{head}\ntools:\n{opened}", "utf-8")

    tools_ = here.loaded().policy.tools
    assert {str(binding.source) for binding in tools_["get_x"].bindings} == {"principal", "job_level", "email", "roles"}
    assert [str(binding.source) for binding in tools_["send_y"].bindings] == ["department"]
    assert [rule.name for rule in tools_["get_x"].resources] == ["order"]
    assert here.loaded().policy.authorizer.decide(CALLER, "get_x", "call").allowed


def test_every_guess_is_marked_where_it_stands(here: Desk) -> None:
    """As many marks as guesses, and each line with a decision that nobody made has one."""
    told = here.init(
        [
            {
                "name": "send_mail",
                "parameters": {
                    "type": "object",
                    "properties": {"user_id": TEXT, "mail_id": TEXT, "email": TEXT},
                    "required": ["mail_id"],
                },
            }
        ]
    )

    lines = [line for line in here.text().splitlines() if line.startswith("    ") and "# guess: " in line]
    assert len(lines) == len(told["tools"][0]["guesses"]) == 5
    for start in (
        "kind: action",
        "user_id: session.principal",
        "# email: session.email",
        "approve: {by: [approver]}",
        "# resource: ",
    ):
        assert sum(line.strip().startswith(start) for line in lines) == 1, start


def test_an_allowed_tool_runs_with_the_bound_value(here: Desk) -> None:
    """After the one change that the file asks for, the tool runs for that role, with the session's own id."""
    here.init(
        [{"name": "get_order", "parameters": {"type": "object", "properties": {"order_id": TEXT, "user_id": TEXT}}}],
        "--role",
        "customer",
    )
    path = here.path / "policies" / "tools.yaml"
    path.write_text(path.read_text("utf-8").replace("# allow: [customer]", "allow: [customer]"), "utf-8")

    with Guard.load(path.parent, tools={"get_order": lambda **arguments: arguments}, store="memory://") as guard:
        outcome = guard.call(ToolCall("1", "get_order", '{"order_id": "A", "user_id": "E9"}'), CALLER, conversation="c")

    assert outcome.status == "done"
    assert '"user_id":"E1"' in str(outcome.content).replace(" ", "")
    assert kinds(here.init(_list(), "--into", "other")) == {"get_x": "read"}
