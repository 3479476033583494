"""`watch=True`: a changed folder comes into force by itself, a broken or half-written one does not, and one that grew too old refuses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from reload_kit import BASE, BROKEN, CLOSED, asks, load, until, write

from guard import GuardError

REFUSED = ("refused", "not_authorized")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "policies")


def _renamed(folder: Path) -> None:
    (folder / "tools.yaml.tmp~").write_text(CLOSED)
    (folder / "tools.yaml.tmp~").replace(folder / "tools.yaml")


def _replaced(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    folder.symlink_to(write(folder.with_name("new"), CLOSED))


def _same_size_and_time(folder: Path) -> None:
    path = folder / "tools.yaml"
    before = path.stat()
    text = BASE.replace("look: {kind: read, allow: [clerk]", "look: {kind: read, allow: [czerk]")
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


CHANGES = {
    "written": lambda folder: (folder / "tools.yaml").write_text(CLOSED),
    "renamed, as editors do": _renamed,
    "another file": lambda folder: (folder / "rules.csv").write_text("p, clerk, *, look, call, deny\n"),
    "the folder is a link now": _replaced,
    "the same size and time": _same_size_and_time,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_comes_into_force_by_itself(folder: Path, change) -> None:
    """However a folder is changed, the thread finds it."""
    with load(folder, watch=0.02) as guard:
        assert guard.policy_state.watching
        change(folder)
        until(lambda: asks(guard) == REFUSED)
        until(lambda: guard.policy_state.loads == 2)
    assert not guard.policy_state.watching


def test_a_swapped_link_comes_into_force(tmp_path: Path) -> None:
    """A volume that swaps `..data`, as Kubernetes does."""
    volume = tmp_path / "volume"
    for number, text in enumerate((BASE, CLOSED)):
        write(tmp_path / "volume", text).joinpath("tools.yaml").rename(_made(volume / f"..v{number}") / "tools.yaml")
    (volume / "..data").symlink_to("..v0")
    (volume / "tools.yaml").symlink_to("..data/tools.yaml")
    with load(volume, watch=0.02) as guard:
        assert asks(guard) == ("done", None)
        (volume / "..tmp").symlink_to("..v1")
        (volume / "..tmp").replace(volume / "..data")
        until(lambda: asks(guard) == REFUSED)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_broken_folder_keeps_the_old_policy_until_it_is_mended(folder: Path, caplog) -> None:
    """It is told once, however often it is looked at; putting the old text back ends it, and so does a good policy."""
    with load(folder, watch=0.02) as guard:
        version = guard.policy_state.version
        for mend, after in ((BASE, ("done", None)), (CLOSED, REFUSED)):
            write(folder, BROKEN)
            until(lambda: guard.policy_state.failure)
            time.sleep(0.2)
            assert guard.policy_state.version == version
            write(folder, mend)
            until(lambda: guard.policy_state.failure is None)
            assert asks(guard) == after
    assert sum("stays in force" in record.message for record in caplog.records) == 2


def test_a_folder_that_is_gone_for_a_while_is_no_crash(folder: Path) -> None:
    """Deleted and put back: the old policy rules meanwhile."""
    with load(folder, watch=0.02) as guard:
        shutil.rmtree(folder)
        until(lambda: guard.policy_state.failure)
        assert asks(guard) == ("done", None)
        write(folder, CLOSED)
        until(lambda: asks(guard) == REFUSED)


def test_a_folder_that_is_being_written_is_not_loaded(folder: Path) -> None:
    """Contents count only when two looks agree: texts that change between any two looks never come into force."""
    with load(folder, watch=3600.0) as guard:  # the thread does not look by itself: each look is taken here
        for number in range(60):
            write(folder, CLOSED + f"# {number}\n")
            guard._watch._look()
            assert asks(guard) == ("done", None)
        guard._watch._look()
        assert asks(guard) == REFUSED
        assert guard.policy_state.loads == 2


def test_a_policy_that_was_not_found_again_for_too_long_refuses(folder: Path) -> None:
    """After `stale_after` without a good look every call is refused with its own reason, nothing is shown, and a good look ends it."""
    begun = time.monotonic()
    with load(folder, watch=0.02, stale_after=0.5) as guard:
        until(lambda: time.monotonic() - begun > 1.0 and asks(guard) == ("done", None))  # good looks go on
        write(folder, BROKEN)
        until(lambda: guard.policy_state.stale)
        assert asks(guard) == ("refused", "policy_failed")
        assert guard.open(_clerk(), wire="openai-chat", conversation="c").tools == []
        write(folder, BASE)
        until(lambda: asks(guard) == ("done", None))


def _clerk():
    from reload_kit import CLERK

    return CLERK


@pytest.mark.parametrize(
    "options",
    [{"watch": 0}, {"watch": -1.0}, {"signal": object(), "watch": True}, {"rules": object()}],
    ids=["zero", "negative", "no watcher", "no adapter"],
)
def test_what_cannot_work_is_said_at_load(folder: Path, options) -> None:
    """Misuse is a GuardError before anything runs."""
    if options.get("watch") == 0:
        options = {"watch": 0.0}
    with pytest.raises(GuardError):
        load(folder, **options)


def test_an_unknown_option_is_a_type_error(folder: Path) -> None:
    """A misspelt option is not silently without effect."""
    with pytest.raises(TypeError, match="wacth"):
        load(folder, wacth=True)


def test_closing_ends_the_thread_and_so_does_forgetting(folder: Path) -> None:
    """No thread is left behind."""
    import gc

    before = set(threading.enumerate())  # those of other tests may still be on their way out

    def count() -> int:
        return sum(thread.name == "guard-policy" and thread not in before for thread in threading.enumerate())

    guard = load(folder, watch=0.02)
    assert count() == 1
    guard.close()
    until(lambda: count() == 0)
    guard = load(folder, watch=0.02)
    del guard
    gc.collect()
    until(lambda: count() == 0)


CHILD = """
import os, sys, time
sys.path.insert(0, {tests!r})
from reload_kit import *
from pathlib import Path
folder = Path({folder!r})
guard = load(folder, watch=0.02)
print("ready", flush=True)
if os.fork() == 0:
    until(lambda: asks(guard)[0] == "refused")
    print("child sees it", flush=True)
    os._exit(0)
os.wait()
guard.close()
"""


def test_a_forked_child_looks_for_itself(folder: Path) -> None:
    """A server that forks its workers after loading: each finds the change."""
    code = CHILD.format(tests=str(Path(__file__).parent), folder=str(folder))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        write(folder, CLOSED)
        assert child.stdout.readline() == "child sees it\n"
        assert child.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_program_may_end_at_any_moment_of_a_reload(folder: Path, number: signal.Signals) -> None:
    """Reloading writes nothing: a program that is ended in the middle leaves a folder and a store that the next one opens."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from reload_kit import *
from pathlib import Path
guard = load(Path({str(folder)!r}), watch=0.01, store="sqlite:///{folder.parent}/guard.db")
print("ready", flush=True)
while True:
    for text in (BASE, CLOSED):
        write(Path({str(folder)!r}), text)
        guard.reload()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.4)
        child.send_signal(number)
        child.communicate(timeout=20)
    write(folder)
    with load(folder, store=f"sqlite:///{folder.parent}/guard.db") as guard:
        assert asks(guard) == ("done", None)
