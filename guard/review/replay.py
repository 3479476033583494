"""Replay: recorded decisions made again under two policies, to see which would differ. Nothing runs and nothing is written.

The walk is the real one; its commands are answered from the record, and it is left as soon as it has decided. What a record does not hold (facts
of the session, records of the host, hidden values, budgets) is said, never guessed. Comes after changes; used by the command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from guard.core import ports as p
from guard.core.context import Context
from guard.core.granting import FindGrants, LiveGrants
from guard.core.handles import Signs
from guard.core.model import ConversationRef, Session, ToolCall, Usage
from guard.core.paths import Path
from guard.core.persons import named
from guard.core.pipeline import guard_turn
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, encode
from guard.policy import Loaded
from guard.redactors import redactor
from guard.review.changes import Direction
from guard.review.hidden import hidden_in, object_of
from guard.review.logged import MissingError, opened

RANK = {"refuse": 0, "hold": 1, "allow": 2}
_OWN = frozenset({"principal", "tenant", "roles"})
_APPROVED = "approval_"
_BUDGETS = frozenset({"limit_reached", "limit_unknown", "repeated_call", "conflict", "check_refused", "check_failed"})


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded decision. `row` is the ledger's own, with the raw arguments, where a store is at hand."""

    body: JsonObject
    row: p.CallRow | None = None

    def at(self, *path: str) -> Json:
        """The value at `path`, or None."""
        here: Json = self.body
        for step in path:
            here = here.get(step) if isinstance(here, Mapping) else None
        return here


Ledgers = Callable[[p.LoadLedger], p.Ledger]
"""Answers what a walk asks of earlier calls; raises UnknownError where nobody knows."""


class UnknownError(Exception):
    """Something that the walk needs is not in the records; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """A recorded decision that would differ: both answers, each a verdict and a code."""

    record: Record
    old: str
    new: str
    direction: Direction
    rules: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # arguments in whose place a stand-in was judged


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What became of all records. `left` says how many could not be replayed, by reason."""

    same: int = 0
    hidden: int = 0  # of those that were replayed, how many hold values in whose place a stand-in was judged
    differs: list[Differs] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    @property
    def widens(self) -> bool:
        """Whether some recorded decision would be wider."""
        return any(one.direction is Direction.WIDENS for one in self.differs)


@dataclass(frozen=True, slots=True)
class _Answer:
    verdict: str
    code: str = ""
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict} {self.code}".strip()


def replay(records: Iterable[Record], old: Loaded, new: Loaded, ledgers: Ledgers) -> Replayed:
    """Judge each recorded decision again. What `old` itself decides otherwise today is left out: the record rests on something else."""
    found = Replayed()
    for record in records:
        try:
            recorded = _recorded(record)
            hidden = _hidden(record)
            before = _faithful(_judged(record, old, ledgers), recorded, hidden=bool(hidden))
            after = _judged(record, new, ledgers)
        except (UnknownError, MissingError) as error:
            found.left[str(error)] = found.left.get(str(error), 0) + 1
            continue
        found.hidden += bool(hidden)
        _count(found, record, before, after, hidden)
    return found


def _hidden(record: Record) -> tuple[str, ...]:
    """The arguments of which a part is hidden, where no ledger holds them, and the name of the person, where a reference stands for it."""
    whose = ("session.principal",) if named(_whose(record)) is None else ()
    return (*whose, *dict.fromkeys(hidden_in(record.at("args", "shown")))) if record.row is None else whose


def _whose(record: Record) -> str:
    """The person that the record names, with the real name where the ledger has it."""
    return str(record.at("principal")) if record.row is None else record.row.key.ref.principal


def _faithful(answer: _Answer, recorded: str, *, hidden: bool) -> _Answer:
    if answer.verdict != recorded:
        if hidden:
            raise UnknownError("it rested on values that are hidden in the log; name the store instead")
        raise UnknownError(f"OLD says {answer.verdict} where the record says {recorded}")
    return answer


def _count(found: Replayed, record: Record, before: _Answer, after: _Answer, hidden: tuple[str, ...]) -> None:
    if (before.verdict, before.code) == (after.verdict, after.code):
        found.same += 1
        return
    step = RANK[after.verdict] - RANK[before.verdict]
    direction = Direction.WIDENS if step > 0 else Direction.NARROWS if step < 0 else Direction.CHANGES
    one = Differs(record=record, old=str(before), new=str(after), direction=direction, rules=after.rules, hidden=hidden)
    found.differs.append(one)


def _recorded(record: Record) -> str:
    """The verdict before any person had a say."""
    verdict, code = record.at("decision", "verdict"), str(record.at("decision", "code") or "")
    if verdict not in RANK:
        raise UnknownError("the record does not say what was decided")
    if code == "killed":
        raise UnknownError("killed: it rested on a kill, which is no part of a policy")
    if code in _BUDGETS:
        raise UnknownError(f"{code}: it rested on budgets or checks, which no policy alone can tell")
    return "hold" if record.at("approval") or record.at("grant") or code.startswith(_APPROVED) else str(verdict)


# -- one decision ------------------------------------------------------------------------------------------------------------


