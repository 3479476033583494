"""Unresolved calls over a call's whole life: lost ones, approvals, grants, restarts, another policy, races, erasure, a restored backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, CLERK, DONE, ENTRIES, LEASE, UNKNOWN, Life, a_life, lives, plain_lives, said

from guard.errors import OutcomeUnknownError
from guard.runner.doubts import restored
from guard.runner.erasing import Payloads
from guard.stores import open_store, sql

BLOCKED = ("refused", "earlier_unknown")
BEN = replace(CLERK, principal="E7")


def keyed(tool: str, key: str = "{blocks: tool}") -> dict[str, str]:
    """The policy in which an unresolved call of the tool blocks every other one."""
    return {tool: f"{ENTRIES[tool]}, unknown: {key}"}


def nobody_knows(_: int) -> Any:
    raise OutcomeUnknownError


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


def test_a_lost_call_blocks_from_the_end_of_its_lease(life: Life) -> None:
    """While somebody may be at it, others run; once it is lost, none does, though nobody has written that down yet."""
    keys = keyed("once")
    life.dies("once", 1, lost=False, **keys)
    guard = life.process(**keys)
    assert said(life.propose(guard, ("once", 2), session=BEN, conversation="d")[0]) == DONE
    life.clock.now += LEASE + 1
    assert said(life.propose(guard, ("once", 3), session=BEN, conversation="d")[0]) == BLOCKED
    assert [n for _, n, _ in life.ran] == [2]


def test_nobody_is_asked_about_what_could_not_run(life: Life) -> None:
    """No question is opened while the target is in doubt; afterwards there is one."""
    keys = keyed("held")
    life.answers["held"] = nobody_knows
    guard = life.process(**keys)
    life.propose(guard, ("held", 1))
    life.approve(guard)
    assert "outcome_unknown" in life.settled(guard)
    assert said(life.propose(guard, ("held", 2))[0]) == BLOCKED
    assert life.run(guard.approvals.list()) == ()
    settle(life, guard)
    assert life.propose(guard, ("held", 3))[0].status == "held"


def settle(life: Life, guard: Any, *, happened: bool = True) -> None:
    [doubt] = life.run(guard.unknown.list())
    life.run(guard.unknown.resolve(doubt, happened=happened, approver=BOSS, reason="looked it up"))


def test_a_yes_is_not_spent_while_the_target_is_in_doubt(life: Life) -> None:
    """Two were approved and the first is unknown: the second is refused, says so, and runs under the same yes once that is settled."""
    keys = keyed("held")
    life.answers["held"] = nobody_knows
    guard = life.process(**keys)
    life.propose(guard, ("held", 1))
    life.propose(guard, ("held", 2), session=BEN, conversation="d")
    life.approve(guard)
    assert "outcome_unknown" in life.settled(guard)
    assert "earlier_unknown" in life.settled(guard, session=BEN, conversation="d")
    del life.answers["held"]
    settle(life, guard)
    assert said(life.propose(guard, ("held", 2), session=BEN, conversation="d")[0]) == DONE
    assert [n for _, n, _ in life.ran] == [1, 2]


@plainly
def test_what_may_run_again_with_its_key_is_not_blocked_by_others(life: Life) -> None:
    """Two idempotent calls are lost: each goes on by itself; a third one waits for both."""
    keys = keyed("same")
    life.dies("same", 1, lost=False, **keys)
    life.dies("same", 2, **keys)
    guard = life.process(**keys)
    assert said(life.propose(guard, ("same", 3))[0]) == BLOCKED
    assert said(life.propose(guard, ("same", 1))[0]) == DONE
    assert said(life.propose(guard, ("same", 3))[0]) == BLOCKED
    assert said(life.propose(guard, ("same", 2))[0]) == DONE
    assert said(life.propose(guard, ("same", 3))[0]) == DONE


POLICIES = {
    "no target before": (ENTRIES["once"], "{target: [n]}", 1),
    "another target before": (f"{ENTRIES['once']}, unknown: {{blocks: tool}}", "{target: [n]}", 1),
    "a narrower target before": (f"{ENTRIES['once']}, unknown: {{target: [n]}}", "{blocks: tool}", 2),
}


@plainly
@pytest.mark.parametrize("lost", [False, True], ids=["unknown", "lost"])
@pytest.mark.parametrize("case", POLICIES)
def test_what_another_version_of_the_policy_left_counts(life: Life, case: str, lost: bool) -> None:
    """What is in doubt from before the policy said what a target is, or said it otherwise, is compared by its arguments."""
    before, now, n = POLICIES[case]
    if lost:
        life.dies("once", 1, once=before)
    else:
        life.answers["once"] = nobody_knows
        assert said(life.propose(life.process(once=before), ("once", 1))[0]) == UNKNOWN
        del life.answers["once"]
    guard = life.process(**keyed("once", now))
    assert said(life.propose(guard, ("once", n), session=BEN, conversation="d")[0]) == BLOCKED
    assert said(life.propose(guard, ("once", 8), session=BEN, conversation="d")[0]) == (BLOCKED if "tool" in now else DONE)


@plainly
def test_of_many_at_once_none_starts(life: Life) -> None:
    """16 threads with conversations of their own: the target is in doubt, so nobody runs; settled, all of them do."""
    keys = keyed("once")
    life.answers["once"] = nobody_knows
    guard = life.process(**keys)
    life.propose(guard, ("once", 0))
    del life.answers["once"]

    def one(n: int) -> tuple[str, str | None]:
        return said(life.propose(guard, ("once", n), session=BEN, conversation=f"d{n}")[0])

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(1, 17))) == [BLOCKED] * 16
    [doubt] = guard.unknown.list()
    guard.unknown.resolve(doubt, happened=False, approver=CLERK, reason="nothing there")
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(17, 33))) == [DONE] * 16


@plainly
def test_what_a_backup_leaves_in_doubt_blocks(life: Life) -> None:
    """What was approved in the backup may have run since: a call of the same tool waits for a person's word about it."""
    keys = keyed("held", "{target: [n]}")
    guard = life.process(**keys)
    life.propose(guard, ("held", 1))
    life.approve(guard)
    restored(life.store, guard.redactor, "backup of Monday", "ops")
    assert said(life.propose(guard, ("held", 1), session=BEN, conversation="d")[0]) == BLOCKED
    assert life.propose(guard, ("held", 2), session=BEN, conversation="d")[0].status == "held"


