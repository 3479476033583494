"""The guard as one more column of a harness that gives each peer the same job; run by `path.py --peers DIR`.

In the figures: reading the provider's message, strict JSON with exact numbers, JSON Schema, the allow list and Casbin's roles, prerequisites and
limits as far as the policy has any (none here), ledger rows, an audit chain with three records a call, redaction, result messages. The
policy is the job's: `alice` is an employee; employees may look up and submit; nobody is asked. Memory rows keep everything in the process;
SQLite rows are durable (WAL, synchronous FULL) before an action starts. Not in the figures: opening a conversation, 64 turns each.

A turn must not look like the one before, or an equal action would rightly be replayed: two spellings of the same calls (a space more) take turns.
"""

import itertools
import tempfile
import warnings
from pathlib import Path

import paths
from gates import JOBS, check_for, hostile_refused
from harness import Case, serve, version_of
from job import SCHEMAS, TOOLS, make_calls

import guard

POLICY = {
    "tools": {
        "queryTravelPolicy": {"kind": "read", "allow": ["employee"], "schema": SCHEMAS["queryTravelPolicy"]},
        "submitExpense": {
            "kind": "action",
            "allow": ["employee"],
            "schema": SCHEMAS["submitExpense"],
            "approve": "never",
            "repeat": "allow",
        },
    }
}
TURNS = 64  # of one conversation


def written() -> Path:
    """The policy folder; JSON is YAML."""
    import json

    place = Path(tempfile.mkdtemp(dir=paths.scratch_dir("guard")))
    (place / "tools.yaml").write_text(json.dumps(POLICY))
    (place / "rules.csv").write_text("g, alice, employee, default\ng, manager, employee, default\ng, bob, manager, default\n")
    return place


def awaited(function):
    async def run(**arguments):
        return function(**arguments)

    return run


class Peer:
    """One guard and the conversation in use."""

    def __init__(self, store: str, *, later: bool = False):
        kind = guard.AsyncGuard if later else guard.Guard
        tools = {name: awaited(tool) if later else tool for name, tool in TOOLS.items()}
        self.guard = kind.load(written(), tools=tools, store=store)
        self.turns = itertools.count()

    def chat(self):
        turn = next(self.turns)
        if turn % TURNS == 0:
            session = guard.Session(principal="alice")
            self.open = self.guard.open(session, wire="openai-chat", conversation=f"bench-{turn // TURNS}")
        return turn, self.open

    def handle(self, spellings):
        turn, chat = self.chat()
        return chat.handle({"role": "assistant", "content": None, "tool_calls": spellings[turn % 2]}).messages

    async def handle_later(self, spellings):
        turn, chat = self.chat()
        return (await chat.handle({"role": "assistant", "content": None, "tool_calls": spellings[turn % 2]})).messages


def spelled(calls):
    """The same calls twice; the second time with a space more in each argument text."""
    spaced = [{**call, "function": {**call["function"], "arguments": call["function"]["arguments"] + " "}} for call in calls]
    return calls, spaced


warnings.simplefilter("ignore")
memory = Peer("memory://")
hostile_refused(lambda calls: memory.handle((calls, calls)), lambda result: '"error"' in result["content"])
sqlite = Peer(f"sqlite:///{paths.scratch_dir('guard')}/guard.db")
later = Peer("memory://", later=True)

cases = []
for label, run, note in (
    ("guard", memory.handle, "whole path, memory store"),
    ("guard_async", later.handle_later, "whole path, awaited tools, memory store"),
    ("guard_sqlite", sqlite.handle, "whole path, SQLite (WAL FULL)"),
):
    for kind, n in JOBS:
        calls = spelled(make_calls(kind, n))
        cases.append(
            Case(f"{label}/{kind}/{n}", lambda run=run, calls=calls: run(calls), n, kind, "layer", note, check_for(kind, n))
        )

if __name__ == "__main__":
    serve(cases, version_of("pydantic", "jsonschema", "pycasbin"))
