"""Authorize: the fifth room. `GroundedCall` → `AuthorizedCall`: this person, in this tenant, may call this tool with these arguments.

Casbin says who may call what; the record that is touched must belong to the person; argument rules narrow further; and the
approval rule that applies is chosen, the strictest where the policy cannot tell. Comes after ground and before limit, so that nobody
is asked about a call that would be refused. It can only refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.model import AuthorizedCall, GroundedCall, Refusal, Session, ValidCall
from guard.core.ports import Authorizer, Facts
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.rules import ApprovalRule, ArgumentRule, ResourceRule, Tool
from guard.core.values import Json, canonical, equal


def lookups(valid: ValidCall) -> tuple[tuple[tuple[str, Json], ...], tuple[str, ...]]:
    """Which records (resource name, id) and which file paths must be looked up before this call can be judged."""
    if not (valid.tool.resources or valid.tool.resolves):
        return (), ()
    records = [(rule.name, value) for rule in valid.tool.resources for value in rule.argument.find(valid.arguments)]
    paths = [value for path in valid.tool.resolves for value in path.find(valid.arguments) if isinstance(value, str)]
    return tuple(records), tuple(paths)


def authorize(grounded: GroundedCall, session: Session, authorizer: Authorizer, facts: Facts) -> AuthorizedCall | Refusal:
    """Judge the call. An exception in the authorizer refuses (the pipeline sees to it)."""
    valid = grounded.valid
    tool = valid.tool
    needed = authorizer.scoped or tool.rules or tool.approval
    scope: Mapping[str, Json] = scope_of(valid, session, facts) if needed else {}
    verdict = authorizer.decide(session, tool.name, "call", scope if authorizer.scoped else None)
    if verdict.denied or not verdict.allowed:
        return Refusal(reason=Reason.NOT_AUTHORIZED, rules=verdict.rules)
    for resource in tool.resources:
        refusal = _owned(resource, valid, session, facts)
        if refusal is not None:
            return refusal
    scopes = [scope, *_outer(session, scope)]
    enforced = next((rule for rule in tool.rules if not rule.shadow and any(_refuses(rule, one) for one in scopes)), None)
    if enforced is not None:
        return Refusal(reason=Reason.RULE_REFUSED, detail=enforced.say or _concerns(enforced), rules=(enforced.id,))
    shadowed = tuple(said for rule in tool.rules if rule.shadow and (said := _shadowed(rule, scopes)))
    shadowed += _would_deny(authorizer, session, tool, scope)
    approval = _strictest([rule for one in scopes for rule in _candidates(tool, one)])
    return AuthorizedCall(grounded=grounded, rules=verdict.rules, approval=approval, shadowed=grounded.shadowed + shadowed)


def _owned(rule: ResourceRule, valid: ValidCall, session: Session, facts: Facts) -> Refusal | None:
    """Every record named by the argument must be known and, where an owner field is named, be the principal's own."""
    for value in rule.argument.find(valid.arguments):
        place = (rule.name, canonical(value))
        if place not in facts.resources:
            return Refusal(reason=Reason.FACT_UNAVAILABLE, detail=f"The {rule.name} named by {rule.argument}.")
        record = facts.resources[place]
        if record is None or (rule.owner and not _is_owner(rule.owner.find(record), session.principal)):
            return Refusal(
                reason=Reason.NOT_OWNER, detail=f"The {rule.name} named by {rule.argument}.", rules=(f"resource {rule.name}",)
            )
    return None


def _is_owner(owners: list[Json], principal: str) -> bool:
    return any(equal(owner, principal) for owner in owners)


def scope_of(valid: ValidCall, session: Session, facts: Facts) -> Mapping[str, Json]:
    """What rules and conditions read of a call: its arguments, the session, the records that it touches, each by its name and their fields together."""
    resource: dict[str, Json] = {}
    for rule in valid.tool.resources:
        found = [facts.resources.get((rule.name, canonical(value))) for value in rule.argument.find(valid.arguments)]
        record = found[0] if len(found) == 1 else found
        if isinstance(record, Mapping):
            resource.update(record)
        resource[rule.name] = record
    return {"arguments": valid.arguments, "session": session.facts(), "resource": resource, "resolved": facts.resolved}


def _outer(session: Session, scope: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The same scope with each session that this one is within: a child with fewer roles may do nothing that its parent may not."""
    found: list[Mapping[str, Json]] = []
    outer = session.within if scope else None
    while outer is not None:
        found.append({**scope, "session": outer.facts()})
        outer = outer.within
    return found


def _concerns(rule: ArgumentRule) -> str:
    """Which of its own arguments the model should look at; never what the policy wants of them."""
    named = dict.fromkeys(str(test.path) for test in rule.when.tests if test.path.root == "arguments")
    return f"It concerns: {', '.join(named)}." if named else ""


def _refuses(rule: ArgumentRule, scope: Mapping[str, Json]) -> bool:
    return not rule.when.surely(scope) if rule.effect == "require" else rule.when.maybe(scope)


def _shadowed(rule: ArgumentRule, scopes: Sequence[Mapping[str, Json]]) -> str:
    """What a shadow rule has to say; it decides nothing, not even by failing."""
    try:
        return rule.id if any(_refuses(rule, scope) for scope in scopes) else ""
    except Exception:  # noqa: BLE001 - a rule in force would refuse for it
        return f"{rule.id} (error)"


def _would_deny(authorizer: Authorizer, session: Session, tool: Tool, scope: Mapping[str, Json]) -> tuple[str, ...]:
    """Which denials on trial would have refused the call."""
    try:
        return authorizer.would_deny(session, tool.name, scope if authorizer.scoped else None)
    except Exception:  # noqa: BLE001 - what is on trial decides nothing, not even by failing
        return ("denials on trial (error)",)


def asks(tool: Tool, scope: Mapping[str, Json]) -> ApprovalRule | None:
    """Whom to ask: the strictest of the alternatives that may apply."""
    return _strictest(_candidates(tool, scope))


def _candidates(tool: Tool, scope: Mapping[str, Json]) -> list[ApprovalRule]:
    """The alternatives that may apply: the first one that surely does, and those before it that may; all where none could."""
    candidates: list[ApprovalRule] = []
    for rule in tool.approval:
        if rule.when is None or rule.when.surely(scope):
            return [*candidates, rule]
        if rule.when.maybe(scope):
            candidates.append(rule)
    return candidates or list(tool.approval)


def _strictest(candidates: Sequence[ApprovalRule]) -> ApprovalRule | None:
    """The strictest of the alternatives that may apply; where there is more than one, none of their grants is sure to be offered."""
    if not candidates:
        return None
    chosen = max(candidates, key=lambda rule: rule.strictness)
    if not chosen.strictness:
        return None
    sure = not chosen.grants or all(rule is chosen for rule in candidates)
    return chosen if sure else replace(chosen, grants=())