@plainly
def test_erasing_leaves_what_is_in_doubt(life: Life) -> None:
    """An unresolved call is not over, so it is left and blocks; afterwards its target goes with its values."""
    keys = keyed("once", "{target: [n]}")
    life.answers["once"] = nobody_knows
    guard = life.process(**keys)
    life.propose(guard, ("once", 1))
    del life.answers["once"]
    Payloads(life.store, guard.redactor).erase(("acme", "c"), who="ops", reason="asked for")
    assert said(life.propose(guard, ("once", 1), session=BEN, conversation="d")[0]) == BLOCKED
    [doubt] = guard.unknown.list()
    guard.unknown.resolve(doubt, happened=True, approver=CLERK, reason="seen")
    Payloads(life.store, guard.redactor).erase(("acme", "c"), who="ops", reason="asked for")
    assert said(life.propose(guard, ("once", 1), session=BEN, conversation="d")[0]) == DONE


@plainly
def test_people_read_what_an_unknown_call_blocks(life: Life) -> None:
    """The list says which calls wait for it, by the policy in force."""
    life.answers["once"] = nobody_knows
    life.propose(life.process(), ("once", 1))
    words = {
        "{blocks: call}": "the same once in this conversation",
        "{blocks: tool}": "every once",
        "{target: n}": "once with the same n",
    }
    assert {life.process(**keyed("once", key)).unknown.list()[0].blocks for key in words} == set(words.values())


@pytest.mark.parametrize("name", ["AIMED", "UNKNOWN_OTHERWISE", "LOST_OTHERWISE", "LOST", "DOUBTFUL", "APPROVED"])
def test_no_look_at_open_calls_reads_those_that_are_over(tmp_path: Path, name: str) -> None:
    """Each is served by an index of a file, however many calls there were."""
    open_store(f"sqlite:///{tmp_path}/guard.db").close()
    statement = getattr(sql, name)
    with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
        plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", ["x"] * statement.count("?"))]
    assert [step for step in plan if step.startswith("SCAN c")] == []


@plainly
def test_a_grant_is_not_drawn_on_while_the_target_is_in_doubt(life: Life) -> None:
    """What runs without a question for a grant waits for the same word, and nothing is counted on it meanwhile."""
    keys = {
        "held": "kind: action, allow: [clerk], approve: {by: [boss], grants: [{scope: tool_here, uses: 5}]}, unknown: {blocks: tool}"
    }
    guard = life.process(**keys)
    life.propose(guard, ("held", 1))
    [asked] = guard.approvals.list()
    guard.approvals.approve(asked.id, approver=BOSS)
    guard.grants.give(asked.id, by=BOSS, scope="tool_here", uses=5)
    life.answers["held"] = nobody_knows
    assert said(life.propose(guard, ("held", 2))[0]) == UNKNOWN
    used = guard.grants.list()[0].used
    assert said(life.propose(guard, ("held", 3))[0]) == BLOCKED
    assert (guard.grants.list()[0].used, guard.approvals.list()) == (used, ())
