"""Checkpoints: made when they are due, signed with a key that only its owner may read, sent until every place has them, and by nobody waited for."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from http_service_kit import Service, says
from reload_kit import CLERK, load, until, write
from stores_kit import STORES, Clock, a_store, event, url_of

from guard import GuardError, ToolCall
from guard.cli.audit_verify import stored_report
from guard.core.ports import Store
from guard.proof import keys
from guard.proof.keeper import Checkpoints, Keeper
from guard.proof.notes import ed25519, leaves_of, read_checkpoints, read_key, read_note, root_of, signed
from guard.proof.targets import TargetError, target
from guard.stores import open_store
from guard.stores.chain import verify_store

TESTS = Path(__file__).parent


@pytest.fixture
def key(tmp_path: Path) -> keys.SigningKey:
    return keys.make(tmp_path / "k.key")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield from a_store(request.param, tmp_path, Clock())


def keeper(store: Store, folder: Path, *to: str, **how: Any) -> Keeper:
    places = list(to) or [str(folder / "c.jsonl")]
    return Keeper(store, Checkpoints(key=folder / "k.key", to=places, **how), start=False)


def fill(store: Store, number: int, start: int = 0) -> None:
    store.record((), [event("call.end", conversation=f"c{start + one}") for one in range(number)])


def test_a_checkpoint_names_the_end_of_every_chain(store: Store, tmp_path: Path, key: keys.SigningKey) -> None:
    """Number, time, count, root and heads; it is on record itself, and the next one names it."""
    fill(store, 9)
    heads = store.heads()
    made = keeper(store, tmp_path).look(now=True)
    assert made is not None
    note = read_note(made.note)
    assert {chain: (seq, own) for chain, seq, own in note.heads} == heads
    assert (note.number, note.records) == (1, 9)
    assert note.root == root_of(leaves_of(note.heads))
    judge = ed25519()
    assert judge is not None
    assert signed(note, read_key(key.public), judge)
    assert not signed(note._replace(text=note.text.replace("number 1", "number 2")), read_key(key.public), judge)
    body = json.loads(store.audit()[-1].body)
    assert (body["kind"], body["checkpoint"]["note"]) == ("audit.checkpoint", made.note)
    fill(store, 1)
    second = keeper(store, tmp_path).look(now=True)
    assert second is not None
    assert read_note(second.note).previous == note.digest


def test_one_is_made_when_it_is_due(store: Store, tmp_path: Path, key: keys.SigningKey) -> None:
    """The first at once, then after so many records or so many seconds with something new; never over nothing but itself."""
    found = keeper(store, tmp_path, every=60, records=10)
    clock = store._tables._tables.clock
    assert found.look(now=False) is None
    fill(store, 1)
    assert found.look(now=False) is not None
    assert found.look(now=True) is None
    fill(store, 9)
    assert found.look(now=False) is None
    fill(store, 1)
    assert found.look(now=False) is not None
    fill(store, 1)
    clock.now += 59
    assert found.look(now=False) is None
    clock.now += 1
    assert found.look(now=False) is not None
    assert [one.number for one in store.checkpoints()] == [1, 2, 3]


def test_what_was_not_taken_is_sent_again(store: Store, tmp_path: Path, key: keys.SigningKey) -> None:
    """A place that is down costs no checkpoint: it gets all of them, in order, once it is back; the others may get one twice."""
    there = tmp_path / "there" / "c.jsonl"
    found = keeper(store, tmp_path, str(tmp_path / "c.jsonl"), str(there))
    for number in range(2):
        fill(store, 1, number)
        with pytest.raises(TargetError):
            found.look(now=True)
    assert [one.number for one in store.checkpoints(unsent=True)] == [1, 2]
    there.parent.mkdir()
    found.look(now=True)
    assert store.checkpoints(unsent=True) == ()
    assert [one.number for one in read_checkpoints(str(there), [])] == [1, 2]
    assert {one.number for one in read_checkpoints(str(tmp_path / "c.jsonl"), [])} == {1, 2}


def test_a_file_is_only_added_to(store: Store, tmp_path: Path, key: keys.SigningKey) -> None:
    """Readable by its owner only; a line that a crash cut is left, and the next one stands behind it."""
    path = tmp_path / "c.jsonl"
    fill(store, 1)
    keeper(store, tmp_path).look(now=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text("utf-8")
    path.write_text(before + '{"number": 2, "no', "utf-8")
    fill(store, 1)
    keeper(store, tmp_path).look(now=True)
    problems: list[Any] = []
    assert [one.number for one in read_checkpoints(str(path), problems)] == [1, 2]
    assert path.read_text("utf-8").startswith(before)
    assert len(problems) == 1


def test_a_url_and_a_command_get_one_line(store: Store, tmp_path: Path, key: keys.SigningKey) -> None:
    """As JSON in the body of a request, and on standard input; another status, another exit code and no answer are failures."""
    fill(store, 1)
    script = f'command:{sys.executable} -c "import sys; open({str(tmp_path / "got")!r}, chr(97)).write(sys.stdin.read())"'
    with Service(says()) as service:
        keeper(store, tmp_path, f"http://127.0.0.1:{service.port}/guard?token=x", script).look(now=True)
        assert json.loads(service.asked[0].body) == json.loads((tmp_path / "got").read_text("utf-8"))
        service.answer = says(302, headers={"Location": "http://127.0.0.1:1/"})
        fill(store, 1)
        with pytest.raises(TargetError, match=r"^http://127.0.0.1:[0-9]+/guard: status 302$"):
            keeper(store, tmp_path, f"http://127.0.0.1:{service.port}/guard?token=x").look(now=True)
    (one,) = store.checkpoints(unsent=True)
    for place in (f"http://127.0.0.1:{service.port}/", f"command:{sys.executable} -c 1/0", "command:/no/such", "/no/such/file"):
        with pytest.raises(TargetError):
            target(place)(one)
    for place in ("", "ftp://x", "command:"):
        with pytest.raises(TargetError):
            target(place)


def test_a_key_is_read_by_its_owner_only(tmp_path: Path, key: keys.SigningKey) -> None:
    """Made with mode 0600, never over another file, refused when others may read it or when it is no key."""
    path = tmp_path / "k.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys.load(path).public == key.public
    with pytest.raises(GuardError, match="there already"):
        keys.make(path)
    path.chmod(0o640)
    with pytest.raises(GuardError, match="others may read"):
        keys.load(path)
    path.chmod(0o600)
    text = path.read_text("utf-8")
    for other in (
        "",
        "x",
        text.replace("PRIVATE", "PUBLIC"),
        text[:-9] + "AAAA====",
        "\x00" * 9,
        text.replace("guard-audit", "other"),
    ):
        path.write_text(other, "utf-8")
        with pytest.raises(GuardError, match="no key of"):
            keys.load(path)
    with pytest.raises(ValueError, match="no public key"):
        read_key(key.public.replace("guard-audit", "other"))


def test_a_guard_makes_them_while_it_runs_and_when_it_is_closed(tmp_path: Path, key: keys.SigningKey) -> None:
    """In a thread of its own; a key that cannot be used is an error at once."""
    folder = write(tmp_path / "policies")
    plan = Checkpoints(key=tmp_path / "k.key", to=[str(tmp_path / "c.jsonl")], every=0.05)
    store = f"sqlite:///{tmp_path / 'guard.db'}"
    with load(folder, store=store, checkpoints=plan) as guard:
        guard.call(ToolCall("1", "look", {"n": 1}), CLERK, conversation="c")
        until((tmp_path / "c.jsonl").exists)
        guard.call(ToolCall("1", "look", {"n": 2}), CLERK, conversation="c")
    assert not any(thread.name == "guard-checkpoints" for thread in threading.enumerate())
    again = open_store(store)
    newest = read_checkpoints(str(tmp_path / "c.jsonl"), [])[-1]
    report = stored_report(again, [str(tmp_path / "c.jsonl")], read_key(key.public))
    assert report.ok
    assert report.newest == newest
    assert report.records - report.covered == 1  # the record of the last checkpoint itself
    again.close()
    with pytest.raises(GuardError, match="cannot be read"):
        load(folder, store=store, checkpoints=Checkpoints(key=tmp_path / "none", to=["x"]))


CHILD = """
import sys
from guard.stores import open_store
store = open_store(sys.argv[1])
for number in range(25):
    event = {"kind": "call.end", "tenant": "acme", "conversation": f"c{number % 7}", "writer_of": sys.argv[2]}
    store.record((), (event,))
