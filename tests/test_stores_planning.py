"""What a file spends on a call: its statements are planned once, whatever values they are asked with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, Session, ToolCall, tool

POLICY = """
tools:
  look: {kind: read, allow: [user]}
  act: {kind: action, allow: [user], approve: never}
limits: {run: {calls: 1000}}
"""


@tool
def look(text: str) -> dict[str, str]:
    """Say it."""
    return {"said": text}


@tool
def act(text: str) -> dict[str, str]:
    """Do it."""
    return {"done": text}


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "tools.yaml").write_text(POLICY, "utf-8")
    made = Guard.load(tmp_path / "policies", tools=[look, act], store=f"sqlite:///{tmp_path}/guard.db")
    yield made
    made.close()


def test_no_statement_of_a_call_is_planned_anew(guard: Guard) -> None:
    """After a few calls every statement about calls stands ready: a value never makes SQLite plan one again, which costs more than all of them."""
    session, planned = Session(principal="U1", roles=("user",)), list[str]()

    def seen(_: int, table: str | None, column: str | None, *_rest: Any) -> int:
        planned.append(f"{table}.{column}")  # SQLite asks so while it plans, and never again
        return 0

    def call(number: int) -> None:
        for name in ("look", "act"):
            found = guard.call(ToolCall(f"c{number}", name, {"text": f"word {number}"}), session, conversation="one")
            assert found.status == "done", found

    guard.store._tables.read(lambda _: None)
    guard.store._tables.database.pen.open().set_authorizer(seen)
    for number in range(3):
        call(number)
    assert any(one.startswith("calls.") for one in planned), "this is seen at all"
    planned.clear()
    for number in range(3, 9):
        call(number)
    assert [one for one in planned if one.startswith(("calls.", "turns.", "claims.", "approvals.", "draws."))] == []
