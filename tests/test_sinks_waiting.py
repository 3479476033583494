"""What waits since before a sink that tells people began: said as sending starts, and sent where that is asked. How sinks stand needs no secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import CLERK, Run, in_process, waiting
from http_service_kit import Service, says

from guard import Guard, ToolCall

KEY = {"KEY": "k" * 20}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("KEY", KEY["KEY"])
    return in_process(tmp_path, monkeypatch, capfd)


def file(folder: Path, port: int = 9, to: str = "notify") -> None:
    link = "" if to == "webhook" else ", link: 'https://guard.example/approvals/{approval}'"
    text = f"sinks: {{people: {{to: {to}, url: 'http://127.0.0.1:{port}/', keys: [{{env: KEY}}]{link}}}}}\n"
    (folder / "sinks.yaml").write_text(text, "utf-8")


def test_what_waited_before_is_told_at_each_start_and_sent_where_asked(run: Run, asked: Guard, tmp_path: Path) -> None:
    """Nobody is told of it unasked; with --waiting each goes out once, and what comes later goes out by itself."""
    old = waiting(asked)
    with Service(says()) as service:
        file(tmp_path, service.port)
        first = run("sinks", "run", "--once")
        assert (first.code, len(service.asked)) == (0, 0)
        assert (
            f"people: 1 approval waits since before this sink began: {old} (nobody was told; guard sinks run --waiting sends it"
            in first.err
        )
        asked.call(ToolCall("c2", "pay", '{"to": "eve", "amount": 1}'), CLERK, conversation="conv-2")
        later = run("sinks", "run", "--once")
        assert ("1 approval waits since before" in later.err, len(service.asked)) == (True, 1)
        sent = run("sinks", "run", "--once", "--waiting")
        assert (sent.code, f"{old} (sending it now)" in sent.err) == (0, True)
        assert [request.json()["approval"] == old for request in service.asked] == [False, True]
        asked.approvals.cancel(old, by=CLERK, reason="no")
        assert "since before" not in run("sinks", "run", "--once").err


def test_what_cannot_be_sent_is_said(run: Run, asked: Guard, tmp_path: Path) -> None:
    """With exit code 1; it still waits and can be sent another time."""
    with Service(says(500)) as service:
        file(tmp_path, service.port)
        ran = run("sinks", "run", "--once", "--waiting")
    assert ran.code == 1
    assert "people: it was answered with status 500" in ran.err


def test_a_sink_that_gets_everything_has_nothing_to_say(run: Run, asked: Guard, tmp_path: Path) -> None:
    """It begins with the first record."""
    with Service(says()) as service:
        file(tmp_path, service.port, "webhook")
        assert "since before" not in run("sinks", "run", "--once").err


def test_how_sinks_stand_needs_no_secret(run: Run, asked: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a key nor a package of the program's; a mistake in the file is told all the same."""
    file(tmp_path)
    monkeypatch.delenv("KEY")
    assert run("sinks", "run", "--once").code == 1
    ran = run("sinks", "status", "--json")
    assert (ran.code, [one["sink"] for one in ran.json]) == (0, ["people"])
    (tmp_path / "sinks.yaml").write_text("sinks: {traces: {to: otel}, people: {to: slack, url: {env: NONE}}}\n", "utf-8")
    assert "people: link is missing" in run("sinks", "status").err
    (tmp_path / "sinks.yaml").write_text("sinks: {traces: {to: otel}}\n", "utf-8")
    assert run("sinks", "status").out.splitlines()[2].split()[:2] == ["traces", "never"]
