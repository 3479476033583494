"""Explain: one call, walked by a real guard over a policy, room by room: what each room said, by which rules, from where each value came.

The walk is a case's (see world): a store in memory, tools that answer by script, so that no tool of a program can run. Comes after world; used by
the command. Holds no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from guard.core.authorize import lookups, scope_of
from guard.core.model import (
    Allow,
    AuthorizedCall,
    BoundCall,
    GroundedCall,
    Hold,
    ParsedCall,
    Refusal,
    Session,
    ToolCall,
    ValidCall,
)
from guard.core.ports import Facts, Redactor
from guard.core.reasons import Reason
from guard.core.values import Json, canonical
from guard.policy import Loaded
from guard.policy.casbin_rules import CasbinAuthorizer
from guard.policy.engine.explain import Explained
from guard.policy.layers.authorizer import LayeredAuthorizer
from guard.policy.problems import nearest
from guard.policy.rule_files import ANY
from guard.redactors import redactor
from guard.review.cases import Case
from guard.review.cells import rule_places
from guard.review.grounded import grounded
from guard.review.matrix import conditions
from guard.review.view import known_roles
from guard.review.world import Happened, World

ROOMS = ("parse", "bind", "validate", "ground", "authorize", "limit", "approve")
TIMES = 3
"""How often the call is walked; the fastest time of each room is told."""
_GIVES = {ToolCall: "parse", ParsedCall: "bind", BoundCall: "validate", ValidCall: "ground", GroundedCall: "authorize"}
_LIMITS = frozenset({Reason.LIMIT_REACHED, Reason.LIMIT_UNKNOWN, Reason.REPEATED_CALL, Reason.PREREQUISITE_MISSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one room said: `ok`, `refused`, `held`, `replayed` or `not reached`; `micros` is the time since the room before."""

    name: str
    verdict: str = "not reached"
    note: str = ""
    micros: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One call, explained. `places` says where each rule stands, `demands` what the tool's entry asks of every call, `strange` the session's roles that no rule, grant or person of the policy names, each with a name that may be meant."""

    call: Happened
    session: Session
    rooms: tuple[Room, ...]
    authorized: Explained
    places: Mapping[str, str]
    demands: tuple[str, ...]
    version: str
    strange: Mapping[str, str]
    redactor: Redactor = field(repr=False, compare=False)  # what hides as the policy says


@dataclass(slots=True)
class _Watch:
    """Notes each step of each call with the time that it took."""

    steps: dict[str, list[tuple[object, object, float]]] = field(default_factory=dict)
    last: float = 0.0

    def __call__(self, old: object, new: object) -> None:
        now = perf_counter()
        call = _call_of(old)
        if call is not None and old is not new:
            self.steps.setdefault(call.id, []).append((old, new, now - self.last))
        self.last = perf_counter()


def _call_of(state: object) -> ToolCall | None:
    if isinstance(state, ToolCall):
        return state
    if isinstance(state, ParsedCall | BoundCall | ValidCall):
        return state.call
    if isinstance(state, GroundedCall | AuthorizedCall):
        return (state.valid).call
    return None


def explain(loaded: Loaded, case: Case) -> tuple[Explanation, ...]:
    """Every call of the case's last step, explained."""
    runs = [_walked(loaded, case) for _ in range(TIMES)]
    calls, steps = runs[0]
    found = []
    for one in calls:
        rooms = [_rooms(taken.get(one.outcome.call_id, []), one) for _, taken in runs]
        found.append(_explanation(loaded, case, one, steps.get(one.outcome.call_id, []), _fastest(rooms)))
    return tuple(found)


def _walked(loaded: Loaded, case: Case) -> tuple[Sequence[Happened], dict[str, list[tuple[object, object, float]]]]:
    watch = _Watch()
    played = World(loaded, watch=watch).play(case)
    return played.steps[-1].calls, watch.steps


def _fastest(rooms: Sequence[Sequence[Room]]) -> tuple[Room, ...]:
    return tuple(
        replace(same[0], micros=min((one.micros for one in same if one.micros is not None), default=None))
        for same in zip(*rooms, strict=True)
    )


