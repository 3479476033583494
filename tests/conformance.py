"""The ways into a guard, on which every scenario must come to the same: whole and streamed on each wire, `guard.call` and `@guarded`.

A further way (a framework, a proxy) is one class with `turn` and one row in `WAYS`. The scenarios stand in `conformance_scenarios`,
the ways through other packages and processes in `framework_ways` and `remote_ways`, the table of a run is made by `conformance_table`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance_scenarios import BOSS, POLICY, SCENARIOS, STAFF, TOOLS, Call, Scenario, breaks, is_odd
from stores_kit import Clock
from wire_helpers import OBJECTS, answers, failures, message, spelled
from wire_models import accepted
from wire_talk import EVENTS, legal

from guard import Guard, Outcome, PolicyWarning, ToolCall
from guard.core.values import canonical
from guard.integrations.decorator import guarded
from guard.wires import WIRES

_NAMED = re.compile(r"ap_[0-9a-f]{20}|,\"reference\":\"[0-9a-f]+\"|(?<=\"expires_in_seconds\":)\d+")


@dataclass(frozen=True)
class Seen:
    """What came of one call: the same on every way."""

    tool: str
    status: str
    reason: str | None
    arguments: str | None
    content: str


def seen(outcome: Outcome, own: Mapping[str, str]) -> Seen:
    """An outcome without what differs each time: ids of approvals, references, seconds left, and the texts in `own`."""
    content = outcome.content if isinstance(outcome.content, str) else json.dumps([str(block) for block in outcome.content])
    arguments = None if outcome.arguments is None else canonical(outcome.arguments)
    reason = None if outcome.reason is None else str(outcome.reason)
    for text, common in own.items():
        content = content.replace(text, common)
    return Seen(outcome.tool, outcome.status, reason, arguments, _NAMED.sub(_common, content))


def _common(named: re.Match[str]) -> str:
    return "" if named[0].startswith(",") else "…"


@dataclass
class Way:
    """One way into a guard. `held` is how held calls are rendered where the way knows both."""

    guard: Guard
    name: str
    held: Any
    tenant: str
    chat: Any = field(init=False)
    history: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = replace(STAFF, tenant=self.tenant)
        self.chat = self.guard.open(self.session, wire=self.wire, conversation="c", held=self.held)
        self.history = [self.chat.user("Please help.")]

    @property
    def wire(self) -> str:
        return self.name.partition(" ")[0]

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        """Whether this way can bring the scenario: whole replies of some wires hold objects, never text."""
        return not scenario.text or wire not in OBJECTS

    @property
    def own(self) -> dict[str, str]:
        """What the model reads on this way alone: the tenant of the test, and the name of a tool on this wire."""
        return {self.tenant: "default", self.told("crm.find"): "crm.find"}

    def told(self, tool: str) -> str:
        return str(self.chat.in_force.names(self.chat.wire).show(tool))

    def late(self) -> None:
        """Let so much time go by that nobody can decide any more about a question of a second."""
        CLOCK.now += 2

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        """Handle one message with these calls."""
        named = [(call_id, self.told(tool), text) for call_id, tool, text in calls]
        turn = self.handle(named, cut=cut)
        self.history += turn.append
        if turn.append:
            self.sendable(turn)
        return [seen(one, self.own) for one in turn.outcomes]

    def handle(self, named: list[Any], *, cut: bool) -> Any:
        reply = message(self.wire, *((call_id, tool, spelled(self.wire, text)) for call_id, tool, text in named))
        return self.chat.handle(truncated(self.wire, reply) if cut else reply, history=self.history)

    def sendable(self, turn: Any) -> None:
        """Provider and SDK take the history as the next request, with each result in its place, marked where it is none."""
        legal(self.wire, self.history)
        accepted(self.wire, self.history, self.chat.tools)
        assert failures(self.wire, turn.messages) == [one.error for one in turn.outcomes]
        for one, (_, content) in zip(turn.outcomes, answers(self.wire, turn.messages), strict=True):
            assert not isinstance(one.content, str) or content == one.content

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        """What the host sees once a person has decided: the same message handled again, or what `settled` says."""
        if self.held == "suspend":
            return self.turn(calls)
        before = len(self.history)
        self.history += self.chat.settled()
        assert len(self.history) == before + 1
        legal(self.wire, self.history)
        rows = [row for row in self.guard.store.rows(self.chat.ref) if row.outcome is not None]
        return [seen(row.outcome, self.own) for row in rows if row.outcome is not None]


class Streamed(Way):
    """The same over `chat.stream`."""

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return not scenario.text or wire != "gemini"

    def handle(self, named: list[Any], *, cut: bool) -> Any:
        events = EVENTS[self.wire](named)
        stream = self.chat.stream(iter(events[: CUT_AT.get(self.wire, -3) if cut else None]), history=self.history)
        for _ in stream:
            pass
        return stream.turn()


class Plain(Way):
    """The same by `guard.call`, call by call."""

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return not scenario.turn

    @property
    def wire(self) -> str:
        return "openai-chat"

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        return [
            seen(self.guard.call(ToolCall(call_id, tool, text), self.session, conversation="c"), self.own)
            for call_id, tool, text in calls
        ]

    def again(self, calls: tuple[Call, ...]) -> list[Seen]:
        return self.turn(calls)


class Decorated(Plain):
    """The same by functions under `@guarded`: arguments are a program's own, and there are no ids."""

    @classmethod
    def carries(cls, wire: str, scenario: Scenario) -> bool:
        return not scenario.turn and not scenario.text and all(call_id for call_id, _, _ in scenario.calls)

    def turn(self, calls: tuple[Call, ...], *, cut: bool = False) -> list[Seen]:
        return [seen(guarded(_never, name=tool)(self.chat, **json.loads(text)), self.own) for _, tool, text in calls]


