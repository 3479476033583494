"""Approvals that are overdue are written down by `guard serve` and its workers, without anybody who looks at them, so that sinks tell it in time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sinks_kit import Shelf
from votes_kit import LASTING, Office, known, office

from guard.core.ports import Store
from guard.errors import StoreError
from guard.runner.overdue import LOOK_SECONDS, Looking, look, looking
from guard.runner.worker import Worker
from guard.sinks import Follower
from guard.stores.outbox import outbox_of

ESCALATED, EXPIRED = "approval.escalated", "approval.expired"


@pytest.fixture(params=LASTING)
def slow(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """Decided within an hour; after half an hour a chief may decide as well."""
    with office(tmp_path, request.param, ", expires: 1h, escalate: {after: 30m, to: [chief]}") as made:
        yield made


def due(made: Office) -> list[str]:
    return [one["kind"] for one in made.events(ESCALATED, EXPIRED)]


def test_a_look_writes_down_what_is_due_once(slow: Office) -> None:
    """Nothing before its time; each of both once, however often somebody looks."""
    slow.ask()
    store = slow.guard.store
    assert (store.due(9), look(store)) == ((), 0)
    slow.clock.now += 1800
    assert [look(store) for _ in range(3)] == [1, 0, 0]
    assert due(slow) == [ESCALATED]
    slow.clock.now += 1800
    assert [look(store) for _ in range(3)] == [1, 0, 0]
    assert due(slow) == [ESCALATED, EXPIRED]


def test_a_look_is_bounded(slow: Office) -> None:
    """So many at a time; the next look finds the rest."""
    for amount in range(5):
        slow.propose(amount, call=f"c{amount}")
    slow.clock.now += 1800
    assert [look(slow.guard.store, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert due(slow) == [ESCALATED] * 5


def test_a_worker_looks_between_its_batches(slow: Office) -> None:
    """Although there is nothing to run; not more often than every few seconds by the store's clock."""
    slow.ask()
    worker = Worker(slow.guard, known)
    assert worker.once() == []
    slow.clock.now += 1800
    assert worker.once() == []
    assert due(slow) == [ESCALATED]
    slow.clock.now += 1800 - LOOK_SECONDS / 2
    worker.once()
    slow.clock.now += LOOK_SECONDS / 2
    worker.once()
    assert due(slow) == [ESCALATED]
    slow.clock.now += LOOK_SECONDS / 2
    worker.once()
    assert due(slow) == [ESCALATED, EXPIRED]


def test_a_clock_that_was_put_back_does_not_end_the_looking(tmp_path: Path) -> None:
    """The next look is made at once."""
    with office(tmp_path, "memory", ", escalate: {after: 30m, to: [chief]}") as made:
        eyes = Looking(made.guard.store)
        made.ask()
        assert eyes.in_time() == 0
        made.clock.now -= 100_000
        made.ask(7)
        made.clock.now += 1800
        assert eyes.in_time() == 1


class Down:
    """A store that is down at first."""

    def __init__(self, store: Store, errors: list[Exception]) -> None:
        self._store, self._errors = store, errors

    def due(self, most: int) -> tuple[str, ...]:
        if self._errors:
            raise self._errors.pop()
        return self._store.due(most)

    def approval(self, name: str) -> object:
        return self._store.approval(name)


def test_beside_the_server_it_is_written_down_and_told_by_sinks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In time, without a request; also after a store that was down, which is said once."""
    with office(tmp_path, "memory", ", escalate: {after: 30m, to: [chief]}") as made:
        asked = made.ask()
        shelf = Shelf()
        follower = Follower(outbox_of(made.guard.store), shelf)
        follower.begin()
        made.clock.now += 1800
        flaky = Down(made.guard.store, [RuntimeError("odd"), StoreError("it is down"), StoreError("it is down")])

        async def serving() -> None:
            async with looking(flaky, 0.01):  # type: ignore[arg-type]
                for _ in range(1000):
                    await asyncio.sleep(0 if due(made) else 0.01)

        asyncio.run(serving())
        follower.step()
        told = [one for one in (json.loads(sealed.body) for sealed in shelf.got) if one["kind"] == ESCALATED]
        assert [one["approval"] for one in told] == [asked.id]
        assert [record.getMessage() for record in caplog.records] == ["approvals cannot be looked at: it is down"]
