"""The contract of every store: conversations, turns, what a run has used, and opening by URL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from stores_kit import (
    CHILD,
    OTHER,
    REF,
    Clock,
    asking,
    charge,
    event,
    key,
    proposal,
    quota,
    row,
    turn,
)

from guard.core.ports import FindTwins, LoadLedger, Store
from guard.errors import ConversationError, StoreError
from guard.stores import open_store


def test_a_conversation_belongs_to_who_opened_it(store: Store) -> None:
    """Opening it again is fine for its owner in any branch, and an error for anybody else, by every way in."""
    store.open(REF)
    store.open(CHILD)
    refused_ways = [
        lambda: store.open(OTHER),
        lambda: store.say(OTHER, "hello", event("user.said")),
        lambda: store.open_turn(turn(ref=OTHER)),
        lambda: store.load_ledger(LoadLedger(ref=OTHER, tools=frozenset(), before=9, words=True)),
        lambda: store.find_twins(FindTwins(ref=OTHER, marks=("f",))),
        lambda: store.rows(OTHER),
        lambda: store.take(quota((key(ref=OTHER), (charge(),)))),
        lambda: store.record([row(at=key(ref=OTHER))], [event()]),
        lambda: store.ask(asking(proposal(now=store.now(), at=key(ref=OTHER)))),
    ]
    for way in refused_ways:
        with pytest.raises(ConversationError, match="somebody else") as caught:
            way()
        assert "E1" not in str(caught.value)
    assert store.audit() == ()


def test_a_refused_command_creates_no_conversation(store: Store) -> None:
    """A command that names the same conversation for two people fails whole: neither of them owns it afterwards."""
    for attempt in (lambda: store.take(quota((key(ref=OTHER), ()), (key(), ()))), lambda: store.say(OTHER, "x", event(seq=1))):
        with pytest.raises((ConversationError, ValueError)):
            attempt()
        assert store.rows(REF) == store.rows(OTHER) == ()
    store.open(REF)


def test_tenants_do_not_share_conversations(store: Store) -> None:
    """The same name in another tenant is another conversation, whoever owns the first."""
    store.open(REF)
    elsewhere = replace(OTHER, tenant="globex")
    store.open(elsewhere)
    store.record([row()], [event()])
    assert store.rows(elsewhere) == ()


def test_a_conversation_that_nobody_opened_is_empty(store: Store) -> None:
    """Reading it gives nothing and creates nothing; writing to it creates it for that principal."""
    assert store.rows(REF) == ()
    assert store.load_ledger(LoadLedger(ref=REF, tools=frozenset({"pay"}), before=9, words=True)).words == ()
    assert store.find_twins(FindTwins(ref=REF, marks=("f",))) == {}
    store.open(OTHER)
    with pytest.raises(ConversationError):
        store.open(REF)


def test_every_store_has_a_secret_of_its_own(store: Store) -> None:
    """32 random bytes that do not change while it is open."""
    assert isinstance(store.secret, bytes)
    assert len(store.secret) == 32
    assert store.secret == store.secret != open_store("memory://").secret


def test_audit_pages(store: Store) -> None:
    """`after` and `limit` cut the records in order of seq, from 1 without gaps."""
    store.record([], [event(str(number)) for number in range(5)])
    assert [record.seq for record in store.audit()] == [1, 2, 3, 4, 5]
    assert [record.seq for record in store.audit(after=2, limit=2)] == [3, 4]
    assert store.audit(after=5) == ()
    assert store.audit(limit=0) == ()


def test_now_is_the_clock(store: Store, clock: Clock) -> None:
    """Time is the store's clock and nothing else."""
    clock.now = 5.0
    assert store.now() == 5.0


# -- opening


@pytest.mark.parametrize("url", ["", "memory", "mysql://x", "guard.db", "SQLITE:///x.db"])
def test_an_unknown_scheme_names_the_known_ones(url: str) -> None:
    """A store that does not exist is refused with the ones that do, without repeating the URL and its password."""
    with pytest.raises(StoreError, match="memory://, sqlite://, postgresql://") as caught:
        open_store(url)
    assert ("write sqlite:///guard.db" in str(caught.value)) == ("://" not in url)


@pytest.mark.parametrize(
    "url",
    ["memory://x", "sqlite://", "sqlite:///", "sqlite://x.db", "sqlite:///:memory:", "sqlite:///a.db?mode=ro", "sqlite:///d/"],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    """What a URL cannot mean is an error, not a guess."""
    with pytest.raises(StoreError):
        open_store(url)


def test_relative_and_absolute_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes are relative to the working directory at that time, four are absolute."""
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///relative.db", f"sqlite:///{tmp_path}/absolute.db"):
        open_store(url).close()
    assert {"relative.db", "absolute.db"} <= {path.name for path in tmp_path.iterdir()}
