"""Kept: what was recorded stays. The databases refuse to change or remove records and votes, also for the programs' own role, which works all the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import postgres_kit
import psycopg
import pytest
from stores_kit import REF, Clock, ask, claim, event, key, url_of, vote

from guard.core.ports import Won
from guard.stores import open_store
from guard.stores.chain import verify_store

CHANGES = {
    f"{act.split(maxsplit=1)[0].lower()}-{table}": act.format(table)
    for table in ("audit", "votes")
    for act in ("UPDATE {} SET payload = ''", "DELETE FROM {}")
}
CHANGES["update-audit"] = "UPDATE audit SET body = ''"
_RECORD = "INTO audit (chain, seq, prev, hash, body) SELECT chain, seq, prev, hash, '{}' FROM audit WHERE true"
_VOTE = (
    "INTO votes (approval, number, status, voter, roles, at, detail, payload)"
    " SELECT approval, number, 'rejected', voter, roles, at, detail, payload FROM votes WHERE true"
)
CHANGES["upsert-audit"] = f"INSERT {_RECORD} ON CONFLICT (chain, seq) DO UPDATE SET body = excluded.body"
CHANGES["upsert-votes"] = f"INSERT {_VOTE} ON CONFLICT (approval, number) DO UPDATE SET status = excluded.status"
REPLACED = {
    "replace-audit": f"INSERT OR REPLACE {_RECORD}",
    "replace-votes": f"REPLACE {_VOTE}",
    "replace-number-audit": "REPLACE INTO audit (rowid, chain, seq, prev, hash, body) VALUES (1, 0, 99, '', '', '{}')",
    "replace-number-votes": "REPLACE INTO votes (rowid, approval, number, status, voter, roles, at, detail, payload)"
    " SELECT rowid, 'another', number, 'rejected', voter, roles, at, detail, payload FROM votes",
}
"""What removes a row in a file without a deletion that a trigger would see."""


def filled(url: str) -> None:
    store = open_store(url, clock=Clock())
    store.open(REF)
    store.record((), (event("one"), event("two")))
    ask(store)
    vote(store)
    store.close()


@pytest.mark.parametrize("statement", [*CHANGES.values(), *REPLACED.values()], ids=[*CHANGES, *REPLACED])
def test_a_file_refuses_to_change_what_was_recorded(tmp_path: Path, statement: str) -> None:
    """Whoever writes by mistake gets an error, and nothing is changed."""
    with url_of("sqlite", tmp_path) as url:
        filled(url)
        with (
            closing(sqlite3.connect(tmp_path / "guard.db")) as file,
            pytest.raises(sqlite3.IntegrityError, match="only ever added"),
        ):
            file.execute(statement)


ROLE = """
DO $$ BEGIN CREATE ROLE guard_program LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT USAGE ON SCHEMA public TO guard_program;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guard_program;
REVOKE UPDATE, DELETE ON audit, votes FROM guard_program;
"""


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_kit.database() as url:
        postgres_kit.run(url, ROLE)
        filled(url)
        yield url


@pytest.mark.parametrize("statement", [*CHANGES.values(), "TRUNCATE audit"], ids=[*CHANGES, "truncate-audit"])
def test_a_database_refuses_to_change_what_was_recorded(database: str, statement: str) -> None:
    """The owner of the tables is stopped by a trigger, a role of its own has no right to."""
    with pytest.raises(psycopg.errors.RaiseException, match="only ever added"):
        postgres_kit.run(database, statement)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        postgres_kit.run(database, "SET ROLE guard_program", statement)
    for way in ("ALTER TABLE audit DISABLE TRIGGER USER", "DROP TRIGGER audit_kept ON audit", "DROP FUNCTION guard_kept CASCADE"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            postgres_kit.run(database, "SET ROLE guard_program", way)


def test_the_programs_role_can_do_all_that_a_guard_does(database: str) -> None:
    """Conversations, claims, votes and records with these rights only, each claim in one statement as well."""
    mark = "&" if "?" in database else "?"
    url = f"{database}{mark}options=-c%20role%3Dguard_program"
    assert postgres_kit.run(url, "SELECT current_user") == [("guard_program",)]
    store = open_store(url)
    store.open(REF)
    assert isinstance(store.claim(claim(key(7), mark="m7")), Won)
    store.record((), (event("three"),))
    ask(store, "a2", at=key(8), fingerprint="g")
    vote(store, "a2")
    assert isinstance(store.claim(claim(key(8), "a2", mark="m8", fingerprint="g")), Won)
    assert verify_store(store).ok
    store.close()
