"""Plain claims: taken in one step, exactly as the rules would write them, and left to the rules wherever anything is known of the call."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

import postgres_kit
import pytest
from psycopg.conninfo import conninfo_to_dict
from stores_kit import OTHER, REF, Clock, a_store, event, key, outcome, records, row

from guard.core.model import Evidence
from guard.core.ports import Claim, InDoubt, Replay, Store, Won
from guard.core.reasons import Reason
from guard.errors import ConversationError, StoreError
from guard.stores import open_store
from guard.stores.chain import verify_store
from guard.stores.plain import plain

LASTING = ("sqlite", "postgres")


def begun(attempt: int = 1) -> dict[str, Any]:
    return event("call.begin", conversation=REF.conversation, attempt=attempt, note='a "#" and \U0001f600 \ud800')


def command(turn: int = 1, **fields: Any) -> Claim:
    """A claim with something in every column."""
    given = {
        "fingerprint": "f", "mark": "m", "arguments": {"x": 1, "y": ["ä"]}, "owned": frozenset({"tenant", "person"}), "run": 3,
        "evidence": (Evidence(turn=1, position=2),), "effect": "idempotent", "idem": "k", "repeat": False, "settled": True, "executor": "s1",
    }  # fmt: skip
    return Claim(row=row("started", key(turn, 2, name="job"), **given | fields), approval=None, event=begun, lease=30.0)


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.123456)


@pytest.fixture(params=LASTING)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store(request.param, tmp_path, clock)


@pytest.fixture
def ruled(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """A store that always asks the rules."""
    yield from a_store("memory", tmp_path, clock)


def taken(store: Any, given: Claim, epoch: int = 0) -> Won | None:
    """What the quick way alone makes of a claim."""
    written = plain(given, epoch)
    assert written is not None
    found: Won | None = store._tables.write(lambda tables: tables.take(written))
    return found


@pytest.mark.parametrize("lease", [30.0, inf], ids=["lease", "for-ever"])
def test_it_is_written_as_the_rules_write_it(store: Store, ruled: Store, lease: float) -> None:
    """The same answer, the same row in every field, and the same record but for its id, its place and the moment of its writing."""
    given = replace(command(), lease=lease)
    for one in (store, ruled):
        one.open(REF)
        one.say(REF, "go", event("user.said"))
    assert taken(store, given) == ruled.claim(given)
    assert asdict(store.call(given.row.key)) == asdict(ruled.call(given.row.key))  # type: ignore[call-overload]
    quick, slow = (json.loads(records(one)[-1].body) for one in (store, ruled))
    place = {name: slow[name] for name in ("id", "mono", "chain", "seq")}
    assert {**quick, **place} == slow
    assert len(quick["id"]) == len(slow["id"])
    assert verify_store(store).ok


def _opened(store: Store) -> None:
    store.open(REF)


def _with(**fields: Any) -> Callable[[Store], None]:
    """A call of the conversation that is written down already, or was taken."""

    def prepare(store: Store) -> None:
        store.open(REF)
        standing = command(
            fields.get("turn", 1), **{name: value for name, value in fields.items() if name not in {"turn", "end"}}
        ).row
        assert isinstance(store.claim(Claim(row=standing, approval=None, event=begun, lease=30.0)), Won)
        if fields.get("end"):
            store.record(
                [replace(standing, status=fields["end"], at=store.now(), attempt=1, outcome=outcome())], [event("call.end")]
            )

    return prepare


def _ended_untaken(store: Store) -> None:
    store.record([row("refused", key(1, 2, name="job"), fingerprint="", mark="", outcome=outcome(reason=Reason.INTERRUPTED))], [])


KNOWN = [
    pytest.param(lambda _: None, {}, Won, id="no-conversation-yet"),
    pytest.param(_with(executor="other"), {}, InDoubt, id="the-place-is-taken"),
    pytest.param(_with(end="done"), {}, Replay, id="the-place-is-done"),
    pytest.param(_ended_untaken, {}, Replay, id="its-history-was-closed"),
    pytest.param(_with(turn=7), {}, InDoubt, id="a-twin-is-under-way"),
    pytest.param(_with(turn=7, end="unknown"), {}, InDoubt, id="a-twin-is-unknown"),
    pytest.param(_with(turn=7, end="unknown"), {"repeat": True}, InDoubt, id="a-twin-is-unknown-repeat"),
]


@pytest.mark.parametrize(("prepare", "fields", "kind"), KNOWN)
def test_what_is_known_is_left_to_the_rules(
    store: Store, ruled: Store, prepare: Callable[[Store], None], fields: dict[str, Any], kind: type
) -> None:
    """The quick way writes nothing and says nothing; the claim's answer is that of the rules."""
    for one in (store, ruled):
        prepare(one)
    before = records(store)
    assert taken(store, command(**fields)) is None
    assert records(store) == before
    answers = [one.claim(command(**fields)) for one in (store, ruled)]
    assert [type(answer) for answer in answers] == [kind, kind]
    if kind is Won:
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("run", "fields", "free"),
    [(0, {"run": 0}, False), (0, {"run": 1}, True), (0, {"run": 0, "repeat": True}, True), (0, {"run": 0, "mark": ""}, True)],
    ids=["this-run", "another-run", "repeat", "no-mark"],
)
def test_a_twin_that_is_done(store: Store, run: int, fields: dict[str, Any], free: bool) -> None:
    """It stands in the way within its run, unless the tool may be repeated."""
    _with(turn=7, end="done", run=run)(store)
    assert isinstance(taken(store, command(**fields)), Won) is free


