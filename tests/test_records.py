"""Records: which policy is in force where, what another one changes, that outcomes went back; each of the form that ships, none lost with a store that fails."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from record_kit import fitting
from reload_kit import BASE, BOSS, CLERK, load, write
from stores_kit import REF, STORES, Clock, a_store, claim, event, key, records

from guard import Guard, ToolCall
from guard.core.ports import Store, Won
from guard.errors import StoreError
from guard.proof.schema import record_schema

PEOPLE = "people:\n  ann: {principal: E7, roles: [clerk]}\n"


def bodies(guard: Guard, kind: str = "") -> list[dict[str, Any]]:
    found = [fitting(record.body) for record in records(guard.store)]
    return [one for one in found if one["kind"].startswith(kind)]


def asks(guard: Guard, tool: str = "look", n: int = 1) -> Any:
    return guard.call(ToolCall("1", tool, {"n": n}), CLERK, conversation="c")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "policies", BASE, "g, E1, boss, other\n")


def test_a_process_says_under_which_policy_it_decides(folder: Path) -> None:
    """On record before the first thing that it decides, with a digest of each part and what the process is, and no name of a machine or person."""
    with load(folder) as guard:
        assert bodies(guard) == []  # a program that only looks writes nothing
        asks(guard)
        first = bodies(guard)[0]
        assert first["kind"] == "policy.loaded"
        assert (first["policy"]["version"], first["policy"]["how"]) == (guard.policy.version, "start")
        assert set(first["policy"]["parts"]) == {"people", "roles", "rules", "tools", "settings"}
        assert set(first["writer"]) - {"host", "boot"} == {"process", "pid", "version", "epoch"}
        assert len(bodies(guard, "policy.loaded")) == 1
    with load(folder) as again:
        asks(again)
        assert bodies(again)[0]["policy"] == first["policy"]


CHANGES = {
    "people": ({"people.yaml": PEOPLE}, "role.changed", {"people": {"added": ["ann"], "added_count": 1}}),
    "roles": ({"rules.csv": "g, E2, boss, other\n"}, "role.changed", {"roles": {"added": ["g, E2, boss, other"], "added_count": 1, "removed": ["g, E1, boss, other"], "removed_count": 1}}),
    "mail": ({"rules.csv": "g, E1, boss, other\ng, user:kim@example.com, boss, x\n"}, "role.changed", {"roles": {"added": ["g, user:[email], boss, x"], "added_count": 1}}),
    "tools": ({"tools.yaml": BASE.replace("kind: read,", "kind: read, limits: {calls: 5},")}, "config.changed", {"tools": {"changed": ["look"], "changed_count": 1}}),
    "limits": ({"tools.yaml": BASE.replace("100000", "90000")}, "config.changed", {"settings": {"changed": ["limits"], "changed_count": 1}}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "kind", "told"), CHANGES.values(), ids=CHANGES)
def test_a_reload_says_what_it_changes(folder: Path, files: dict[str, str], kind: str, told: dict[str, Any]) -> None:
    """At once, by names without values, and in a record of its own for people, roles and rules; nothing is said of what stayed."""
    with load(folder) as guard:
        asks(guard)
        before = guard.policy.version
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        guard.reload()
        reloaded = bodies(guard, "policy.loaded")[-1]["policy"]
        assert (reloaded["how"], reloaded["before"], reloaded["version"]) == ("reload", before, guard.policy.version)
        changed = [one for one in bodies(guard) if one["kind"] in ("role.changed", "config.changed")]
        assert [(one["kind"], one["changed"]) for one in changed] == [(kind, told)]
        guard.roll_back()
        assert bodies(guard, "policy.loaded")[-1]["policy"]["how"] == "roll_back"
        guard.reload()
        assert bodies(guard, "policy.loaded")[-1]["policy"]["version"] == reloaded["version"]


def test_each_outcome_goes_back_on_record_once(folder: Path) -> None:
    """Of a result, a refusal and a hold, behind their other records, at the latest when the guard is closed; what is repeated says so."""
    with load(folder) as guard:
        for number in range(3):
            asks(guard, "look", number)
        asks(guard, "pay", 1)
        asks(guard, "nothing", 1)
        held = guard.approvals.list()[0]
        guard.approvals.approve(held.id, approver=BOSS)
        chat = guard.open(CLERK, wire="openai-chat", conversation="c")
        chat.settled()
        store = guard.store
        store.record((), (event("x.y"),))
        told = [json.loads(record.body) for record in records(store)]
    given = [one for one in told if one["kind"] == "result.delivered"]
    assert Counter((one["exec"]["status"], one["exec"]["replayed"]) for one in given) == {
        ("done", False): 4,
        ("held", False): 1,
        ("refused", False): 1,
    }
    for one in given:
        earlier = [
            other["kind"]
            for other in told[: told.index(one)]
            if (other.get("turn"), other.get("position")) == (one["turn"], one["position"])
        ]
        assert earlier[0] == "call.proposed"
        assert {"call.decided"} <= set(earlier)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    yield from a_store(request.param, tmp_path, Clock())


def kinds(store: Store) -> list[str]:
    return [json.loads(record.body)["kind"] for record in records(store)]


def test_what_is_announced_waits_for_the_next_transaction(store: Store) -> None:
    """It is written with it, in front of it, once; where that transaction fails it waits again."""
    store.announce((event("first"), event("second")))
    assert kinds(store) == []
    with pytest.raises(StoreError):
        store.record((), (event("bad", value=object()),))
    assert kinds(store) == []
    store.record((), (event("third"),))
    assert sorted(kinds(store)) == ["first", "second", "third"]
    store.record((), (event("fourth"),))
    assert len(kinds(store)) == 4


def test_what_is_announced_is_not_lost_with_a_claim(store: Store) -> None:
    """A claim that would be one statement by itself takes the longer way while something waits."""
    store.open(REF)
    store.announce((event("first"),))
    assert isinstance(store.claim(claim(mark="m1")), Won)
    assert isinstance(store.claim(claim(key(2), mark="m2")), Won)
    assert sorted(kinds(store)) == ["call.begin", "call.begin", "first"]


def test_what_waits_to_be_written_makes_no_second_winner(store: Store) -> None:
    """A record that is written on the way of a claim changes the file as well: it must not pass for the claim."""
    store.open(REF)
    assert isinstance(store.claim(claim(mark="m1")), Won)
    store.announce((event("first"),))
    assert not isinstance(store.claim(claim(mark="m1")), Won)
    store.announce((event("second"),))
    assert not isinstance(store.claim(claim(key(2), mark="m1")), Won)  # its twin
    assert sorted(kinds(store)) == ["call.begin", "first", "second"]


def test_every_kind_that_a_guard_writes_is_of_the_form_that_ships(folder: Path) -> None:
    """A walk through everything that a guard does: each kind appears, and each record fits the schema."""
    (folder / "tools.yaml").write_text(BASE.replace("approve: {by: [boss]}", "approve: {by: [boss], expires: 1h}"), "utf-8")
    clock = Clock()
    with load(folder, clock=clock) as guard:
        chat = guard.open(CLERK, wire="openai-chat", conversation="c")
        chat.user("pay it")
        asks(guard)
        for number in range(4):
            asks(guard, "pay", number)
        one, two, three, _ = guard.approvals.list()
        guard.approvals.approve(one.id, approver=BOSS)
        guard.approvals.reject(two.id, approver=BOSS, reason="no")
        guard.approvals.cancel(three.id, by=BOSS, reason="over")
        chat.settled()
        clock.now += 4000
        guard.approvals.list()
        (folder / "people.yaml").write_text(PEOPLE, "utf-8")
        (folder / "tools.yaml").write_text(BASE, "utf-8")
        guard.reload()
        found = {body["kind"] for body in bodies(guard)}
    assert found >= {
        "policy.loaded", "user.said", "call.proposed", "call.decided", "call.begin", "call.end", "result.delivered", "approval.requested",
        "approval.resolved", "approval.expired", "approval.cancelled", "role.changed", "config.changed",
    }  # fmt: skip


def test_the_schema_says_what_it_is_of() -> None:
    """It names its draft, and every member has a type or a meaning."""
    schema = record_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    assert all(one for one in schema["properties"].values())
