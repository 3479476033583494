"""Every column of every table: one that decides something is edited in a random row, found and named, and put back; of each other one it stands here why it decides nothing.

A new column is in neither list, and fails. On both stores.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing

import pytest
import tampering_kit as kit
from rows_kit import Scene, columns, edited, execute, scene
from stores_kit import url_of

from guard.cli.audit_verify import stored_report
from guard.core.log import NOTHING, Sealed
from guard.core.values import encode
from guard.proof.chains import record_hash
from guard.stores import open_store

BEGUN, OPEN = "attempt > 0 AND erased IS NULL", "status IN ('started', 'unknown')"
NUMBER, TEXT = "{0} + 50", "{0} || 'x'"


def other(column: str, value: str, where: str = "1 = 1") -> tuple[str, str]:
    return f"{column} = {value.format(column)}", where


def of(table: str, numbers: str = "", texts: str = "", where: str = "1 = 1") -> dict[str, tuple[str, str]]:
    """Edits of columns, each by itself: a number that is higher, a text with one more letter."""
    found = {f"{table}.{one}": other(one, NUMBER, where) for one in numbers.split()}
    return found | {f"{table}.{one}": other(one, TEXT, where) for one in texts.split()}


OTHER = {bool: 7, str: "other", int: "1", float: 1, list: [7], type(None): "x"}
"""What is put in the place of a value."""
EDITS: dict[str, tuple[str, str]] = {
    **of(
        "calls",
        "turn position run attempt at",
        "conversation branch name kind tool fingerprint mark effect idem executor payload",
        BEGUN,
    ),
    "calls.status": ("status = 'held'", BEGUN),
    "calls.approval": other("approval", TEXT, f"{BEGUN} AND approval IS NOT NULL"),
    "calls.owned": ("owned = '[\"x\"]'", BEGUN),
    "calls.outcome": ("outcome = REPLACE(outcome, 'sent to', 'Sent to')", f"{BEGUN} AND outcome LIKE '%sent to%'"),
    "calls.lease": ("lease = lease - 1", "status = 'started'"),
    "calls.ended": other("ended", NUMBER, "ended IS NOT NULL"),
    "calls.erased": ("erased = 1", "erased IS NULL"),
    "calls.target": other("target", TEXT, OPEN),
    **of("claims", "turn position at", "conversation fingerprint"),
    "claims.approval": other("approval", TEXT, "approval IS NOT NULL"),
    **of("approvals", "run turn position requested_at expires_at", "id conversation fingerprint branch detail payload"),
    "approvals.status": ("status = 'approved'", "status = 'pending'"),
    "approvals.decided_run": ("decided_run = COALESCE(decided_run, 0) + 1", "1 = 1"),
    "approvals.decided_at": ("decided_at = COALESCE(decided_at, 0) + 1", "1 = 1"),
    "approvals.decided_by": ("decided_by = 'b9'", "1 = 1"),
    "approvals.escalate_at": ("escalate_at = NULL", "status = 'pending'"),
    **of("votes", "number at", "approval voter payload"),
    "votes.status": ("status = CASE status WHEN 'approved' THEN 'rejected' ELSE 'approved' END", "1 = 1"),
    "votes.roles": ("roles = '[\"head\"]'", "1 = 1"),
    "votes.detail": ("detail = REPLACE(detail, '\"revision\":1', '\"revision\":2')", "1 = 1"),
    **of("grants", "at until", "id tenant principal tool approval payload"),
    "grants.revoked": ("revoked = CASE WHEN revoked IS NULL THEN 1 END", "1 = 1"),
    "grants.detail": ('detail = REPLACE(detail, \'"kind":"action"\', \'"kind":"read"\')', "1 = 1"),
    "grants.erased": ("erased = 1", "erased IS NULL"),
    **of("grant_uses", "turn position at", "conversation grant_id"),
    "grant_uses.amount": ("amount = '1'", "1 = 1"),
    **of("kills", "at", "id payload"),
    "kills.tenant": ("tenant = 'x'", "1 = 1"),
    "kills.conversation": ("conversation = 'x'", "1 = 1"),
    "kills.tool": ("tool = 'x'", "1 = 1"),
    "kills.cleared": ("cleared = CASE WHEN cleared IS NULL THEN 1 END", "1 = 1"),
    "kills.detail": ('detail = REPLACE(detail, \'"by":"\', \'"by":"x\')', "1 = 1"),
    "conversations.turns": ("turns = turns - 1", "1 = 1"),  # more of them only leave out numbers
    **of("conversations", "words run started steps tokens total_tokens", "id tenant conversation principal"),
    "conversations.known": ("known = 1 - known", "1 = 1"),
    "conversations.total_known": ("total_known = 1 - total_known", "1 = 1"),
    "conversations.cost": ("cost = '7'", "1 = 1"),
    "conversations.total_cost": ("total_cost = '7'", "1 = 1"),
    "budgets.id": ("id = 'x'", "total <> '0'"),
    "budgets.total": ("total = '7777'", "1 = 1"),
    "draws.budget": ("budget = 'x'", "amount <> '0'"),
    "draws.amount": ("amount = '7777'", "1 = 1"),
}
"""Table and column → what is set, and in which rows."""
DECIDES_NOTHING = {
    "calls.again": "today's policy is asked whether an equal call may run again",
    "calls.settled": "whether an outcome was told already: telling it twice, or not, runs nothing",
    "calls.evidence": "what a call rested on when it was judged: nobody reads it again",
    "calls.picked": "until when a worker leaves a call to another one; whoever claims decides",
    "schema_version": "a program opens no database of another version",
    "keys": "no digest that was made with it holds any more, so every row with one is told of",
    "payload_keys": "which keys payloads were written under: without one nobody reads them",
    "batching": "who may lose records of look-ups: what is said of it is in the log",
    "epochs": "a backup was put back: executors of before are refused, nothing more is let run",
    "sinks": "how far records left the store; nothing is decided by it",
    "cursors": "likewise",
    "letters": "likewise",
    "audit": "the records: test_tampering",
    "heads": "the ends of chains: likewise",
    "filed": "copies of records: test_tampering_filed",
    "tags": "likewise",
    "checkpoints": "signed, and among the records: test_tampering",
    "segments": "closed months, among the records: test_segments_tampering",
    "segment_ends": "likewise",
}
"""Table, or table and column → why an edit of it lets nothing run, or where it is looked at."""
NOT_COMPARED = {
    "turns": "by what a message is known again: an equal action of the same run is found by its mark all the same",
    "words": "what the user said stands in payloads, beside its digest in the records",
    "handles": "what stands behind a handle: it is judged again where it is used",
    "payloads": "raw values: arguments are bound by fingerprints, results have a digest of what went back (calls.outcome)",
    "budgets.latest": "the time of a window's last draw",
    **{
        f"draws.{one}": "which call holds a draw, and for how long: totals are the sums of the draws"
        for one in ("conversation", "turn", "position", "number", "summed", "at", "due")
    },
}
"""What README names as not compared: no record says it."""
TOLD = {**DECIDES_NOTHING, **NOT_COMPARED}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp(request.param)
    with url_of(request.param, folder) as url, scene(folder, url) as found:
        yield found


def problems(made: Scene) -> list[str]:
    return [one.what for one in stored_report(made.guard.store, [], None).problems]


def test_every_column_is_told_of(made: Scene) -> None:
    """Of each column of the schema there is an edit, or a reason why there is none; and of nothing that is not there."""
    found = {table: {column for column, _ in names} for table, names in columns(made.url).items()}
    missing = {f"{table}.{one}" for table, names in found.items() if table not in TOLD for one in names}
    assert missing - EDITS.keys() - TOLD.keys() == set()
    assert {one for one in (*EDITS, *TOLD) if "." in one} <= missing
    assert not EDITS.keys() & TOLD.keys()


def test_an_edit_of_any_column_is_found_and_named(made: Scene) -> None:
    """In a random row; put back, nothing is reported. What is only moved, or is a counter, is told in words of its own."""
    keys = {table: [column for column, key in names if key] for table, names in columns(made.url).items()}
    assert problems(made) == []
    unfound, wrong = [], []
    for number, (name, (change, where)) in enumerate(EDITS.items()):
        table = name.partition(".")[0]
        with edited(made.url, table, where, change, keys[table]) as what:
            found = problems(made)
            unfound += [] if found else [(name, what)]
        if number % 12 == 0:
            wrong += [(name, again) for again in [problems(made)] if again]
    assert (unfound, wrong, problems(made)) == ([], [], [])


@pytest.mark.parametrize("table", ["approvals", "grants", "kills"])
def test_an_edit_of_any_part_of_a_detail_is_found_and_named(made: Scene, table: str) -> None:
    """All at once, in a random row: each part is told of with table, row and column."""
    name, text = random.Random().choice(made.rows(f"SELECT id, detail FROM {table}"))  # noqa: S608 - names of ours
    changed = {part: OTHER.get(type(value), "x") for part, value in json.loads(text).items()}
    assert problems(made) == []
    for kept in (json.dumps(changed), json.dumps({})):
        execute(made.url, f"UPDATE {table} SET detail = ? WHERE id = ?", kept, name)  # noqa: S608 - as above
        found = problems(made)
        assert {
            part for part in changed if not any(f"{name} says something else in {table}.detail.{part}" in one for one in found)
        } == set()
    execute(made.url, f"UPDATE {table} SET detail = ? WHERE id = ?", text, name)  # noqa: S608 - as above
    assert problems(made) == []


def _older(one: Sealed) -> str:
    """A record as a program wrote it that said nothing of rows."""
    body = json.loads(one.body)
    return encode({name: value for name, value in body.items() if name not in ("row", "rows", "counts", "usage", "upto")})


def test_records_that_say_nothing_of_rows_verify_and_say_no_more_than_before(made: Scene) -> None:
    """What an earlier version wrote: nothing is reported, an edit that was found then is, and one that it could not know of is not."""
    log, old = kit.read(made.guard.store), dict[int, list[Sealed]]()
    for chain, records in log.items():
        last = NOTHING
        for one in records:
            body = _older(one)
            own = record_hash(chain, one.seq, last[1], body)
            old.setdefault(chain, []).append(Sealed(chain=chain, seq=one.seq, prev=last[1], hash=own, body=body))
            last = (one.seq, own)
    kit.put(made, old)  # type: ignore[arg-type]  # it has a URL, too
    with closing(open_store(made.url)) as store:
        found = [one.what for one in stored_report(store, [], None).problems]
        assert [one for one in found if "older" not in one] == []
        execute(made.url, "UPDATE calls SET mark = 'x', target = 'x' WHERE status = 'unknown'")
        assert stored_report(store, [], None).problems == []
        execute(made.url, "UPDATE calls SET status = 'done' WHERE status = 'unknown'")
        assert "no record says that it ended well" in stored_report(store, [], None).problems[0].what
