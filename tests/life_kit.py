"""What the tests of a call's life share: actions of every class over one store, taken by processes that die, and what stands behind the tools.

A `Life` is one store with one settable clock. `life.process()` is a program on it: a guard of its own, as after a restart. `life.dies(…)` is a
program that takes a call and ends before anything else is written, as if by SIGKILL; the clock then ends its lease.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from stores_kit import STORES, Clock, a_store, records
from wire_helpers import message

from guard import Outcome, PolicyWarning, Session
from guard.compose import Plan
from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Store
from guard.redactors import REDACTOR
from guard.runner import guard as runner
from guard.tools import registry

CLERK = Session(principal="E1", tenant="acme", roles=("clerk",))
BOSS = Session(principal="E2", tenant="acme", roles=("boss",))
OTHER_BOSS = Session(principal="E3", tenant="globex", roles=("boss",))
STRANGER = Session(principal="E4", tenant="acme", roles=("clerk",))
ENTRIES = {
    "once": "kind: action, allow: [clerk], approve: never",
    "same": "kind: action, allow: [clerk], approve: never, effect: idempotent",
    "ask": "kind: action, allow: [clerk], approve: never, effect: probe",
    "safe": "kind: action, allow: [clerk], approve: never, effect: {probe: {dedupes: true}}",
    "back": "kind: action, allow: [clerk], approve: never, effect: {compensate: undo}",
    "undo": "kind: action, allow: [clerk], approve: {by: [boss]}",
    "held": "kind: action, allow: [clerk], approve: {by: [boss]}",
    "twice": "kind: action, allow: [clerk], approve: {by: [boss]}, effect: idempotent",
    "look": "kind: read, allow: [clerk]",
}
LEASE = 30.0
COLOURS = {
    "sync": (runner.Guard, False),
    "async, plain tools": (runner.AsyncGuard, False),
    "async, async tools": (runner.AsyncGuard, True),
}


class DiedError(BaseException):
    """The process ends here."""


def policy(**changed: str) -> str:
    """The policy's text, with some entries written otherwise; an empty text leaves the tool out."""
    entries = {name: text for name, text in {**ENTRIES, **changed}.items() if text}
    lines = [f"  {name}: {{{text}}}" for name, text in entries.items()]
    return "\n".join(["tools:", *lines, "limits: {run: {calls: 500}}", ""])


class Mortal:
    """A store whose caller dies right after its `deaths`th claim was won, taken alone or with its decision."""

    def __init__(self, inner: Store, deaths: int = 1) -> None:
        self.inner, self.left, self.blocking, self.secret = inner, deaths, inner.blocking, inner.secret

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def claim(self, command: Any) -> Any:
        return self._won(self.inner.claim(command))

    def begin(self, command: Any) -> Any:
        return self._won(self.inner.begin(command))

    def _won(self, won: Any) -> Any:
        self.left -= 1
        if not self.left:
            raise DiedError
        return won


def _tool(name: str, waits: bool) -> Callable[..., Any]:
    def plain(n: int = 0, *, idempotency_key: str = "") -> Any:
        life = LIVING[-1]
        life.ran.append((name, n, idempotency_key))
        return life.answers.get(name, lambda number: {"n": number})(n)

    async def awaited(n: int = 0, *, idempotency_key: str = "") -> Any:
        found = plain(n, idempotency_key=idempotency_key)
        return await found if inspect.isawaitable(found) else found

    return awaited if waits else plain


def _probe(key: str) -> Any:
    LIVING[-1].asked.append(key)
    return LIVING[-1].answers.get("probe", lambda _: None)(key)


async def _probe_awaited(key: str) -> Any:
    return _probe(key)


PROBES = {waits: dict.fromkeys(("ask", "safe"), _probe_awaited if waits else _probe) for waits in (False, True)}


