"""Searching the audit in the stores: by every field, in every order, and what is filed about a record is what stands in it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import postgres_kit
import pytest
from older_kit import as_of
from search_kit import HOSTILE, log, record
from stores_kit import STORES, Clock, a_store, records, url_of

from guard.core.ports import Sealed, Store
from guard.core.searching import GROUPS, Sought
from guard.stores import filing, open_store, schema, steps_query
from guard.stores.migrations import migrate

SECOND = 1_800_000_000


@pytest.fixture(params=STORES, scope="module")
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with the small log, one record a second; the tests that use it only read."""
    clock = Clock(float(SECOND))
    for store in a_store(request.param, tmp_path_factory.mktemp("kept"), clock):
        for event in log():
            store.record((), [event])
            clock.now += 1
        yield store


def kinds(found: tuple[Sealed, ...]) -> list[str]:
    return [json.loads(one.body)["kind"] for one in found]


SEARCHES: dict[str, tuple[Sought, int]] = {
    "everything": (Sought(), 15),
    "kind": (Sought(kinds=("call.decided",)), 4),
    "kinds": (Sought(kinds=("call.begin", "call.end")), 2),
    "kinds, some by their beginning": (Sought(kinds=("approval.*", "approval.vote", "call.end", "policy.*", "call.end")), 5),
    "kinds of a person": (Sought(kinds=("call.end", "call.unknown"), person="E2", tags=("tag-bob",)), 2),
    "kinds by their beginning": (Sought(kinds=("approval.*",)), 3),
    "tenant": (Sought(tenant="other"), 1),
    "conversation": (Sought(conversation="c2"), 2),
    "conversation of a tenant": (Sought(conversation="c1", tenant="acme"), 11),
    "one call": (Sought(tenant="acme", conversation="c1", turn=1, position=0), 7),
    "call id": (Sought(call="call_1"), 9),
    "approval": (Sought(approval="ap_1"), 6),
    "tool": (Sought(tool="look"), 2),
    "refused": (Sought(verdict="refuse"), 3),
    "held": (Sought(verdict="hold"), 1),
    "reason": (Sought(reason="not_grounded"), 1),
    "reason of a failure": (Sought(reason="timeout"), 1),
    "actor": (Sought(actor="boss"), 3),
    "approved by": (Sought(actor="boss", state="approved"), 2),
    "principal": (Sought(principal="E2"), 2),
    "spoof": (Sought(spoof=True), 1),
    "shadow": (Sought(shadow=True), 1),
    "person by a keyed hash": (Sought(tags=("tag-ann",)), 2),
    "person by several": (Sought(tags=("tag-ann", "tag-bob", "tag-nobody")), 2),
    "person by name or hash": (Sought(person="E2", tags=("tag-bob",)), 3),
    "person and tool": (Sought(person="E2", tags=("tag-bob",), tool="pay", kinds=("call.end",)), 1),
    "about some approval": (Sought(asked=True), 6),
    "since": (Sought(since=SECOND + 10), 5),
    "until": (Sought(until=SECOND + 10), 10),
    "a window": (Sought(since=SECOND + 1, until=SECOND + 3), 2),
    "nobody": (Sought(principal="E3"), 0),
    "a limit": (Sought(limit=4), 4),
    "no room": (Sought(limit=0), 0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_what_reading_every_record_finds(kept: Store, name: str) -> None:
    """By index or not: the same records in the same order, newest first or oldest first."""
    sought, number = SEARCHES[name]
    every = records(kept)

    for one in (sought, replace(sought, newest=False)):
        found = kept.search(one)
        assert found == tuple(sealed for _, sealed in filing.scan(every, one))
        assert len(found) == number


def test_pages_follow_each_other_without_gap_or_repetition(kept: Store) -> None:
    """Each page begins behind the last record of the one before, in both orders."""
    for newest in (True, False):
        whole = kept.search(Sought(newest=newest))
        paged: list[Sealed] = []
        behind = None
        while page := kept.search(Sought(newest=newest, limit=4, behind=behind)):
            paged += page
            behind = (filing.columns(page[-1].body)["at"], page[-1].chain, page[-1].seq)
        assert tuple(paged) == whole


@pytest.mark.parametrize(
    "by", [*((name,) for name in GROUPS), ("day", "verdict"), ("tool", "reason", "principal"), ()], ids="-".join
)
@pytest.mark.parametrize("name", ["everything", "refused", "person by name or hash", "person by several", "a window"])
def test_counts_are_those_of_reading_every_record(kept: Store, name: str, by: tuple[str, ...]) -> None:
    """For each combination of values."""
    sought = SEARCHES[name][0]
    assert dict(kept.tally(sought, by)) == dict(filing.count(records(kept), sought, by))


@pytest.mark.parametrize("name", ["everything", "kinds", "person by several", "a limit"])
def test_columns_are_those_of_reading_every_record(kept: Store, name: str) -> None:
    """What is filed about the records found, in their order."""
    sought, names = SEARCHES[name][0], ("kind", "at", "state", "turn")
    assert kept.filed(sought, names) == filing.chosen(records(kept), sought, names)


def test_nothing_but_known_names_is_counted_by(kept: Store) -> None:
    """A name is no place for SQL."""
    if kept.blocking:
        with pytest.raises(ValueError, match="counted by"):
            kept.tally(Sought(), ("body; DROP TABLE audit",))
        with pytest.raises(ValueError, match="filed are"):
            kept.filed(Sought(), ("body; DROP TABLE audit",))


def hostile(text: str) -> list[dict[str, Any]]:
    """Records that hold a text wherever somebody else's text may stand."""
    tool = {"name": text, "definition": "d", "kind": "read"}
    actor = {"type": "human", "ref": text}
    decision = {"verdict": "refuse", "code": text, "rules": [text]}
    args = {"shown": {text: text}, "hmac": {text: text}}
    return [
        record(
            "call.decided",
            tool=tool,
            actor=actor,
            decision=decision,
            args=args,
            call_id=text,
            approval=text,
            conversation=text,
            principal=text,
        )
    ]


@pytest.fixture(params=STORES, scope="module")
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a record for each hostile text."""
    for store in a_store(request.param, tmp_path_factory.mktemp("planted"), Clock(SECOND + 0.123457)):
        for text in HOSTILE.values():
            store.record((), hostile(text))
        yield store


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_keeps_a_record_out_of_the_index(planted: Store, name: str) -> None:
    """Whatever stands in a record, it is written and found again; what no database can hold as text stands in its copy as another character."""
    text = HOSTILE[name]
    (one,) = [each for each in records(planted) if json.loads(each.body)["tool"]["name"] == text]
    typed = text.replace("\0", "\ufffd").replace("\ud800", "\uf800")

    for field in ("conversation", "tool", "reason", "actor", "principal", "person", "approval", "call"):
        assert planted.search(Sought(**{field: typed})) == (one,), field
    assert planted.search(Sought(tags=(typed[: filing.WIDE],))) == (one,)


def test_what_is_filed_is_what_stands_in_the_body(kept: Store, planted: Store) -> None:
    """Copies and keyed hashes of every record, as the database made them, are those that the body gives."""
    for store in (kept, planted):
        store.catch_up()
        for chain in range(store.chains):
            every = store.audit(chain=chain)
            copies = store.copies(chain=chain)
            assert [filed.seq for filed in copies] == [one.seq for one in every]
            assert [filing.differing(*pair) for pair in zip(every, copies, strict=True)] == [()] * len(every)


def test_a_changed_copy_differs() -> None:
    """A verifier is told the columns that were changed, a keyed hash that was taken away, and a record about which nothing is filed."""
    body = json.dumps({"v": 1, "ts": "2027-01-01T00:00:00.000001Z", **log()[2]}, separators=(",", ":"))
    one = Sealed(chain=0, seq=1, prev="", hash="", body=body)
    true = filing.filed(one)

    assert filing.differing(one, true) == ()
    assert filing.differing(one, replace(true, columns={**true.columns, "tool": "other", "at": 0})) == ("at", "tool")
    assert filing.differing(one, replace(true, tags=frozenset())) == ("tags",)
    assert filing.differing(one, None) == filing.differing(replace(one, body="{"), true) == filing.COLUMNS


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_of_an_earlier_version_becomes_findable_and_keeps_its_records(kind: str, tmp_path: Path) -> None:
    """A migration makes the copies and touches no record."""
    with url_of(kind, tmp_path) as url:
        with closing(open_store(url, clock=Clock())) as store:
            store.record((), log())
            before = records(store)
            wanted = store.search(Sought(tags=("tag-ann",)))
        for statement in as_of(schema.STEPS.index(steps_query.STEP), kind):
            if kind == "postgres":
                postgres_kit.run(url, statement)
            else:
                with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
                    file.execute(statement)
                    file.commit()
        migrate(url)

        with closing(open_store(url, clock=Clock())) as store:
            assert records(store) == before
            assert store.search(Sought(tags=("tag-ann",))) == wanted
            assert len(store.search(Sought())) == len(before)
            store.record((), [record("call.end")])
            assert len(store.search(Sought())) == len(before) + 1


def test_views_give_other_programs_the_calls_approvals_refusals_and_doubts(tmp_path: Path) -> None:
    """Plain columns under stable names, read from the file without the guard."""
    path = tmp_path / "guard.db"
    with closing(open_store(f"sqlite:///{path}", clock=Clock())) as store:
        store.record((), log())
        store.catch_up()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        calls = [dict(row) for row in connection.execute("SELECT * FROM v_calls ORDER BY tenant, conversation, turn, position")]
        approvals = [dict(row) for row in connection.execute("SELECT * FROM v_approvals")]
        refusals = [row["reason"] for row in connection.execute("SELECT * FROM v_refusals ORDER BY chain, seq")]
        unknown = [(row["tool"], row["reconciled_by"]) for row in connection.execute("SELECT * FROM v_unknown")]

    assert (calls[0]["held"], calls[0]["ended"], calls[0]["tool"], calls[0]["approval"]) == (1, "ok", "pay", "ap_1")
    assert [(one["approval"], one["vote"], one["voted_by"]) for one in approvals] == [("ap_1", "approved", "boss")]
    assert refusals == ["not_grounded", None, "not_authorized"]
    assert unknown == [("pay", "boss")]
