"""The view of approvals that other programs read: it says of each approval what one record says, and counts no vote that did not count."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import postgres_kit
import pytest
from search_kit import record
from stores_kit import Clock

from guard.stores import open_store

_PAY = {"name": "pay", "definition": "d1", "kind": "action"}
_ASKED = {"turn": 1, "tool": _PAY, "approval": "ap_1", "conversation": "c1"}


def by(name: str) -> dict[str, str]:
    return {"type": "human", "ref": name, "assurance": "host"}


_REFUSED = {"status": "refused", "wanted": "approved", "why": "already_decided"}
_RAN = [
    record("approval.requested", **_ASKED, approval_state={"status": "pending"}),
    record("approval.vote", **_ASKED, actor=by("zoe"), approval_state={**_REFUSED, "why": "not_found"}),
    record("approval.resolved", **_ASKED, actor=by("boss"), approval_state={"decision": "approved", "status": "approved"}),
    record("call.begin", **_ASKED, exec={"class": "pay", "attempt": 1}),
    record("approval.vote", **_ASKED, actor=by("zoe"), approval_state=_REFUSED),
    record("grant.used", **{**_ASKED, "conversation": "c9", "turn": 4}, actor={"type": "policy"}, grant={"id": "g_1"}),
]
_FIRST_YES = record("approval.vote", **_ASKED, actor=by("zoe"), approval_state={"decision": "approved", "status": "pending"})
_ENDED = {
    "ran": (_RAN, ("c1", "boss", "approved", None, "approved")),
    "nobody yet": (_RAN[:2], ("c1", None, None, None, "pending")),
    "one of two": ([_RAN[0], _FIRST_YES], ("c1", "zoe", "approved", None, "pending")),
    "edited": ([_RAN[0], record("approval.edited", **_ASKED, actor=by("boss"), approval_state={"status": "superseded", "by": "ap_2"})],
        ("c1", None, None, None, "superseded")),
    "revoked": ([*_RAN[:3], record("approval.revoked", **_ASKED, actor=by("chief"), approval_state={"status": "revoked"})],
        ("c1", "boss", "approved", "approval.revoked", "revoked")),
}  # fmt: skip
_READ = "SELECT conversation, voted_by, vote, ended_by, status FROM v_approvals WHERE approval <> 'ap_2'"


@pytest.mark.parametrize("name", _ENDED)
def test_an_approval_is_told_as_it_stands(tmp_path: Path, name: str) -> None:
    """The votes that counted, the conversation of the question, and what has become of it."""
    events, wanted = _ENDED[name]
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as store:
        store.record((), events)
        store.catch_up()
    with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
        assert file.execute(_READ).fetchall() == [wanted]


def test_a_database_tells_the_same() -> None:
    """One approval after the other, each under a name of its own."""
    with postgres_kit.database() as url:
        with closing(open_store(url, clock=Clock())) as store:
            for name, (events, _) in _ENDED.items():
                store.record((), [{**event, "approval": name} for event in events])
        found = postgres_kit.run(url, _READ.replace("SELECT", "SELECT approval,"))
    assert {name: row for name, *row in found} == {name: list(wanted) for name, (_, wanted) in _ENDED.items()}


_EDITED = [
    *_RAN[:1],
    record("approval.edited", **_ASKED, actor=by("boss"), approval_state={"status": "superseded", "by": "ap_2", "to": "f2"}),
]
_REVISED = {
    "fresh": ([], (None, None, "pending", None)),
    "approved": ([record("approval.resolved", **{**_ASKED, "approval": "ap_2"}, actor=by("eve"),
        approval_state={"decision": "approved", "status": "approved"})], ("eve", "approved", "approved", None)),
    "expired": ([record("approval.expired", **{**_ASKED, "approval": "ap_2"}, actor={"type": "clock"}, approval_state={"status": "expired"})],
        (None, None, "expired", "approval.expired")),
    "refused once more": ([record("approval.vote", **{**_ASKED, "approval": "ap_2"}, actor=by("eve"),
        approval_state={"status": "refused", "wanted": "edited"})], (None, None, "pending", None)),
}  # fmt: skip
_READ_NEW = "SELECT tool, conversation, asked_for, voted_by, vote, status, ended_by, asked_at FROM v_approvals WHERE approval = "


def revised(name: str, row: tuple[object, ...], at: str) -> None:
    """What the view says of a new revision."""
    of, asked = _EDITED[0]["principal"], "2027-01-15T08:00:00.000000Z"
    assert row == ("pay", "c1", of, *_REVISED[name][1], asked), name
    assert at == asked


@pytest.mark.parametrize("name", _REVISED)
def test_a_new_revision_is_asked_from_its_edit_on(tmp_path: Path, name: str) -> None:
    """Before anybody votes on it, too; the one before it is over, and both stand once."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as store:
        store.record((), _EDITED)
        store.record((), _REVISED[name][0])
        store.catch_up()
    with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
        (row,) = file.execute(_READ_NEW + "'ap_2'").fetchall()
        ((at,),) = file.execute("SELECT asked_at FROM v_approvals WHERE approval = 'ap_1' AND status = 'superseded'").fetchall()
    revised(name, row, at)


def test_a_database_tells_of_new_revisions_alike() -> None:
    """Also where a text holds what PostgreSQL cannot."""
    odd = record(
        "approval.edited",
        **{**_ASKED, "approval": "ap_0"},
        why="\0",
        half="\ud800",
        approval_state={"status": "refused", "by": "no"},
    )
    with postgres_kit.database() as url:
        for name, (events, _) in _REVISED.items():
            with closing(open_store(url, clock=Clock())) as store:
                named = [{**one, "approval": f"{name} {one['approval']}"} for one in (*_EDITED, *events, odd)]
                state = {**named[1]["approval_state"], "by": f"{name} ap_2"}
                store.record((), [named[0], {**named[1], "approval_state": state}, *named[2:]])
            (row,) = postgres_kit.run(url, _READ_NEW + f"'{name} ap_2'")
            ((at,),) = postgres_kit.run(url, f"SELECT asked_at FROM v_approvals WHERE approval = '{name} ap_1'")  # noqa: S608 - our own text
            revised(name, tuple(row), at)
            assert not postgres_kit.run(url, "SELECT * FROM v_approvals WHERE approval = 'no'")