def test_whose_it_is_and_of_which_epoch(store: Store) -> None:
    """Somebody else's conversation, and a store that was restored since: nothing is taken, and the rules say why."""
    _opened(store)
    theirs = command()
    theirs = replace(theirs, row=replace(theirs.row, key=replace(theirs.row.key, ref=OTHER)))
    assert taken(store, theirs) is None
    with pytest.raises(ConversationError):
        store.claim(theirs)
    assert taken(store, command(), epoch=1) is None
    store._tables.write(lambda tables: tables.begin_epoch(1, "test"))  # type: ignore[attr-defined]
    assert taken(store, command()) is None
    with pytest.raises(StoreError) as caught:
        store.claim(command())
    assert caught.value.code == "restored"
    assert isinstance(taken(store, command(), epoch=1), Won)


@pytest.mark.parametrize("kind", ["memory", *LASTING])
def test_the_same_claim_once_more(kind: str, tmp_path: Path, clock: Clock) -> None:
    """By its sign a claim is known again: it is won still, and not taken twice; another one, or one without a sign, is not."""
    for store in a_store(kind, tmp_path, clock):
        store.open(REF)
        first = store.claim(command())
        assert store.claim(command()) == first
        assert [type(store.claim(command(executor=sign))) for sign in ("s2", "")] == [InDoubt, InDoubt]
        assert isinstance(store.claim(command(2, executor="", mark="n")), Won)
        assert isinstance(store.claim(command(2, executor="", mark="n")), InDoubt)
        assert len(records(store)) == 2


class Leaky:
    """A way to the server that can swallow what it answers and break off."""

    def __init__(self, url: str) -> None:
        given = conninfo_to_dict(url)
        self._host, self._port = str(given.get("host") or "localhost"), int(given.get("port") or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.leaks = False
        more = {name: value for name, value in given.items() if name not in {"host", "port"}}
        user, password, name = (more.get(one, "") for one in ("user", "password", "dbname"))
        self.url = f"postgresql://{user}:{password}@127.0.0.1:{self._listener.getsockname()[1]}/{name}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                here = self._listener.accept()[0]
                there = self._connected()
                for way in ((here, there, False), (there, here, True)):
                    threading.Thread(target=self._pass, args=way, daemon=True).start()

    def _connected(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        there = socket.socket(socket.AF_UNIX)
        there.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return there

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(65536):
                if answers and self.leaks:
                    self.leaks = False
                    target.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(data)

    def close(self) -> None:
        self._listener.close()


def test_a_claim_whose_answer_got_lost_is_won_once(clock: Clock) -> None:
    """The server took the call, the connection broke before it could say so: the claim is made again on another one, and is the same."""
    with postgres_kit.database() as url, closing(Leaky(url)) as way:
        store = open_store(way.url, clock=clock)
        store.open(REF)
        assert isinstance(store.claim(command(1, mark="a", executor="s1")), Won)
        way.leaks = True
        assert store.claim(command(2, mark="b", executor="s2")) == Won(at=clock.now, attempt=1, idem="k", lease=30.0)
        assert way.leaks is False
        assert len(records(store)) == 2
        assert isinstance(store.claim(command(2, mark="b", executor="s3")), InDoubt)
        assert verify_store(store).ok
        store.close()
