"""Records that a transaction seals together: byte for byte those that it would seal one by one, and nothing of a work that failed."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stores_kit import Clock, event, row, turn

from guard.core.ports import Claim, Store, Won
from guard.core.searching import Sought
from guard.core.values import keyed
from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.chain import GENESIS, UNSAID, verify, write, write_all
from guard.stores.stamp import Stamps

EVENTS = st.lists(
    st.one_of(
        st.text().map(lambda text: {"kind": "call.end", "said": text}),
        st.text(st.characters(exclude_characters='"\\', exclude_categories=["Cc"])).map(
            lambda text: f'"kind":"k","said":"{text}"'
        ),
    ),
    min_size=1,
    max_size=12,
)


class Still(Stamps):
    """Stamps of a process whose own clock stands still."""

    def beside(self) -> tuple[str, str]:
        return ',"mono":1.5,"writer":{"process":"p"}', ',"mono":1.5'


def counting(start: int) -> Stamps:
    """Stamps whose next id comes after this number of the milliseconds 1,000."""
    stamps = Still()
    stamps._last = (1_000 << 74) + start
    return stamps


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as made:
        yield made


@given(EVENTS, st.integers(0, 31), st.integers(0, 2**40))
def test_records_sealed_together_are_those_sealed_one_by_one(events: list[Any], chain: int, seq: int) -> None:
    """The same bodies, ids, times and hashes: only what they share was made once, and who wrote them stands in the first."""
    one, own = counting(5), GENESIS
    wanted = []
    for number, each in enumerate(events, seq + 1):
        prev, (own, body) = own, write(each, chain, number, own, one.stamp(1.0), UNSAID if wanted else one.beside())
        wanted.append((chain, number, prev, own, body))
    assert write_all(events, chain, (seq, GENESIS), counting(5), 1.0) == wanted


@given(st.integers(0, 2**62 - 100), st.integers(1, 40))
@example(2**48 - 3, 10)
@example(2**62 - 3, 10)
def test_ids_made_together_are_those_made_one_by_one(start: int, number: int) -> None:
    """Also where they count beyond what stands behind the last dash."""
    one, many = counting(start), counting(start)
    assert many.names(1.0, number) == [one.name(1.0) for _ in range(number)]
    assert many.name(1.0) == one.name(1.0)


@given(st.binary(max_size=200), st.text())
@example(b"", "")
@example(b"k" * 64, "at the size of a block")
@example(b"k" * 65, "a key that is hashed first")
def test_keyed_hashes_are_hmac(secret: bytes, text: str) -> None:
    """HMAC-SHA-256 as every other program makes it: an auditor's own tools can check it."""
    assert keyed(secret, text) == hmac.digest(secret, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def test_what_a_transaction_appended_is_seen_by_what_it_asks_next(store: Store) -> None:
    """Records wait for the end of the work; whoever asks before finds them."""
    asks = (
        lambda tables: len(tables.audit(0, 0, None)),
        lambda tables: tables.heads_now()[0][0],
        lambda tables: tables.last_seq(0),
        lambda tables: len(tables.search(Sought())),
        lambda tables: tables.tally(Sought(), ())[0][1],
        lambda tables: len(tables.filed(Sought(), ("kind",))),
    )
    for number, ask in enumerate(asks, 1):
        assert store._tables.write(lambda tables, ask=ask: (tables.append(event()), ask(tables))[1]) == number


def test_a_taken_call_stands_behind_what_its_transaction_appended(store: Store) -> None:
    """A call is taken by one statement that seals its record by itself: the chain stays whole."""
    store.open_turn(turn())
    before = len(store.audit())
    store.announce([event(), event()])
    assert isinstance(store.claim(Claim(row=row("started"), approval=None, event=event("call.begin"), lease=30.0)), Won)
    found = store.audit()
    assert verify(found).ok
    assert [json.loads(one.body)["kind"] for one in found[before:]] == ["call.decided", "call.decided", "call.begin"]


@pytest.mark.parametrize(
    "wrong", [{"tenant": "a"}, {"kind": "k", "seq": 7}, {"kind": "k", "x": object()}], ids=["kind", "own", "json"]
)
def test_nothing_is_left_of_a_work_that_appended_what_is_no_record(store: Store, wrong: Any) -> None:
    """The work fails as a whole, and the next one stands where it would have stood."""
    store.record((), [event()])
    with suppress(ValueError, StoreError):
        store.record((), [event(), wrong, event()])
        pytest.fail("it was written")
    store.record((), [event()])
    found = store.audit()
    assert [one.seq for one in found] == [1, 2]
    assert verify(found).ok
