"""A program that dies inside a tool: `crash_child.py FOLDER WIRE HOW WHEN TOOL`. The tests of `resume` start it and read what it left.

HOW is `exit` (os._exit) or `kill` (SIGKILL), WHEN `before` or `after` the effect, TOOL the one that dies. An effect is a line in FOLDER/effects.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wire_helpers import message

from guard import Guard, Session

SESSION = Session(principal="E1", roles=("employee",))
POLICY = """
tools:
  look: {kind: read, allow: [employee]}
  act: {kind: action, allow: [employee], approve: never}
  pay: {kind: action, allow: [employee], approve: never}
  ask: {kind: action, allow: [employee], approve: {by: [boss]}}
limits:
  run: {calls: 100}
"""
CALLS = (
    ("c0", "look", {"n": 0}),
    ("c1", "act", {"n": 1}),
    ("c2", "pay", {"n": 2}),
    ("c3", "act", {"n": 3}),
    ("c4", "ask", {"n": 4}),
)
TOOLS = ("look", "act", "pay", "ask")


def load(folder: Path, die: Callable[[str, str], None] = lambda name, when: None) -> Guard:
    """A guard on the folder's file, with tools that leave a line and may die."""

    def tool(name: str) -> Callable[..., Any]:
        def run(n: int = 0) -> Any:
            die(name, "before")
            with (folder / "effects").open("a") as effects:
                effects.write(f"{name} {n}\n")
            die(name, "after")
            return {"n": n}

        return run

    (folder / "tools.yaml").write_text(POLICY)
    return Guard.load(folder, tools={name: tool(name) for name in TOOLS}, store=where(folder))


def where(folder: Path) -> str:
    """The store of this folder: a file, or what its file `store` names."""
    named = folder / "store"
    return named.read_text() if named.exists() else f"sqlite:///{folder / 'guard.db'}"


def reply(wire: str) -> dict[str, Any]:
    """One message with all the calls."""
    return message(wire, *((i, name, sent if wire == "anthropic" else f'{{"n": {sent["n"]}}}') for i, name, sent in CALLS))


def main(folder: str, wire: str, how: str, moment: str, dying: str) -> None:
    """Handle the reply, and die."""

    def die(name: str, when: str) -> None:
        if (name, when) == (dying, moment):
            if how == "exit":
                os._exit(9)
            os.kill(os.getpid(), signal.SIGKILL)

    guard = load(Path(folder), die)
    chat = guard.open(SESSION, wire=wire, conversation="c")
    chat.handle(reply(wire), history=[chat.user("go")])


if __name__ == "__main__":
    main(*sys.argv[1:])
