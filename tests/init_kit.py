"""What the tests of `guard init` share: the command in this process, what it wrote, and proof that a folder refuses."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Ran, in_process

from guard import Guard, PolicyWarning, Session, ToolCall
from guard.core.values import JsonObject
from guard.policy import Loaded, load_policy

CALLER = Session(
    principal="E1",
    tenant="acme",
    roles=("ROLE", "approver", "admin", "user", "customer", "employee", "tester"),
    attributes={"email": "e1@example.com", "job_level": "P6", "user_id": 7, "customer_id": 7},
)
REFUSALS = {"not_authorized", "invalid_arguments", "session_fact_missing", "arguments_too_large", "malformed_arguments"}


class Desk:
    """`guard` in one folder."""

    def __init__(self, path: Path, run: Callable[..., Ran]) -> None:
        self.path = path
        self.guard = run

    def file(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.path / name).write_text(text, "utf-8")
        return name

    def init(self, content: Any, *words: str) -> JsonObject:
        """What `--json` says about a source that is a file's content."""
        done = self.guard("init", self.file("source.json", content), "--json", "--force", *words)
        assert done.code == 0, done.err
        found: JsonObject = json.loads(done.out)
        return found

    def text(self, folder: str = "policies") -> str:
        return "".join(path.read_text("utf-8") for path in sorted((self.path / folder).glob("*.yaml")))

    def loaded(self, folder: str = "policies") -> Loaded:
        return load_policy(self.path / folder)

    def schema(self, tool: str) -> JsonObject:
        return self.loaded().policy.tools[tool].schema


def desk(path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(path, in_process(path, monkeypatch, capfd))


def guesses(told: JsonObject, tool: str) -> dict[str, Any]:
    """The guesses about one tool: key → (value, active)."""
    [found] = [one for one in told["tools"] if one["name"] == tool]
    return {one["key"]: (one["value"], one["active"]) for one in found["guesses"]}


def kinds(told: JsonObject) -> dict[str, str]:
    return {one["name"]: one["kind"] for one in told["tools"]}


def refusing(folder: Path, calls: Iterable[tuple[str, Any]] = ()) -> dict[str, int]:
    """Load the folder with recorders for functions and make every call of it; how often each reason was given.

    Nothing may run, and nobody may be permitted, whatever roles somebody has.
    """
    ran: list[str] = []
    loaded = load_policy(folder)

    def recorder(name: str) -> Callable[..., Any]:
        return lambda **arguments: ran.append(name)

    names = list(loaded.policy.tools)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)  # nobody may call anything, which is what is warned of
        guard = Guard.load(folder, tools={name: recorder(name) for name in names}, store="memory://")
    reasons: dict[str, int] = {}
    with guard:
        made = [*calls, *((name, {}) for name in names), *((name, example(loaded.policy.tools[name].visible)) for name in names)]
        for number, (name, arguments) in enumerate(made):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            outcome = guard.call(ToolCall(f"c{number}", name, text), CALLER, conversation=f"conv-{number}")
            assert outcome.status == "refused", (name, outcome)
            reasons[str(outcome.reason)] = reasons.get(str(outcome.reason), 0) + 1
    assert ran == []
    assert not any(loaded.policy.authorizer.decide(CALLER, name, "call").allowed for name in names)
    return reasons


def example(schema: Mapping[str, Any]) -> JsonObject:
    """Arguments that probably fit a plain schema."""
    return {name: _value(shape) for name, shape in schema.get("properties", {}).items() if name in schema.get("required", ())}


def _value(shape: Any) -> Any:
    if not isinstance(shape, Mapping):
        return "x"
    if "enum" in shape:
        return shape["enum"][0]
    kind = shape.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "null": None}.get(
        kind, example(shape) if kind == "object" else "x"
    )
