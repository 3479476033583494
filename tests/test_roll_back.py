"""`guard.roll_back()`: the policy before the newest load is in force again at once, and what was rolled back does not come back by itself."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from reload_kit import BROKEN, CLOSED, asks, load, until, write

from guard import AsyncGuard, GuardError, PolicyError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "policies")


def test_the_policy_before_is_in_force_again(folder: Path) -> None:
    """With its version, and decisions as before; the state says what happened."""
    with load(folder) as guard:
        first = guard.policy_state.version
        assert guard.policy_state.previous is None
        write(folder, CLOSED)
        second = guard.reload().version
        assert (guard.policy_state.previous, asks(guard)) == (first, ("refused", "not_authorized"))

        done = guard.roll_back()

        assert (done.version, done.changed) == (first, True)
        assert asks(guard) == ("done", None)
        state = guard.policy_state
        assert (state.version, state.previous, state.loads) == (first, None, 3)
        assert second[:12] in (state.failure or "")


def test_without_an_earlier_policy_there_is_nothing_to_go_back_to(folder: Path) -> None:
    """Before the first reload, after one that changed nothing or failed, and after going back."""
    with load(folder) as guard:
        guard.reload()
        write(folder, BROKEN)
        with pytest.raises(PolicyError):
            guard.reload()
        with pytest.raises(GuardError, match="no earlier policy"):
            guard.roll_back()
        write(folder, CLOSED)
        guard.reload()
        guard.roll_back()
        with pytest.raises(GuardError, match="no earlier policy"):
            guard.roll_back()


def test_whoever_asks_for_it_gets_it_again(folder: Path) -> None:
    """A reload is somebody's wish; it can be rolled back once more."""
    with load(folder) as guard:
        write(folder, CLOSED)
        second = guard.reload().version
        guard.roll_back()

        assert guard.reload().version == second
        assert guard.policy_state.failure is None
        guard.roll_back()
        assert asks(guard) == ("done", None)


def test_the_watcher_leaves_it_alone_until_the_folder_changes(folder: Path) -> None:
    """What was rolled back stays out; another content is loaded as always, and the old one is simply found."""
    with load(folder, watch=0.02) as guard:
        first = guard.policy_state.version
        write(folder, CLOSED)
        until(lambda: guard.policy_state.version != first)
        guard.roll_back()
        time.sleep(0.4)
        assert guard.policy_state.version == first
        assert guard.policy_state.failure

        write(folder)
        until(lambda: guard.policy_state.failure is None)
        assert guard.policy_state.version == first
        write(folder, CLOSED.replace("100000", "99999"))
        until(lambda: guard.policy_state.version != first)


def test_a_policy_that_nobody_confirms_grows_old(folder: Path) -> None:
    """Going back lifts no limit: with `stale_after` every call is refused in the end."""
    with load(folder, watch=0.02, stale_after=0.5) as guard:
        first = guard.policy_state.version
        write(folder, CLOSED)
        until(lambda: guard.policy_state.version != first)
        guard.roll_back()
        until(lambda: guard.policy_state.stale)
        assert asks(guard) == ("refused", "policy_failed")


def test_it_is_awaited_on_the_other_guard(folder: Path) -> None:
    """As reload is."""

    async def play() -> tuple[str, str]:
        guard = load(folder, AsyncGuard)
        first = guard.policy_state.version
        write(folder, CLOSED)
        await guard.reload()
        done = await guard.roll_back()
        guard.close()
        return first, done.version

    first, back = asyncio.run(play())
    assert first == back
