"""What the tests of held calls in few transactions share: a conversation over a store that writes steps at once, or each by itself."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wire_helpers import message

from guard import Guard, OutcomeUnknownError, PolicyWarning, Session
from guard.core import ports as p
from guard.errors import StoreError
from guard.runner import drivers

POLICY = """
tools:
  pay: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 2, per: 7d}]}
  try_: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 1, per: 7d, enforce: shadow}]}
  send: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 1, per: 7d}], unknown: {target: [to]}}
  free: {kind: action, allow: [staff], approve: {by: [boss]}, limits: [{calls: 9, per: 7d}], unknown: {target: [to]}}
"""
ANN, BOSS = Session(principal="u1", roles=("staff",)), Session(principal="b1", roles=("boss",))
KINDS = [(kind, apart) for kind in ("memory", "sqlite") for apart in (False, True)]
IDS = [f"{kind}-{'apart' if apart else 'at once'}" for kind, apart in KINDS]


class Apart:
    """A store that writes each step in a transaction of its own, as one with several writers does."""

    at_once = False

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Place:
    """A conversation, what ran, and the commands that the store was given."""

    def __init__(self, guard: Guard, ran: list[int], url: str) -> None:
        self.guard, self.ran, self.url = guard, ran, url
        self.chat = guard.open(ANN, wire="openai-chat", conversation="c")
        self.said = [self.chat.user("go")]
        self.asked: list[str] = []

    def propose(self, n: int, tool: str = "pay", **more: Any) -> Any:
        """What becomes of a call."""
        turn = self.chat.handle(message("openai-chat", (f"c{n}", tool, json.dumps({"n": n, **more}))), history=self.said)
        self.said += turn.append
        return turn

    def approved(self, n: int, tool: str = "pay", **more: Any) -> Any:
        """The approval of a call that a person has said yes to."""
        [asked] = self.propose(n, tool, **more).pending
        self.guard.approvals.approve(asked, approver=BOSS)
        return asked

    def records(self) -> list[dict[str, Any]]:
        """All records, oldest first."""
        return [json.loads(one.body) for one in self.guard.store.audit()]

    def kinds(self) -> list[str]:
        """Their kinds."""
        return [record["kind"] for record in self.records()]

    def drawn(self) -> int:
        """How much all calls hold of the budgets."""
        return self.guard.store._tables.read(  # type: ignore[attr-defined,no-any-return]
            lambda tables: sum(len(tables.draws(("default", "c"), (turn, 0), sums_only=False)) for turn in range(1, 9))
        )


def a_place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Such a conversation on a store that writes at once, or step by step."""
    (tmp_path / "tools.yaml").write_text(POLICY)
    kind, apart = request.param
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/guard.db"
    ran: list[int] = []
    with guard_on(tmp_path, url, ran) as guard:
        if apart:
            guard.store = guard.hands.store = Apart(guard.store)  # type: ignore[assignment]
        found = Place(guard, ran, url)
        perform = drivers.SyncRun._perform

        def noted(self: Any, command: p.Command[Any]) -> Any:
            found.asked.append(type(command).__name__)
            return perform(self, command)

        monkeypatch.setattr(drivers.SyncRun, "_perform", noted)
        yield found


def tools(ran: list[int]) -> list[Any]:
    """The tools, which note what ran; `send` and `free` break so that nobody knows what they did."""

    def pay(n: int) -> int:
        ran.append(n)
        return n

    def try_(n: int) -> int:
        ran.append(n)
        return n

    def send(n: int, to: str) -> int:
        ran.append(n)
        raise OutcomeUnknownError

    def free(n: int, to: str) -> int:
        return send(n, to)

    return [pay, try_, send, free]


def guard_on(folder: Path, url: str, ran: list[int]) -> Guard:
    """A guard over the policy in this folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(folder, tools=tools(ran), store=url)


class Around:
    """A store with which something happens right before a call is taken, or behind it."""

    def __init__(self, store: Any, before: Any = None, behind: Any = None) -> None:
        self._store, self._before, self._behind = store, before, behind
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("claim", "begin"):
            return found

        def around(command: Any) -> Any:
            self.asked.append(name)
            if self._before is not None:
                self._before()
            answer = found(command)
            if self._behind is not None:
                self._behind()
            return answer

        return around


class Breaking:
    """Tables whose transactions fail when all is done and nothing is committed, from now on."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)

    def write(self, work: Any) -> Any:
        """Do it, and fail."""

        def broken(tables: Any) -> Any:
            work(tables)
            raise StoreError("the disk is full", code="disk_full")

        return self._tables.write(broken)
