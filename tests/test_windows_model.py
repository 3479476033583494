"""Windows against an oracle: a plain list of draws that is looked through from the beginning each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores_kit import Clock, charge, event, key, quota, row

from guard.core.ports import Charge, Store
from guard.stores import open_store, spans

WINDOW = 100.0
LIMIT = Decimal(5)


@dataclass
class Drawn:
    amount: Decimal
    at: float
    status: str = ""
    ended: float | None = None
    gone: bool = False


class Oracle:
    """Every draw ever made. The time of the budget never goes back."""

    def __init__(self) -> None:
        self.draws: dict[int, Drawn] = {}
        self.now = 0.0

    def look(self, clock: float) -> None:
        self.now = max(self.now, clock)
        for one in self.draws.values():
            until = max(one.at, one.ended or 0.0) + WINDOW + (0 if one.status else spans.UNDER_WAY)
            one.gone = one.gone or (one.status not in {"started", "unknown"} and until <= self.now)

    def surely(self) -> Decimal:
        """What counts in any case."""
        return sum((one.amount for one in self.draws.values() if not one.gone), Decimal(0))


@contextmanager
def stores(clock: Clock) -> Iterator[list[Store]]:
    with TemporaryDirectory() as folder:
        both = [open_store(url, clock=clock) for url in ("memory://", f"sqlite:///{Path(folder)}/guard.db")]
        yield both
        for store in both:
            store.close()


def charged(amount: Decimal) -> Charge:
    return replace(charge(amount, LIMIT, name="sum:x"), window=WINDOW)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([1.0, 30.0, 99.0, 100.0, 1_000.0, -50.0])),
        st.tuples(st.just("draw"), st.sampled_from(["0", "1", "2.5", "5"]).map(Decimal)),
        st.tuples(
            st.just("end"), st.tuples(st.integers(0, 8), st.sampled_from(["started", "done", "unknown", "failed", "refused"]))
        ),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_windows_are_what_a_plain_list_says(taken: list[tuple[str, object]]) -> None:
    """Nothing is let through that the list would refuse; what it lets through is, unless a call was open when its window ended."""
    clock, oracle = Clock(1_000.0), Oracle()
    with stores(clock) as both:
        turn, opened = 0, False
        for what, given_ in taken:
            if what == "wait":
                clock.now += given_  # type: ignore[operator]
            elif what == "draw":
                turn += 1
                answers = {store.take(quota((key(turn), (charged(given_),)))) == (None,) for store in both}  # type: ignore[arg-type]
                assert len(answers) == 1, "both stores answer alike"
                oracle.look(clock.now)
                fits = oracle.surely() + given_ <= LIMIT  # type: ignore[operator]
                let = answers.pop()
                assert fits or not let, "never wider than the list"
                assert let or not fits or opened, "never tighter, unless a call was open"
                if let:
                    oracle.draws[turn] = Drawn(given_, oracle.now)  # type: ignore[arg-type]
            else:
                back, status = given_  # type: ignore[misc]
                opened = _end(both, oracle, max(turn - back, 0), status, clock) or opened


def _end(both: list[Store], oracle: Oracle, turn: int, status: str, clock: Clock) -> bool:
    one = oracle.draws.get(turn)
    if (
        one is None
        or one.status not in {"", "started", "unknown"}
        or one.gone
        or (one.status and status in {"refused", "started"})
    ):
        return False
    for store in both:
        store.record([row(status, key(turn), fingerprint=f"f{turn}", mark="")], [event()])
    if status in {"refused", "failed"}:
        del oracle.draws[turn]  # a sum is given back
        return False
    one.status = status
    one.ended = clock.now if status == "done" else None
    return status in {"started", "unknown"}
