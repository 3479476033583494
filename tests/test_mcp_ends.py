"""How a session through the MCP proxy ends: crash, hang, broken and huge messages, a client that is gone, signals. One answer each, no process left."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from mcp_kit import POLICY, RAW, code, folder, run, said, talking

from guard.integrations.mcp.messages import UnfitError

HELLO = {
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.mark.parametrize(("kind", "expected"), [("read", "tool_failed"), ("action, approve: never", "outcome_unknown")])
def test_a_server_that_dies_in_a_call_ends_the_session(kind: str, expected: str, tmp_path: Path) -> None:
    """The call gets its answer: a look-up failed, of an action nobody knows. Then the session is over."""

    async def go() -> None:
        policy = POLICY.replace("die: {kind: read", f"die: {{kind: {kind}")
        async with talking(tmp_path, policy=policy) as talk:
            assert code(await talk.call("die")) == expected
            assert await talk.relay is False  # type: ignore[attr-defined]

    run(go())


def test_an_answer_that_breaks_off_is_none(tmp_path: Path) -> None:
    """It is told to whoever looks after the proxy; the call ends at its time-out, and others are answered."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.desk.seconds = 1.0  # for this call alone: the others have all the time that a busy machine takes
            broken = asyncio.ensure_future(talk.call("broken"))
            await talk.until()
            talk.desk.seconds = 300.0
            assert "no such person" in said(await talk.call("boom"))
            assert code(await broken) in {"tool_failed", "tool_timed_out"}
            assert any("no message" in line for line in talk.told)

    run(go())


def test_a_server_that_hangs_is_told_to_stop(tmp_path: Path) -> None:
    """After its time the call is answered, and the server hears that nobody waits."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.desk.seconds = 0.5
            assert code(await talk.call("slow")) in {"tool_failed", "tool_timed_out"}
            await talk.until("notifications/cancelled")

    run(go())


def test_a_server_that_reads_nothing_any_more_keeps_no_call_waiting(tmp_path: Path) -> None:
    """What it is told does not even leave; each call has its time all the same, and the session its end."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            assert said(await talk.call("busy")) == "nothing is read any more"
            talk.desk.seconds = 0.5
            for _ in range(6):
                assert code(await talk.call("echo", {"text": "x" * 60_000})) in {"tool_failed", "tool_timed_out"}

    run(go())


def test_a_message_that_is_too_long_ends_the_servers_session(tmp_path: Path) -> None:
    """Nobody can know which request it answers: all that wait are answered, nothing of it is passed on."""

    async def go() -> None:
        async with talking(tmp_path, most=100_000) as talk:
            assert code(await talk.call("huge")) == "tool_failed"
            assert await talk.relay is False  # type: ignore[attr-defined]
            assert any("bytes" in line for line in talk.told)

    run(go())


def test_a_client_that_leaves_has_its_calls_closed(tmp_path: Path) -> None:
    """What was under way is cancelled at the server and has an end in the record; the server's process is gone."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.put({"id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
            await talk.until()
            await talk.hand.close()
            assert await talk.relay is True  # type: ignore[attr-defined]
            assert len(talk.records("call.end")) == 1
            await talk.server.close()  # type: ignore[attr-defined]
            assert await talk.server.code(0.1) is not None  # type: ignore[attr-defined]

    run(go())


def test_a_proxy_that_is_stopped_answers_what_is_open(tmp_path: Path) -> None:
    """Whoever waits is told that nobody knows."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.put({"id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
            await talk.until()
            talk.relay.cancel()  # type: ignore[attr-defined]
            assert (await talk.find(lambda one: one.get("id") == 5))["error"]["code"] == -32000

    with pytest.raises(asyncio.CancelledError):
        run(go())


@pytest.mark.parametrize("number", [3, None])
def test_a_line_that_is_no_message_is_answered(number: Any, tmp_path: Path) -> None:
    """With its id, where that could be read."""

    async def go() -> None:
        async with talking(tmp_path) as talk:
            talk.put(UnfitError("a key is given more than once", number))
            answer = await talk.find(lambda one: "error" in one and one["id"] == number)
            assert answer["error"]["code"] == -32700

    run(go())


# -- the command itself --------------------------------------------------------------------------------------------------


