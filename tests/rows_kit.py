"""What the tests of edited rows share: a store in which every table that decides something has rows, and how one column of one of them is edited and put back."""

from __future__ import annotations

import random
import sqlite3
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from stores_kit import Clock
from wire_helpers import message

from guard import Guard, OutcomeUnknownError, PolicyWarning, Session
from guard.runner.erasing import Payloads

POLICY = """
tools:
  pay:
    kind: action
    allow: [staff]
    repeat: allow
    bind: {account: session.account}
    unknown: {target: [to]}
    approve:
      by: [boss]
      need: 2
      expires: 4h
      use_within: 1h
      edit: [amount]
      show: [amount, to]
      secret: [note]
      escalate: {after: 1h, to: [head]}
      grants: [{scope: tool_here, uses: 5, until: 1d}, {amount: amount, at_most: 500, sum: 900, same: [to], until: 7d}]
  send:
    kind: action
    allow: [staff]
    approve: never
    unknown: {target: [to]}
  look:
    kind: read
    allow: [staff]
    bind: {account: session.account}
limits:
  run: {calls: 1000}
  conversation: {calls: 900, tokens: 100000}
  windows: [{calls: 500, per: 24h}]
"""
ANN = Session(principal="u1", roles=("staff",), attributes={"account": "A-1"})
BOSSES = [Session(principal=f"b{number}", roles=("boss",)) for number in range(4)]
HEAD = Session(principal="h1", roles=("head",))


@dataclass
class Scene:
    """A store, and the program on it, in which one call is still under way."""

    url: str
    guard: Guard
    names: dict[str, str]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in execute(self.url, sql)]