def _judged(record: Record, loaded: Loaded, ledgers: Ledgers) -> _Answer:
    tool = loaded.policy.tools.get(str(record.at("tool", "name")))
    final = _final(record)
    session = _session(record, tool, final)
    call = _call(record, final, Signs(types=loaded.policy.types))
    ref = ConversationRef(
        tenant=session.tenant,
        principal=session.who,
        conversation=str(record.at("conversation")),
        branch=str(record.at("branch") or ""),
    )
    if tool is not None and tool.checks:
        raise UnknownError("a check of the host's would have to answer")
    names = frozenset(loaded.policy.tools)
    context = Context(
        policy=loaded.policy,
        session=session,
        ref=ref,
        offered=names,
        visible=names,
        redactor=redactor(loaded.policy.redaction),
        now=_number(record.at("at")),
    )
    opening = p.OpenTurn(ref=ref, digest="", calls=(call,), usage=Usage(cost=Decimal(0)))
    return _walked(guard_turn(opening, context), int(_number(record.at("turn"))) or 1, ledgers)


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | Decimal) else 0.0


def _final(record: Record) -> JsonObject | None:
    """The final arguments: raw from the ledger, else as the record shows them, with stand-ins for what is hidden."""
    if record.row is not None:
        return record.row.arguments
    shown = record.at("args", "shown")
    return object_of(shown) if isinstance(shown, Mapping) else None


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _call(record: Record, final: JsonObject | None, signs: Signs) -> ToolCall:
    """The call as it was proposed; where only its final arguments are known, or it held handles, the final ones."""
    name = str(record.at("tool", "name"))
    proposed = None if record.row is None else record.row.call.arguments
    if record.row is not None and (final is None or not any(map(signs.find, _texts(proposed)))):
        return ToolCall("call", name, proposed)
    if final is None:
        raise UnknownError("the record has no arguments; name the store instead")
    if record.row is None and any(sign.handle for text in _texts(final) for sign in signs.find(text)):
        raise UnknownError("arguments stand behind handles in the record; name the store instead")
    return ToolCall("call", name, encode(final))


def _session(record: Record, tool: Tool | None, final: JsonObject | None) -> Session:
    """Who it was. Facts of the session are known only where they stand in the arguments as bound ones."""
    held = record.at("session")
    if not isinstance(held, Mapping) or not isinstance(held.get("roles"), list):
        raise UnknownError("the roles are not recorded (a record of an earlier version)")
    facts: dict[str, Json] = {}
    bound = record.at("args", "labels") or {}
    for one in tool.bindings if tool else ():
        if len(one.source.steps) == 1 and final is not None and one.field in final and bound.get(one.field) == "session":
            facts[one.source.steps[0]] = final[one.field]
    lacking = sorted({path.steps[0] for path in _facts_of(tool)} - facts.keys() - _OWN) if tool else []
    if lacking:
        raise UnknownError(f"session.{lacking[0]} is not recorded")
    facts = {name: value for name, value in facts.items() if name not in _OWN}
    whose = _whose(record)
    return replace(_within(named(whose) or whose, str(record.at("tenant")), held, facts), names=(whose,))


def _within(principal: str, tenant: str, held: Mapping[str, Json], facts: Mapping[str, Json]) -> Session:
    outer = held.get("within")
    return Session(
        principal=principal,
        tenant=tenant,
        roles=tuple(map(str, held.get("roles") or ())),
        attributes=facts,
        within=_within(principal, tenant, outer, facts) if isinstance(outer, Mapping) else None,
    )


def _facts_of(tool: Tool) -> Iterator[Path]:
    """Every fact of the session that the tool's entry reads."""
    yield from (one.source for one in tool.bindings)
    yield from (source.path for one in tool.grounds for source in one.sources if source.origin == "session" and source.path)
    conditions = [one.when for one in tool.rules] + [one.when for one in tool.approval] + [one.where for one in tool.after]
    for condition in conditions:
        for test in condition.tests if condition else ():
            yield from (path for path in (test.path, test.equals) if path is not None and path.root == "session")


# -- the walk ----------------------------------------------------------------------------------------------------------------


def _walked(flow: p.Flow[object], turn: int, ledgers: Ledgers) -> _Answer:
    """Answer the walk's commands until it writes its decision down; there it is left."""
    command = next(flow)
    try:
        while not isinstance(command, p.Record):
            command = flow.send(_answered(command, turn, ledgers))
    except StopIteration:
        raise UnknownError("the call was not decided by the policy") from None
    finally:
        flow.close()
    for event in command.events:
        body = json.loads(f"{{{event}}}") if isinstance(event, str) else event
        if body.get("kind") == "call.decided":
            decision = body["decision"]
            return _Answer(decision["verdict"], decision.get("code", ""), tuple(decision.get("rules", ())))
    raise UnknownError("the call was not decided by the policy")


def _answered(command: object, turn: int, ledgers: Ledgers) -> object:
    match command:
        case p.OpenTurn():
            return opened(turn)
        case p.FindTwins() | p.LoadHandles():
            return {}
        case p.LoadLedger():
            return ledgers(command)
        case p.LoadFacts():
            raise UnknownError("a record of the host's would have to be looked up")
        case p.TakeQuota():
            return (None,) * len(command.calls)
        case FindGrants():
            return (LiveGrants(),) * len(command.calls)
        case p.AskApproval():
            return command.proposal
        case _:
            raise UnknownError(f"the walk asked for {type(command).__name__}")
