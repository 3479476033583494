"""What somebody does who may write the store, once months leave it: whatever no record covers is found, on both stores; what no signature covers is not proved."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

import psycopg
import pytest
from segments_kit import Archive
from stores_kit import records
from tampering_kit import line, plainly, resealed
from test_tampering_tables import run

from guard.core.log import Segment
from guard.core.outbox import Advance
from guard.proof.closing import dropped
from guard.stores.outbox import outbox_of


def segment(archived: Archive) -> Segment:
    return archived.desk.guard.store.segments()[0]


def chain(archived: Archive) -> int:
    """The chain with most records."""
    ends = segment(archived).ends
    return max(ends, key=lambda number: ends[number][0])


def let_go(archived: Archive, most: int = 10_000) -> int:
    """Drop without asking for file and checkpoint."""
    one = segment(archived)
    event = dropped(1, one.month, one.digest, one.ends, {"type": "human", "ref": "somebody"})
    return archived.desk.guard.store.drop_segment(1, event, most=most)


def test_records_go_only_while_a_segment_is_dropped_and_only_its_own(archived: Archive) -> None:
    """Before, behind and beyond, what deletes or changes a record is refused by the database itself; so is the last record of the segment."""
    assert archived.close().code == 0
    number, (end, _) = chain(archived), segment(archived).ends[chain(archived)]
    assert archived.drop().code == 0
    refused = [
        f"DELETE FROM audit WHERE chain = {number} AND seq = {end}",  # noqa: S608 - tables of ours
        f"DELETE FROM audit WHERE chain = {number} AND seq = {end + 1}",  # noqa: S608 - tables of ours
        f"UPDATE audit SET body = '' WHERE chain = {number} AND seq = {end}",  # noqa: S608 - tables of ours
        "DELETE FROM audit",
    ]
    for statement in refused:
        with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match="only ever added"):
            plainly(archived.url, statement)
    opened = f"UPDATE segment_ends SET dropping = 1 WHERE chain = {number}"  # noqa: S608 - tables of ours
    with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match="only ever added"):
        plainly(archived.url, opened, f"DELETE FROM audit WHERE chain = {number} AND seq >= {end}")  # noqa: S608 - tables of ours
    plainly(archived.url, "UPDATE segment_ends SET dropping = 0")
    assert archived.verify()["problems"] == []


WAYS: dict[str, str] = {
    "more-than-the-segment": "DELETE FROM {table} WHERE chain = {chain} AND seq <= {end}",
    "much-more": "DELETE FROM {table} WHERE chain = {chain} AND seq <= {end} + 3",
    "an-inner-record": "DELETE FROM {table} WHERE chain = {chain} AND seq = {end} + 2",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_whatever_goes_beyond_a_closed_month_is_found(archived: Archive, way: str) -> None:
    """A broken record is named, where deletions reach one record further than the month that was closed."""
    assert archived.close().code == 0
    number, end = chain(archived), segment(archived).ends[chain(archived)][0]
    assert archived.drop().code == 0
    run(archived.url, *(way.format(table=table, chain=number, end=end) for table in ("tags", "filed", "audit")))
    found = archived.verify()
    assert found["problems"][0]["chain"] == number
    assert found["problems"][0]["seq"] > end


def test_a_prefix_that_no_record_covers_is_found(archived: Archive) -> None:
    """Nothing was closed; or it was closed and nobody dropped it by the guard; or a row was archived up that says that more was closed."""
    store = archived.desk.guard.store
    number = max(range(store.chains), key=lambda one: store.heads()[one][0])
    cut = [f"DELETE FROM {table} WHERE chain = {number} AND seq < 4" for table in ("tags", "filed", "audit")]  # noqa: S608 - tables of ours
    if archived.url.startswith("sqlite"):
        plainly(
            archived.url,
            "INSERT INTO segments VALUES (1, '2026-10', 1e9, 'x', 1, 1)",
            f"INSERT INTO segment_ends VALUES (1, {number}, 5, 'h', 1)",  # noqa: S608 - tables of ours
            *cut,
        )
        found = archived.verify()
        assert "record 4 stands where number 1 must stand" in found["problems"][0]["what"]
        assert any(one["where"] == "table segment_ends" for one in found["problems"])
        return
    assert archived.close().code == 0
    run(archived.url, *cut)
    found = archived.verify()
    assert "record 4 stands where number 1 must stand" in found["problems"][0]["what"]


def test_what_was_dropped_without_a_signature_is_not_proved(archived: Archive) -> None:
    """Nothing is broken then: but verify says that nobody's signature shows that the month was closed before its records went."""
    assert archived.close(signed=False).code == 0
    refused = archived.drop()
    assert (refused.code, "no signed checkpoint covers" in refused.err) == (1, True), refused
    assert let_go(archived) > 0
    assert (
        archived.run("checkpoint", "--key", "k", "--to", "c.jsonl").code == 0
    )  # too late for what is to be shown, and honest: from now on it is covered
    found = archived.verify()
    assert (found["ok"], [one["covered"] for one in found["dropped"]]) == (True, [True])
    bare = json.loads(archived.run("verify", "--json", "--no-record").out)
    assert (bare["ok"], [one["covered"] for one in bare["dropped"]]) == (True, [False])
    assert "not proved   whoever can write the log" in archived.run("verify", "--no-record").out


