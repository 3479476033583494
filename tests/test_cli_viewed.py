"""`approval.viewed` at the terminal: whoever may decide and is shown an approval there is on record, once, as on the console, and a yes carries what was shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import CLERK, POLICY, USER, Run, asking, folder, waiting

from guard import Guard, Session
from guard.runner.looks import KIND

OTHER = Session(principal="E8", tenant="acme", roles=("boss",))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    monkeypatch.setattr("cli_kit.POLICY", POLICY.replace("expires: 1h", "expires: 1h, edit: [amount]"))
    with asking(tmp_path) as made:
        yield made


def looks(made: Guard) -> list[dict[str, Any]]:
    return [one for one in (json.loads(record.body) for record in made.store.audit()) if one["kind"] == KIND]


SHOWN = {
    "show": ("show", "NAME"),
    "show for a program": ("show", "NAME", "--json"),
    "watch": ("watch", "--once"),
    "watch for a program": ("watch", "--once", "--json"),
    "approve": ("approve", "NAME"),
    "reject": ("reject", "NAME", "--reason", "r"),
}


@pytest.mark.parametrize("words", SHOWN.values(), ids=list(SHOWN))
def test_whoever_may_decide_and_is_shown_it_is_on_record(run: Run, asked: Guard, words: tuple[str, ...]) -> None:
    """Once, however often they look, with the digest of the view, before anything is decided."""
    name = waiting(asked)
    presented = asked.approvals.view(name, OTHER).presented
    typed = [name if word == "NAME" else word for word in words]
    for _ in range(2):
        run("approvals", *typed)
    [one] = looks(asked)
    assert one["actor"] == {"type": "human", "ref": "E2", "assurance": "os-user", "via": "cli"}
    assert (one["approval"], one["approval_state"]) == (name, {"presented": presented, "revision": 1})
    kinds = [json.loads(record.body)["kind"] for record in asked.store.audit()]
    assert "approval.resolved" not in kinds[: kinds.index(KIND)]


def test_a_yes_carries_what_was_shown(run: Run, asked: Guard) -> None:
    """The digest of the view that stands in the record of the look stands in the vote as well."""
    name = waiting(asked)
    assert run("approvals", "approve", name, "--yes").code == 0
    [look] = looks(asked)
    [vote] = asked.approvals.show(name).votes
    assert vote.presented == look["approval_state"]["presented"] == asked.approvals.view(name, OTHER).presented


def test_what_shows_nobody_an_approval_in_full_writes_nothing(run: Run, asked: Guard, tmp_path: Path) -> None:
    """Lists, an edit, which shows the revision that it makes and not the one before, what is decided, and the requester."""
    name = waiting(asked)
    run("approvals", "list")
    run("approvals", "list", "--json")
    assert run("approvals", "edit", name, "--set", "amount=9", "--reason", "less").code == 0
    assert looks(asked) == []
    later = waiting(asked)
    folder(tmp_path / "policies", person=f"principal: {CLERK.principal}, tenant: acme, roles: [clerk]", user=USER)
    assert run("approvals", "show", later).code == 0
    folder(tmp_path / "policies")
    asked.approvals.approve(later, approver=OTHER)
    assert run("approvals", "show", later).code == 0
    assert looks(asked) == []
