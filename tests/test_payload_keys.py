"""Payloads under a key: nothing plain in the file, its log or the tables; wrong and missing keys refused; rotation; what others may not do."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import postgres_kit
import pytest
from cli_kit import guard
from stores_kit import REF, Clock, ask, claim, event, key, outcome, row, url_of, vote

from guard import Guard, Session, ToolCall
from guard.core.acting import Vaulted
from guard.core.ports import LoadHandles, Store, Won
from guard.errors import StoreError
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.stores.payload_keys import given_key, key_file, keyring, new_key

KEY = new_key()
KEYS = keyring(KEY)
PLANTED = "PLANTED-4711-secret"
LASTING = ("sqlite", "postgres")


@pytest.fixture(params=LASTING)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a new store that lasts."""
    with url_of(request.param, tmp_path) as made:
        yield made


def filled(store: Store) -> None:
    """A planted value in everything that holds raw values: words, proposal, arguments, result, approval, reason, handle."""
    store.open(REF)
    store.say(REF, PLANTED, event("user.said"))
    assert isinstance(store.claim(claim(arguments={"a": PLANTED})), Won)
    done = row("done", arguments={"a": PLANTED}, value={"b": [PLANTED]}, outcome=outcome(arguments={"a": PLANTED}), attempt=1)
    one = Vaulted(handle="email_x", kind="email", digest="d", value=PLANTED)
    store.record((done,), (event("call.end"),), (one,))
    ask(store, at=key(2), fingerprint="g")
    vote(store, reason=PLANTED, status="rejected")


