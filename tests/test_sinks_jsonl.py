"""The export to files: whole, in order, each record once, chained over files, and everything that happens to a file is noticed."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from sinks_kit import QUICK, checked, follower, standing, told, write
from stores_kit import Clock, a_store

from guard.core.exported import read_record
from guard.core.ports import Store
from guard.sinks.formats import FORMATS
from guard.sinks.jsonl import JsonLines
from guard.sinks.port import SinkError
from guard.stores import open_store

BLOCK = replace(QUICK, policy="block")


@pytest.fixture
def plain(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, clock)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "out").glob("audit.*.jsonl"))


def export(folder: Path, **more: Any) -> JsonLines:
    return JsonLines("files", folder / "out" / "audit.jsonl", **more)


def send(store: Store, sink: JsonLines) -> list[str]:
    """Every step until there is nothing to do, by what it says went wrong."""
    one = follower(store, sink, replace(BLOCK, first=1e-9, batch=5))
    found = []
    while (step := one.step()).did != "idle":
        found.append(step.error)
    return [error for error in found if error]


def test_the_files_hold_every_record_and_verify(store: Store, tmp_path: Path) -> None:
    """Byte for byte as stored, rotated by size, readable by the owner alone, each file going on where the one before ended."""
    sink = export(tmp_path, max_bytes=2000)
    for conversation in range(6):
        write(store, 7, conversation=f"conv-{conversation}", text="zwölf \u202e\n")
        assert send(store, sink) == []
    found = checked(files(tmp_path))
    assert (found.ok, found.records) == (True, 42)
    assert len(files(tmp_path)) > 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(tmp_path)} == {0o600}
    lines = [line for path in files(tmp_path) for line in path.read_text("utf-8").splitlines()[1:]]
    stored = {one.hash: one for chain in range(store.chains) for one in store.audit(chain=chain)}
    assert {read_record(line).hash: read_record(line) for line in lines} == stored
    assert all(json.loads(line)["hash"] for line in lines)


def test_an_export_goes_on_where_it_stopped(plain: Store, tmp_path: Path) -> None:
    """Another process appends to the newest file, and skips what stands in it already."""
    write(plain, 5)
    send(plain, export(tmp_path))
    write(plain, 5)
    again = export(tmp_path)
    again.send(plain.audit(after=3))
    again.send(plain.audit(after=2))
    assert checked(files(tmp_path)).records == 10
    assert len(files(tmp_path)) == 1


def test_a_line_that_was_cut_off_is_written_again(plain: Store, tmp_path: Path) -> None:
    """As a crash in the middle of a write leaves it; a file without a whole first line is made anew."""
    write(plain, 4)
    send(plain, export(tmp_path))
    [path] = files(tmp_path)
    whole = path.read_bytes()
    for keep in (len(whole) - 3, len(whole) // 2, 20, 0):
        path.write_bytes(whole[:keep])
        export(tmp_path).send(plain.audit())
        assert path.read_bytes() == whole, keep


GONE = {
    "deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_name("elsewhere")),
    "replaced": lambda path: (path.rename(path.with_name("old")), path.write_text("")),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-10]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x\n"),
}


@pytest.mark.parametrize("how", GONE)
def test_what_happens_to_an_open_file_is_noticed(plain: Store, tmp_path: Path, how: str) -> None:
    """Told once, on record, and the export goes on in a new file: nothing that is sent from then on is lost."""
    sink = export(tmp_path)
    write(plain, 3)
    send(plain, sink)
    GONE[how](files(tmp_path)[0])
    write(plain, 3)
    [error] = send(plain, sink)
    assert "while it was open: it goes on in file 2" in error
    assert [body["sink"]["why"] for body in told(plain, "sink.failed")] == [error]
    newest = files(tmp_path)[-1]
    assert newest.name == "audit.000002.jsonl"
    found = checked([newest], partial=True)
    assert (found.ok, found.begins, found.records) == (True, 1, 4)
    assert f'"after":{{"0":[3,"{plain.audit()[2].hash}"]}}' in newest.read_text("utf-8").splitlines()[0]


@pytest.mark.parametrize("how", ["deleted", "cut", "foreign"])
def test_what_happens_to_a_file_between_two_runs_is_noticed(plain: Store, tmp_path: Path, how: str) -> None:
    """The audit knows what comes next: files that do not end before it have lost something."""
    write(plain, 3)
    send(plain, export(tmp_path))
    [path] = files(tmp_path)
    if how == "deleted":
        path.unlink()
    elif how == "cut":
        path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:-1]))
    else:
        path.write_text("hello\n", "utf-8")
    write(plain, 3)
    errors = send(plain, export(tmp_path))
    assert all("it goes on in file" in error for error in errors)
    assert errors
    assert checked(files(tmp_path)[-1:], partial=True).records >= 4
    assert not checked(files(tmp_path)).ok


def test_records_of_a_store_that_was_put_back_are_not_taken_for_known(plain: Store, tmp_path: Path, clock: Clock) -> None:
    """The same numbers with other records: noticed, and all of them are written."""
    write(plain, 5)
    send(plain, export(tmp_path))
    for other in a_store("memory", tmp_path, clock):
        write(other, 4, kind="call.end")
        [error] = send(other, export(tmp_path))
        assert "record 1 of chain 0 does not follow what the files hold" in error
        assert checked(files(tmp_path)[1:], partial=True).records == 5
    assert (
        "file 2 goes on behind record 0 of chain 0, and the files before it end at record 5"
        in checked(files(tmp_path)).problems[0].what
    )


def test_a_full_disk_costs_nothing_but_time(tmp_path: Path) -> None:
    """What could not be written whole is taken back; once there is room, the export goes on without a gap. In a process of its own, since the bound is the process's."""
    program = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from sinks_kit import write
