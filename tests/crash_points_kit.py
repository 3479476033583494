"""What the tests of the crash points share: a process that dies where it was told to, and a look at what it left."""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from crash import places, targets
from crash.point import GO, chat_of, guard_on, reply
from crash.verdict import code
from provider_rules import check_anthropic, check_openai
from stores_kit import records
from wire_helpers import answers

from guard import Guard, Turn
from guard.core.ports import CallRow
from guard.stores.chain import verify_store

HERE = Path(__file__).parent


@lru_cache(maxsize=1)
def nursery() -> subprocess.Popen[str]:
    """The process that the others are forked from; it ends with the tests."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "crash.point"]
    child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
    atexit.register(child.communicate)  # its input ends, and so does it
    return child


@dataclass(slots=True)
class Point:
    """One store, one conversation on one wire, one call of one tool."""

    folder: Path
    store: str
    wire: str
    tool: str
    url: str = ""

    def __post_init__(self) -> None:
        self.url = places.url_of(self.store, self.folder)

    def child(self, where: str, verb: str, how: str) -> tuple[int, str, str]:
        """A process of its own does the verb: how it ended, what it found, what it complained of."""
        given = [str(self.folder), self.url, self.wire, self.tool, where, verb, how]
        print(json.dumps(given), file=nursery().stdin, flush=True)
        status, found, said = json.loads(nursery().stdout.readline())
        return status, found, said

    def die(self, where: str, verb: str = "handle") -> None:
        """A process dies there, by a real SIGKILL."""
        status, found, said = self.child(where, verb, "die")
        assert status == -9, found + said

    def full(self, where: str) -> list[Any]:
        """What a process is told whose disk is full from there on: (status, reason) of each outcome."""
        status, found, said = self.child(where, "handle", "full")
        assert status == 0, said
        return list(json.loads(found))

    @contextmanager
    def after(self) -> Iterator[Guard]:
        """A new process's guard; whatever happened, the chain verifies in the end."""
        guard = guard_on(self.folder, self.url)
        try:
            yield guard
            assert verify_store(guard.store).ok
        finally:
            guard.close()

    def handle(self, guard: Guard) -> Turn:
        """The same reply once more, with the history of its time."""
        return chat_of(guard, self.wire).handle(reply(self.wire, self.tool), history=[GO])

    def told(self, messages: list[Any]) -> str:
        """What the model sees for the one call id, in a history that the provider takes."""
        history = [GO, *messages] if messages[0] != GO else messages
        if self.wire == "anthropic":
            check_anthropic({"messages": history, "max_tokens": 9})
        else:
            check_openai({"messages": history})
        [(call_id, content)] = answers(self.wire, history)
        assert call_id == "c1"
        return code(content if isinstance(content, str) else "".join(block["text"] for block in content))

    def resumed(self, guard: Guard) -> str:
        """What the model sees when the history is closed instead."""
        return self.told(chat_of(guard, self.wire).resume([GO, reply(self.wire, self.tool)]))

    def row(self, guard: Guard) -> CallRow | None:
        """The call in the ledger, as it stands on the disk."""
        rows = guard.store.rows(chat_of(guard, self.wire).ref)
        return next((row for row in rows if row.key.position == 0 and row.key.turn == 1), None)

    def status(self, guard: Guard) -> str:
        """Its status; `none` where there is no row."""
        row = self.row(guard)
        return "none" if row is None else row.status

    def effects(self) -> int:
        """How often it took effect, counted outside of the store."""
        return len(targets.lines(self.folder, "effect")) + targets.Deduping(self.folder).counts().total()

    def invocations(self) -> int:
        """How often a tool was called."""
        return len(targets.lines(self.folder, "invoke"))


def kinds(guard: Guard) -> list[str]:
    """The kinds of all audit records, in order."""
    return [json.loads(record.body)["kind"] for record in records(guard.store)]


def told_ends(content: object) -> list[str]:
    """How `once_asked`, proposed as c1, ended, as often as follow-ups in this content say so."""
    return re.findall(r"once_asked \(call c1, approval ap_[0-9a-f]+\): (\w+)", str(content))
