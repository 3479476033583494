"""Rows that decide what runs, changed past the guard: what grants permit, who voted, what an approval asks for. All of it is found, on both stores.

So is what records alone show that can never be right, once the rows were put back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stores_kit import url_of
from test_tampering_tables import KINDS, problems, run
from votes_kit import BOSS, OTHER, PAY, Office

from guard.core.log import Tabled
from guard.proof.tables import Replay

GRANTS = ", need: 2, expires: 1h, edit: [amount], grants: [{scope: tool_here, uses: 5, until: 1d}]"


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    with url_of(request.param, tmp_path) as url:
        made = Office(tmp_path, url, PAY.format(more=GRANTS).replace("kind: action", "kind: action\n    repeat: allow"))
        made.say("Please pay.")
        yield made
        made.guard.close()


def granted(desk: Office, uses: int = 1) -> str:
    """A grant that two people gave with their yes, and that nobody used."""
    asked = desk.ask(1, call="granted")
    for who in (BOSS, OTHER):
        desk.approvals.approve(asked.id, approver=who)
    for who in (BOSS, OTHER):
        grant = desk.guard.grants.give(asked.id, by=who, scope="tool_here", uses=uses)
    desk.settle()
    return str(grant.id)


def detail(table: str, old: str, new: str) -> str:
    return f"UPDATE {table} SET detail = REPLACE(detail, '{old}', '{new}')"  # noqa: S608 - a table of ours


CHANGES = {
    "grant-of-more-uses": detail("grants", '"uses":1', '"uses":5'),
    "grant-of-endless-uses": detail("grants", '"uses":1', '"uses":null'),
    "grant-given-by-fewer": detail("grants", '"need":2', '"need":1'),
    "grant-for-another-scope": detail("grants", '"scope":"tool_here"', '"scope":"same_call"'),
    "grant-for-another-tool": detail("grants", '"tool":"pay"', '"tool":"other"'),
    "grant-for-every-conversation": detail("grants", '"conversation":"c"', '"conversation":null'),
    "grant-for-another-person": "UPDATE grants SET principal = 'u9'",
    "grant-that-lasts": "UPDATE grants SET until = until + 1e7",
    "grant-ended": "UPDATE grants SET revoked = at",
    "grant-given-by-another": detail("grants", '"by":"b0"', '"by":"b3"'),
    "grant-taken-out": "DELETE FROM grants",
    "grant-made-up": "UPDATE grants SET id = 'gr_other'",
    "voter-renamed": "UPDATE votes SET voter = 'b3' WHERE approval = '{half}'",
    "vote-in-the-row-renamed": detail("approvals", '"approved","b0"', '"approved","b3"') + " WHERE id = '{half}'",
    "vote-in-the-row-made-up": detail(
        "approvals", '"votes":[]', '"votes":[[1,"approved","b3",["boss"],1.5,1,"","","host","program"]]'
    )
    + " WHERE id = '{pending}'",
    "fewer-needed": detail("approvals", '"need":2', '"need":1') + " WHERE id = '{pending}'",
    "need-taken-out": detail("approvals", '"need":2,', "") + " WHERE id = '{pending}'",
    "others-decide": detail("approvals", '"by":["boss"]', '"by":["staff"]') + " WHERE id = '{pending}'",
    "requester-decides": detail("approvals", '"by_self":false', '"by_self":true') + " WHERE id = '{pending}'",
    "later-decision": "UPDATE approvals SET expires_at = expires_at + 1e7 WHERE id = '{pending}'",
    "later-use": "UPDATE approvals SET expires_at = expires_at + 1e7 WHERE id = '{approved}'",
    "another-call": "UPDATE approvals SET fingerprint = 'f' WHERE id = '{pending}'",
    "another-call-of-a-revision": "UPDATE approvals SET fingerprint = 'f' WHERE id = '{revised}'",
    "another-revision": detail("approvals", '"revision":1', '"revision":2') + " WHERE id = '{pending}'",
    "another-requester": detail("approvals", '"requester":"u1"', '"requester":"zoe"') + " WHERE id = '{pending}'",
    "another-requester-of-a-revision": detail("approvals", '"requester":"u1"', '"requester":"zoe"') + " WHERE id = '{revised}'",
    "another-tool": detail("approvals", '"tool":"pay"', '"tool":"other"') + " WHERE id = '{pending}'",
    "another-kind": detail("approvals", '"kind":"action"', '"kind":"read"') + " WHERE id = '{pending}'",
    "another-definition": detail("approvals", '"definition":"', '"definition":"0') + " WHERE id = '{pending}'",
    "another-turn": "UPDATE approvals SET turn = 99 WHERE id = '{pending}'",
    "another-position": "UPDATE approvals SET position = 9 WHERE id = '{revised}'",
    "another-conversation": "UPDATE approvals SET conversation = 'x' WHERE id = '{pending}'",
    "an-author-made-up": detail("approvals", '"authors":[]', '"authors":["b3"]') + " WHERE id = '{pending}'",
    "an-author-taken-out": detail("approvals", '"authors":["b0"]', '"authors":[]') + " WHERE id = '{revised}'",
    "an-author-renamed": detail("approvals", '"authors":["b0"]', '"authors":["b3"]') + " WHERE id = '{revised}'",
    "another-editor": detail("approvals", '"edited_by":"b0"', '"edited_by":"b3"') + " WHERE id = '{revised}'",
    "a-row-of-nonsense": "UPDATE approvals SET detail = '[]' WHERE id = '{pending}'",
}
_KEPT = ("approvals", "votes", "grants")


def test_what_rows_permit_is_held_against_the_records(desk: Office) -> None:
    """Each change is found; nothing is before it and once it is put back."""
    names = {
        name: desk.ask(amount, call=name).id for amount, name in enumerate(("pending", "half", "approved", "edited"), 1000 - 9)
    }
    granted(desk)
    desk.approvals.approve(names["half"], approver=BOSS)
    for who in (BOSS, OTHER):
        desk.approvals.approve(names["approved"], approver=who)
    names["revised"] = desk.approvals.edit(names["edited"], editor=BOSS, changes={"/amount": 70}, reason="less").id
    assert problems(desk.guard.store) == []
    for way, statement in CHANGES.items():
        for name, value in names.items():
            statement = statement.replace(f"{{{name}}}", value)  # noqa: PLW2901 - filled in
        run(desk.url, *(f"CREATE TABLE kept_{one} AS SELECT * FROM {one}" for one in _KEPT), statement)  # noqa: S608 - ours
        found = problems(desk.guard.store)
        assert found, way
        assert all("approval ap_" in one.what or "grant gr_" in one.what for one in found), way
        for one in _KEPT:
            run(desk.url, f"DELETE FROM {one}", f"INSERT INTO {one} SELECT * FROM kept_{one}", f"DROP TABLE kept_{one}")  # noqa: S608 - ours
        assert problems(desk.guard.store) == [], way


def test_a_grant_that_was_used_beyond_its_uses_is_found_in_the_records(tmp_path: Path) -> None:
    """Its row, or the count of its uses, was changed meanwhile and put back."""
    for number, (change, back) in enumerate(
        (
            (detail("grants", '"uses":1', '"uses":5'), detail("grants", '"uses":5', '"uses":1')),
            ("UPDATE budgets SET total = '0'", "UPDATE budgets SET total = total"),
        )
    ):
        url = f"sqlite:///{tmp_path}/{number}.db"
        desk = Office(tmp_path, url, PAY.format(more=GRANTS).replace("kind: action", "kind: action\n    repeat: allow"))
        desk.say("Please pay.")
        granted(desk)
        assert [desk.propose(5, call="one").outcomes[0].status, desk.propose(6, call="two").outcomes[0].status] == [
            "done",
            "held",
        ]
        assert problems(desk.guard.store) == []
        run(url, change)
        assert desk.propose(7, call="three").outcomes[0].status == "done"
        run(url, back)
        assert any("was used 2 times, and it is for 1" in one.what for one in problems(desk.guard.store))
        desk.guard.close()


def test_an_approval_that_was_spent_twice_is_found_in_the_records(tmp_path: Path) -> None:
    """Rows of the call were put back as they were before it ran, and it ran again: nothing differs any more, but two calls began."""
    url = f"sqlite:///{tmp_path}/g.db"
    desk = Office(tmp_path, url, PAY.format(more=GRANTS))
    desk.say("Please pay.")
    asked = desk.ask(7)
    for who in (BOSS, OTHER):
        desk.approvals.approve(asked.id, approver=who)
    desk.guard.close()
    with closing(sqlite3.connect(tmp_path / "g.db")) as file:
        for table in ("calls", "approvals"):
            file.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}")  # noqa: S608 - a table of ours
        file.commit()
    for _ in range(2):
        desk.start()
        desk.settle()
        desk.guard.close()
        tables = ("calls", "approvals") if len(desk.ran) == 1 else ()
        for table in tables:
            run(url, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM kept_{table}", "DELETE FROM claims")  # noqa: S608 - ours
    assert len(desk.ran) == 2
    desk.start()
    assert ["was spent twice" in one.what for one in problems(desk.guard.store)] == [True]
    desk.guard.close()


def told(*records: dict[str, Any]) -> list[str]:
    """What the records alone show."""
    replay = Replay()
    for number, one in enumerate(records, 1):
        replay.add(0, number, json.dumps({"approval": "ap_1", **one}, separators=(",", ":")))
    kept = Tabled(status=replay.status["ap_1"], votes=tuple(replay.votes.get("ap_1", ())))
    return [one.what for one in replay.against({"ap_1": kept}, {"ap_1": kept})]


ASKED = {"kind": "approval.requested", "approval_state": {"status": "pending", "need": 1}}
YES = {"kind": "approval.resolved", "approval_state": {"status": "approved", "decision": "approved", "need": 1, "have": 1}}


def begin(attempt: int, turn: int = 1) -> dict[str, Any]:
    return {"kind": "call.begin", "turn": turn, "position": 0, "exec": {"attempt": attempt}}


def test_what_records_alone_show() -> None:
    """A call is lost and taken again, as its next attempt; one that ended well is not, nor another call, nor what nobody approved."""
    done = {"kind": "call.end", "turn": 1, "position": 0, "exec": {"status": "ok"}}
    old = {"kind": "approval.requested"}
    assert told(ASKED, YES, begin(1), begin(2), done) == []
    assert told(old, {**YES, "approval_state": {"status": "approved", "decision": "approved"}}, {"kind": "call.begin"}) == []
    assert "spent twice" in told(ASKED, YES, begin(1), begin(1))[0]
    assert "spent twice" in told(ASKED, YES, begin(1), begin(1, turn=2))[0]
    assert "spent twice" in told(ASKED, YES, begin(1), done, begin(2))[0]
    assert "was pending by the records when a call began" in told(ASKED, begin(1))[0]
    assert "was rejected by the records" in told(ASKED, {**YES, "approval_state": {"status": "rejected"}}, begin(1))[0]
    asked = {**ASKED, "approval_state": {"need": 2}}
    assert "2 had to" in told(asked, YES, begin(1))[0]
    few = {**YES, "approval_state": {"status": "approved", "decision": "approved", "need": 2, "have": 1}}
    assert "was approved by 1" in told(asked, few, begin(1))[0]
