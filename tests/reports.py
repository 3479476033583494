"""What the tests of reported failures share: one guarded assistant on one wire, and what must hold for each of them whatever happens.

`start` writes a policy folder and loads it with real functions. `Desk.propose` sends one assistant message through the guard and checks, by the
providers' own rules, that the history stays legal and that every call got one result. `Desk.closed` checks the record: each call has its
proposal, its decision before anything ran, and its outcome, and the chain holds.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from record_kit import fitting
from stores_kit import Clock, records
from wire_helpers import answers, message, spelled
from wire_talk import legal

from guard import Guard, Outcome, PolicyWarning, Session, Turn
from guard.runner import Conversation
from guard.stores.chain import verify_store
from guard.wires import WIRES

BOTH = pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
"""A report of a failure behind the wires is tried on two of them."""
EVERY = pytest.mark.parametrize("wire", sorted(WIRES))
"""A report of a failure that a wire could bring back is tried on each."""

U1 = Session(principal="u1", roles=("staff",), attributes={"job_level": 3})
U2 = Session(principal="u2", roles=("staff",), attributes={"job_level": 1})
STRANGER = Session(principal="u9", roles=("staff",), attributes={"job_level": 1})
BOSS = Session(principal="b1", roles=("boss",))

Tools = Mapping[str, Callable[..., Any]]
Proposal = tuple[str, str, Any]
"""Call id, tool, arguments: the raw text, or an object."""


@dataclass
class Desk:
    """One guarded assistant. `ran` holds every execution as (tool, arguments the function got), in order."""

    wire: str
    store: str
    clock: Clock
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seen: list[Turn] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    refused_early: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    opening: dict[str, Any] = field(default_factory=dict)
    guard: Any = None
    chat: Any = None

    def load(self, kind: Any = Guard, **given: Any) -> Any:
        """A guard of this kind on the policy folder, the tools and the store of this desk."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            return kind.load(**{**self.given, **given})

    def restart(self) -> None:
        """What is left after the process ended and another one began: the folder, the store's file, and the history that the host kept."""
        self.guard.close()
        self.guard = self.load()
        self.chat = self.guard.open(**self.opening)

    # -- acting ----------------------------------------------------------------------------------------------------------

    def say(self, text: str = "Please help.") -> None:
        """Let the user speak."""
        self.history.append(self.chat.user(text))

    def propose(self, *calls: Proposal, chat: Conversation | None = None) -> Turn:
        """Handle one assistant message with these calls and append what the guard gives back."""
        reply = message(self.wire, *((name, tool, self._spelled(arguments)) for name, tool, arguments in calls))
        turn: Turn = (chat or self.chat).handle(reply, history=self.history)
        self.seen.append(turn)
        assert [outcome.tool for outcome in turn.outcomes] == [tool for _, tool, _ in calls], (
            "one outcome for each call, in order"
        )
        if chat is None:
            self.history += turn.append
            self.legal()
        results = Counter(name for name, _ in answers(self.wire, turn.messages))
        assert set(results.values()) <= {1}, "one result for each id"
        return turn

    def approve(self, turn: Turn, call_id: str, approver: Session = BOSS) -> None:
        """Say yes to the approval that a call of this turn waits for."""
        self.guard.approvals.approve(self.waiting(turn, call_id), approver=approver)

    def reject(self, turn: Turn, call_id: str, reason: str | None = None, approver: Session = BOSS) -> None:
        """Say no to it."""
        self.guard.approvals.reject(self.waiting(turn, call_id), approver=approver, reason=reason)

    def settle(self) -> str:
        """Carry out what has been decided; the text that the model gets about it."""
        told = self.chat.settled()
        self.history += told
        self.legal()
        return json.dumps(told, default=str)

    # -- looking ---------------------------------------------------------------------------------------------------------

    def waiting(self, turn: Turn, call_id: str) -> str:
        """The id of the approval that a call waits for."""
        found = outcome(turn, call_id).approval
        assert found, f"{call_id} waits for nobody"
        return found

    def pending(self) -> list[Any]:
        """Every approval that is open now."""
        return list(self.guard.approvals.list())

    def times(self, tool: str) -> int:
        """How often a tool ran."""
        return sum(name == tool for name, _ in self.ran)

    def result(self, call_id: str) -> str:
        """The newest result for this id in the history, as the model reads it."""
        return next(str(content) for name, content in reversed(answers(self.wire, self.history)) if name == call_id)

    def audit(self, kind: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """Audit records, oldest first, of one kind and with these fields if given."""
        events = [fitting(record.body) for record in records(self.guard.store)]
        return [
            event
            for event in events
            if (kind is None or event["kind"] == kind) and all(event.get(name) == value for name, value in fields.items())
        ]

    def decision(self, call_id: str) -> dict[str, Any]:
        """The newest decision about a call."""
        return self.audit("call.decided", call_id=call_id)[-1]

    def everything(self) -> str:
        """The history and the audit as one text, for what may stand nowhere."""
        return json.dumps(self.history, ensure_ascii=False, default=str) + "".join(
            record.body for record in records(self.guard.store)
        )

    # -- what always holds -------------------------------------------------------------------------------------------------

    def legal(self) -> None:
        """The provider would take the history as the next request."""
        legal(self.wire, self.history)

    def closed(self) -> None:
        """Each call has its proposal, decision and outcome on record, nothing ran before its decision, and the chain holds."""
        assert not self.refused_early, f"ran before a decision: {self.refused_early}"
        assert verify_store(self.guard.store).ok
        for turn in self.seen:
            for one in turn.outcomes:
                self._recorded(one)
        self.guard.close()

    def _recorded(self, one: Outcome) -> None:
        kinds = [event["kind"] for event in self.audit(turn=one.turn, position=one.position, call_id=one.call_id)]
        assert "call.proposed" in kinds, f"{one.call_id} has no proposal on record"
        decided = {"call.decided", "result.delivered"} & set(kinds)
        assert decided, f"{one.call_id} has no decision on record"
        first = min(kinds.index(kind) for kind in decided)
        assert kinds.index("call.proposed") < first
        starts = [kinds.index(kind) for kind in ("call.begin", "call.end") if kind in kinds]
        assert all(first < start for start in starts), f"{one.call_id} began before it was decided about"
        if one.status in {"done", "failed", "unknown"}:
            assert {"call.end", "call.unknown", "result.delivered"} & set(kinds), f"{one.call_id} has no outcome on record"

    # -- inside ----------------------------------------------------------------------------------------------------------

    def _spelled(self, arguments: Any) -> Any:
        return spelled(self.wire, arguments)

    def _decided(self, tool: str) -> bool:
        begun = [event for event in self.audit("call.decided") if event["decision"]["verdict"] == "allow"]
        return any(event["tool"]["name"] == tool for event in begun)

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, noting each execution and whether an allowing decision was on record by then."""

        @functools.wraps(function)
        def watch(**arguments: Any) -> Any:
            self.ran.append((name, arguments))
            if not self._decided(name):
                self.refused_early.append(name)
            return function(**arguments)

        return watch


def start(
    tmp_path: Path,
    wire: str,
    policy: str,
    tools: Tools,
    *,
    store: str = "memory",
    session: Session = U1,
    held: Any = "answer",
    conversation: str = "conv-1",
    checks: Any = None,
    probes: Any = None,
    files: Mapping[str, str] | None = None,
    watched: bool = True,
) -> Desk:
    """A desk whose user has spoken once. `policy` is the text of tools.yaml, `files` are further files of the folder.

    Executions are noted in `ran` unless `watched` is off, for tools whose very form matters.
    """
    desk = Desk(wire=wire, store=store, clock=Clock())
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/guard.db"
    offered = {name: desk.watched(name, function) if watched else function for name, function in tools.items()}
    folder = write(tmp_path, policy, files)
    desk.given = {"folder": folder, "tools": offered, "store": url, "checks": checks, "probes": probes, "clock": desk.clock}
    desk.opening = {"session": session, "wire": wire, "conversation": conversation, "held": held}
    desk.guard = desk.load()
    desk.chat = desk.guard.open(**desk.opening)
    desk.say()
    return desk


def write(tmp_path: Path, policy: str, files: Mapping[str, str] | None = None) -> Path:
    """Write a policy folder."""
    folder = tmp_path / "policies"
    folder.mkdir(exist_ok=True)
    for name, text in {"tools.yaml": policy, **(files or {})}.items():
        (folder / name).write_text(dedent(text))
    return folder


def outcome(turn: Turn, call_id: str) -> Outcome:
    """The outcome of one call of a turn."""
    return next(one for one in turn.outcomes if one.call_id == call_id)


def states(turn: Turn) -> list[str]:
    """The statuses in call order."""
    return [one.status for one in turn.outcomes]


def codes(turn: Turn) -> list[str | None]:
    """The reasons in call order."""
    return [None if one.reason is None else str(one.reason) for one in turn.outcomes]


def error(one: Outcome) -> dict[str, Any]:
    """The error that the model reads."""
    assert isinstance(one.content, str)
    found: dict[str, Any] = json.loads(one.content)["error"]
    return found


def problems(one: Outcome) -> dict[str, dict[str, Any]]:
    """The problems of a refusal by path."""
    return {problem["path"]: problem for problem in error(one).get("problems", [])}


def shown_schema(desk: Desk, tool: str) -> dict[str, Any]:
    """The parameters of a tool as the model sees them."""
    return dict(offered(desk.chat.tools))[tool]


SHAPES = ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
"""Where the schema of a tool stands, wire by wire."""


def offered(tools: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and parameters of every tool that is offered, whatever the wire."""
    for body in _bodies(tools):
        found = next(body[key] for key in SHAPES if key in body)
        yield body["name"], found.get("json", found)


def descriptions(tools: list[dict[str, Any]]) -> dict[str, str]:
    """What the model is told about each tool that is offered."""
    return {body["name"]: body.get("description", "") for body in _bodies(tools)}


def _bodies(tools: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in tools:
        yield from item.get("functionDeclarations") or [item.get("function") or item.get("toolSpec") or item]
