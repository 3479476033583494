"""CloudEvents as another reader takes them: the SDK of the specification's own authors, for records of every form, and one that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from http_service_kit import Service, says
from sinks_kit import follower
from stores_kit import Clock, a_store
from test_sinks_syslog import BODIES, HOSTILE, record

from guard.core.ports import Sealed, Store
from guard.core.values import encode
from guard.sinks.entry import entry
from guard.sinks.formats import FORMATS
from guard.sinks.post import Post
from guard.sinks.webhook import Webhook


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, Clock())


def read(text: str | bytes) -> CloudEvent:
    """Raises where the specification is broken."""
    found = JSONFormat().read(None, text)
    assert isinstance(found, CloudEvent)
    return found


@pytest.mark.parametrize("name", [*BODIES, "hostile"])
def test_another_reader_takes_every_event(store: Store, name: str) -> None:
    """With the record's own id, time and data."""
    body = BODIES.get(name, {"kind": f"k {HOSTILE}", "approval": HOSTILE, "tenant": HOSTILE})
    one = record(store, **body)
    found = read(encode(FORMATS["cloudevents"].of(entry(one))))
    said = json.loads(one.body)
    assert (found.get_id(), found.get_type(), found.get_source()) == (said["id"], f"guard.{said['kind']}", "/guard/chains/0")
    time = found.get_time()
    assert time is not None
    assert time.isoformat(timespec="microseconds") == said["ts"].replace("Z", "+00:00")
    assert found.get_data() == said
    assert found.get_extension("guardhash") == one.hash


@pytest.mark.parametrize(
    "body", ["no JSON\n\x1b", '{"kind":"","ts":"yesterday"}', '{"ts":5,"id":7}', '{"id":"","ts":"2026-01-01"}', "[]"]
)
def test_a_record_that_cannot_be_read_is_still_an_event(body: str) -> None:
    """Whoever damaged it must not stop those who read the others."""
    one = Sealed(chain=3, seq=2**40, prev="0" * 64, hash="f" * 64, body=body)
    made = FORMATS["cloudevents"].of(entry(one))
    assert read(encode(made)).get_id()
    assert "time" not in made


def test_what_a_webhook_sends_is_one(store: Store) -> None:
    """As it arrives: a batch, with its own kind of content."""
    one = record(store, **BODIES["refused"])
    with Service(says(200)) as service:
        post = Post(f"http://127.0.0.1:{service.port}/")
        follower(store, Webhook("hook", post, (b"k" * 32,), FORMATS["cloudevents"], Clock())).step()
    [asked] = service.asked
    assert asked.headers["content-type"].startswith("application/cloudevents-batch+json")
    assert [read(json.dumps(each)).get_id() for each in asked.json()] == [json.loads(one.body)["id"]]
