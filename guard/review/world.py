"""World: plays a case against a loaded policy and says what happened to each call. The decisions are a real guard's, made on the whole path.

    from guard.policy import load_policy
    from guard.review.cases import Case, Proposal, Step
    from guard.review.world import World

    world = World(load_policy("policies/"))
    case = Case(name="any", sessions={"ann": ann}, steps=(Step(session="ann", proposals=(Proposal(tool="look", arguments={}),)),))
    for played in world.play(case).steps:        # history first, the step that the case is about last
        for one in played.calls:                 # one for each proposal, in order
            one.decision, one.reason, one.rules, one.arguments, one.origins, one.content, one.approval, one.events

Every play has a store in memory, a clock and conversations of its own: nothing is left for the next. A step's `session` names who speaks; a
person has one conversation, unless a step names another. Comes after `scripted`; used by `suite` and by whoever explains or replays calls. Keeps no state but the policy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal, TypeAlias

from guard.core import ports as p
from guard.core.model import Approval, Content, Outcome, Session, ToolCall
from guard.core.pipeline import guard_turn, settle_calls
from guard.core.rules import Check, Tool
from guard.core.untrusted import opened
from guard.core.values import Json, JsonObject, encode
from guard.errors import ApprovalError
from guard.policy import Loaded
from guard.redactors import redactor
from guard.review.cases import Case, Proposal, Step, Vote
from guard.review.scripted import Clock, Place, Script, ScriptedHands, check, loader, stand_in
from guard.runner import Conversation
from guard.runner.compensation import offering
from guard.runner.drivers import SyncRun
from guard.runner.guard import Guard
from guard.runner.proposed import digest_of
from guard.stores import open_store

Decision: TypeAlias = Literal["allow", "hold", "refuse", "replay"]
"""`replay`: nothing ran, the recorded outcome of an equal earlier call was given."""

_DECISIONS: Mapping[str, Decision] = {"held": "hold", "refused": "refuse"}
_SECRET = b"the secret of a store of a case."


@dataclass(frozen=True, kw_only=True)
class Happened:
    """What became of one proposed call. `events` are its audit records, parsed, oldest first; `ran` says whether the tool was called."""

    proposal: Proposal
    outcome: Outcome
    ran: bool
    approval: Approval | None = None
    offered: tuple[str, ...] = ()  # tools whose calls were proposed to take unknown ones back
    events: tuple[JsonObject, ...] = ()

    @property
    def decision(self) -> Decision:
        """What was decided. A tool that ran and failed was allowed."""
        return _DECISIONS.get(self.outcome.status) or ("replay" if self.outcome.replayed else "allow")

    @property
    def reason(self) -> str | None:
        """The code, None where the call simply ran."""
        return None if self.outcome.reason is None else str(self.outcome.reason)

    @property
    def arguments(self) -> JsonObject | None:
        """The final arguments; None where the call did not get that far."""
        return self.outcome.arguments

    @property
    def content(self) -> Content:
        """What the model sees, without the marks around what others wrote."""
        inside = opened(self.outcome.content)
        shown = self.outcome.content if inside is None else inside[0]
        return shown[0] if len(shown) == 1 and isinstance(shown[0], str) else shown

    @cached_property
    def decided(self) -> JsonObject:
        """The newest audit record of a decision about the call; empty where there is none."""
        return next((event for event in reversed(self.events) if event.get("kind") == "call.decided"), {})

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that decided."""
        return tuple(self.decided.get("decision", {}).get("rules", ()))

    @property
    def shadow(self) -> tuple[str, ...]:
        """The shadow rules that would have refused."""
        named = [rule.removeprefix("shadow ") for rule in self.rules if rule.startswith("shadow ")]
        return (*self.decided.get("decision", {}).get("shadow", ()), *named)

    @property
    def origins(self) -> JsonObject:
        """Where each final argument came from: model, session, default, result or user."""
        found: JsonObject = self.decided.get("args", {}).get("labels", {})
        return found

    @property
    def spoofed(self) -> tuple[str, ...]:
        """Fields of the session that the model sent with another value."""
        return tuple(self.decided.get("spoof", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlayed:
    """One step, played once, and what became of each of its calls."""

    step: Step
    calls: tuple[Happened, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A case, played. A step with `times` stands here that many times."""

    case: Case
    steps: tuple[StepPlayed, ...]


class World:
    """A policy, ready to be tried out."""

    def __init__(self, loaded: Loaded, *, watch: Callable[[object, object], None] | None = None) -> None:
        """`watch` is told of every step of every call (see `Context`)."""
        self._policy = loaded.policy
        self._watch = watch

    def play(self, case: Case) -> Played:
        """Play the case from an empty store on."""
        with closing(_Stage(self._scripted(case), case, self._watch)) as stage:
            return Played(case=case, steps=tuple(stage.play(step) for step in case.steps for _ in range(step.times)))

    def _scripted(self, case: Case) -> p.Policy:
        """The policy with the case's answers in the place of the host's checks."""
        checked = {name: _with_checks(tool, case.checks) for name, tool in self._policy.tools.items() if tool.checks}
        return replace(self._policy, tools={**self._policy.tools, **checked}) if checked else self._policy


def _with_checks(tool: Tool, says: Mapping[str, str]) -> Tool:
    return replace(tool, checks=tuple(Check(name=one.name, run=check(says, one.name)) for one in tool.checks))


@dataclass(slots=True)
class _Stage:
    """One play: a guard with an empty store, and a conversation for each session."""

    policy: p.Policy
    case: Case
    watch: Callable[[object, object], None] | None = None
    clock: Clock = field(init=False)
    guard: Guard = field(init=False)
    hands: ScriptedHands = field(init=False)
    chats: dict[tuple[str, str], Conversation] = field(default_factory=dict)
    records: dict[str, dict[str, Json]] = field(default_factory=dict)
    calls: int = 0
    seen: int = 0

    def __post_init__(self) -> None:
        self.clock = Clock(self.case.at)
        store = open_store("memory://", clock=self.clock)
        store.secret = _SECRET  # so that the same case gives the same ids
        self.guard = Guard(policy=self.policy, store=store, tools={}, redactor=redactor(self.policy.redaction))
        tools = {name: stand_in(name, self._run) for name in self.policy.tools}
        self.hands = ScriptedHands(store=store, tools=tools, redactor=self.guard.redactor, script=Script())
        self._know(self.case.facts)
        self.guard.reloader.current = replace(self.guard.in_force, hands=self.hands)

    def _run(self, arguments: JsonObject, key: str) -> object:
        return self.hands.run(arguments, key)

    def _know(self, facts: Mapping[str, Mapping[str, Json]]) -> None:
        """From now on the loaders find these records."""
        for name, records in facts.items():
            self.records.setdefault(name, {}).update(records)
            self.hands.loaders[name] = loader(self.records[name])

    def close(self) -> None:
        """Give everything back."""
        self.guard.close()

    def play(self, step: Step) -> StepPlayed:
        """Time goes by, the user speaks, the model proposes, people vote."""
        self.clock.now += step.wait
        self._know(step.facts)
        chat = self._chat(step)
        for text in step.words:
            chat.user(text)
        if not step.proposals:
            return StepPlayed(step=step, calls=())
        outcomes = self._turn(chat, step)
        for one, outcome in zip(step.proposals, outcomes, strict=True):
            self.hands.script.earlier[_place(chat, outcome)] = one
        before = {one.approval: self.guard.store.approval(one.approval) for one in outcomes if one.approval}
        offered = tuple(one.tool for one in SyncRun(self.hands).run(offering(chat)))
        final = [self._settled(chat, one, outcome) for one, outcome in zip(step.proposals, outcomes, strict=True)]
        events = self._events()
        calls = [
            Happened(
                proposal=one,
                outcome=outcome,
                ran=_place(chat, outcome) in self.hands.script.ran,
                approval=before.get(first.approval) if first.approval else None,
                offered=offered,
                events=tuple(event for event in events if _about(event, chat, first)),
            )
            for one, first, outcome in zip(step.proposals, outcomes, final, strict=True)
        ]
        return StepPlayed(step=step, calls=tuple(calls))

    def _chat(self, step: Step) -> Conversation:
        """The conversation of a step: one for each person, whatever the session, unless the step names another."""
        place = (step.session, step.conversation)
        if place not in self.chats:
            session = self.case.sessions[step.session]
            name = encode([session.principal, step.conversation])
            self.chats[place] = self.guard.open(session, wire="openai-chat", conversation=name)
        return self.chats[place]

    def _turn(self, chat: Conversation, step: Step) -> tuple[Outcome, ...]:
        """One message of the model, walked."""
        calls = tuple(ToolCall(f"call_{self.calls + n}", one.tool, one.arguments) for n, one in enumerate(step.proposals, 1))
        self.calls += len(calls)
        self.hands.script.current = step.proposals
        opening = p.OpenTurn(ref=chat.ref, digest=digest_of(calls), calls=calls, usage=step.usage)
        run = SyncRun(self.hands).run
        return run(guard_turn(opening, replace(run(chat.measured()), watch=self.watch))).outcomes

    def _settled(self, chat: Conversation, proposal: Proposal, outcome: Outcome) -> Outcome:
        """What comes of a held call once the person whom the case names has voted."""
        if proposal.vote is None or outcome.status != "held" or outcome.approval is None:
            return outcome
        self._vote(proposal.vote, outcome.approval)
        rows = [row for row in self.guard.store.rows(chat.ref) if row.approval == outcome.approval and row.status == "held"]
        for row in rows[:1]:
            run = SyncRun(self.hands).run
            outcome = run(settle_calls([row], run(chat.measured()))).outcomes[0]
        return outcome

    def _vote(self, vote: Vote, approval: str) -> None:
        """Vote. One that does not count changes nothing, and the walk that follows says so."""
        self.clock.now += vote.wait
        approver: Session = self.case.sessions[vote.by]
        say = self.guard.approvals.approve if vote.word == "approve" else self.guard.approvals.reject
        with suppress(ApprovalError):
            say(approval, approver=approver)

    def _events(self) -> list[JsonObject]:
        """The audit records that were written since the last look."""
        sealed = self.guard.store.audit(after=self.seen)
        self.seen += len(sealed)
        return [json.loads(one.body, parse_float=Decimal) for one in sealed]


def _place(chat: Conversation, outcome: Outcome) -> Place:
    return (chat.ref.tenant, chat.ref.conversation, outcome.turn, outcome.position)


def _about(event: JsonObject, chat: Conversation, outcome: Outcome) -> bool:
    return tuple(event.get(name) for name in ("tenant", "conversation", "turn", "position")) == _place(chat, outcome)
