"""Ground: the fourth room. `ValidCall` → `GroundedCall`: values come from where the policy says they must.

From an earlier result, the user's own words or the session; and prerequisites were met. The ledger is read as it was before this
turn, so calls of one turn never satisfy each other, and only calls that were permitted and finished count. Comes after validate
and the facts, before authorize. It can only refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.core.model import Evidence, GroundedCall, Origin, Refusal, Session, ValidCall
from guard.core.paths import Path
from guard.core.ports import CallRow, Ledger
from guard.core.reasons import Reason
from guard.core.rules import After, Ground, Source
from guard.core.sources import in_words, records, same_record
from guard.core.values import Json, equal, is_number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where a value came from, and the earlier call that it relied on."""

    origin: Origin
    evidence: Evidence | None = None


_NOTHING: tuple[frozenset[str], bool] = (frozenset(), False)


def needs(valid: ValidCall) -> tuple[frozenset[str], bool]:
    """Which tools' earlier calls this call must be compared with, and whether the user's words are needed."""
    tool = valid.tool
    if not (tool.grounds or tool.after or tool.limits.sums):
        return _NOTHING
    sources = [source for ground in tool.grounds for source in ground.sources]
    sources += [limit.at_most for limit in tool.limits.sums if isinstance(limit.at_most, Source)]
    tools = {source.tool for source in sources if source.origin == "tool"} | {after.tool for after in tool.after}
    return frozenset(tools), any(source.origin == "user" for source in sources)


def ground(valid: ValidCall, session: Session, ledger: Ledger) -> GroundedCall | Refusal:
    """Find every grounded value and every prerequisite in `ledger`, the user's words or `session`."""
    tool = valid.tool
    owned = frozenset([binding.field for binding in tool.bindings])
    if not tool.grounds and not tool.after:
        return GroundedCall(valid=valid, origins=valid.origins, owned=owned)
    facts = session.facts()
    grounds = [(rule, _grounded(rule, valid, facts, ledger)) for rule in tool.grounds]
    afters = [(rule, _prerequisite(rule, valid, facts, ledger)) for rule in tool.after]
    for after, met in afters:  # first: what has to be called comes before which values it gives
        if met is None and not after.shadow:
            return Refusal(reason=Reason.PREREQUISITE_MISSING, detail=_wanted(after), rules=(f"after {after.tool}",))
    for rule, found in grounds:
        if found is None and not rule.shadow:
            return Refusal(reason=Reason.NOT_GROUNDED, detail=_demand(rule), rules=(f"ground {rule.argument}",))
    origins = {**valid.origins, **{rule.argument.steps[0]: one.origin for rule, found in grounds for one in found or ()}}
    relied = [one.evidence for _, found in grounds for one in found or () if one.evidence]
    relied += [met for _, met in afters if met]
    return GroundedCall(
        valid=valid,
        origins=origins,
        owned=frozenset(owned | {rule.argument.steps[0] for rule, found in grounds if found}),
        evidence=tuple(dict.fromkeys(relied)),
        shadowed=tuple(
            [f"ground {rule.argument}" for rule, found in grounds if found is None]
            + [f"after {after.tool}" for after, met in afters if met is None]
        ),
    )


def _grounded(rule: Ground, valid: ValidCall, facts: Mapping[str, Json], ledger: Ledger) -> list[_Found] | None:
    """What each value at the argument relies on; None when one has no source. An absent argument needs none."""
    found: list[_Found] = []
    for value in rule.argument.find(valid.arguments):
        sources = (_source(source, value, valid, facts, ledger) for source in rule.sources)
        one = next((item for item in sources if item is not None), None)
        if one is None:
            return None
        found.append(one)
    return found


def _source(source: Source, value: Json, valid: ValidCall, facts: Mapping[str, Json], ledger: Ledger) -> _Found | None:
    if source.origin == "user":
        return _Found(origin="user") if in_words(value, ledger.words) else None
    if source.path is None:
        return None
    if source.origin == "session":
        held = source.path.find(facts)
        fits = any(
            equal(value, item) or (isinstance(item, list | tuple) and any(equal(value, one) for one in item)) for item in held
        )
        return _Found(origin="session") if fits else None
    for row, found in records(source, valid.arguments, ledger):
        if any(_relates(source, value, item, row) for item in found):
            return _Found(origin="result", evidence=_evidence(row, once=source.once))
    return None


def _relates(source: Source, value: Json, recorded: Json, row: CallRow) -> bool:
    if source.relation == "equals":
        return equal(value, recorded) and (source.verified or not _echoes(recorded, row))
    if not is_number(value) or not is_number(recorded):
        return False
    return bool(value <= recorded) if source.relation == "at_most" else bool(value >= recorded)


def _echoes(value: Json, row: CallRow) -> bool:
    """Whether the result may merely repeat what the model sent in that call, under no guarantee of its own."""
    sent = [item for name, item in (row.arguments or {}).items() if name not in row.owned]
    return any(_holds(item, value) for item in sent)


def _holds(container: Json, value: Json) -> bool:
    if isinstance(container, Mapping):
        return any(_holds(item, value) for item in container.values())
    if isinstance(container, list | tuple):
        return any(_holds(item, value) for item in container) or equal(container, value)
    return equal(container, value)


def _prerequisite(after: After, valid: ValidCall, facts: Mapping[str, Json], ledger: Ledger) -> Evidence | None:
    rows = [row for row in reversed(ledger.calls) if row.call.tool == after.tool and row.status == "done"]
    rows = [row for row in rows if _same_call(after.same, valid.arguments, row)]
    for row in rows[:1] if after.latest else rows:
        scope = {"result": row.value, "session": facts, "arguments": valid.arguments}
        if after.where is None or after.where.surely(scope):
            return _evidence(row, once=after.once)
    return None


def _evidence(row: CallRow, *, once: bool) -> Evidence:
    return Evidence(turn=row.key.turn, position=row.key.position, once=once)


def _same_call(same: Sequence[Path], arguments: Mapping[str, Json], row: CallRow) -> bool:
    return same_record(same, arguments, [row.value] if isinstance(row.value, Mapping) else [], row)


def _demand(rule: Ground) -> str:
    return f"{rule.argument} must be " + " or ".join(source.text for source in rule.sources) + "."


def _wanted(after: After) -> str:
    return f"First {after.text}, in an earlier turn."
