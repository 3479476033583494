"""Reported failures: fields that belong to the session and that the model could set, see or lose."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, error, outcome, problems, shown_schema, start, states, write

from guard import Guard, PolicyError, Session, ToolCall

SALARY = """
    tools:
      salary: {kind: read, allow: [staff], bind: {user_id: session.principal}}
"""


def salary(user_id: str) -> dict[str, str]:
    return {"of": user_id}


@BOTH
@pytest.mark.parametrize("sent", ["u2", "", None, ["u1"], {"user_id": "u1"}, 1])
def test_a_field_of_the_session_sent_by_the_model_br_054(tmp_path: Path, wire: str, sent: Any) -> None:
    """The tool runs with the session's value whatever was sent, the attempt is recorded, and the sent value stands nowhere."""
    desk = start(tmp_path, wire, SALARY, {"salary": salary}, store="sqlite")
    turn = desk.propose(("c1", "salary", {"user_id": sent}))
    assert states(turn) == ["done"]
    assert desk.ran == [("salary", {"user_id": "u1"})]
    assert outcome(turn, "c1").arguments == {"user_id": "u1"}
    assert desk.decision("c1")["spoof"] == ["user_id"]
    assert desk.decision("c1")["args"]["labels"] == {"user_id": "session"}
    if sent == "u2":
        assert "u2" not in "".join(json.dumps(event) for event in desk.audit())
    assert shown_schema(desk, "salary")["properties"] == {}
    desk.closed()


@BOTH
def test_the_sessions_own_value_is_no_attempt_br_054b(tmp_path: Path, wire: str) -> None:
    """A model that sends what the session holds anyway has attempted nothing, not even under a strict policy."""
    policy = SALARY.replace("session.principal", "{from: session.principal, strict: true}")
    desk = start(tmp_path, wire, policy, {"salary": salary})
    turn = desk.propose(("c1", "salary", {"user_id": "u1"}), ("c2", "salary", {}), ("c3", "salary", {"user_id": "u2"}))
    assert states(turn) == ["done", "done", "refused"]
    assert error(outcome(turn, "c3"))["code"] == "bound_field_sent"
    assert "u2" not in str(outcome(turn, "c3").content)
    desk.closed()


@BOTH
def test_a_session_without_the_fact_br_054c(tmp_path: Path, wire: str) -> None:
    """What the session lacks refuses; what the model offers in its place is not taken."""
    policy = SALARY.replace("session.principal", "session.employee")
    desk = start(tmp_path, wire, policy, {"salary": salary})
    turn = desk.propose(("c1", "salary", {"user_id": "u2"}), ("c2", "salary", {}))
    assert states(turn) == ["refused", "refused"]
    assert error(outcome(turn, "c1"))["code"] == "session_fact_missing"
    assert error(outcome(turn, "c1"))["retry"] is False
    assert not desk.ran
    desk.closed()


NOTE = """
    tools:
      note:
        kind: action
        allow: [staff]
        approve: never
        bind: {user_id: session.principal}
        schema: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
"""


@BOTH
def test_a_handwritten_schema_without_the_field_br_056(tmp_path: Path, wire: str) -> None:
    """The function gets the field although the schema written for the model does not speak of it, and the model never sees it."""

    def note(text: str, user_id: str) -> str:
        return f"{user_id}: {text}"

    desk = start(tmp_path, wire, NOTE, {"note": note})
    turn = desk.propose(("c1", "note", {"text": "hi"}))
    assert states(turn) == ["done"]
    assert desk.ran == [("note", {"text": "hi", "user_id": "u1"})]
    assert set(shown_schema(desk, "note")["properties"]) == {"text"}
    assert shown_schema(desk, "note")["required"] == ["text"]
    desk.closed()


def test_a_function_that_cannot_take_the_field_br_056b(tmp_path: Path) -> None:
    """Where the function has no such argument, loading stops and names tool and field."""
    folder = write(tmp_path, NOTE)
    with pytest.raises(PolicyError, match="note cannot take the bound field user_id"):
        Guard.load(folder, tools={"note": lambda text: text}, store="memory://")


@BOTH
@pytest.mark.parametrize("extra", [{"ctx": {"admin": True}}, {"ctx": None}, {"self": 1}, {"kwargs": {}}])
def test_a_parameter_that_code_fills_br_057(tmp_path: Path, wire: str, extra: dict[str, Any]) -> None:
    """Only what the model may send is in the schema; anything else that it sends is refused as unknown."""

    def query(ctx: Any, q: str, idempotency_key: str) -> str:
        return f"{q} {ctx}"

    policy = """
        tools:
          query:
            kind: read
            allow: [staff]
            bind: {ctx: session.trace}
            schema: {type: object, properties: {q: {type: string}}, required: [q], additionalProperties: false}
    """
    session = Session(principal="u1", roles=("staff",), attributes={"trace": "t-1"})
    desk = start(tmp_path, wire, policy, {"query": query}, session=session)
    assert set(shown_schema(desk, "query")["properties"]) == {"q"}
    turn = desk.propose(("c1", "query", {"q": "up", **extra}))
    if "ctx" in extra:  # owned by the session: overwritten and noted
        assert desk.ran[0][1]["ctx"] == "t-1"
        assert desk.decision("c1")["spoof"] == ["ctx"]
    else:
        assert problems(outcome(turn, "c1"))[next(iter(extra))]["rule"] == "additionalProperties"
        assert not desk.ran
    desk.closed()


