"""What the tests of the schemas share: short ways to write a schema and to compile one, alone or in a policy."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from guard.core.rules import Tool
from guard.policy import Declared, load_policy
from guard.policy.fields import normal
from guard.policy.problems import Problems
from guard.policy.schemas import Schema, compile_schema
from guard.policy.source import Item

D = Decimal


def schema(source: dict[str, Any], *, closed: bool = True) -> Schema:
    """The compiled schema; any mistake in it fails the test."""
    problems = Problems()
    compiled = compile_schema(normal(source, signature=True) if closed else source, Item("x.yaml", 1), problems, "schema")
    assert compiled is not None, problems.errors
    return compiled


def fields(**properties: Any) -> dict[str, Any]:
    """An object schema with these properties."""
    return {"type": "object", "properties": properties}


def tool(tmp_path: Path, line: str, **declared: Any) -> Tool:
    """The compiled tool `t` whose entry has this line more."""
    (tmp_path / "tools.yaml").write_text(f"tools:\n  t:\n    kind: read\n    allow: [a]\n    {line}\n")
    return load_policy(tmp_path, [Declared(name="t", **declared)]).policy.tools["t"]
