"""`guard init --mcp` asks real MCP servers, over stdio and streamable HTTP, and survives those that are none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cli_kit import REPO, Ran
from init_kit import Desk, desk, refusing

from guard.extras import install

SERVER = str(Path(__file__).parent / "init_server.py")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return desk(tmp_path, monkeypatch, capfd)


def guard(path: Path, *words: str, **env: str) -> Ran:
    """The command in a process of its own: the SDK's event loop and threads stay there."""
    done = subprocess.run(
        [sys.executable, "-m", "guard", "init", *words],
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(REPO), **env},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def asked(path: Path, mode: str, *words: str) -> Ran:
    return guard(path, *words, "--mcp", "--", sys.executable, SERVER, mode)


def check_shop(here: Desk) -> None:
    """What the honest server offers, as it must stand in the folder."""
    tools = here.loaded().policy.tools
    assert {name: tool.kind for name, tool in tools.items()} == {"get_order": "read", "refund": "action", "frobnicate": "action"}
    assert [binding.field for binding in tools["get_order"].bindings] == ["user_id"]
    assert tools["refund"].description == 'Pay money back: "all" of it # really.'
    [claimed] = [line for line in here.text().splitlines() if "the server claims that it only reads" in line]
    assert claimed.strip().startswith("kind: action")
    assert claimed.endswith("if you know that it does: kind: read, and no approve")  # how to change it, whole
    assert refusing(here.path / "policies").keys() <= {"not_authorized", "invalid_arguments"}


def test_a_server_that_is_started_is_asked_and_stopped(here: Desk) -> None:
    """Its tools stand in the folder, default deny; its process is gone; no tool was called."""
    done = asked(here.path, "stdio")

    assert done.code == 0, done.err
    check_shop(here)
    assert "run: {steps: 200, calls: 400}" in here.text()  # nobody is heard behind it
    assert "seconds:" not in here.text()


def test_a_server_that_writes_other_things_to_its_output_is_understood(here: Desk) -> None:
    """A greeting among the messages is skipped, without a traceback."""
    done = asked(here.path, "garbage")

    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    check_shop(here)


@contextmanager
def over_http() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, SERVER, "http", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                httpx.get(f"http://127.0.0.1:{port}/", timeout=1)
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(20)


def test_a_server_behind_a_url_is_asked(here: Desk) -> None:
    """Streamable HTTP gives the same folder; a token comes from the environment and is written nowhere."""
    with over_http() as url:
        done = guard(here.path, "--mcp", url, "--token-env", "SHOP_TOKEN", SHOP_TOKEN="secret-7")

    assert done.code == 0, done.err
    check_shop(here)
    assert "secret-7" not in here.text() + done.out + done.err


def test_every_page_is_asked_for(here: Desk) -> None:
    """A server that gives its tools page by page is listed to the end."""
    assert asked(here.path, "paged").code == 0
    assert list(here.loaded().policy.tools) == [f"get_{number}" for number in range(5)]


BAD = {
    "hang": "did not answer within 3 seconds",
    "quit": "no key given[U+001B][2J",
    "same-page": "again and again",
    "endless": "more than 1000 pages",
    "many": "more than 10000 tools",
    "odd": "cannot be asked",
}


@pytest.mark.parametrize(("mode", "said"), BAD.items(), ids=BAD.keys())
def test_a_server_that_misbehaves_is_given_up(mode: str, said: str, here: Desk) -> None:
    """Said in words, within the time that was given; no folder, no traceback, no process left behind."""
    done = asked(here.path, mode, *(["--timeout", "3"] if mode == "hang" else []))

    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    assert list(here.path.iterdir()) == []


def test_an_interrupted_question_stops_the_server_and_writes_nothing(here: Desk) -> None:
    """Ctrl-C: exit code 130, no folder, no server."""
    command = [sys.executable, "-m", "guard", "init", "--mcp", "--", sys.executable, SERVER, "hang", str(here.path)]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    process = subprocess.Popen(command, cwd=here.path, env=env, stderr=subprocess.PIPE, start_new_session=True, text=True)
    for _ in range(200):
        if _servers(str(here.path)):
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "guard: interrupted" in err
    assert _servers(str(here.path)) == []
    assert list(here.path.iterdir()) == []


def _servers(word: str) -> list[int]:
    """The processes of the hanging server that was started with this word as its last argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and b"hang" in words and b"-m" not in words:
            found.append(int(path.parent.name))
    return found


MISUSE: dict[str, tuple[list[str], str]] = {
    "nothing": (["--mcp"], "name the server"),
    "two urls": (["--mcp", "http://a/", "http://b/"], "one URL"),
    "env for a url": (["--mcp", "http://a/", "--env", "HOME"], "--env is for a server that is started"),
    "token for a command": (["--mcp", "--token-env", "HOME", "--", "x"], "--token-env for one behind a URL"),
    "no such variable": (["--mcp", "--env", "NO_SUCH_VARIABLE_7", "--", "x"], "no such variable"),
    "env without mcp": (["tools.json", "--env", "HOME"], "are for --mcp"),
    "time": (["--mcp", "--timeout", "0", "--", "x"], "not a number of seconds"),
}


@pytest.mark.parametrize(("words", "said"), MISUSE.values(), ids=MISUSE.keys())
def test_misuse_is_said_before_anything_is_started(words: list[str], said: str, here: Desk) -> None:
    """Exit code 2."""
    done = here.guard("init", *words)
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_command_that_is_not_there_is_said(here: Desk) -> None:
    """No traceback of the operating system's."""
    done = guard(here.path, "--mcp", "--", "no-such-command-7")
    assert (done.code, "cannot be started" in done.err) == (1, True), done.err


def test_without_the_extra_the_error_names_it(here: Desk) -> None:
    """A machine without the SDK is told what to install."""
    code = "import sys; sys.modules['mcp'] = None; from guard.cli.main import main; sys.exit(main(['init', '--mcp', '--', 'x']))"
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run([sys.executable, "-c", code], cwd=here.path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert install("mcp") in done.stderr
