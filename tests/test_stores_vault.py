"""The contract of every store: the vault of a conversation, bounded in size and age, and nobody else's."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from older_kit import as_of
from stores_kit import CHILD, NEXT, OTHER, REF, Clock, event, key, row

from guard.core.ports import LoadHandles, Store, Vaulted
from guard.errors import ConversationError, StoreError
from guard.stores import open_store, vault


def kept(name: str = "email_A", value: object = "kim@example.com", digest: str = "d", **fields: object) -> Vaulted:
    return Vaulted(handle=name, kind="email", digest=digest, value=value, tool="find", path="mail", **fields)  # type: ignore[arg-type]


def behind(store: Store, *names: str, ref: object = REF) -> dict[str, object]:
    found = store.handles(LoadHandles(ref=ref, handles=names))  # type: ignore[arg-type]
    return {name: one.value for name, one in found.items()}


def test_a_value_comes_back_as_it_was(store: Store) -> None:
    """Exactly, with its type, tool and path; an unknown handle is missing."""
    values = {"email_A": "Kim\0 \ud83d é", "email_B": Decimal("1.10"), "email_C": 10**30}
    store.record([row()], [event()], [kept(name, value, name) for name, value in values.items()])
    assert behind(store, *values, "email_D") == values
    [found] = store.handles(LoadHandles(ref=REF, handles=("email_A",))).values()
    assert replace(found, value="") == kept(digest="email_A", value="")


def test_a_conversation_has_its_own_vault(store: Store) -> None:
    """Its children share it, another conversation and tenant do not, and another person may not ask."""
    store.record([row()], [], [kept()])
    store.record([row(at=key(ref=NEXT))], [], [])
    assert behind(store, "email_A", ref=CHILD) == {"email_A": "kim@example.com"}
    assert behind(store, "email_A", ref=NEXT) == {}
    assert behind(store, "email_A", ref=replace(REF, tenant="other")) == {}
    with pytest.raises(ConversationError):
        behind(store, "email_A", ref=OTHER)


def test_the_first_value_stays_and_another_one_makes_it_void(store: Store) -> None:
    """A handle that two values came to stands for neither, for good; the same value in another spelling changes nothing."""
    store.record([row()], [], [kept()])
    store.record([row(at=key(2))], [], [kept(value="KIM@example.com")])
    assert behind(store, "email_A") == {"email_A": "kim@example.com"}
    store.record([row(at=key(3))], [], [kept(value="eve@example.com", digest="other")])
    assert behind(store, "email_A") == {}
    store.record([row(at=key(4))], [], [kept()])
    assert behind(store, "email_A") == {}


def test_a_handle_grows_old_and_is_forgotten(store: Store, clock: Clock) -> None:
    """Counted from when it was last given out."""
    store.record([row()], [], [kept(), kept("email_B", "b")])
    clock.now += vault.AGE - 10
    store.record([row(at=key(2))], [], [kept()])
    clock.now += 20
    assert behind(store, "email_A", "email_B") == {"email_A": "kim@example.com"}
    store.record([row(at=key(3))], [], [kept("email_C", "c")])
    clock.now -= 20
    assert behind(store, "email_A", "email_B", "email_C") == {"email_A": "kim@example.com", "email_C": "c"}


def test_the_newest_handles_stay(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation that gives out more loses the oldest; another conversation loses none by it."""
    monkeypatch.setattr(vault, "MOST", 3)
    store.record([row(at=key(ref=NEXT))], [], [kept()])
    for number in range(6):
        clock.now += 1
        store.record([row(at=key(number + 1))], [], [kept(f"email_{number}", number, str(number))])
    assert behind(store, *(f"email_{number}" for number in range(6))) == {"email_2": 2, "email_3": 3, "email_4": 4, "email_5": 5}
    assert behind(store, "email_A", ref=NEXT) == {"email_A": "kim@example.com"}


def test_handles_are_written_with_their_rows_or_not_at_all(store: Store) -> None:
    """A record that cannot be sealed leaves no handle behind, and no row."""
    with pytest.raises(StoreError):
        store.record([row()], [event(bad=float("nan"))], [kept()])
    assert store.rows(REF) == ()
    store.record([row()], [], [])
    assert behind(store, "email_A") == {}


def test_values_stand_in_the_payloads_alone(tmp_path: Path) -> None:
    """No other table holds one, and a forgotten handle leaves no payload."""
    clock = Clock()
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)
    store.record([row()], [event()], [kept()])
    store.close()
    assert _tables_with(tmp_path / "guard.db", "kim@example.com") == {"payloads"}
    clock.now += vault.AGE + 1
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=clock)
    store.record([row(at=key(2))], [event()], [kept("email_B", "b")])
    store.close()
    assert _tables_with(tmp_path / "guard.db", "kim@example.com") == set()


def _tables_with(file: Path, text: str) -> set[str]:
    connection = sqlite3.connect(file)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name for name in names if any(text in str(one) for one in connection.execute(f"SELECT * FROM {name}"))}  # noqa: S608 - names of our own
    connection.close()
    return found


def test_a_file_of_the_version_before_is_brought_up_to_date(tmp_path: Path) -> None:
    """The vault is added; everything else stays."""
    file = tmp_path / "guard.db"
    store = open_store(f"sqlite:///{file}")
    store.record([row()], [event()])
    store.close()
    connection = sqlite3.connect(file)
    for statement in as_of(4):
        connection.execute(statement)
    connection.commit()
    connection.close()
    store = open_store(f"sqlite:///{file}")
    store.record([row(at=key(2))], [event()], [kept()])
    assert behind(store, "email_A") == {"email_A": "kim@example.com"}
    assert len(store.rows(REF)) == 2
    store.close()
