"""A policy folder that changes under a running guard: the texts, and how to wait for what a thread does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guard import Guard, PolicyWarning, Session, ToolCall

BASE = """tools:
  look: {kind: read, allow: [clerk], schema: {type: object, properties: {n: {type: integer}}}}
  pay:
    kind: action
    allow: [clerk]
    schema: {type: object, properties: {n: {type: integer}}, required: [n]}
    approve: {by: [boss]}
limits: {run: {calls: 100000}}
"""
CLOSED = BASE.replace("look: {kind: read, allow: [clerk]", "look: {kind: read, allow: [auditor]")
BROKEN = BASE.replace("kind: read", "kind: reed")
CLERK, BOSS = Session(principal="E1", roles=("clerk",)), Session(principal="B1", roles=("boss",))


def write(folder: Path, text: str = BASE, rules: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    whole = folder / ".tools.yaml"  # put there by one step: nobody reads half of it
    whole.write_text(text, "utf-8")
    whole.replace(folder / "tools.yaml")
    if rules is not None:
        (folder / "rules.csv").write_text(rules, "utf-8")
    return folder


def look(n: int = 0) -> dict[str, int]:
    return {"n": n}


def pay(n: int) -> dict[str, int]:
    return {"paid": n}


def load(folder: Path, kind: Any = Guard, **options: Any) -> Any:
    tools = options.pop("tools", [look, pay])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return kind.load(folder, tools=tools, store=options.pop("store", "memory://"), **options)


def asks(guard: Guard, tool: str = "look", n: int = 1) -> tuple[str, Any]:
    outcome = guard.call(ToolCall("1", tool, {"n": n}), CLERK, conversation="c")
    return outcome.status, outcome.reason


def until(found: Callable[[], object], seconds: float = 120.0) -> Any:
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return value