def execute(url: str, sql: str, *values: Any) -> list[Any]:
    """As somebody does who may write the database and knows how to get past the triggers; `?` stand for the values."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            kept = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in kept:
                file.execute(f"DROP TRIGGER {name}")
            found = file.execute(sql, values).fetchall()
            for _, made in kept:
                file.execute(made)
            file.commit()
            return found
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("SET session_replication_role = replica")
        cursor = database.execute(sql.replace("%", "%%").replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


def columns(url: str) -> dict[str, list[tuple[str, bool]]]:
    """Every table with its columns, and whether each belongs to its primary key."""
    if url.startswith("sqlite"):
        tables = [name for (name,) in execute(url, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [(one[1], one[5] > 0) for one in execute(url, f"PRAGMA table_info({name})")] for name in tables}
    found: dict[str, list[tuple[str, bool]]] = {}
    keyed = (
        "SELECT c.table_name, c.column_name, EXISTS (SELECT 1 FROM information_schema.key_column_usage k JOIN information_schema.table_constraints t"
        " ON t.constraint_name = k.constraint_name AND t.table_schema = k.table_schema WHERE t.constraint_type = 'PRIMARY KEY'"
        " AND k.table_name = c.table_name AND k.column_name = c.column_name) FROM information_schema.columns c"
        " JOIN information_schema.tables t ON t.table_name = c.table_name AND t.table_schema = c.table_schema"
        " WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' ORDER BY c.ordinal_position"
    )
    for table, column, key in execute(url, keyed):
        found.setdefault(table, []).append((column, key))
    return found


@contextmanager
def edited(url: str, table: str, where: str, change: str, keys: list[str]) -> Iterator[str]:
    """One random row of these with a change (`column = value`), put back as it was behind; gives what was changed."""
    names, one = ", ".join(keys), " AND ".join(f"{key} = ?" for key in keys)
    spots = execute(url, f"SELECT {names} FROM {table} WHERE {where}")  # noqa: S608 - names of ours, here and below
    assert spots, (table, where)
    spot = random.Random().choice(spots)
    execute(url, f"CREATE TABLE kept AS SELECT * FROM {table}")  # noqa: S608
    try:
        execute(url, f"UPDATE {table} SET {change} WHERE {one}", *spot)  # noqa: S608
        yield f"{table} {tuple(spot)}"
    finally:
        for statement in (f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM kept", "DROP TABLE kept"):  # noqa: S608
            execute(url, statement)


class Desk:
    """Somebody who proposes calls, in one conversation."""

    def __init__(self, guard: Guard, name: str) -> None:
        self.chat = guard.open(ANN, wire="openai-chat", conversation=name, held="answer")
        self.history: list[dict[str, Any]] = [self.chat.user("Please do.")]

    def call(self, tool: str, call: str = "c", **arguments: Any) -> Any:
        told = {
            "choices": [{"message": message("openai-chat", (call, tool, arguments))}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3},
        }
        turn = self.chat.handle(told, history=self.history)
        self.history += turn.append
        return turn.outcomes[0]


def program(folder: Path, url: str, tools: list[Any], clock: Clock) -> Guard:
    """A program under the policy above."""
    (folder / "policies").mkdir()
    (folder / "policies" / "tools.yaml").write_text(POLICY, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(folder / "policies", tools=tools, store=url, clock=clock)


@contextmanager
def scene(folder: Path, url: str) -> Iterator[Scene]:
    """Payments in every state, a grant that was used, kills, a call nobody knows the end of, one under way, look-ups, and an erased conversation."""
    under_way, go_on, clock = threading.Event(), threading.Event(), Clock()

    def pay(amount: int, to: str, account: str, note: str = "") -> dict[str, Any]:
        return {"paid": amount}

    def send(to: str) -> str:
        if to == "slow":
            under_way.set()
            go_on.wait()
        if to in ("lost", "slow"):
            raise OutcomeUnknownError
        return f"sent to {to}"

    def look(account: str) -> dict[str, Any]:
        return {"account": account, "name": "Ann"}

    guard = program(folder, url, [pay, send, look], clock)
    desk = Desk(guard, "c")
    for number in range(3):
        desk.call("look")
        clock.now += 1
        desk.call("send", to=f"bob{number}")
        clock.now += 1
    names = _payments(guard, desk, clock)
    stopped = guard.kills.set(by=BOSSES[0], reason="a drill", tool="send")
    assert desk.call("send", to="x").status == "refused"
    guard.kills.clear(stopped, by=BOSSES[0], reason="over")
    guard.kills.set(by=BOSSES[1], reason="not here", conversation="elsewhere", tenant="default")
    desk.history.append(desk.chat.user("And now?"))
    assert desk.call("send", to="lost").status == "unknown"
    desk.call("look")
    _erased(guard)
    other = Desk(guard, "slow")
    thread = threading.Thread(target=lambda: other.call("send", to="slow"))
    thread.start()
    assert under_way.wait(60)
    try:
        yield Scene(url, guard, names)
    finally:
        go_on.set()
        thread.join()
        guard.close()


def _payments(guard: Guard, desk: Desk, clock: Clock) -> dict[str, str]:
    """Questions about payments in every state, and two grants, one of which was used."""
    names: dict[str, str] = {}
    for amount, name in enumerate(("spent", "revoked", "rejected", "edited", "half", "approved", "late", "pending"), 100):
        names[name] = str(desk.call("pay", amount=amount, to=name, note="n").approval)
        clock.now += 1
    for name in ("spent", "revoked", "approved"):
        for who in BOSSES[:2]:
            guard.approvals.approve(names[name], approver=who)
        names |= _granted(guard, desk, names) if name == "revoked" else {}  # what is approved later is not carried out
    guard.approvals.reject(names["rejected"], approver=BOSSES[0], reason="no")
    guard.approvals.approve(names["half"], approver=BOSSES[0])
    names["revised"] = guard.approvals.edit(names["edited"], editor=BOSSES[3], changes={"/amount": 70}, reason="less").id
    return names


def _granted(guard: Guard, desk: Desk, names: dict[str, str]) -> dict[str, str]:
    """A grant by two people, which is used; one that is revoked."""
    given = {}
    for name, scope in (
        ("spent", {"scope": "amount", "at_most": 300, "sum": 700}),
        ("revoked", {"scope": "tool_here", "uses": 2}),
    ):
        for who in BOSSES[:2]:
            given[f"{name}-grant"] = str(guard.grants.give(names[name], by=who, **scope).id)
    guard.grants.revoke(given["revoked-grant"], by=BOSSES[0], reason="no more")  # it would answer every question
    desk.history += desk.chat.settled()
    assert desk.call("pay", amount=250, to="spent").status == "done"
    return given


def _erased(guard: Guard) -> None:
    """A conversation whose raw values went."""
    gone = Desk(guard, "gone")
    gone.call("send", to="kim")
    Payloads(guard.store, guard.redactor).erase(("default", "gone"), who="ops", reason="asked for")
