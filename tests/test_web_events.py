"""The stream of changes: what is told to whom, what somebody who comes back has missed, and when it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_kit import Web, web

from guard.web import events


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(events, "BEAT_SECONDS", 0.2)
    with web(tmp_path) as found:
        yield found


class Stream:
    """Somebody who listens."""

    def __init__(self, client: httpx.Client, last: str | None = None) -> None:
        request = client.build_request("GET", "/api/v1/events", headers={} if last is None else {"Last-Event-ID": last})
        self.answer = client.send(request, stream=True)
        assert self.answer.headers["content-type"].startswith("text/event-stream")
        self.lines = self.answer.iter_lines()

    def next(self, beats: int = 40) -> dict[str, Any] | None:
        """The next event; None after so many signs of life without one."""
        found: dict[str, Any] = {}
        for line in self.lines:
            if line.startswith(":"):
                beats -= 1
                if not beats:
                    return None
            elif line:
                name, _, text = line.partition(": ")
                found[name] = json.loads(text) if name == "data" else text
            elif "event" in found:
                return found
        raise EOFError("the stream ended")


def test_what_changes_is_told(running: Web) -> None:
    """A new question, its end by a vote, each once and with how it stands now; never an argument."""
    boss = running.client(running.token("boss"))
    stream = Stream(running.client(running.token("listener")))
    assert stream.next()["event"] == "ready"  # type: ignore[index]
    approval = running.hold(4711)
    asked = stream.next()
    running.vote(boss, approval)
    decided = stream.next()

    assert asked is not None
    assert decided is not None
    assert [(one["event"], one["data"]["id"], one["data"]["status"]) for one in (asked, decided)] == [
        ("approval", approval, "pending"),
        ("approval", approval, "approved"),
    ]
    assert decided["data"]["decided_by"] == "boss"
    assert "4711" not in json.dumps([asked, decided])
    assert stream.next(beats=3) is None
    stream.answer.close()


def test_only_what_somebody_may_see_is_told(running: Web) -> None:
    """Nothing to a stranger, nothing of another tenant, and one's own call to whoever asked."""
    streams = [
        Stream(running.client(running.token("stranger", roles=()))),
        Stream(running.client(running.token("foreign", tenant="acme"))),
        Stream(running.client(running.token("asker", roles=(), person="ann0"))),
    ]
    assert {one.next()["event"] for one in streams} == {"ready"}  # type: ignore[index]
    approval = running.hold()
    heard = [one.next(beats=3) for one in (streams[2], *streams[:2])]

    assert heard[0] is not None
    assert heard[0]["data"]["id"] == approval
    assert heard[1:] == [None, None]
    for one in streams:
        one.answer.close()


def test_who_comes_back_has_missed_nothing(running: Web) -> None:
    """With the id of the last event it goes on behind it; with one that means nothing here, everything has to be read again."""
    client = running.client(running.token("listener"))
    first = Stream(client)
    assert first.next() is not None
    names = [running.hold(number) for number in range(3)]
    heard = first.next()
    first.answer.close()
    missed = running.hold(3)

    assert heard is not None
    again = Stream(client, heard["id"])
    rest = [again.next() for _ in range(4 - 1)]
    told = {one["data"]["id"] for one in rest if one}
    assert told | {heard["data"]["id"]} == {*names, missed}
    again.answer.close()
    for last in ("x", "", "00000000-0", heard["id"] + "0" * 9, heard["id"].partition("-")[0] + "--1"):
        lost = Stream(client, last)
        assert lost.next()["event"] == "reset", last  # type: ignore[index]
        lost.answer.close()


def test_the_stream_ends_with_the_credential(running: Web) -> None:
    """A token that is removed hears nothing more."""
    stream = Stream(running.client(running.token("gone")))
    assert stream.next() is not None
    running.tokens.remove("gone")
    with pytest.raises((EOFError, httpx.RemoteProtocolError)):
        stream.next()


def test_a_stream_does_not_keep_the_server_from_stopping(running: Web, caplog: pytest.LogCaptureFixture) -> None:
    """It ends by itself when the server is told to stop; nothing has to be cancelled."""
    stream = Stream(running.client(running.token("listener")))
    assert stream.next() is not None
    running.server.should_exit = True
    with pytest.raises(EOFError):
        stream.next()
    running._thread.join(30)
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []
