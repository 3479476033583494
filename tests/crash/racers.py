"""Racers: threads, tasks and processes that handle the same call at the same moment, each with a tool that says who ran it.

As a program: `racers FOLDER URL KIND PROCESSES CALLS SECONDS`; KIND is `sync` or `async`. Prints what every process was told.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from wire_helpers import message

from crash import fleet, targets
from guard import AsyncGuard, Guard, Session

SESSION = Session(principal="E1", roles=("employee",))
GO = {"role": "user", "content": "go"}
POLICY = """
tools:
  act: {kind: action, allow: [employee], approve: never}
limits:
  run: {calls: 1000}
"""


def load(folder: Path, url: str, kind: str, seconds: float) -> Any:
    """A guard whose tool takes so long, and leaves a line each time it runs."""
    if not (folder / "tools.yaml").exists():  # others may be reading it just now
        (folder / "tools.yaml").write_text(POLICY)

    def acted(n: int) -> dict[str, Any]:
        targets.write(folder, "effect", n)
        return {"n": n, "by": f"{os.getpid()}.{time.monotonic_ns()}"}

    def plain(n: int) -> Any:
        time.sleep(seconds)
        return acted(n)

    async def awaited(n: int) -> Any:
        await asyncio.sleep(seconds)
        return acted(n)

    if kind == "async":
        return AsyncGuard.load(folder, tools={"act": awaited}, store=url)
    return (AsyncGuard if kind == "async, plain tools" else Guard).load(folder, tools={"act": plain}, store=url)


def reply(calls: int, mark: str = "") -> dict[str, Any]:
    """One message with so many actions; `mark` makes its ids differ from those of an equal one."""
    return message("openai-chat", *((f"c{mark}{n}", "act", json.dumps({"n": n})) for n in range(calls)))


def chat_of(guard: Any) -> Any:
    """The one conversation."""
    return guard.open(SESSION, wire="openai-chat", conversation="c")


def told(turn: Any) -> list[tuple[str, str]]:
    """Status and content of each call, in order."""
    return [(outcome.status, outcome.content) for outcome in turn.outcomes]


def race(folder: Path, url: str, kind: str, processes: int, calls: int, seconds: float) -> list[list[tuple[str, str]]]:
    """What each of so many processes was told about the same reply."""
    load(folder, "memory://", kind, seconds).close()  # what is imported with the first policy
    gate = time.monotonic() + 0.5

    def work(number: int) -> None:
        guard = load(folder, url, kind, seconds)
        time.sleep(max(0.0, gate - time.monotonic()))
        given = chat_of(guard).handle(reply(calls), history=[GO])
        turn = given if kind == "sync" else asyncio.run(_awaited(given))
        (folder / f"told-{number}").write_text(json.dumps(told(turn)))
        guard.close()

    children = [fleet.forked(folder, f"racer-{number}", lambda number=number: work(number)) for number in range(processes)]
    for number, child in enumerate(children):
        if os.waitpid(child, 0)[1]:
            raise fleet.BrokenError(fleet.said(folder, f"racer-{number}"))
    return [json.loads((folder / f"told-{number}").read_text()) for number in range(processes)]


async def _awaited(given: Any) -> Any:
    return await given


if __name__ == "__main__":
    place, where, which, *rest = sys.argv[1:]
    print(json.dumps(race(Path(place), where, which, int(rest[0]), int(rest[1]), float(rest[2]))))
