"""OpenTelemetry: a span for each real run of a tool, an event for each decision and each step of an approval. Needs the extra `otel`.

`execute_tool NAME` is only made for a call that ran, with the attributes of the GenAI conventions; what those have no name for stands in `guard.*`. A
decision is an event (a log record with an event name) in a context of its own; the run, which may be hours later, is a trace of its own, linked to it and to
the program's span that asked for it, where that is known.
Arguments go out only when they are asked for, and only as the redacted copy of the record. Both tables of attributes can be replaced.

Spans and events go to the providers of the program; they are flushed before a batch counts as sent, but whether an exporter's receiver took them only
the exporter knows. A batch that is sent again gives further spans: `guard.record.id` tells them apart. Comes after port and entry.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from opentelemetry import _logs, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from guard.core.ports import Sealed
from guard.core.values import Json, encode, is_number
from guard.sinks.entry import Entry, entry, grave
from guard.sinks.port import SinkError

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.trace import TracerProvider

Table = Mapping[str, tuple[str, ...]]
"""Name of an attribute → where its value stands in a record's body."""

_BOTH: dict[str, tuple[str, ...]] = {
    "gen_ai.tool.name": ("tool", "name"),
    "gen_ai.tool.call.id": ("call_id",),
    "gen_ai.conversation.id": ("conversation",),
    "guard.record.id": ("id",),
    "guard.tenant": ("tenant",),
    "guard.principal": ("principal",),
    "guard.tool.kind": ("tool", "kind"),
    "guard.tool.definition": ("tool", "definition"),
    "guard.approval.id": ("approval",),
    "guard.audit.chain": ("chain",),
    "guard.audit.seq": ("seq",),
    "guard.writer.process": ("writer", "process"),
}
SPAN: dict[str, tuple[str, ...]] = {
    **_BOTH,
    "error.type": ("exec", "error"),
    "guard.exec.status": ("exec", "status"),
    "guard.exec.attempt": ("exec", "attempt"),
    "guard.exec.fence": ("exec", "fence"),
    "guard.effect.observed": ("effect", "observed"),
    "guard.effect.agrees": ("effect", "agrees"),
    "guard.result.digest": ("result", "digest"),
    "guard.result.size": ("result", "size"),
}
EVENT: dict[str, tuple[str, ...]] = {
    **_BOTH,
    "guard.actor.type": ("actor", "type"),
    "guard.actor.ref": ("actor", "ref"),
    "guard.actor.assurance": ("actor", "assurance"),
    "guard.actor.via": ("actor", "via"),
    "guard.actor.addr": ("actor", "addr"),
    "guard.actor.account": ("actor", "account"),
    "guard.decision.verdict": ("decision", "verdict"),
    "guard.decision.code": ("decision", "code"),
    "guard.decision.rules": ("decision", "rules"),
    "guard.decision.policy": ("decision", "policy"),
    "guard.decision.ms": ("decision", "ms"),
    "guard.approval.status": ("approval_state", "status"),
    "guard.approval.need": ("approval_state", "need"),
    "guard.approval.have": ("approval_state", "have"),
    "guard.approval.decide_by": ("approval_state", "decide_by"),
    "guard.approval.use_by": ("approval_state", "use_by"),
    "guard.approval.decision": ("approval_state", "decision"),
    "guard.approval.presented": ("approval_state", "presented"),
    "guard.effect.observed": ("effect", "observed"),
    "guard.effect.agrees": ("effect", "agrees"),
    "guard.kill.id": ("kill", "id"),
    "guard.kill.status": ("kill", "status"),
    "guard.grant.id": ("grant", "id"),
    "guard.verify.verdict": ("verify", "verdict"),
    "guard.segment.month": ("segment", "month"),
    "guard.args.digest": ("args", "digest"),
    "guard.spoof": ("spoof",),
}
ARGUMENTS = "gen_ai.tool.call.arguments"
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_RUNS = frozenset({"call.end", "call.unknown"})
_REMEMBERED = 10_000  # calls of which it is kept when they began and what was decided, until they end
_FLUSH = 5_000  # milliseconds


