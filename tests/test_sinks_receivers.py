"""Sinks and receivers that misbehave: bounded in time and queue, the stated policy kept, what the receiver asks for heard; and no decision waits for any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import CLERK, asking
from http_service_kit import Service, says
from receivers_kit import Collector, Hanging, Papers, attributes, busy, exporting, free_port, resets
from sinks_kit import QUICK, follower, standing, told, write
from stores_kit import Clock, a_store

from guard import Session, ToolCall
from guard.core.ports import Store
from guard.sinks import Planned, Relay
from guard.sinks.formats import FORMATS
from guard.sinks.notice import Links
from guard.sinks.notify import Notify
from guard.sinks.port import Sink
from guard.sinks.post import Post
from guard.sinks.slack import Slack
from guard.sinks.syslog import Address, Syslog, trusted
from guard.sinks.webhook import Webhook
from guard.stores.outbox import outbox_of

START = 1_800_000_000.0
BOSS = Session(principal="E2", tenant="acme", roles=("boss",))
KEYS = (b"k" * 32,)
PAGE = Links(page="https://guard.example/approvals/{approval}")


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, clock)


def hook(port: int, seconds: float = 5.0) -> Webhook:
    return Webhook("hook", Post(f"http://127.0.0.1:{port}/", seconds=seconds), KEYS, FORMATS["record"], lambda: START)


# -- OpenTelemetry's own exporters


def test_spans_and_events_arrive_over_otlp(tmp_path: Path) -> None:
    """As the protocol says, read back from its own messages: names, times, links and attributes; a decision is an event, only a run is a span."""
    with Service(says(200, b"", "application/x-protobuf")) as service, asking(tmp_path) as guard:
        guard.call(ToolCall("c9", "nothing", "{}"), CLERK, conversation="conv-1")
        with exporting(service.port) as sink:
            assert follower(guard.store, sink).step().did == "sent"
            got = Collector(service)
            [span] = got.spans()
            assert span.name == "execute_tool look"
            assert attributes(span)["gen_ai.operation.name"] == "execute_tool"
            assert attributes(span)["guard.exec.status"] == "ok"
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
            decided = {
                attributes(one)["guard.decision.verdict"]: one for one in got.events() if one.event_name == "guard.call.decided"
            }
            assert {*decided} == {"allow", "hold", "refuse"}
            assert attributes(decided["refuse"])["guard.decision.code"] == "unknown_tool"
            assert span.links[0].trace_id == decided["allow"].trace_id != span.trace_id
            asked = next(one for one in got.events() if one.event_name == "guard.approval.requested")
            assert asked.trace_id == decided["hold"].trace_id
            assert not any("arguments" in name for one in [span, *got.events()] for name in attributes(one))


@pytest.mark.parametrize("how", ["hanging", "refused", "reset", "429", "500"])
def test_an_exporter_without_a_receiver_is_bounded(store: Store, how: str) -> None:
    """The step ends within its time, whatever the exporter does; the next one goes on, and what was recorded meanwhile is behind it."""
    write(store, 3, kind="call.decided")
    answers = {"reset": resets, "429": busy(429, Retry_After="1"), "500": busy(500)}
    with ExitStack() as stack:
        if how == "hanging":
            port = stack.enter_context(Hanging()).port
        else:
            port = free_port() if how == "refused" else stack.enter_context(Service(answers[how])).port
        sink = stack.enter_context(exporting(port, seconds=0.5))
        one = follower(store, sink, replace(QUICK, timeout=0.2, attempts=1, policy="drop"))
        step = one.step()
        assert step.did in ("sent", "failed")
        if step.did == "failed":
            assert "within 0.2 seconds" in step.error
            assert standing(store, "traces").dropped == 3
            assert [body["sink"]["count"] for body in told(store, "sink.dropped")] == [3]


# -- what a receiver answers

ANSWERS: dict[str, tuple[Any, float]] = {
    "429": (busy(429, Retry_After="120"), 120.0),
    "503": (busy(503, Retry_After="120"), 120.0),
    "500": (busy(500, Retry_After="7"), 7.0),
    "a-date": (busy(429, Retry_After="Tue, 01 Dec 2026 10:02:00 GMT"), 120.0),
    "for-ever": (busy(429, Retry_After="999999999"), 300.0),
    "none": (busy(429), 0.0),
    "past": (busy(429, Retry_After="Tue, 01 Dec 2020 10:00:00 GMT"), 0.0),
    "nonsense": (busy(429, Retry_After="soon, \u00b2"), 0.0),
    "negative": (busy(429, Retry_After="-5"), 0.0),
    "long": (busy(429, Retry_After="9" * 400), 0.0),
}


def dated(answer: Any) -> Any:
    """The same from a receiver whose clock says ten o'clock on the first of December."""

    def answers(to: Any) -> None:
        to.date_time_string = lambda *_: "Tue, 01 Dec 2026 10:00:00 GMT"
        answer(to)

    return answers


