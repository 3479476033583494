"""Rules from a database through Casbin's adapters: read as loudly as a CSV file, never on a policy in force, swapped like files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casbin_async_sqlalchemy_adapter
import postgres_kit
import psycopg
import pytest
import sqlalchemy as sa
from reload_kit import BASE, BOSS, asks, load, until, write
from sqlalchemy_adapter import Adapter

from guard import AsyncGuard, PolicyError, ToolCall

DENY = ("p", "role:clerk", "*", "look", "call", "deny")
REFUSED = ("refused", "not_authorized")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "policies")


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """A real database with an empty table of rules."""
    if request.param == "sqlite":
        with _closing(sa.create_engine(f"sqlite:///{tmp_path}/rules.db")) as made:
            yield made
        return
    with postgres_kit.database(empty=True) as url, _closing(sa.create_engine(url.replace("://", "+psycopg://"))) as made:
        yield made


@contextmanager
def _closing(engine: sa.Engine) -> Iterator[sa.Engine]:
    Adapter(engine)  # makes the table
    yield engine
    engine.dispose()


def put(engine: sa.Engine, *rows: tuple[Any, ...]) -> None:
    """Replace the rows, as somebody with a SQL shell does."""
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM casbin_rule"))
        for row in rows:
            names = ("ptype", "v0", "v1", "v2", "v3", "v4", "v5")[: len(row)]
            table = sa.table("casbin_rule", *map(sa.column, names))
            connection.execute(sa.insert(table).values(dict(zip(names, row, strict=True))))


def test_rules_of_a_database_count_and_are_reloaded(folder: Path, engine: sa.Engine) -> None:
    """A deny in the table refuses; the version covers the rows; taking it out and reloading allows again."""
    put(engine, DENY)
    with load(folder, rules=Adapter(engine)) as guard:
        assert asks(guard) == REFUSED
        denied = guard.policy_state.version
        put(engine)
        assert asks(guard) == REFUSED
        assert guard.reload().changed
        assert asks(guard) == ("done", None)
        put(engine, DENY)
        assert guard.reload().version == denied


def test_grants_of_a_database_give_roles(folder: Path, engine: sa.Engine) -> None:
    """A `g` row makes a person hold a role."""
    put(engine, ("g", "user:B1", "clerk", "*"))
    with load(folder, rules=Adapter(engine)) as guard:
        assert guard.call(ToolCall("1", "look", {"n": 1}), BOSS, conversation="b").status == "done"


BAD = {
    "an effect of another spelling": ((*DENY[:5], "Deny"), "unknown effect Deny"),
    "a kind that Casbin drops": (("P", *DENY[1:]), "unknown rule type P"),
    "another kind that Casbin drops": (("p2", *DENY[1:]), "unknown rule type p2"),
    "a column is missing": (DENY[:5], "5 columns instead of 6"),
    "a column is NULL": (("p", "role:clerk", None, "look", "call", "deny"), "5 columns instead of 6"),
    "an unknown tool": (("p", "role:clerk", "*", "lok", "call", "deny"), "no tool of this policy is called lok"),
    "a comma in a name": (("p", "role:clerk, x", "*", "look", "call", "deny"), "7 columns instead of 6"),
    "a line break in a name": (("p", "role:cl\nerk", "*", "look", "call", "deny"), "is no rule"),
    "an empty name": (("p", "", "*", "look", "call", "deny"), "an empty column"),
}


@pytest.mark.parametrize(("row", "told"), BAD.values(), ids=BAD.keys())
def test_a_bad_row_is_a_mistake_with_its_number(folder: Path, engine: sa.Engine, row, told: str) -> None:
    """What Casbin itself would drop or ignore stops the load, and at a reload the old policy stays."""
    with load(folder, rules=Adapter(engine)) as guard:
        put(engine, ("p", "auditor", "*", "look", "call", "allow"), row)
        with pytest.raises(PolicyError, match=told) as raised:
            guard.reload()
        assert [(one.file, one.line) for one in raised.value.problems][:1] == [("database", 2)]
        assert asks(guard) == ("done", None)
    with pytest.raises(PolicyError, match=told):
        load(folder, rules=Adapter(engine))


def test_a_database_that_fails_is_said_without_its_secrets(folder: Path, engine: sa.Engine, caplog) -> None:
    """At load a PolicyError with a cure; at a reload the old policy stays and the failure is readable."""
    put(engine, DENY)
    adapter = Adapter(engine)
    with load(folder, rules=adapter) as guard:
        with engine.begin() as connection:
            connection.execute(sa.text("DROP TABLE casbin_rule"))
        for act in (guard.reload, lambda: load(folder, rules=Adapter(engine, create_table=False))):
            with pytest.raises(PolicyError, match=r"database: the rules could not be read: \w+Error \(see that"):
                act()
        assert asks(guard) == REFUSED
        assert "could not be read" in guard.policy_state.failure


class Noticed:
    """A Casbin watcher over LISTEN and NOTIFY, as such packages are built: a thread that calls back."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("LISTEN rules")
        self._callback: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def set_update_callback(self, callback: Callable[[], object] | None) -> None:
        self._callback = callback

    def _run(self) -> None:
        for notice in self._connection.notifies():
            if notice.payload == "end":
                return
            if self._callback is not None:
                self._callback()

    def close(self) -> None:
        self._thread.join()
        self._connection.close()


