"""Months of records: closed into a file, on record, signed, dropped, and verified with and without the file."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from record_kit import fitting
from segments_kit import Archive
from stores_kit import Clock, event, records
from votes_kit import BOSS, Office

from guard.auditing import moments
from guard.core.log import Segment
from guard.errors import StoreError
from guard.proof.closing import moment
from guard.stores import open_store


def test_a_month_is_closed_dropped_and_verified_from_there(archived: Archive) -> None:
    """The file holds exactly the records of the month; afterwards verify says where it begins, and with the file it proves the whole."""
    before = records(archived.desk.guard.store)
    october = [one for one in before if moment(one) < "2026-11"]
    closed = archived.close()
    assert closed.code == 0, closed
    assert f"2026-10 is closed: {len(october)} records in oct.jsonl, SHA-256 " in closed.out
    assert "checkpoint 1 covers that" in closed.out
    lines = (archived.folder / "oct.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(line)["id"] for line in lines[1:]) == sorted(json.loads(one.body)["id"] for one in october)
    assert archived.guard("audit", "verify", "oct.jsonl").code == 0
    (said,) = [fitting(one.body)["segment"] for one in records(archived.desk.guard.store) if "segment_closed" in one.body]
    assert (said["number"], said["month"], said["records"], len(said["grants"])) == (1, "2026-10", len(october), 1)
    whole = archived.verify()
    assert (whole["ok"], whole["dropped"]) == (True, [])
    dropped = archived.drop()
    assert dropped.code == 0, dropped
    chains = len({one.chain for one in october})
    assert f"{len(october) - chains} records up to the end of 2026-10 are dropped" in dropped.out
    found = archived.verify()
    assert found["problems"] == []
    (gone,) = found["dropped"]
    assert (gone["month"], gone["covered"], gone["sha256"]) == ("2026-10", True, said["sha256"])
    told = archived.told()
    assert "were closed as 2026-10 on" in told
    assert f"their export has the SHA-256 {said['sha256']}" in told
    together = archived.verify("--closed", "oct.jsonl")
    assert (together["ok"], together["dropped"], together["problems"]) == (True, [], [])
    assert together["records"] == found["records"] + len(october) - chains
    assert archived.run("--verify").code == 0
    assert archived.run("report", "--month", "2026-11").code == 0


def ungrant(desk: Office) -> None:
    """The grant of October ends, so that calls ask again."""
    (grant,) = desk.guard.grants.list()
    desk.guard.grants.revoke(grant.id, by=BOSS, reason="over")


def test_the_desk_goes_on_after_a_month_was_dropped(archived: Archive) -> None:
    """Approvals, calls and grants of the month still stand; what comes is recorded, decided and verified as before, and the next month is closed behind it."""
    desk = archived.desk
    assert archived.close().code == 0
    assert archived.drop().code == 0
    assert desk.propose(4, call="under too").outcomes[0].status == "done"  # under the grant of October
    ungrant(desk)
    asked = desk.ask(1000, call="again")
    desk.approvals.reject(asked.id, approver=BOSS)
    desk.settle()
    desk.restart()
    assert archived.verify()["problems"] == []
    assert archived.verify("--closed", "oct.jsonl")["problems"] == []


REFUSED = {
    "not-over": (("--month", "2030-01"), 2, "it is not over"),
    "no-month": (("--month", "2026-13"), 2, "write a month as 2026-11"),
    "nothing": (("--month", "2026-08"), 1, "there is no record of 2026-08 or before"),
    "key-alone": (("--month", "2026-10", "--key", "k"), 2, "a checkpoint needs both"),
    "file-is-there": (("--month", "2026-10", "--export", "k"), 2, "it is there already"),
}


@pytest.mark.parametrize(("words", "code", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_closed_is_told(archived: Archive, words: tuple[str, ...], code: int, said: str) -> None:
    """One line, the exit code, and nothing in the log or the folder."""
    number = len(records(archived.desk.guard.store))
    files = sorted(archived.folder.iterdir())
    ran = archived.run("close", "--export", "new.jsonl", *words)
    assert (ran.code, said in ran.err) == (code, True), ran
    assert len(records(archived.desk.guard.store)) == number
    assert sorted(archived.folder.iterdir()) == files


def test_a_month_with_something_open_is_not_closed(archived: Archive) -> None:
    """A question that waits and was asked in it is named; once it is decided, the month can be closed. One of a later month does not matter."""
    store = archived.desk.guard.store
    ungrant(archived.desk)
    archived.desk.ask(78, call="later")
    end = moments.month("2026-10")[1]
    assert store.open_before(end) == ()
    archived.desk.clock.now = end - 60
    asked = archived.desk.ask(77, call="open")
    assert store.open_before(end) == (f"approval {asked.id} is pending",)
    event, segment = {"kind": "x.y"}, Segment(number=1, month="2026-10", until=end, digest="d", ends={})
    assert store.close_segment(segment, event) is None
    archived.desk.approvals.reject(asked.id, approver=BOSS)
    assert store.open_before(end) == ()
    assert archived.close().code == 0


def test_a_store_in_memory_closes_months_and_drops_none() -> None:
    """It ends with its process, so that nothing need leave it; months follow each other there as well."""
    with closing(open_store("memory://", clock=Clock())) as store:
        store.record((), [event("call.end", conversation="c")])
        one = Segment(number=1, month="2026-10", until=5.0, digest="d", ends={0: store.heads()[0]})
        assert store.close_segment(one, event("x.y")) is not None
        assert store.close_segment(one, event("x.y")) is None
        assert [found.month for found in store.segments()] == ["2026-10"]
        assert store.beginnings() == {}
        with pytest.raises(StoreError, match="keeps nothing beyond the process"):
            store.drop_segment(1, event("x.y"), most=9)