@contextmanager
def proxy(path: Path, *words: str, server: list[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    folder(path)
    command = [
        sys.executable,
        "-m",
        "guard",
        "mcp",
        "--policy",
        str(path / "policies"),
        "--principal",
        "E1",
        "--role",
        "user",
        *words,
    ]
    command += ["--", *(server or [sys.executable, str(RAW), str(path / "log")])]
    process = subprocess.Popen(
        command, cwd=path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()


def put(process: subprocess.Popen[bytes], *messages: Any) -> None:
    assert process.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def get(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 30)[0], "no answer"
    return json.loads(process.stdout.readline())


def called(process: subprocess.Popen[bytes], number: int, name: str, arguments: Any = None) -> Any:
    put(process, {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments or {}}})
    answer = get(process)
    assert answer["id"] == number
    return answer["result"]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["client", "term", "int", "server"])
def test_the_command_leaves_no_process_behind(way: str, tmp_path: Path) -> None:
    """However it ends: with the client, by SIGTERM, by Ctrl-C, with the server. What the server started is gone as well."""
    with proxy(tmp_path) as process:
        put(process, HELLO)
        get(process)
        put(process, {"method": "notifications/initialized"})
        child = int(said(called(process, 2, "orphan")))
        assert alive(child)
        if way == "client":
            assert process.stdin is not None
            process.stdin.close()
        elif way == "server":
            assert code(called(process, 3, "die")) == "tool_failed"
        else:
            process.send_signal(signal.SIGTERM if way == "term" else signal.SIGINT)
        assert process.wait(60) == {"client": 0, "term": 143, "int": 130, "server": 1}[way]
        assert process.stderr is not None
        told = process.stderr.read().decode()
        assert "raw server is up" in told
        until = time.monotonic() + 5
        while alive(child) and time.monotonic() < until:
            time.sleep(0.02)
        assert not alive(child)


@pytest.mark.slow
def test_a_server_that_will_not_end_is_ended(tmp_path: Path) -> None:
    """One that ignores the end of its input and SIGTERM is killed after a while."""
    with proxy(tmp_path, server=[sys.executable, str(RAW), str(tmp_path / "log"), "deaf"]) as process:
        put(process, HELLO)
        get(process)
        server = int(said(called(process, 2, "deaf")))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
        assert not alive(server)


def test_standard_output_holds_messages_only_and_broken_lines_are_answered(tmp_path: Path) -> None:
    """Repeated keys are refused with the request's id, other rubbish with none; calls go on. The records lie beside the policy, for the owner alone."""
    with proxy(tmp_path) as process:
        put(process, b"hello", b'{"jsonrpc": "2.0", "id": 9, "method": "ping", "method": "tools/list"}', b"")
        first = get(process), get(process)
        assert [(one["id"], one["error"]["code"]) for one in first] == [(None, -32700), (9, -32700)]
        put(process, HELLO)
        assert get(process)["result"]["serverInfo"]["name"] == "raw"
        put(process, b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1.10"}}}')
        assert json.loads(said(get(process)["result"])) == {"text": "1.10"}
        assert code(called(process, 3, "pay", {"text": "1"})) == "held_for_approval"
    assert (tmp_path / "guard.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "server", [["no-such-command"], [sys.executable, "-c", "import sys; sys.exit(4)"]], ids=["absent", "ends"]
)
def test_a_server_that_cannot_be_used_is_said_so(server: list[str], tmp_path: Path) -> None:
    """Exit code 1, and a line that says what is wrong."""
    with proxy(tmp_path, server=server) as process:
        put(process, HELLO)
        assert process.wait(60) == 1
        assert process.stderr is not None
        told = process.stderr.read().decode()
        assert "cannot be started" in told or "ended with exit code 4" in told
        assert "Traceback" not in told


@pytest.mark.parametrize("source", ["/dev/null", "empty", "full"])
def test_a_client_that_is_no_pipe(source: str, tmp_path: Path) -> None:
    """A device or a plain file for standard input ends the session at its end, with an answer for what stood in it."""
    folder(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_text(json.dumps({"jsonrpc": "2.0", **HELLO}) + "\n", "utf-8")
    words = ["mcp", "--policy", str(tmp_path / "policies"), "--principal", "E1", "--role", "user", "--", sys.executable, str(RAW)]
    with (tmp_path / source).open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-m", "guard", *words],
            cwd=tmp_path,
            env=environment(),
            stdin=given,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == (1 if source == "full" else 0)