from stores_kit import Clock
from test_sinks_jsonl import export, files
from guard.sinks.port import SinkError
from guard.stores import open_store
folder = Path({str(tmp_path)!r})
store = open_store("memory://", clock=Clock())
write(store, 30)
sink = export(folder)
sink.send(store.audit(limit=10))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (files(folder)[0].stat().st_size + 700, hard))
for _ in range(3):
    try:
        sink.send(store.audit(after=10))
        print("written")
    except SinkError as error:
        print(error, error.retry, files(folder)[0].stat().st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
sink.send(store.audit(after=10))
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) == 3
    assert {line.rpartition(" ")[0] for line in lines} == {"it cannot be written: File too large True"}
    found = checked(files(tmp_path))
    assert (found.ok, found.records, len(files(tmp_path))) == (True, 30, 1)


def test_a_folder_that_cannot_be_written_is_told(plain: Store, tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    write(plain, 1)
    (tmp_path / "out").write_text("", "utf-8")
    with pytest.raises(SinkError, match="it cannot be written: "):
        export(tmp_path).send(plain.audit())


def test_other_forms_are_written_without_a_chain_of_their_own(plain: Store, tmp_path: Path) -> None:
    """One event a line; a line that was cut off goes away."""
    write(plain, 3)
    sink = export(tmp_path, form=FORMATS["cloudevents"].of)
    send(plain, sink)
    [path] = files(tmp_path)
    path.write_bytes(path.read_bytes() + b"{")
    write(plain, 1)
    send(plain, export(tmp_path, form=FORMATS["cloudevents"].of))
    assert [json.loads(line)["guardseq"] for line in path.read_text("utf-8").splitlines()] == [1, 2, 3, 4]


KILLED = """
import os, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {tests!r})
from sinks_kit import dying, follower, write
from test_sinks_jsonl import BLOCK, export
from guard.sinks import jsonl
from guard.stores import open_store

def life(point):
    store = open_store("sqlite:///{folder}/guard.db")
    write(store, 20, text="x" * 100)
    one = follower(store, export(Path({folder!r}), max_bytes=3000), replace(BLOCK, batch=5, first=1e-9))
    dying(point, jsonl.os, one)
    while one.step().did != "idle":
        pass
    store.close()

for point in [*range(1, 16), 10_000]:
    child = os.fork()
    if not child:
        life(point)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
def test_a_process_that_is_killed_anywhere_leaves_an_export_that_goes_on(tmp_path: Path) -> None:
    """Killed before, in and after each write, flush and note of how far it got: in the end each record stands there once, in order."""
    program = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["-9"] * 15 + ["0"], done.stderr
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db")) as store:
        found = checked(files(tmp_path))
        assert found.problems == []
        assert found.records == len(store.audit()) == 16 * 20
        assert standing(store, "files").letters == 0


def test_tampering_with_exported_files_is_found(plain: Store, tmp_path: Path) -> None:
    """Changed, deleted, added, reordered and cut lines, a missing and a foreign file, each at every place; the untouched ones hold."""
    write(plain, 12)
    send(plain, export(tmp_path, max_bytes=1500))
    paths = files(tmp_path)
    assert len(paths) >= 3
    assert checked(paths).records == 12
    for path in paths:
        whole = path.read_bytes()
        lines = whole.splitlines(True)
        for at in range(len(lines)):
            line = lines[at]
            for changed in (
                [*lines[:at], line.replace(b"1", b"2", 1), *lines[at + 1 :]],
                [*lines[:at], line, *lines[at:]],
                [
                    *lines[:at],
                    line.replace(b'"acme"', b'"evil"', 1).replace(b'"after":{}', b'"after":{"0":[0,"x"]}', 1),
                    *lines[at + 1 :],
                ],
                [*lines[:at], *lines[at + 1 :]],
                [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]] if at else [*reversed(lines)],
                [*lines[:at], line[:-5]],
            ):
                if changed == lines or (path == paths[-1] and changed == lines[:-1]):
                    continue  # nothing changed, or the newest line was cut off: only a checkpoint can tell
                path.write_bytes(b"".join(changed))
                assert not checked(paths).ok, (path.name, at, changed)
        path.write_bytes(whole)
    assert checked(paths).ok
