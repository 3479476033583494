"""Landing: a call in a thread, waited for by the event loop or by its caller, who gets its answer either way and once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from guard.runner.landing import Calm, Landing
from guard.runner.threads import in_thread

LONG = 20.0


def _boom() -> None:
    raise LookupError("none")


@pytest.mark.parametrize("patient", [False, True])
def test_what_a_call_gives_or_raises_comes_back(patient: bool) -> None:
    """Whether the loop is woken or stands still for it."""

    async def landed(call: Callable[[], Any]) -> Any:
        landing = Landing(call, patient=patient)
        return landing.soon(LONG) if patient else await landing.came()

    assert asyncio.run(landed(lambda: 7)).get() == 7
    with pytest.raises(LookupError):
        asyncio.run(landed(_boom)).get()


def test_one_that_takes_longer_is_waited_for_by_the_loop() -> None:
    """Standing still ends after the time that was given; then others run, and the answer wakes whoever waits."""
    free, ran = threading.Event(), []

    async def go() -> Any:
        landing = Landing(lambda: free.wait(LONG), patient=True)
        assert landing.soon(0.001) is None
        asyncio.get_running_loop().call_soon(lambda: (ran.append(1), free.set()))
        return (await landing.came()).get()

    assert asyncio.run(go()) is True
    assert ran == [1]


def test_one_that_ends_between_two_looks_is_found() -> None:
    """The thread may end at any moment between standing still and waiting: no answer is lost."""

    async def go() -> list[Any]:
        found = []
        for number in range(300):
            landing = Landing(lambda number=number: number, patient=True)
            soon = landing.soon(0.0 if number % 2 else 0.00001)
            async with asyncio.timeout(LONG):
                found.append((soon or await landing.came()).get())
        return found

    assert asyncio.run(go()) == list(range(300))


def test_what_comes_back_soon_needs_no_thread() -> None:
    """Right here, as long as the last call came back in time, and again after one that did; also where it raises."""
    calm, slow = Calm(LONG), Calm(0.0)

    def asked() -> list[bool]:
        found = [calm.here(), slow.here()]
        with pytest.raises(LookupError):
            slow.timed(_boom)
        found.append(slow.here())
        assert slow.timed(lambda: 7) == 7
        slow.seconds = LONG
        slow.timed(lambda: 7)
        return [*found, slow.here()]

    assert in_thread(asked).result().get() == [True, True, False, True]


class _Bounded:
    """A store that says whether a call would have to wait."""

    waits = False

    def hastily(self, call: Callable[[], Any], within: float) -> tuple[Any] | None:
        assert within == LONG
        return None if self.waits else (call(),)


def test_a_call_of_a_store_is_made_right_here_only_where_it_waits_for_nobody() -> None:
    """One that would wait is not made, and the next one goes by a thread; a store that cannot tell always does."""

    def asked() -> list[Any]:
        calm, store = Calm(LONG), _Bounded()
        found: list[Any] = [calm.tried(object(), _boom), calm.tried(store, lambda: 7)]
        store.waits = True
        return [*found, calm.tried(store, _boom), calm.here(), calm.tried(store, _boom)]

    assert in_thread(asked).result().get() == [None, (7,), None, False, None]


def test_the_main_thread_calls_nothing_itself() -> None:
    """Ctrl-C could come in the middle of it."""
    assert threading.current_thread() is threading.main_thread()
    assert not Calm(LONG).here()
