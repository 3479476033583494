"""What stands beside the log: rows where it has no place for one, and approvals and votes that differ from what was recorded. All of it is found, on both stores."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import postgres_kit
import pytest
import tampering_kit as kit
from stores_kit import Clock, event, url_of
from votes_kit import BOSS, BOSSES, OTHER, PAY, Office, code

from guard.cli.audit_verify import stored_report
from guard.core.ports import Store
from guard.core.redactor import under
from guard.errors import StoreError
from guard.proof import keys
from guard.proof.chains import Problem
from guard.proof.keeper import Checkpoints, Keeper
from guard.proof.notes import read_key
from guard.redactors import REDACTOR
from guard.runner.doubts import restored
from guard.stores import open_store

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


def run(url: str, *statements: str) -> None:
    """As somebody does who may write the database, and knows how to get past the triggers."""
    if not url.startswith("sqlite"):
        postgres_kit.run(url, "SET session_replication_role = replica", *statements)
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        kept = file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in kept:
            file.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *(sql for _, sql in kept)):
            file.execute(statement)
        file.commit()


def problems(store: Store) -> list[Problem]:
    return stored_report(store, [], None).problems


def broken(store: Store) -> bool:
    """Whether something is found, or the store itself says that it is damaged."""
    try:
        return bool(problems(store))
    except StoreError as error:
        return error.code == "damaged"


# -- rows that stand nowhere


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kit.Scene]:
    folder, clock = tmp_path_factory.mktemp(request.param), Clock()
    with url_of(request.param, folder) as url:
        store = open_store(url, clock=clock)
        scene = kit.scene(store, url, folder, clock)
        store.catch_up()
        yield scene
        store.close()


_FILED = "INSERT INTO filed (chain, seq, at, ts, kind, spoof, shadow) VALUES ({c}, {s}, 0, '', 'call.end', 0, 0)"
_RECORD = "INSERT INTO audit (chain, seq, prev, hash, body) VALUES ({c}, {s}, '{p}', '{h}', '{{}}')"
STRAYS: dict[str, tuple[str, str, str]] = {
    "filed-behind-the-end": (_FILED, "table filed", "{own}, {more}"),
    "filed-before-the-first": (_FILED, "table filed", "{own}, -3"),
    "filed-of-no-chain": (_FILED, "table filed", "777, 1"),
    "tag-behind-the-end": ("INSERT INTO tags (tag, chain, seq) VALUES ('x', {c}, {s})", "table tags", "{own}, {more}"),
    "tag-of-no-chain": ("INSERT INTO tags (tag, chain, seq) VALUES ('x', {c}, {s})", "table tags", "-1, 5"),
    "record-of-no-chain": (_RECORD, "table audit", "500, 1"),
    "record-before-the-first": (_RECORD, "table audit", "{own}, 0"),
    "record-of-a-negative-number": (_RECORD, "table audit", "{own}, -7"),
}


@pytest.mark.parametrize(("statement", "table", "place"), STRAYS.values(), ids=STRAYS)
def test_a_row_that_belongs_to_no_record_is_found(made: kit.Scene, statement: str, table: str, place: str) -> None:
    """A search would find it, or would no more find what comes: named with its table and its place; once it is gone nothing is reported."""
    for number in range(3):
        rng = random.Random(number)
        own = rng.choice([chain for chain, records in made.log.items() if len(records) > 5])
        chain, seq = place.format(own=own, more=len(made.log[own]) + rng.choice([1, 2, 10**9])).split(", ")
        assert problems(made.store) == []
        run(made.url, statement.format(c=chain, s=seq, p=f"{number}a" * 32, h=f"{number}b" * 32))
        found = [one for one in problems(made.store) if one.where == table]
        assert [(one.chain, one.seq) for one in found] == [(int(chain), int(seq))]
        run(made.url, f"DELETE FROM {table.removeprefix('table ')} WHERE chain = {chain} AND seq = {seq}")  # noqa: S608 - as above


def test_whatever_stands_in_a_file_in_the_place_of_numbers_and_texts(tmp_path: Path) -> None:
    """A file holds any value in any column: what is no number and no text is a broken record, never an outage of who verifies."""
    values = ("'x'", "1.5", "x'00'", "'9'", "9e99")
    for number, value in enumerate(values):
        for column in ("seq", "chain", "body", "hash", "prev"):
            path = tmp_path / f"{number}-{column}.db"
            with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
                store.record((), [{"kind": "call.end"} for _ in range(5)])
                store.catch_up()
                run(f"sqlite:///{path}", f"UPDATE audit SET {column} = {value} WHERE seq = 4")  # noqa: S608 - a table of ours
                assert broken(store), (column, value)
            with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
                assert broken(store), (column, value)


# -- approvals and votes


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    with url_of(request.param, tmp_path) as url:
        made = Office(tmp_path, url, PAY.format(more=", need: 2, edit: [amount]"))
        made.say("Please pay.")
        yield made
        made.guard.close()


STATES = {
    "approved-by-nobody": "UPDATE approvals SET status = 'approved' WHERE id = '{pending}'",
    "spent-and-approved-again": "UPDATE approvals SET status = 'approved' WHERE id = '{consumed}'",
    "rejected-and-asked-again": "UPDATE approvals SET status = 'pending' WHERE id = '{rejected}'",
    "rejected-in-secret": "UPDATE approvals SET status = 'rejected' WHERE id = '{pending}'",
    "taken-out": "DELETE FROM approvals WHERE id = '{rejected}'",
    "made-up": "UPDATE approvals SET id = 'ap_other' WHERE id = '{pending}'",
    "another-status": "UPDATE approvals SET status = 'fine' WHERE id = '{pending}'",
    "vote-turned": "UPDATE votes SET status = 'approved' WHERE approval = '{rejected}'",
    "vote-taken-out": "DELETE FROM votes WHERE approval = '{half}'",
    "vote-made-up": "INSERT INTO votes (approval, number, status, voter, roles, at, payload)"
    " SELECT approval, 9, 'approved', 'b3', roles, at, payload FROM votes WHERE approval = '{half}'",
    "votes-of-another": "UPDATE votes SET approval = '{pending}' WHERE approval = '{half}'",
}


def test_what_the_tables_say_of_an_approval_is_held_against_the_records(desk: Office, tmp_path: Path) -> None:
    """Each way to change it is found, with the approval and the last record about it; what became of them by itself never is."""
    names = {
        name: desk.ask(amount, call=name).id
        for amount, name in enumerate(("pending", "half", "consumed", "rejected", "edited"), 1)
    }
    for who in (BOSS, OTHER):
        desk.approvals.approve(names["consumed"], approver=who)
    desk.settle()
    desk.approvals.approve(names["half"], approver=BOSS)
    desk.approvals.reject(names["rejected"], approver=BOSS)
    desk.approvals.edit(names["edited"], editor=BOSS, changes={"/amount": 70}, reason="less")
    assert code(desk.approvals.approve, names["edited"], approver=OTHER) == "stale"  # on record, and no vote
    assert problems(desk.guard.store) == []
    for way, statement in STATES.items():
        run(
            desk.url,
            "CREATE TABLE kept AS SELECT * FROM approvals",
            "CREATE TABLE kept_votes AS SELECT * FROM votes",
            statement.format(**names),
        )
        found = problems(desk.guard.store)
        assert found, way
        about = [name for name in (*names.values(), "ap_other") if name in found[0].what]
        assert about, (way, found)
        run(
            desk.url,
            *("DELETE FROM approvals", "INSERT INTO approvals SELECT * FROM kept", "DROP TABLE kept"),
            *("DELETE FROM votes", "INSERT INTO votes SELECT * FROM kept_votes", "DROP TABLE kept_votes"),
        )
        assert problems(desk.guard.store) == [], way


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_nothing_is_reported_while_people_vote_and_calls_run(kind: str, tmp_path: Path) -> None:
    """Six conversations ask, are approved, rejected, edited and cancelled, and run, while somebody verifies over and over."""
    with url_of(kind, tmp_path) as url:
        desks = []
        for number in range(6):
            (tmp_path / str(number)).mkdir()
            desks.append(Office(tmp_path / str(number), url, PAY.format(more=", edit: [amount]")))
            desks[-1].chat = desks[-1].guard.open(
                desks[-1].session, wire=desks[-1].wire, conversation=f"c{number}", held="answer"
            )
            desks[-1].say("Please pay.")

        def work(desk: Office) -> None:
            for number in range(8):
                asked = desk.ask(number + 1, call=f"c{number}")
                if number % 4 == 0:
                    desk.approvals.reject(asked.id, approver=BOSS)
                elif number % 4 == 1:
                    desk.approvals.cancel(asked.id, by=BOSSES[2], reason="no")
                elif number % 4 == 2:
                    asked = desk.approvals.edit(asked.id, editor=BOSS, changes={"/amount": 90 + number}, reason="r")
                desk.approvals.approve(asked.id, approver=OTHER) if number % 4 > 1 else None
                desk.settle()

        watching = open_store(url)
        with ThreadPoolExecutor(6) as pool:
            working = [pool.submit(work, desk) for desk in desks]
            looks = 0
            while not all(one.done() for one in working):
                assert problems(watching) == []
                looks += 1
            for one in working:
                one.result()
        assert problems(watching) == []
        assert looks > 0
        assert len(watching.tabled()) >= 48
        for desk in desks:
            desk.guard.close()
        watching.close()


# -- a backup that is put back


@pytest.mark.parametrize("kind", KINDS)
def test_a_real_backup_that_was_put_back_is_found_by_a_checkpoint(kind: str, tmp_path: Path) -> None:
    """Whole and true as far as it goes, and shorter than what was signed since; also once other records were written behind it."""
    copied = ("audit", "filed", "tags", "checkpoints", *(() if kind == "sqlite" else ("heads",)))
    key = keys.make(tmp_path / "k.key")
    places, public = [str(tmp_path / "c.jsonl")], read_key(key.public)
    with url_of(kind, tmp_path) as url:
        store = open_store(url, clock=Clock())
        keeper = Keeper(store, Checkpoints(key=tmp_path / "k.key", to=places), start=False)

        def more(count: int, word: str) -> None:
            for number in range(count):
                store.record((), [event("call.end", conversation=f"c{number % 5}", said=word)])
            store.catch_up()

        more(random.randrange(10, 30), "before")
        keeper.look(now=True)
        run(url, *("CREATE TABLE kept_{0} AS SELECT * FROM {0}".format(name) for name in copied))  # noqa: S608, UP032 - names of ours
        more(20, "lost")
        keeper.look(now=True)
        assert stored_report(store, places, public).problems == []
        store.close()
        run(
            url, *(part.format(name) for name in copied for part in ("DELETE FROM {0}", "INSERT INTO {0} SELECT * FROM kept_{0}"))
        )
        store = open_store(url, clock=Clock())
        assert problems(store) == []
        told = stored_report(store, places, public).problems
        assert any("a backup was put back" in one.what for one in told)
        restored(store, under(REDACTOR, store.secret), "a disk failed", "ops")
        for number in range(40):
            store.record((), [event("call.end", conversation=f"c{number % 5}", said="other")])
        assert problems(store) == []
        told = stored_report(store, places, public).problems
        assert any("is not the one of checkpoint 2" in one.what for one in told), told
        store.close()
