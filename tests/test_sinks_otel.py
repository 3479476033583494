"""OpenTelemetry, with the SDK's own exporters: spans only for real runs, decisions as events, a held call's run linked to its decision."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import CLERK, asking, environment, waiting
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from sinks_kit import follower

from guard import Guard, Session, ToolCall
from guard.extras import install
from guard.sinks.otel import ARGUMENTS, OTel
from guard.sinks.port import SinkError

BOSS = Session(principal="E2", tenant="acme", roles=("boss",))


class Seen:
    """Providers whose exporters keep what they get."""

    def __init__(self, **more: Any) -> None:
        self.spans_of, self.logs_of = InMemorySpanExporter(), InMemoryLogRecordExporter()
        spans, logs = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
        spans.add_span_processor(SimpleSpanProcessor(self.spans_of))
        logs.add_log_record_processor(SimpleLogRecordProcessor(self.logs_of))
        self.sink = OTel("traces", tracer_provider=spans, logger_provider=logs, **more)

    def spans(self) -> tuple[Any, ...]:
        return self.spans_of.get_finished_spans()

    def events(self, name: str = "") -> list[Any]:
        found = [one.log_record for one in self.logs_of.get_finished_logs()]
        return [one for one in found if one.event_name.startswith(f"guard.{name}")]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Guard]:
    """A look-up that ran, a payment that waited, was approved and ran, and one that was refused."""
    with asking(tmp_path) as guard:
        guard.approvals.approve(waiting(guard), approver=BOSS)
        done = guard.call(ToolCall("c1", "pay", '{"to": "bob\\u202e", "amount": 10.50}'), CLERK, conversation="conv-1")
        assert done.status == "done"
        guard.call(ToolCall("c9", "nothing", "{}"), CLERK, conversation="conv-1")
        yield guard


def send(guard: Guard, seen: Seen) -> Seen:
    follower(guard.store, seen.sink).step()
    return seen


def test_a_span_stands_for_a_real_run_alone(made: Guard) -> None:
    """Two runs, two spans, each a trace of its own with its times; what was held or refused has none."""
    seen = send(made, Seen())
    assert [span.name for span in seen.spans()] == ["execute_tool look", "execute_tool pay"]
    for span in seen.spans():
        assert span.parent is None
        assert span.attributes["gen_ai.operation.name"] == "execute_tool"
        assert span.attributes["guard.exec.status"] == "ok"
        assert 0 <= span.end_time - span.start_time < 60 * 10**9
    assert len({span.context.trace_id for span in seen.spans()}) == 2


def test_a_run_is_linked_to_the_decision_that_let_it(made: Guard) -> None:
    """The held call's run, a new trace, points at the events of its approval; the look-up's at its own decision."""
    seen = send(made, Seen())
    look, pay = seen.spans()
    asked, resolved = seen.events("approval.requested")[0], seen.events("approval.resolved")[0]
    [link] = pay.links
    assert (
        (link.context.trace_id, link.context.span_id) == (asked.trace_id, asked.span_id) == (resolved.trace_id, resolved.span_id)
    )
    held = [event for event in seen.events("call.decided") if event.attributes["guard.decision.verdict"] == "hold"]
    assert {event.trace_id for event in held} == {link.context.trace_id}
    assert pay.context.trace_id != link.context.trace_id
    [plain] = [event for event in seen.events("call.decided") if event.attributes["gen_ai.tool.name"] == "look"]
    assert look.links[0].context.trace_id == plain.trace_id


def test_decisions_are_events_with_their_reasons(made: Guard) -> None:
    """Verdict, code and policy in the guard's own namespace."""
    seen = send(made, Seen())
    [refused] = [event for event in seen.events("call.decided") if event.attributes["guard.decision.verdict"] == "refuse"]
    assert refused.event_name == "guard.call.decided"
    assert refused.attributes["guard.decision.code"] == "unknown_tool"
    assert all(name.startswith(("gen_ai.", "guard.", "error.")) for event in seen.events() for name in event.attributes)


def test_arguments_go_out_only_when_they_are_asked_for(made: Guard) -> None:
    """And then as the record shows them."""
    silent, telling = send(made, Seen()), Seen(arguments=True)
    assert not any(ARGUMENTS in (one.attributes or {}) for one in [*silent.spans(), *silent.events()])
    telling.sink.send(made.store.audit())
    _, pay = telling.spans()
    assert json.loads(pay.attributes[ARGUMENTS]) == {"to": "bob\u202e", "amount": 10.5}


def test_the_tables_of_attributes_can_be_replaced(made: Guard) -> None:
    """A row more, and another table altogether."""
    more, other = Seen(attributes={"app.tool": ("tool", "name")}), Seen(tables=({"t": ("tool", "name")}, {"k": ("kind",)}))
    for seen in (more, other):
        seen.sink.send(made.store.audit())
    assert {span.attributes["app.tool"] for span in more.spans()} == {"look", "pay"}
    assert {*other.spans()[0].attributes} == {"t", "gen_ai.operation.name", "gen_ai.tool.type"}
    assert {*other.events()[0].attributes} == {"k"}


def test_a_run_that_failed_says_how(tmp_path: Path) -> None:
    """Status error, and the kind of error in `error.type`."""
    with asking(tmp_path) as guard:
        body = {"kind": "call.end", "tenant": "t", "conversation": "c", "turn": 1, "position": 0, "tool": {"name": "pay"}}
        guard.store.record((), [{**body, "exec": {"status": "error", "error": "tool_failed", "ms": 12.5}}])
        guard.store.record((), [{**body, "exec": {"status": "error", "error": "not_permitted"}}])
        seen = send(guard, Seen())
    failed = [span for span in seen.spans() if span.status.status_code is StatusCode.ERROR]
    assert [(span.attributes["error.type"], span.end_time - span.start_time) for span in failed] == [("tool_failed", 12_500_000)]


def test_an_exporter_that_does_not_flush_is_a_failure(made: Guard) -> None:
    """The batch counts as not sent."""
    seen = Seen()

    class Slow(SimpleSpanProcessor):
        def force_flush(self, timeout_millis: int = 1) -> bool:
            return False

    seen.sink._providers[0].add_span_processor(Slow(InMemorySpanExporter()))  # type: ignore[attr-defined]
    with pytest.raises(SinkError, match="did not take everything"):
        seen.sink.send(made.store.audit())


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "no tracer provider is set in this program"),
        ("import sys; sys.modules['opentelemetry'] = None", install("otel")),
    ],
    ids=["no-provider", "no-package"],
)
def test_what_is_missing_is_told(before: str, told: str, tmp_path: Path) -> None:
    """In the file of sinks, with its line: nobody believes that traces go out when they do not."""
    (tmp_path / "sinks.yaml").write_text("sinks: {traces: {to: otel}}\n", "utf-8")
    code = f"{before}\nimport time\nfrom guard.cli.sinks_file import read_sinks\nread_sinks('sinks.yaml', {{}}, time.time)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert told in done.stderr
    assert "sinks.yaml:1: traces: " in done.stderr
