"""The chain: what is sealed can be checked, and every change inside it is found."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.core.ports import Sealed
from guard.core.values import encode
from guard.errors import StoreError
from guard.stores import chain
from guard.stores.chain import GENESIS, seal, verify
from guard.stores.stamp import Stamps, time_text

leaves = st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
events = st.dictionaries(st.text(min_size=9), values, max_size=4).map(lambda fields: {"kind": "call.decided", **fields})


def links(count: int, start: Sealed | None = None) -> list[Sealed]:
    made: list[Sealed] = []
    last = start
    for number in range(count):
        seq, prev = (1, GENESIS) if last is None else (last.seq + 1, last.hash)
        last = seal({"kind": "k", "n": number}, chain=0, seq=seq, prev=prev, ts="t", record_id=f"r{seq}")
        made.append(last)
    return made


def resealed(record: Sealed, **body: object) -> Sealed:
    """What somebody can write who knows the recipe: another body with a hash that fits it."""
    text = json.dumps({**json.loads(record.body), **body})
    return replace(record, body=text, hash=chain._hash(record.chain, record.seq, record.prev, text.encode()))


def test_hash_is_the_published_recipe() -> None:
    """Anybody can recompute the hash from chain, seq, prev and the exact body with SHA-256 and nothing else."""
    record = seal({"kind": "call.begin", "turn": 1}, chain=12, seq=7, prev="ab" * 32, ts="T", record_id="R")
    body = b'{"v":1,"id":"R","ts":"T","chain":12,"seq":7,"kind":"call.begin","turn":1}'
    expected = b"guard-audit-v1\0" + (2).to_bytes(8) + b"12" + (7).to_bytes(8) + b"\xab" * 32 + len(body).to_bytes(8) + body
    assert record.body.encode() == body
    assert record.hash == hashlib.sha256(expected).hexdigest()


@given(st.lists(events, max_size=6))
def test_what_is_sealed_verifies_and_reads_back(given_events: list[dict[str, object]]) -> None:
    """Whatever JSON an event holds, the chain holds, the body can be stored as UTF-8, and its fields are those of the event."""
    made: list[Sealed] = []
    for number, one in enumerate(given_events, 1):
        made.append(seal(one, chain=0, seq=number, prev=made[-1].hash if made else GENESIS, ts="t", record_id="r"))
        fields = json.loads(made[-1].body.encode().decode(), parse_float=Decimal)
        assert {name: fields[name] for name in one} == json.loads(encode(one), parse_float=Decimal)
    assert verify(made) == chain.Verified(ok=True, records=len(made))


@given(events)
def test_an_event_may_come_as_the_text_of_its_members(one: dict[str, object]) -> None:
    """An event that was written before, without its braces, seals to the same bytes."""
    how = {"chain": 0, "seq": 1, "prev": GENESIS, "ts": "t", "record_id": "r"}
    assert seal(encode(one)[1:-1], **how) == seal(one, **how)


def test_half_a_surrogate_pair_is_kept_as_its_escape() -> None:
    """Text that UTF-8 cannot hold is sealed all the same and reads back as it was."""
    record = seal({"kind": "k", "x": "\ud83d!"}, chain=0, seq=1, prev=GENESIS, ts="t", record_id="r")
    assert json.loads(record.body)["x"] == "\ud83d!"
    assert verify([record]).ok


@pytest.mark.parametrize(
    ("tamper", "bad", "why"),
    [
        pytest.param(
            lambda r: r.__setitem__(2, replace(r[2], body=r[2].body.replace('"n":2', '"n":9'))), 3, "changed", id="changed-body"
        ),
        pytest.param(lambda r: r.__setitem__(2, replace(r[2], hash="0" * 64)), 3, "changed", id="changed-hash"),
        pytest.param(lambda r: r.__setitem__(2, replace(r[2], hash="zz", prev="zz")), 3, "follow", id="broken-hex"),
        pytest.param(lambda r: r.__setitem__(2, replace(r[2], prev="1" * 64)), 3, "follow", id="changed-prev"),
        pytest.param(lambda r: r.__setitem__(2, replace(r[2], body=None)), 3, "read", id="body-gone"),
        pytest.param(lambda r: r.__setitem__(2, replace(r[2], chain=1)), 3, "another chain", id="other-chain"),
        pytest.param(lambda r: r.__setitem__(2, resealed(r[2], n=9)), 4, "follow", id="resealed"),
        pytest.param(lambda r: r.__setitem__(4, resealed(r[4], seq=9)), 5, "columns", id="copy-of-seq-differs"),
        pytest.param(lambda r: r.__setitem__(4, resealed(r[4], chain=9)), 5, "columns", id="copy-of-chain-differs"),
        pytest.param(lambda r: r.__setitem__(4, resealed(r[4], kind=None)), 5, "columns", id="kind-gone"),
        pytest.param(lambda r: r.pop(1), 3, "number 2", id="deleted"),
        pytest.param(lambda r: r.pop(0), 2, "number 1", id="first-deleted"),
        pytest.param(lambda r: r.insert(2, r[1]), 2, "number 3", id="repeated"),
        pytest.param(lambda r: r.insert(2, links(3)[2]), 3, "number 4", id="inserted"),
        pytest.param(lambda r: r.reverse(), 5, "number 1", id="reordered"),
    ],
)
def test_tampering_is_found_where_it_is(tamper, bad: int, why: str) -> None:
    """A changed, missing, added or reordered record is named by its number and with what is wrong."""
    records = links(5)
    tamper(records)
    found = verify(records)
    assert not found.ok
    assert found.first_bad_seq == bad
    assert why in found.why


def test_verifying_goes_on_behind_a_known_record() -> None:
    """`after` makes the check start behind a record, and only there."""
    records = links(6)
    assert verify(records[3:], after=records[2]) == chain.Verified(ok=True, records=3)
    assert not verify(records[3:]).ok
    assert not verify(records[3:], after=records[1]).ok


def test_a_cut_end_is_not_found() -> None:
    """The chain alone cannot show that its newest records were cut off: this is what it does not promise."""
    assert verify(links(5)[:3]).ok


@pytest.mark.parametrize("name", ["v", "id", "ts", "chain", "seq", "prev", "hash"])
def test_an_event_may_not_write_the_stores_fields(name: str) -> None:
    """A field of the store's own in an event would make two of them in the body."""
    with pytest.raises(ValueError, match="event"):
        seal({"kind": "k", name: 1}, chain=0, seq=1, prev=GENESIS, ts="t", record_id="r")