def _explanation(
    loaded: Loaded,
    case: Case,
    one: Happened,
    steps: Sequence[tuple[object, object, float]],
    rooms: tuple[Room, ...],
) -> Explanation:
    tool, session = loaded.policy.tools.get(one.proposal.tool), case.sessions[case.steps[-1].session]
    final = next((new for _, new, _ in reversed(steps) if isinstance(new, ValidCall)), None)
    return Explanation(
        call=one,
        session=session,
        rooms=rooms,
        authorized=_authorized(
            loaded, session, one.proposal.tool, None if final is None else scope_of(final, session, _facts(case, final))
        ),
        places=rule_places(loaded),
        demands=conditions(tool) if tool else (),
        version=loaded.policy.version,
        strange=_strange(loaded, session),
        redactor=redactor(loaded.policy.redaction),
    )


def _strange(loaded: Loaded, session: Session) -> Mapping[str, str]:
    known = known_roles(loaded.book, loaded.policy.people.values())
    return {role: nearest(role, known - {ANY}) or "" for role in session.roles if role not in known}


def _facts(case: Case, valid: ValidCall) -> Facts:
    """The records that the call touches, as the case has them by its last step."""
    known: dict[str, dict[str, Json]] = {}
    for told in (case.facts, *(step.facts for step in case.steps)):
        for name, records in told.items():
            known.setdefault(name, {}).update(records)
    asked, _ = lookups(valid)
    return Facts(resources={(name, canonical(value)): known[name].get(str(value)) for name, value in asked if name in known})


def _authorized(loaded: Loaded, session: Session, tool: str, scope: Mapping[str, Json] | None) -> Explained:
    """What Casbin says, whether or not the call got as far: for final arguments where there are any."""
    authorizer = loaded.policy.authorizer
    if isinstance(authorizer, CasbinAuthorizer | LayeredAuthorizer):
        return authorizer.explain(session, tool, "call", scope)
    return Explained(verdict=authorizer.decide(session, tool, "call", scope))


# -- the rooms ---------------------------------------------------------------------------------------------------------------


def _rooms(steps: Sequence[tuple[object, object, float]], call: Happened) -> tuple[Room, ...]:
    found = {name: Room(name=name) for name in ROOMS}
    for old, new, took in steps:
        name = _room(old, new)
        if name == "approve":
            found["limit"] = Room(name="limit", verdict="ok", note="its budgets have room")
        if name:
            found[name] = Room(name=name, verdict=_verdict(new), note=_note(old, new, call), micros=took * 1e6)
    return tuple(found.values())


def _room(old: object, new: object) -> str:
    if isinstance(old, AuthorizedCall):
        return "limit" if isinstance(new, Refusal) and new.reason in _LIMITS else "approve"
    return _GIVES.get(type(old), "")


def _verdict(new: object) -> str:
    if isinstance(new, Refusal):
        return "refused"
    proofs = ParsedCall | BoundCall | ValidCall | GroundedCall | AuthorizedCall | Allow
    return "held" if isinstance(new, Hold) else "ok" if isinstance(new, proofs) else "replayed"


def _note(old: object, new: object, call: Happened) -> str:
    """What the room found, without a value in it."""
    if isinstance(new, Refusal):
        issues = "; ".join(f"{issue.path}: {issue.message}" for issue in new.issues)
        rules = f"[{'; '.join(new.rules)}]" if new.rules else ""
        return " ".join(filter(None, (str(new.reason), issues or new.detail, rules)))
    if isinstance(new, BoundCall):
        return _bound(new)
    if isinstance(new, GroundedCall):
        return _grounded(new)
    if isinstance(new, AuthorizedCall):
        tried = [f"shadow: {one} would refuse" for one in new.shadowed if one not in new.grounded.shadowed]
        return ", ".join(["; ".join(new.rules), *tried])
    return _asked(old, new, call)


def _bound(new: BoundCall) -> str:
    told = [
        f"{one.field} = session.{one.source}{' (the model sent another value)' if one.field in new.spoofed else ''}"
        for one in new.tool.bindings
    ]
    return ", ".join(told)


def _grounded(new: GroundedCall) -> str:
    tool = new.valid.tool
    told = [grounded(one, new.origins) for one in tool.grounds]
    told += [one.text for one in tool.after]
    told += [f"shadow: {one} would refuse" for one in new.shadowed]
    return ", ".join(told)


def _asked(old: object, new: object, call: Happened) -> str:
    if isinstance(new, Hold):
        by = " or ".join([*(["the requester"] if new.approval.by_self else []), *new.approval.by])
        return f"waits for {by}"
    if isinstance(new, Allow):
        return "nobody is asked"
    return "an equal call came before" if isinstance(old, ValidCall) and call.decision == "replay" else ""