def test_a_signal_brings_the_new_rules_into_force(folder: Path) -> None:
    """A NOTIFY after the change, and the rules are in force; many at once are few reloads; broken rows keep the old ones."""
    with postgres_kit.database(empty=True) as url, _closing(sa.create_engine(url.replace("://", "+psycopg://"))) as engine:
        signal = Noticed(url)
        with load(folder, rules=Adapter(engine), watch=5, signal=signal) as guard:
            put(engine, DENY)
            postgres_kit.run(url, *["NOTIFY rules"] * 50)
            until(lambda: asks(guard) == REFUSED)
            assert guard.policy_state.loads == 2
            put(engine, (*DENY[:5], "Deny"))
            postgres_kit.run(url, "NOTIFY rules")
            until(lambda: guard.policy_state.failure)
            assert asks(guard) == REFUSED
        postgres_kit.run(url, "NOTIFY rules, 'end'")
        signal.close()


class Asked:
    """A Casbin watcher that calls back only when it is asked whether there is something new."""

    def __init__(self) -> None:
        self.new, self._callback = False, None

    def set_update_callback(self, callback) -> None:
        self._callback = callback

    def should_reload(self) -> bool:
        new, self.new = self.new, False
        if new:
            self._callback()
        return new


def test_a_watcher_that_must_be_asked_is_asked(folder: Path, tmp_path: Path) -> None:
    """Such watchers are asked at each look."""
    with _closing(sa.create_engine(f"sqlite:///{tmp_path}/rules.db")) as engine:
        signal = Asked()
        with load(folder, rules=Adapter(engine), watch=0.02, signal=signal) as guard:
            put(engine, DENY)
            signal.new = True
            until(lambda: asks(guard) == REFUSED)


def test_an_asyncio_adapter_is_awaited(folder: Path, tmp_path: Path) -> None:
    """In a running loop and outside of one, again and again, with the connections that its engine keeps."""
    from sqlalchemy.ext.asyncio import create_async_engine

    with _closing(sa.create_engine(f"sqlite:///{tmp_path}/rules.db")) as engine:
        put(engine, DENY)
        later = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/rules.db")
        adapter = casbin_async_sqlalchemy_adapter.Adapter(later)

        async def run() -> None:
            guard = load(folder, AsyncGuard, rules=adapter)
            for rows, wanted in (((), "done"), ((DENY,), "refused"), ((), "done")):
                put(engine, *rows)
                await guard.reload()
                outcome = await guard.call(ToolCall("1", "look", {"n": 1}), _clerk(), conversation="c")
                assert outcome.status == wanted
            await later.dispose()
            guard.close()

        asyncio.run(run())
        with load(folder, rules=adapter) as guard:
            put(engine, DENY)
            guard.reload()
            assert asks(guard) == REFUSED
            asyncio.run(later.dispose())


def _clerk():
    from reload_kit import CLERK

    return CLERK


def test_an_adapter_never_sees_a_policy_in_force(folder: Path) -> None:
    """It gets a model of its own each time, and one that raises half-way leaves nothing behind."""

    class Half:
        def __init__(self) -> None:
            self.models: list[Any] = []

        def load_policy(self, model: Any) -> None:
            self.models.append(model)
            model.add_policy("p", "p", list(DENY[1:]))
            if len(self.models) == 2:
                raise OSError

    adapter = Half()
    with load(folder, rules=adapter) as guard:
        policy = guard.policy
        with pytest.raises(PolicyError):
            guard.reload()
        assert guard.policy is policy
        assert not guard.reload().changed
    assert len({id(model) for model in adapter.models}) == 3


def test_files_and_rows_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    """A deny in either counts, and the same rule in both is a warning that names both places."""
    (folder / "rules.csv").write_text("p, auditor, *, look, call, allow\n")
    with _closing(sa.create_engine(f"sqlite:///{tmp_path}/rules.db")) as engine:
        put(engine, ("p", "auditor", "*", "look", "call", "allow"), DENY)
        with load(folder, rules=Adapter(engine)) as guard:
            assert asks(guard) == REFUSED
            write(folder, BASE + "# a word\n")
            warnings = guard.reload().warnings
    assert "database:1: the rule is written twice (the first stands at rules.csv:1)" in map(str, warnings)