@lru_cache(maxsize=64)
def compiled_policy(text: str, waits: bool) -> tuple[Any, Any]:
    """The policy of this text, with the tools of one colour, through the real loader."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        Path(folder, "tools.yaml").write_text(text)
        tools = registry({name: _tool(name, waits) for name in ENTRIES})
        plan = Plan(folders=(folder,), tools=tools, checks={}, probes=PROBES[waits], awaits=waits)
        built = plan.build(plan.read(ask=True))
    return built.policy, built.tools


LIVING: list[Life] = []
"""Whose tools run now: policies and tools are compiled once for all tests."""


@dataclass
class Life:
    """One store, and everything that was run on it as (tool, n, idempotency key)."""

    folder: Path
    colour: str
    store: Store
    clock: Clock
    ran: list[tuple[str, int, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # the keys that probes were asked about
    answers: dict[str, Any] = field(default_factory=dict)  # tool, or "probe": what it does with its number or key
    text: str = field(default_factory=policy)

    def process(self, store: Any = None, **changed: str) -> Any:
        """A guard on the store, with entries of the policy changed."""
        kind, waits = COLOURS[self.colour]
        compiled, tools = compiled_policy(policy(**changed) if changed else self.text, waits)
        made: Any = kind(policy=compiled, store=store or self.store, tools=tools, redactor=REDACTOR, probes=PROBES[waits])
        return made

    # -- acting --------------------------------------------------------------------------------------------------------

    def run(self, value: Any) -> Any:
        """The value, awaited where the guard is asynchronous."""
        return asyncio.run(_wait(value)) if inspect.isawaitable(value) and not isinstance(value, Mapping) else value

    def chat(self, guard: Any, session: Session = CLERK, conversation: str = "c", **more: Any) -> Any:
        return guard.open(session, wire="openai-chat", conversation=conversation, **more)

    def propose(self, guard: Any, *calls: tuple[str, int], call_id: str = "c", **more: Any) -> list[Outcome]:
        """A new message with these calls, with its results not in any history; their outcomes."""
        turn = self.run(self.chat(guard, **more).handle(reply(*calls, call_id=call_id)))
        return list(turn.outcomes)

    def dies(self, tool: str, n: int = 1, *, call_id: str = "c", lost: bool = True, **changed: str) -> CallRow:
        """A process takes this call and is gone; with `lost` its lease is over then. The row as it is left."""
        dead = self.process(Mortal(self.store), **changed)
        dead.hands.keeper.disown = lambda *_: None  # the dead write nothing more
        with pytest.raises(DiedError):
            self.propose(dead, (tool, n), call_id=call_id)
        if lost:
            self.clock.now += LEASE + 1
        return next(row for row in reversed(self.rows()) if row.status == "started")

    def settled(self, guard: Any, **more: Any) -> str:
        """What the model is told now, as text; empty when there is nothing."""
        told = self.run(self.chat(guard, **more).settled())
        return json.dumps(told) if told else ""

    def approve(self, guard: Any, approver: Session = BOSS) -> None:
        """Say yes to everything that waits."""
        for asked in self.run(guard.approvals.list()):
            self.run(guard.approvals.approve(asked.id, approver=approver))

    # -- looking ---------------------------------------------------------------------------------------------------------

    def rows(self) -> list[CallRow]:
        return list(self.store.rows(ConversationRef(tenant="acme", principal="E1", conversation="c")))

    def statuses(self) -> list[str]:
        return [row.status for row in self.rows()]

    def keys(self, tool: str) -> list[str]:
        return [key for name, _, key in self.ran if name == tool]

    def events(self, kind: str) -> list[dict[str, Any]]:
        bodies = [json.loads(record.body) for record in records(self.store)]
        return [body for body in bodies if body["kind"] == kind]


@contextmanager
def living(life: Life) -> Iterator[Life]:
    """Tools that run now are this life's."""
    LIVING.append(life)
    try:
        yield life
    finally:
        LIVING.pop()


def until(what: Callable[[], Any], seconds: float = 5.0) -> Any:
    """What this gives as soon as it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


async def _wait(value: Any) -> Any:
    return await value


def reply(*calls: tuple[str, int], call_id: str = "c") -> dict[str, Any]:
    return message("openai-chat", *((f"{call_id}{i}", name, f'{{"n": {n}}}') for i, (name, n) in enumerate(calls)))


def a_life(request: pytest.FixtureRequest, folder: Path) -> Iterator[Life]:
    """For a fixture with the params `lives`."""
    colour, kind = request.param
    clock = Clock()
    for store in a_store(kind, folder, clock):
        with living(Life(folder, colour, store, clock)) as life:
            yield life


all_lives = [pytest.param((colour, kind), id=f"{colour}, {kind}") for colour in COLOURS for kind in STORES]
_pairs = [*(("sync", kind) for kind in STORES), ("async, plain tools", STORES[-1]), ("async, async tools", STORES[0])]
lives = [pytest.param(pair, id=", ".join(pair)) for pair in _pairs]
plain_lives = [pytest.param(("sync", kind), id=kind) for kind in STORES]


def error(one: Outcome) -> dict[str, Any]:
    """The error that the model reads."""
    assert isinstance(one.content, str)
    found: dict[str, Any] = json.loads(one.content)["error"]
    return found


def said(one: Outcome) -> tuple[str, str | None]:
    return one.status, None if one.reason is None else str(one.reason)


UNKNOWN = ("unknown", "outcome_unknown")
DONE = ("done", None)