@pytest.mark.parametrize("value", [math.nan, object(), {1, 2}], ids=["nan", "object", "set"])
def test_an_event_that_is_not_json_is_an_outage(value: object) -> None:
    """No record, no action: what cannot be written is a StoreError without the value in it."""
    with pytest.raises(StoreError, match=r"^an event cannot be written as JSON$"):
        seal({"kind": "k", "x": value}, chain=0, seq=1, prev=GENESIS, ts="t", record_id="r")


def test_an_event_needs_its_kind() -> None:
    """An event without a kind says nothing."""
    with pytest.raises(ValueError, match="kind"):
        seal({"tenant": "a"}, chain=0, seq=1, prev=GENESIS, ts="t", record_id="r")


@given(st.lists(st.floats(min_value=0, max_value=4e9), min_size=1, max_size=40))
def test_ids_are_rising_uuid7_even_when_the_clock_steps_back(times: list[float]) -> None:
    """Ids have the form and version of UUIDv7, carry the time when it moved on, and never fall or repeat."""
    stamps = Stamps()
    ids = [stamps.stamp(now)[1] for now in times]
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one) for one in ids)
    assert sorted(set(ids)) == ids
    assert int(ids[0].replace("-", "")[:12], 16) == int(times[0] * 1000)


def test_two_writers_do_not_make_the_same_id() -> None:
    """Ids of one millisecond differ between writers, since their low bits are random."""
    assert Stamps().stamp(5.0)[1] != Stamps().stamp(5.0)[1]


@pytest.mark.parametrize(
    ("now", "text"),
    [
        pytest.param(0.0, "1970-01-01T00:00:00.000000Z", id="epoch"),
        pytest.param(1_800_000_000.000123, "2027-01-15T08:00:00.000123Z", id="micros"),
        pytest.param(1_800_000_000.9999999, "2027-01-15T08:00:01.000000Z", id="rounds-up-a-second"),
        pytest.param(-0.5, "1969-12-31T23:59:59.500000Z", id="before-the-epoch"),
    ],
)
def test_time_text_is_utc_with_microseconds(now: float, text: str) -> None:
    """Times are written in UTC with six digits, whatever the machine's own time zone."""
    assert time_text(now) == text
    assert Stamps().stamp(max(now, 0))[0] == time_text(max(now, 0))
