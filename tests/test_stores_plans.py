"""Statements on SQLite are planned once: neither what is looked for nor a sort that nobody needs makes a short look a long one."""

from __future__ import annotations

import importlib
import pkgutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from guard import stores
from guard.stores import open_store, sql

MODULES = tuple(
    importlib.import_module(f"guard.stores.{one.name}")
    for one in pkgutil.iter_modules(stores.__path__)
    if one.name.startswith("sql") and one.name not in ("sqlite", "sqlite_take")
)
STATUSES = ("done", "refused", "started", "unknown")
VERBS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ")
STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": text
    for module in MODULES
    for name, text in sorted(vars(module).items())
    if isinstance(text, str) and text.startswith(VERBS) and not name.startswith("_") and "{" not in text and "%" not in text
} | {f"alike{count}{'r' * run}": sql.alike(STATUSES[:count], in_run=run) for count in (1, 2, 4) for run in (False, True)}


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A store's file with nothing in it, behind a connection that nobody else has."""
    path = tmp_path_factory.mktemp("plans") / "guard.db"
    open_store(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(Path(path), isolation_level=None)) as connection:
        yield connection


@pytest.mark.parametrize("statement", list(STATEMENTS.values()), ids=list(STATEMENTS))
def test_a_statement_is_planned_once(lite: sqlite3.Connection, statement: str) -> None:
    """Whatever value it is executed with next: planning costs more than most of them do."""
    planned: list[int] = []
    count = statement.count("?")

    def note(*_: object) -> int:
        planned.append(1)
        return sqlite3.SQLITE_OK

    lite.execute("BEGIN")
    try:
        for given in ("done", "held"):
            with suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                lite.execute(statement, (given,) * count).fetchall()
        lite.set_authorizer(note)
        lite.execute("SELECT 1 WHERE 1 = 2")
        assert planned, "it is heard when something is planned"
        with suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
            lite.execute(statement, ("held",) * count).fetchall()
        planned.clear()
        for given in ("unknown", "started", "x"):
            with suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                lite.execute(statement, (given,) * count).fetchall()
        assert not planned
    finally:
        lite.set_authorizer(None)
        lite.execute("ROLLBACK")


@pytest.mark.parametrize("run", [False, True], ids=["ever", "in a run"])
def test_equal_calls_are_found_by_their_index(lite: sqlite3.Connection, run: bool) -> None:
    """However many of a status there are, the newest of each is read, and nothing is sorted."""
    statement = sql.alike(STATUSES, in_run=run)
    plan = [row[3] for row in lite.execute(f"EXPLAIN QUERY PLAN {statement}", ("x",) * statement.count("?"))]
    assert sum("COVERING INDEX calls_mark" in line for line in plan) == 4
    assert not any("TEMP B-TREE" in line for line in plan)