def everything(url: str, folder: Path) -> bytes:
    """All bytes that the store keeps on disk, or, for a server, all rows of all tables."""
    if url.startswith("sqlite"):
        return b"".join(path.read_bytes() for path in sorted(folder.glob("guard.db*")))
    tables = [name for (name,) in postgres_kit.run(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    return repr([postgres_kit.run(url, f"SELECT * FROM {name}") for name in tables]).encode()  # noqa: S608 - names of our own


def forms(text: str) -> list[bytes]:
    """A text as it stands in bytes: plain, and in base64 at any of three offsets."""
    found = [text.encode()]
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + text.encode()).decode()
        found.append(coded[4 if shift else 0 : -4].encode())
    return found


def test_nothing_plain_is_kept_anywhere(url: str, tmp_path: Path) -> None:
    """Neither in the file, its write-ahead log, nor any table; and everything reads back."""
    store = open_store(url, clock=Clock(), keys=KEYS)
    filled(store)
    kept = everything(url, tmp_path)
    assert not [form for form in forms(PLANTED) if form in kept]
    back = store.call(key())
    assert back is not None
    assert (back.arguments, back.value) == ({"a": PLANTED}, {"b": [PLANTED]})
    assert store.handles(LoadHandles(ref=REF, handles=("email_x",)))["email_x"].value == PLANTED
    assert store.approvals()[0].reason == PLANTED
    assert verify_store(store).ok
    store.close()


def test_without_a_key_they_stand_plainly(url: str, tmp_path: Path) -> None:
    """The search finds what is there: the other test means something."""
    store = open_store(url, clock=Clock())
    filled(store)
    assert PLANTED.encode() in everything(url, tmp_path)
    store.close()


@pytest.mark.parametrize("given", [None, keyring(new_key())], ids=["no key", "another key"])
def test_a_wrong_or_missing_key_opens_nothing(url: str, given: Any) -> None:
    """It is refused with its own code, in words that hold no key."""
    open_store(url, keys=KEYS).close()
    with pytest.raises(StoreError) as caught:
        open_store(url, keys=given)
    assert caught.value.code == "payload_key"
    assert KEY not in str(caught.value)


def test_a_locked_store_shows_its_records_and_takes_nothing(url: str) -> None:
    """Whoever only looks at the audit needs no key; whoever would write or read a payload is refused, and nothing is written plainly."""
    store = open_store(url, clock=Clock(), keys=KEYS)
    filled(store)
    store.close()
    store = open_store(url, clock=Clock(), locked=True)
    before = len([one for chain in range(store.chains) for one in store.audit(chain=chain)])
    assert before
    assert verify_store(store).ok
    for work in (
        lambda: store.say(REF, "more", event("user.said")),
        lambda: store.claim(claim(key(7), fingerprint="z", mark="z")),
        lambda: store.call(key()),
        store.approvals,
    ):
        with pytest.raises(StoreError) as caught:
            work()
        assert caught.value.code == "payload_key"
    assert len([one for chain in range(store.chains) for one in store.audit(chain=chain)]) == before
    store.close()


def test_a_program_that_opened_it_before_the_first_key_writes_no_more(url: str) -> None:
    """The database itself refuses what is plain, whoever writes it."""
    old = open_store(url, clock=Clock())
    old.open(REF)
    open_store(url, keys=KEYS).close()
    for work in (lambda: old.say(REF, PLANTED, event("user.said")), lambda: old.claim(claim())):
        with pytest.raises(StoreError) as caught:
            work()
        assert caught.value.code == "payload_key"
    old.close()


def test_a_key_that_was_replaced_goes_on_reading(url: str) -> None:
    """The new one writes, both read; a row whose key is gone is refused by its own code, never taken for damaged or absent."""
    store = open_store(url, clock=Clock(), keys=KEYS)
    filled(store)
    store.close()
    newer = new_key()
    both = keyring(f"{newer}\n{KEY}")
    store = open_store(url, clock=Clock(), keys=both)
    assert isinstance(store.claim(claim(key(9), fingerprint="n", mark="n", arguments={"n": 1})), Won)
    assert store.call(key()) is not None
    store.close()
    store = open_store(url, clock=Clock(), keys=keyring(newer))
    found = store.call(key(9))
    assert found is not None
    assert found.arguments == {"n": 1}
    for work in (lambda: store.call(key()), store.approvals):
        with pytest.raises(StoreError) as caught:
            work()
        assert caught.value.code == "payload_key"
    store.close()


def test_what_was_written_before_the_first_key_stays_readable(url: str) -> None:
    """A store gets a key late, without a migration."""
    store = open_store(url, clock=Clock())
    filled(store)
    store.close()
    store = open_store(url, clock=Clock(), keys=KEYS)
    back = store.call(key())
    assert back is not None
    assert back.arguments == {"a": PLANTED}
    store.close()


def test_a_payload_in_the_place_of_another_is_damaged(tmp_path: Path) -> None:
    """A row is bound to its place: whoever swaps two of them, or changes one, is found out."""
    url = f"sqlite:///{tmp_path}/guard.db"
    store = open_store(url, clock=Clock(), keys=KEYS)
    filled(store)
    store.claim(claim(key(3), fingerprint="q", mark="q"))
    store.close()
    with closing(sqlite3.connect(tmp_path / "guard.db")) as file, file:
        first, second = (f"call:{{}}:{turn}:0" for turn in (1, 3))
        name = file.execute("SELECT id FROM conversations").fetchone()[0]
        file.execute(
            "UPDATE payloads SET body = (SELECT body FROM payloads WHERE id = ?) WHERE id = ?",
            (second.format(name), first.format(name)),
        )
        file.execute("UPDATE payloads SET body = substr(body, 1, 40) WHERE kind = 'approval'")
    store = open_store(url, clock=Clock(), keys=KEYS)
    with pytest.raises(StoreError) as caught:
        store.call(key())
    assert caught.value.code == "damaged"
    assert [one.status for one in store.approvals()] == ["rejected"]  # one that cannot be read lets nothing run
    store.close()


def test_keys_are_read_strictly_and_never_told(tmp_path: Path) -> None:
    """Hexadecimal or base64 of 32 bytes, remarks and blanks allowed; everything else names file and line and not the text."""
    raw = bytes.fromhex(KEY)
    assert keyring(f"# mine\n\n {base64.b64encode(raw).decode()}  # of May\n") == KEYS
    assert KEY not in repr(KEYS)
    for text in ("", "# none", "hunter2", KEY[:-2], "é" * 64):
        with suppress(UnicodeEncodeError), pytest.raises(StoreError) as caught:
            keyring(text, "k")
        assert "hunter2" not in str(caught.value)
    with pytest.raises(StoreError, match="no such variable"):
        given_key("{GUARD_NO_SUCH}", {})
    assert given_key("{K}", {"K": KEY}) == KEYS
    with pytest.raises(StoreError, match="cannot be read"):
        key_file(tmp_path / "none")


def test_the_commands_take_the_file_and_make_it(tmp_path: Path) -> None:
    """`guard audit payload-key` makes a file that only its owner reads and rotates it; the audit needs no key, a command that reads payloads does."""
    made = guard("audit", "payload-key", "p.key", cwd=tmp_path)
    assert (made.code, made.out) == (0, "")
    assert (tmp_path / "p.key").stat().st_mode & 0o777 == 0o600
    assert guard("audit", "payload-key", "p.key", cwd=tmp_path).code == 2
    first = key_file(tmp_path / "p.key")
    store = open_store(f"sqlite:///{tmp_path}/guard.db", keys=first)
    filled(store)
    store.close()
    assert guard("audit", "payload-key", "p.key", "--rotate", cwd=tmp_path).code == 0
    assert set(first.keys) < set(key_file(tmp_path / "p.key").keys)
    assert guard("audit", "--verify", cwd=tmp_path).code == 0
    words = ("serve", "restored", "--reason", "tested", "--yes", "--json")
    lacking = guard(*words, cwd=tmp_path)
    assert (lacking.code, "--payload-key-file" in lacking.err) == (2, True)
    done = guard(*words, "--payload-key-file", "p.key", cwd=tmp_path)
    assert (done.code, json.loads(done.out)) == (0, {"unknown": 0})
    assert guard(*words, cwd=tmp_path, GUARD_PAYLOAD_KEY_FILE="p.key").code == 0


def test_a_grant_is_read_under_the_key(tmp_path: Path) -> None:
    """Given, used, listed and revoked as in a store without one; its reason and constraint are not in the file."""
    policy = tmp_path / "policies"
    policy.mkdir()
    (policy / "tools.yaml").write_text(
        "tools: {pay: {kind: action, allow: [staff], repeat: allow,"
        " approve: {by: [boss], grants: [{amount: x, at_most: 500, sum: 900, same: [to], until: 7d}]}}}\nlimits: {run: {calls: 99}}\n"
    )
    url = f"sqlite:///{tmp_path / 'guard.db'}"
    (tmp_path / "k").write_text("ab" * 32)
    boss = Session(principal="B1", roles=("boss",))
    with Guard.load(policy, tools={"pay": lambda x, to: "paid"}, store=url, payload_key=str(tmp_path / "k")) as guard:
        chat = Session(principal="u1", roles=("staff",))

        def pay(n: int, x: int) -> str:
            arguments = json.dumps({"x": x, "to": "kim-the-payee"})
            return guard.call(ToolCall(f"c{n}", "pay", arguments), chat, conversation=f"m{n}").status

        assert pay(1, 5) == "held"
        [asked] = guard.approvals.list()
        guard.approvals.approve(asked.id, approver=boss)
        grant = guard.grants.give(asked.id, by=boss, scope="amount", sum=100, reason="the lease of kim-the-payee")
        assert [pay(2, 60), pay(3, 60)] == ["done", "held"]
        assert [one.id for one in guard.grants.list()] == [grant.id]
        guard.grants.revoke(grant.id, by=boss, reason="over")
        assert pay(4, 1) == "held"
    with closing(sqlite3.connect(tmp_path / "guard.db")) as connection:
        bodies = [body for (body,) in connection.execute("SELECT body FROM payloads WHERE kind = 'grant'")]
    assert bodies
    assert all(body.startswith("$") for body in bodies)