def test_a_checkpoint_of_before_does_not_cover_a_month_that_was_closed_later(archived: Archive) -> None:
    """It says nothing about the record of the closing, so nothing is proved about what left."""
    assert archived.run("checkpoint", "--key", "k", "--to", "c.jsonl").code == 0
    assert archived.close(signed=False).code == 0
    assert archived.drop().code == 1
    assert let_go(archived) > 0
    found = archived.verify()
    assert (found["ok"], [one["covered"] for one in found["dropped"]]) == (True, [False])
    assert "not proved   that 2026-10 was closed before its records were dropped" in archived.told()


def test_a_file_that_is_not_the_one_on_record_drops_nothing(archived: Archive) -> None:
    """Changed by one character, cut, of another month, or missing: the records stay; verify says so of a file that it is given, too."""
    assert archived.close().code == 0
    whole = (archived.folder / "oct.jsonl").read_bytes()
    other = whole.replace(b"approved", b"Approved", 1)
    number = len(records(archived.desk.guard.store))
    for data in (other, whole[:-300], whole + whole.splitlines(keepends=True)[-1], b""):
        (archived.folder / "oct.jsonl").write_bytes(data)
        assert archived.drop().code == 1
    assert archived.drop(file="none.jsonl").code == 2
    assert archived.drop("2026-09").code == 2
    assert len(records(archived.desk.guard.store)) == number
    (archived.folder / "oct.jsonl").write_bytes(whole)
    assert archived.drop().code == 0
    (archived.folder / "oct.jsonl").write_bytes(other)
    found = archived.verify("--closed", "oct.jsonl")
    assert any("no record names the digest of this file" in one["what"] for one in found["problems"])
    assert any(one["what"] == "the record was changed" for one in found["problems"])


def test_a_chain_that_was_written_anew_behind_what_left_is_found(archived: Archive) -> None:
    """Also where it begins with the number at which the month ended: its first record has another hash."""
    assert archived.close().code == 0
    assert archived.drop().code == 0
    number = chain(archived)
    kept = archived.desk.guard.store.audit(chain=number)
    first = kept[0]
    forged = resealed([first, *kept[1:]], last=(first.seq - 1, "ab" * 32))
    (archived.folder / "all.jsonl").write_text("".join(f"{line(one)}\n" for one in forged), "utf-8")
    ran = archived.guard("audit", "verify", "--json", "all.jsonl")
    assert ran.code == 1
    found = [one for one in ran.json["problems"] if one["chain"] == number]
    assert found
    assert found[0]["seq"] == first.seq


def test_dropping_goes_on_where_it_was_interrupted(archived: Archive) -> None:
    """Between two portions everything still verifies, with and without the file."""
    assert archived.close().code == 0
    assert let_go(archived, most=7) == 7
    assert archived.verify()["problems"] == []
    assert archived.verify("--closed", "oct.jsonl")["problems"] == []
    again = archived.drop("2026-10", "--json")
    assert again.json["dropped"] > 0
    assert archived.drop("2026-10", "--json").json["dropped"] == 0
    assert archived.verify()["problems"] == []


CHANGES: dict[str, Callable[[Archive], str]] = {
    "an-approval-that-is-over-opens-again": lambda _: "UPDATE approvals SET status = 'approved' WHERE status = 'rejected'",
    "an-approval-is-archived-up": lambda _: (
        "UPDATE approvals SET id = 'ap_other', status = 'pending' WHERE id = (SELECT MIN(id) FROM approvals WHERE status = 'cancelled')"
    ),
    "a-grant-lasts-longer": lambda _: "UPDATE grants SET until = until + 1e7",
    "a-grant-for-another": lambda _: "UPDATE grants SET principal = 'u9'",
    "a-grant-is-archived-up": lambda _: "UPDATE grants SET id = 'gr_other'",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_rows_whose_records_left_cannot_be_opened_again(archived: Archive, change: Callable[[Archive], str]) -> None:
    """What was over when the month was closed stays over, and grants stand as they stood: else it is found without the file."""
    assert archived.close().code == 0
    assert archived.drop().code == 0
    run(archived.url, change(archived))
    assert archived.verify()["problems"]


def test_a_sink_that_has_not_taken_everything_keeps_the_month(archived: Archive) -> None:
    """It is named; once it is behind the month, the records go."""
    assert archived.close().code == 0
    outbox = outbox_of(archived.desk.guard.store)
    assert outbox.seize("archive", "s", 60.0) is not None
    assert "the sink archive has not taken all records" in archived.drop().err
    assert outbox.seize("archive", "s", 60.0) is not None
    assert outbox.advance("s", Advance(sink="archive", cursors=outbox.ends()))
    assert archived.drop().code == 0