store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_sixteen_writers_make_no_fork_and_no_false_alarm(kind: str, tmp_path: Path, key: keys.SigningKey) -> None:
    """Eight threads here and eight processes, checkpoints made and the log verified meanwhile: it holds at every look, and nothing is lost."""
    with url_of(kind, tmp_path) as url:
        store = open_store(url)
        environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
        command = [sys.executable, "-W", "ignore", "-c", CHILD, url]
        children = [subprocess.Popen([*command, str(number)], env=environment) for number in range(8)]
        found = keeper(store, tmp_path, every=0, records=1)
        looks = 0

        def write_some(number: int) -> None:
            for one in range(25):
                store.record((), (event("call.end", conversation=f"c{(number + one) % 7}"),))

        with ThreadPoolExecutor(8) as pool:
            writing = [pool.submit(write_some, number) for number in range(8)]
            while not all(one.done() for one in writing) or any(child.poll() is None for child in children):
                found.look(now=True)
                report = stored_report(store, [str(tmp_path / "c.jsonl")], read_key(key.public))
                assert report.problems == []
                looks += 1
            for one in writing:
                one.result()
        assert [child.wait() for child in children] == [0] * 8
        assert looks > 0
        assert verify_store(store).ok
        assert verify_store(store).records == 16 * 25 + len(store.checkpoints())
        store.close()