def _never() -> None:
    raise AssertionError("only the guard runs a tool")


CLOCK = Clock()
"""The time of every guard of the scenarios."""
CUT_AT = {"gemini": -1}
"""How many events are missing where a stream is cut; of the others three."""
CUT: dict[str, dict[str, Any]] = {
    "openai-chat": {"finish_reason": "length"},
    "openai-responses": {"status": "incomplete"},
    "anthropic": {"stop_reason": "max_tokens"},
    "gemini": {"finishReason": "MAX_TOKENS"},
    "bedrock-converse": {"stopReason": "max_tokens"},
}


def truncated(wire: str, reply: dict[str, Any]) -> dict[str, Any]:
    """A whole reply that the provider says was cut off."""
    if wire == "openai-chat":
        return {"choices": [{"message": reply, **CUT[wire]}]}
    if wire == "gemini":
        return {"candidates": [{"content": reply, **CUT[wire]}]}
    return {"output": {"message": reply}, **CUT[wire]} if wire == "bedrock-converse" else {**reply, **CUT[wire]}


WAYS: dict[str, tuple[type[Way], str]] = {
    **dict.fromkeys(sorted(WIRES), (Way, "answer")),
    **{f"{wire} streamed": (Streamed, "answer") for wire in sorted(WIRES) if wire in EVENTS},
    **{f"{wire} suspended": (Way, "suspend") for wire in sorted(WIRES)},
    "guard.call": (Plain, "answer"),
    "@guarded": (Decorated, "answer"),
}


def loaded(folder: Path) -> Guard:
    """The guard that every scenario is played on, each in a conversation of its own."""
    (folder / "tools.yaml").write_text(POLICY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        checks = {"is_odd": is_odd, "breaks": breaks}
        guard = Guard.load(folder, tools=TOOLS, store="memory://", checks=checks, clock=CLOCK)
    guard.resource("order")(lambda order: {"owner": order} if order != "none" else 1 / 0)
    return guard


def carried() -> list[tuple[str, str]]:
    """Every way with every scenario that it can bring."""
    return [
        (name, scenario)
        for name, (kind, _) in WAYS.items()
        for scenario, played in SCENARIOS.items()
        if kind.carries(name.partition(" ")[0], played)
    ]


def way_of(guard: Guard, name: str, scenario: str) -> Way:
    """A way into the guard, in a conversation for this scenario."""
    kind, held = WAYS[name]
    return kind(guard, name, held, f"{name} {scenario}".replace(":", ""))


def play(way: Way, scenario: Scenario) -> list[Seen]:
    """Everything that the scenario's calls came to on this way, before and after a person decided."""
    if scenario.before:
        for call in scenario.before:
            assert [one.status for one in way.turn((call,))] == ["done"]
    if scenario.stop:
        chief = replace(BOSS, tenant=way.tenant)
        way.guard.kills.set(by=chief, reason="a test", tool=scenario.calls[0][1], tenant=way.tenant)
    found = way.turn(scenario.calls, cut=scenario.cut)
    if scenario.decide == "expire":
        way.late()
        found += way.again(scenario.calls)
    elif scenario.decide:
        [approval] = [one for one in way.guard.approvals.list() if one.tenant == way.tenant]
        getattr(way.guard.approvals, scenario.decide)(approval.id, approver=replace(BOSS, tenant=way.tenant))
        found += way.again(scenario.calls)
    return found