class OTel:
    """Makes spans and events. Without providers those of the program are used. `attributes` stand besides the tables, or in the place of a row."""

    def __init__(
        self,
        name: str,
        *,
        tracer_provider: TracerProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        arguments: bool = False,
        attributes: Table | None = None,
        tables: tuple[Table, Table] = (SPAN, EVENT),
    ) -> None:
        self.name = name
        self._providers = tracer_provider or trace.get_tracer_provider(), logger_provider or _logs.get_logger_provider()
        self._tracer = self._providers[0].get_tracer("guard")
        self._logger = self._providers[1].get_logger("guard")
        self._arguments = arguments
        self._span, self._event = ({**table, **(attributes or {})} for table in tables)
        self._begun: OrderedDict[str, int] = OrderedDict()
        self._shown: OrderedDict[str, str] = OrderedDict()
        self._asked: OrderedDict[str, list[SpanContext]] = OrderedDict()  # in which trace of the program a call was let run

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        for sealed in batch:
            one = entry(sealed)
            if one.kind in _RUNS and is_number(one.at("exec", "ms")):
                self._run(one)
            elif one.kind == "call.begin":
                _keep(self._begun, _place(one), _nanoseconds(one))
                _keep(self._asked, _place(one), caller(one))
            elif one.kind != "call.end":  # one without a run is no run
                self._tell(one)
        for provider in self._providers:
            flush = getattr(provider, "force_flush", None)
            if flush is not None and flush(_FLUSH) is False:
                raise SinkError("the exporter did not take everything in time")

    def close(self) -> None:
        """The providers belong to the program."""

    def _run(self, one: Entry) -> None:
        """The span of a run, as a trace of its own that is linked to its decision."""
        end = _nanoseconds(one)
        begun = self._begun.pop(_place(one), end - int(one.at("exec", "ms") * 1_000_000))
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", **_picked(self._span, one)}
        shown = self._shown.pop(_place(one), None)
        if shown is not None:
            attributes[ARGUMENTS] = shown
        span = self._tracer.start_span(
            f"execute_tool {one.text('tool', 'name')}",
            context=Context(),
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            links=[Link(decision_context(one)), *map(Link, self._asked.pop(_place(one), []))],
            start_time=min(begun, end),
        )
        if one.text("exec", "status") != "ok":
            span.set_status(Status(StatusCode.ERROR, one.text("exec", "error") or one.text("exec", "status")))
        span.end(end)

    def _tell(self, one: Entry) -> None:
        """The event of a decision, or of what people did."""
        attributes = _picked(self._event, one)
        shown = one.at("args", "shown")
        if self._arguments and isinstance(shown, Mapping):
            attributes[ARGUMENTS] = encode(shown)
            if one.kind == "call.decided":
                _keep(self._shown, _place(one), encode(shown))
        if one.kind == "call.decided":
            _keep(self._asked, _place(one), caller(one))
        where = decision_context(one)
        record = _logs.LogRecord(
            timestamp=_nanoseconds(one),
            context=trace.set_span_in_context(NonRecordingSpan(where), Context()),
            severity_number=_logs.SeverityNumber.WARN
            if one.text("decision", "verdict") == "refuse" or grave(one)
            else _logs.SeverityNumber.INFO,
            body=one.kind,
            attributes=attributes,
            event_name=f"guard.{one.kind}",
        )
        self._logger.emit(record)


def decision_context(one: Entry) -> SpanContext:
    """The context that the decision about a call has, and that its run is linked to: the same for all records of one approval, or of one call."""
    about = f"approval:{one.text('tenant')}:{one.text('approval')}" if one.text("approval") else _place(one)
    made = hashlib.sha256(f"guard-decision-v1:{about}".encode("utf-8", "surrogatepass")).digest()
    number = (int.from_bytes(made[:16]) or 1, int.from_bytes(made[16:24]) or 1)
    return SpanContext(*number, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def caller(one: Entry) -> list[SpanContext]:
    """The span of the program in which a call was asked for, where the record says so."""
    found = _PARENT.fullmatch(one.text("trace"))
    return (
        [SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=TraceFlags(int(found[3], 16) & 1))]
        if found
        else []
    )


def _place(one: Entry) -> str:
    """Which call a record is about; a record that is about none is about itself."""
    names = [one.at(name) for name in ("tenant", "conversation", "branch", "turn", "position")]
    return encode(names) if names[-1] is not None else one.id


def _keep(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    if len(kept) > _REMEMBERED:
        kept.popitem(last=False)


def _nanoseconds(one: Entry) -> int:
    try:
        found = datetime.fromisoformat(one.text("ts"))
    except ValueError:
        return 0
    return int(found.timestamp()) * 1_000_000_000 + found.microsecond * 1000


def _picked(table: Table, one: Entry) -> dict[str, Any]:
    """The attributes that the record has values for."""
    found = ((name, _plain(one.at(*path))) for name, path in table.items())
    return {name: value for name, value in found if value is not None}


def _plain(value: Json) -> Any:
    """A value as an attribute may hold it."""
    if isinstance(value, bool | str | int):
        return value if not isinstance(value, int) or abs(value) < 2**63 else str(value)
    if isinstance(value, list):
        return [str(item) for item in value] or None
    return None if value is None else float(value) if is_number(value) else encode(value)