@pytest.mark.parametrize(("answer", "least"), ANSWERS.values(), ids=ANSWERS)
def test_a_receiver_that_asks_to_be_left_alone_is(store: Store, clock: Clock, answer: Any, least: float) -> None:
    """For as long as it says, up to a bound, by its own clock; no request goes out before, and the next one afterwards."""
    write(store, 1)
    with Service(dated(answer)) as service:
        one = follower(store, hook(service.port), replace(QUICK, first=1.0, longest=300.0, policy="block"))
        step = one.step()
        assert step.did == "failed"
        assert max(least, 0.5) <= step.wait <= max(least, 1.0)
        clock.now += step.wait - 0.01
        assert one.step().did == "waiting"
        assert len(service.asked) == 1
        clock.now += 0.02
        service.answer = says(200)
        assert one.step().did == "sent"


BROKEN = ("hanging", "refused", "reset", "429", "500")


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("policy", ["block", "spool", "drop"])
def test_each_policy_holds_whatever_the_receiver_does(store: Store, clock: Clock, how: str, policy: Any) -> None:
    """After the attempts that it has, a batch waits on, is set aside, or is passed over on record; it is sent once the receiver is back, but for what was dropped."""
    write(store, 2, kind="call.decided")
    answer = {"reset": resets, "429": busy(429), "500": busy(500)}.get(how, says(200))
    with ExitStack() as stack:
        service = stack.enter_context(Service(answer))
        bad = {"hanging": lambda: stack.enter_context(Hanging()).port, "refused": free_port}.get(how)
        sink = hook(service.port if bad is None else bad(), seconds=0.3)
        bounds = replace(QUICK, timeout=2.0, attempts=2, batch=10, policy=policy, kinds=("call.",))
        one = follower(store, sink, bounds)
        for _ in range(2):
            assert one.step().did == "failed"
            clock.now += 1000
        now = standing(store, "hook")
        assert (now.letters, now.dropped) == {"block": (0, 0), "spool": (2, 0), "drop": (0, 2)}[policy]
        assert [body["sink"]["count"] for body in told(store, "sink.dropped")] == ([2] if policy == "drop" else [])
        service.answer, one.sink = says(200), hook(service.port)
        step = one.retry() if policy == "spool" else one.step()
        assert step.sent == (0 if policy == "drop" else 2)


# -- decisions


def sinks(kind: str, port: int, papers: Papers, stack: ExitStack) -> Sink:
    post = Post(f"http://127.0.0.1:{port}/", seconds=60.0)
    if kind == "otel":
        return stack.enter_context(exporting(port, seconds=1.0))
    made: dict[str, Any] = {
        "webhook": lambda: hook(port, 60.0),
        "notify": lambda: Notify("notify", post, KEYS, PAGE, lambda: START),
        "slack": lambda: Slack("slack", post, PAGE),
        "syslog-tcp": lambda: Syslog("log", Address.of(f"tcp://127.0.0.1:{port}"), seconds=60.0),
        "syslog-tls": lambda: Syslog("log", Address.of(f"tls://127.0.0.1:{port}"), seconds=60.0, trust=trusted(papers.ca)),
    }
    sink: Sink = made[kind]()
    return sink


@pytest.mark.parametrize("kind", ["webhook", "notify", "slack", "syslog-tcp", "syslog-tls", "otel"])
def test_no_call_waits_for_a_receiver_that_hangs(tmp_path: Path, kind: str) -> None:
    """While somebody holds the connection open and says nothing, calls are decided, run, held and approved; closing waits a bounded time."""
    with ExitStack() as stack:
        guard = stack.enter_context(asking(tmp_path))
        hanging = stack.enter_context(Hanging())
        sink = sinks(kind, hanging.port, Papers(tmp_path), stack)
        relay = Relay(outbox_of(guard.store), [Planned(sink=sink, bounds=replace(QUICK, timeout=0.3, policy="drop", attempts=1))])
        relay.start()
        assert hanging.touched.wait(20)
        for number in range(20):
            asked = guard.call(ToolCall(f"a{number}", "look", "{}"), CLERK, conversation=f"conv-{number}")
            assert asked.status in ("done", "refused")
            held = guard.call(ToolCall(f"b{number}", "pay", f'{{"to": "bob", "amount": {number}}}'), CLERK, conversation="c")
            assert held.status == "held"
            guard.approvals.approve(held.approval, approver=BOSS)
        if kind != "syslog-tcp":  # what the system buffers counts as written there
            assert standing(guard.store, sink.name).sent == 0
        relay.close(0.1)
        assert len(guard.store.audit()) > 100
