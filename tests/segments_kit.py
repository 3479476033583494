"""What the tests of closed months share: a desk whose October is over, and the command line over its store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_kit import Ran, Run
from stores_kit import url_of
from votes_kit import BOSS, OTHER, PAY, Office

from guard.proof import keys

OCTOBER, NOVEMBER = 1_792_000_000.0, 1_793_600_000.0  # the 14th and the 2nd
GRANTS = ", need: 2, expires: 1h, edit: [amount], grants: [{scope: tool_here, uses: 5, until: 60d}]"


@dataclass
class Archive:
    """A store with records of two months, a key, and the command line."""

    desk: Office
    folder: Path
    url: str
    guard: Run
    public: str

    def run(self, *words: str) -> Ran:
        return self.guard("audit", *words, "--store", self.url)

    def close(self, month: str = "2026-10", *, signed: bool = True, file: str = "oct.jsonl") -> Ran:
        more = ("--key", "k", "--to", "c.jsonl") if signed else ()
        return self.run("close", "--month", month, "--export", file, *more)

    def drop(self, month: str = "2026-10", *more: str, file: str = "oct.jsonl") -> Ran:
        return self.run(
            "drop", "--month", month, "--export", file, "--public-key", "k.pub", "--checkpoints", "c.jsonl", "--yes", *more
        )

    def verify(self, *more: str) -> Any:
        ran = self.run("verify", "--json", "--no-record", "--checkpoints", "c.jsonl", "--public-key", "k.pub", *more)
        return json.loads(ran.out)

    def told(self, *more: str) -> str:
        return self.run("verify", "--no-record", "--checkpoints", "c.jsonl", "--public-key", "k.pub", *more).out


class Desk(Office):
    """A desk whose clock begins in October."""

    def start(self) -> None:
        self.clock.now = min(self.clock.now, OCTOBER) if not self.ran else self.clock.now
        super().start()


@contextmanager
def archive(kind: str, folder: Path, guard: Run) -> Iterator[Archive]:
    """Three questions that were decided in October, a grant that stands, and more in November; nothing of October is open."""
    made = keys.make(folder / "k")
    (folder / "k.pub").write_text(f"{made.public}\n", "utf-8")
    (folder / "c.jsonl").touch()
    with url_of(kind, folder) as url:
        desk = Desk(folder, url, PAY.format(more=GRANTS).replace("kind: action", "kind: action\n    repeat: allow"))
        talk(desk)
        desk.clock.now = NOVEMBER
        talk(desk, grant=False)
        try:
            yield Archive(desk, folder, url, guard, made.public)
        finally:
            desk.guard.close()


def talk(desk: Office, *, grant: bool = True) -> None:
    """One question is approved and carried out, one rejected, one withdrawn; a grant is given and used."""
    for name in ("approved", "rejected", "withdrawn"):
        desk.say("Please pay.")
        asked = desk.ask(1, call=name)
        _decide(desk, name, asked)
    if grant:
        asked = desk.ask(2, call="granted")
        for who in (BOSS, OTHER):
            desk.approvals.approve(asked.id, approver=who)
        for who in (BOSS, OTHER):
            desk.guard.grants.give(asked.id, by=who, scope="tool_here", uses=5)
        desk.settle()
        desk.propose(3, call="under")


def _decide(desk: Office, name: str, asked: Any) -> None:
    acts: dict[str, Callable[[], object]] = {
        "approved": lambda: [desk.approvals.approve(asked.id, approver=who) for who in (BOSS, OTHER)],
        "rejected": lambda: desk.approvals.reject(asked.id, approver=BOSS),
        "withdrawn": lambda: desk.approvals.cancel(asked.id, by=BOSS, reason="no"),
    }
    acts[name]()
    desk.settle()
