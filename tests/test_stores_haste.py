"""Calls of the store in haste: they begin within a moment, or nothing of them is done and whoever made them is told so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from locker_kit import locked
from stores_kit import REF, event, in_file, key, row

from guard.core.ports import Store
from guard.runner.threads import in_thread
from guard.stores import open_store
from guard.stores.chain import verify_store

MOMENT = 0.005


def hasty(store: Store, call: Callable[[], Any]) -> Any:
    """Made in a thread, as an event loop does."""
    return in_thread(lambda: store.hastily(call, MOMENT)).result().get()  # type: ignore[attr-defined]


def in_the_end(store: Store, call: Callable[[], Any]) -> Any:
    """Made again for as long as somebody is at it: the writer's own thread files records between two works."""
    while (found := hasty(store, call)) is None:
        threading.Event().wait(0.01)
    return found


def written(store: Store, number: int = 1) -> Callable[[], Any]:
    return lambda: store.record([row(at=key(number))], [event(f"of {number}")])


def test_a_call_that_need_not_wait_is_made(tmp_path: Path) -> None:
    """What it gives comes back in a tuple, and is in the file; the next one without haste waits as long as ever."""
    with in_file(tmp_path / "guard.db") as store:
        store.record([], [event()])
        assert in_the_end(store, written(store)) == (None,)
        assert hasty(store, lambda: len(store.rows(REF))) == (1,)
        pen = store._tables.database.pen.open()  # type: ignore[attr-defined]
        assert pen.execute("PRAGMA busy_timeout").fetchone()[0] == 10_000
        assert verify_store(store).ok


def test_a_call_that_would_wait_for_another_process_is_not_made(tmp_path: Path) -> None:
    """Nothing of it is written, and made again once the other is done it counts once. Who reads need not wait."""
    file = tmp_path / "guard.db"
    with in_file(file) as store:
        store.record([], [event()])
        with locked(file):
            assert hasty(store, written(store)) is None
            assert hasty(store, lambda: len(store.rows(REF))) == (0,)
        assert store.rows(REF) == ()
        assert in_the_end(store, written(store)) == (None,)
        assert len(store.audit()) == 2
        assert verify_store(store).ok


def test_a_call_that_would_wait_for_this_process_is_not_made(tmp_path: Path) -> None:
    """While another thread's work has the pen."""
    begun, go = threading.Event(), threading.Event()

    def slow(_: Any) -> None:
        begun.set()
        assert go.wait(60)

    with in_file(tmp_path / "guard.db") as store:
        other = in_thread(lambda: store._tables.write(slow))  # type: ignore[attr-defined]
        assert begun.wait(60)
        found = hasty(store, written(store))
        go.set()
        other.result().get()
        assert found is None
        assert in_the_end(store, written(store)) == (None,)
        assert len(store.audit()) == 1


def test_records_that_wait_are_kept_when_nothing_is_done(tmp_path: Path) -> None:
    """They stand before what comes next, each once."""
    file = tmp_path / "guard.db"
    with in_file(file) as store:
        store.batch(60.0)  # type: ignore[attr-defined]
        assert store.later([row(at=key(1))], [event("waits")])
        with locked(file):
            assert hasty(store, written(store, 2)) is None
        assert in_the_end(store, written(store, 2)) == (None,)
        kinds = [one.body.partition('"kind":"')[2].partition('"')[0] for one in store.audit()]
        assert kinds[-2:] == ["waits", "of 2"]
        assert len(store.rows(REF)) == 2


def test_a_failure_of_the_call_is_its_own(tmp_path: Path) -> None:
    """Only having to wait is told by None."""

    def wrong(_: Any) -> None:
        raise LookupError("none")

    with in_file(tmp_path / "guard.db") as store:
        store.record([], [event()])
        with pytest.raises(LookupError):
            in_the_end(store, lambda: store._tables.write(wrong))  # type: ignore[attr-defined]


def test_what_comes_after_the_first_transaction_may_wait(tmp_path: Path) -> None:
    """A call of which something is done is never told to be made again."""
    with in_file(tmp_path / "guard.db") as store:

        def twice() -> list[float | None]:
            from guard.stores.haste import in_haste

            found = [in_haste()]
            written(store)()
            return [*found, in_haste()]

        store.record([], [event()])
        assert in_the_end(store, twice) == ([MOMENT, None],)


def test_a_store_that_cannot_tell_makes_no_call_in_haste() -> None:
    """Its callers go by a thread."""
    store = open_store("memory://")
    assert hasty(store, written(store)) is None
    assert store.audit() == ()
