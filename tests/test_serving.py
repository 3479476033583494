"""`guard serve`: what it says when it cannot listen, and what it does not say when a loop's tool failed. Real server processes."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from sidecar_kit import Sidecar


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Sidecar:
    """A folder with a token, and no server."""
    return Sidecar(tmp_path_factory.mktemp("serving"))


def besides_sqlite(stderr: str) -> str:
    """What it says besides what is this machine's fault: that its SQLite is an old one."""
    return "".join(line for line in stderr.splitlines(True) if not line.startswith("guard: SQLite "))


def test_a_port_in_use_is_told_in_one_line(stopped: Sidecar) -> None:
    """Which port, and the option that takes another; exit code 2 and nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = stopped.guard("serve", "--policy", str(stopped.policy), "--port", str(port))
    told = f"guard: port {port} of 127.0.0.1 is in use: choose another one with --port; 0 takes a free one\n"
    assert (done.returncode, done.stdout, besides_sqlite(done.stderr)) == (2, "", told)


@pytest.mark.parametrize("host", ["192.0.2.1", "nobody.invalid"], ids=["not-here", "no-address"])
def test_an_address_that_is_not_here_is_told_in_one_line(host: str, stopped: Sidecar) -> None:
    """What holds of a port holds of a host."""
    done = stopped.guard("serve", "--policy", str(stopped.policy), "--port", "0", "--host", host)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"guard: cannot listen on --host {host} --port 0: ")
    assert "Traceback" not in done.stderr
    assert "ERROR" not in besides_sqlite(done.stderr)


@pytest.mark.parametrize("more", [{}, {"message": ""}, {"message": "no"}], ids=["nothing", "empty", "text"])
def test_a_tool_that_failed_elsewhere_is_no_defect_here(more: Any, tmp_path: Path) -> None:
    """The model is told that it failed; the server's log has no traceback of it."""
    with Sidecar(tmp_path) as running:
        ticket = running.decide("order_status", '{"order_id": "A17"}', conversation="c")["ticket"]
        assert running.ask("report", ticket=ticket, status="failed", **more)["status"] == "failed"
        running.process.send_signal(signal.SIGTERM)
        assert running.process.stderr is not None
        said = running.process.stderr.read()
    assert "Traceback" not in said
    assert "FailedError" not in said