@BOTH
def test_an_untyped_parameter_outside_of_the_schema_br_057c(tmp_path: Path, wire: str) -> None:
    """A parameter without a type that the written schema leaves out is neither shown nor taken from the model."""

    def query(q: str, ctx=None) -> str:  # type: ignore[no-untyped-def]
        return f"{q} {ctx}"

    policy = """
        tools:
          query: {kind: read, allow: [staff], schema: {type: object, properties: {q: {type: string}}, required: [q]}}
    """
    desk = start(tmp_path, wire, policy, {"query": query})
    assert set(shown_schema(desk, "query")["properties"]) == {"q"}
    turn = desk.propose(("c1", "query", {"q": "up", "ctx": {"admin": True}}), ("c2", "query", {"q": "up"}))
    assert states(turn) == ["refused", "done"]
    assert "ctx" in problems(outcome(turn, "c1"))
    assert desk.ran == [("query", {"q": "up"})]
    desk.closed()


@BOTH
def test_a_context_that_the_host_fixed_br_057b(tmp_path: Path, wire: str) -> None:
    """A parameter fixed by the host with a partial is not shown, and refused as unknown when the model sends it."""

    def query(q: str, ctx: Any = None) -> str:
        return f"{q} {ctx['admin']}"

    tools = {"query": partial(query, ctx={"admin": False})}
    desk = start(tmp_path, wire, "tools: {query: {kind: read, allow: [staff]}}", tools, watched=False)
    assert set(shown_schema(desk, "query")["properties"]) == {"q"}
    turn = desk.propose(("c1", "query", {"q": "up", "ctx": {"admin": True}}), ("c2", "query", {"q": "up"}))
    assert states(turn) == ["refused", "done"]
    assert "ctx" in problems(outcome(turn, "c1"))
    assert desk.result("c2") == "up False"
    desk.closed()


@pytest.mark.parametrize("schema", ["signature", "written"])
def test_a_field_that_the_tool_forbids_br_059(tmp_path: Path, schema: str) -> None:
    """A bound field that the tool's own schema forbids is found at load, with line and cure, not call by call."""
    written = "schema: {type: object, properties: {msg: {type: string}}, required: [msg], additionalProperties: false}"
    policy = f"""
        tools:
          send:
            kind: action
            allow: [staff]
            approve: never
            bind: {{user_id: session.principal}}
            {written if schema == "written" else "description: Send a message."}
    """

    def send(msg: str) -> str:
        return msg

    def send_anything(**given: Any) -> str:
        return "sent"

    with pytest.raises(PolicyError) as raised:
        Guard.load(write(tmp_path, policy), tools={"send": send_anything if schema == "written" else send}, store="memory://")
    (problem,) = raised.value.problems
    assert "user_id" in problem.message
    assert problem.line
    assert problem.cure


SQL = """
    tools:
      execute_sql: {kind: read, allow: [staff]TAIL}
"""


@BOTH
@pytest.mark.parametrize("owner", ["11111111-0000-0000-0000-000000000000", "u1", "nobody"])
def test_identity_inside_free_text_br_060(tmp_path: Path, wire: str, owner: str) -> None:
    """No binding reaches into free text, so a rule about the person has to demand a bound argument of its own."""

    def execute_sql(query: str) -> str:
        return "rows"

    policy = SQL.replace("TAIL", ', refuse: {when: {query: {type: string}}, say: "Use my_rows, which is yours by itself."}')
    policy += "      my_rows: {kind: read, allow: [staff], bind: {user_id: session.principal}}\n"
    desk = start(tmp_path, wire, policy, {"execute_sql": execute_sql, "my_rows": salary})
    turn = desk.propose(("c1", "execute_sql", {"query": f"items of owner '{owner}'"}), ("c2", "my_rows", {}))
    assert states(turn) == ["refused", "done"]
    assert "my_rows" in error(outcome(turn, "c1"))["message"]
    assert desk.ran == [("my_rows", {"user_id": "u1"})]
    desk.closed()


def test_a_binding_to_an_absent_argument_protects_nothing_and_says_so_br_060b(tmp_path: Path) -> None:
    """A policy that binds a person to a tool with no such argument does not load, so nobody can believe it is enforced."""

    def execute_sql(query: str) -> str:
        return "rows"

    policy = SQL.replace("TAIL", ", bind: {user_id: session.principal}")
    with pytest.raises(PolicyError, match="execute_sql cannot take the bound field user_id"):
        Guard.load(write(tmp_path, policy), tools={"execute_sql": execute_sql}, store="memory://")


def test_bound_the_same_without_a_wire_br_054d(tmp_path: Path) -> None:
    """A call made directly gets the session's value as well, each call its own session's."""
    desk = start(tmp_path, "openai-chat", SALARY, {"salary": salary})
    for name in ("u1", "u2"):
        session = Session(principal=name, roles=("staff",))
        one = desk.guard.call(ToolCall("c1", "salary", {"user_id": "u7"}), session, conversation=f"of-{name}")
        assert one.content == f'{{"of":"{name}"}}'
    desk.closed()
