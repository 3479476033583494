"""Ground: the fourth room. `ValidCall` → `GroundedCall`: values come from where the policy says they must.

From an earlier result, the user's own words or the session; and prerequisites were met. The ledger is read as it was before this
turn, so calls of one turn never satisfy each other, and only calls that were permitted and finished count. Comes after validate
and the facts, before authorize. It can only refuse.

What is compared is the value before redaction, as it lies in the store's payloads (readable by the owner, encrypted where there is a key, gone when
it is erased: then no ground finds it). Whether it equals an argument, and whether `same` names the same record, is told by keyed digests of both
(`likeness`). The plain value is used only for what a digest cannot tell: bounds (`at_most`, `at_least`), conditions of `after`, a value within the
user's words, and whether it merely echoes an argument, however that was spelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from guard.core.conditions import Condition
from guard.core.likeness import Likeness
from guard.core.model import Evidence, GroundedCall, Origin, Refusal, Session, ValidCall
from guard.core.paths import ANY, Path
from guard.core.ports import CallRow, Ledger
from guard.core.reasons import Reason
from guard.core.rules import After, Ground, Source, SumLimit, WindowLimit
from guard.core.source_words import same
from guard.core.sources import Alike, echoes, in_words, records, same_record
from guard.core.values import Json, is_number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where a value came from, and the earlier call that it relied on."""

    origin: Origin
    evidence: Evidence | None = None
    exact: bool = True  # False: only bounded by a record, which says nothing about the value itself


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """What the rules of one call are judged by."""

    valid: ValidCall
    facts: Mapping[str, Json]
    ledger: Ledger
    alike: Likeness


_NOTHING: tuple[frozenset[str], bool] = (frozenset(), False)


def needs(valid: ValidCall) -> tuple[frozenset[str], bool]:
    """Which tools' earlier calls this call must be compared with, and whether the user's words are needed."""
    tool = valid.tool
    limits: list[SumLimit | WindowLimit] = [*tool.limits.sums, *tool.limits.windows]
    if not (tool.grounds or tool.after or limits):
        return _NOTHING
    sources = [source for ground in tool.grounds for source in ground.sources]
    sources += [limit.at_most for limit in limits if isinstance(limit.at_most, Source)]
    tools = {source.tool for source in sources if source.origin == "tool"} | {after.tool for after in tool.after}
    return frozenset(tools), any(source.origin == "user" for source in sources)


def newest(valid: ValidCall) -> frozenset[str]:
    """The tools of which only the newest result counts: what they said since the call was held counts as well."""
    sources = [source for rule in valid.tool.grounds for source in rule.sources]
    found = {source.tool for source in sources if source.origin == "tool" and source.latest}
    return frozenset(found | {after.tool for after in valid.tool.after if after.latest})


def ground(valid: ValidCall, session: Session, ledger: Ledger, tag: Callable[[str], str]) -> GroundedCall | Refusal:
    """Find every grounded value and every prerequisite in `ledger`, the user's words or `session`; `tag` makes keyed digests."""
    tool = valid.tool
    owned = frozenset([binding.field for binding in tool.bindings if binding.vouches])
    if not tool.grounds and not tool.after:
        return GroundedCall(valid=valid, origins=valid.origins, owned=owned, shadowed=valid.shadowed)
    world = _World(valid=valid, facts=session.facts(), ledger=ledger, alike=Likeness(tag))
    grounds = [(rule, _grounded(rule, world)) for rule in tool.grounds if not rule.shadow]
    afters = [(rule, _prerequisite(rule, world)) for rule in tool.after if not rule.shadow]
    for after, met in afters:  # first: what has to be called comes before which values it gives
        if met is None:
            return Refusal(reason=Reason.PREREQUISITE_MISSING, detail=_wanted(after), rules=(f"after {after.tool}",))
    for rule, found in grounds:
        if found is None:
            return Refusal(reason=Reason.NOT_GROUNDED, detail=_demand(rule), rules=(f"ground {rule.argument}",))
    origins = {**valid.origins, **{rule.argument.steps[0]: one.origin for rule, found in grounds for one in found or ()}}
    relied = [one.evidence for _, found in grounds for one in found or () if one.evidence]
    relied += [met for _, met in afters if met]
    exact = {str(rule.argument) for rule, found in grounds if found and rule.vouches and all(one.exact for one in found)}
    shadowed, trial = _shadows(world)
    return GroundedCall(
        valid=valid,
        origins=origins,
        owned=owned | exact,
        evidence=tuple(dict.fromkeys(relied)),
        shadowed=valid.shadowed + shadowed,
        trial=trial,
    )


def _shadows(world: _World) -> tuple[tuple[str, ...], tuple[Evidence, ...]]:
    """What shadow rules would have refused, and what they relied on that may be used once only. They vouch for no value."""
    told: list[str] = []
    relied: list[Evidence | None] = []
    grounds, afters = world.valid.tool.grounds, world.valid.tool.after
    judged: list[tuple[str, Callable[[], list[Evidence | None] | None]]] = [
        *((f"ground {rule.argument}", partial(_relied, rule, world)) for rule in grounds if rule.shadow),
        *((f"after {after.tool}", partial(_met, after, world)) for after in afters if after.shadow),
    ]
    for name, judge in judged:
        try:
            found = judge()
        except Exception:  # noqa: BLE001 - a rule in force would refuse for it
            told.append(f"{name} (error)")
            continue
        told += [name] if found is None else []
        relied += found or []
    return tuple(told), tuple(dict.fromkeys(one for one in relied if one is not None and one.once))


def _relied(rule: Ground, world: _World) -> list[Evidence | None] | None:
    found = _grounded(rule, world)
    return None if found is None else [one.evidence for one in found]


def _met(after: After, world: _World) -> list[Evidence | None] | None:
    met = _prerequisite(after, world)
    return None if met is None else [met]


def _grounded(rule: Ground, world: _World) -> list[_Found] | None:
    """What each value at the argument relies on; None when one has no source. An absent argument needs none.

    An argument that is there in a form that the path cannot look into has no source either.
    """
    valid = world.valid
    reach = rule.argument.reach(valid.arguments)
    name = rule.argument.steps[0]
    if valid.arguments.get(name) is None and valid.origins.get(name) == "default":
        return []  # left out, and nothing stands in its place
    listed = ANY in rule.argument.steps and name in valid.arguments
    if reach.blocked or (reach.missing and listed):  # every item of a list must show its value
        return None
    pools = [_Pool(source, world) for source in rule.sources]
    found: list[_Found] = []
    for value, _ in reach.spots:
        one = next((item for item in (pool.find(value) for pool in pools) if item is not None), None)
        if one is None:
            return None
        found.append(one)
    return found


class _Pool:
    """Where the values of one source stand, looked up once for all values of an argument."""

    def __init__(self, source: Source, world: _World) -> None:
        valid, ledger = world.valid, world.ledger
        self._source, self._words, self._most, self._alike = source, ledger.words, valid.tool.ceilings.user_words, world.alike
        self._held = source.path.find(world.facts) if source.origin == "session" and source.path is not None else []
        self._records = records(source, valid.arguments, ledger, world.alike) if source.origin == "tool" else []
        self._index: dict[str, list[tuple[Json, CallRow]]] | None = None

    def find(self, value: Json) -> _Found | None:
        """What `value` relies on in this source."""
        source = self._source
        if source.origin == "user":
            return _Found(origin="user") if in_words(value, self._words, self._most) else None
        if source.origin == "session":
            return _Found(origin="session") if any(_among(value, item, self._alike) for item in self._held) else None
        exact = source.relation == "equals"
        for recorded, row in self._equal(value) if exact else self._all():
            if (exact or _bounded(source, value, recorded)) and (source.verified or not echoes(recorded, row)):
                return _Found(origin="result" if exact else "bounded", evidence=_evidence(row, once=source.once), exact=exact)
        return None

    def _all(self) -> list[tuple[Json, CallRow]]:
        return [(recorded, row) for row, values in self._records for recorded in values]

    def _equal(self, value: Json) -> list[tuple[Json, CallRow]]:
        if self._index is None:
            self._index = {}
            for recorded, row in self._all():
                self._index.setdefault(self._alike.of(recorded), []).append((recorded, row))
        return self._index.get(self._alike.of(value), [])


def _among(value: Json, held: Json, alike: Alike) -> bool:
    return alike(value, held) or (isinstance(held, list | tuple) and any(alike(value, item) for item in held))


def _bounded(source: Source, value: Json, recorded: Json) -> bool:
    """`at_most` means between nothing and the recorded amount: a negative amount is not "at most" a positive one."""
    if not is_number(value) or not is_number(recorded):
        return False
    if source.relation == "at_least":
        return bool(value >= recorded)
    return bool(value <= recorded and (value >= 0 or recorded < 0))


def _prerequisite(after: After, world: _World) -> Evidence | None:
    rows = [row for row in reversed(world.ledger.calls) if row.call.tool == after.tool and row.status == "done"]
    rows = [row for row in rows if _same_call(after.same, world, row)]
    for row in rows[:1] if after.latest else rows:
        scope = {"result": row.value, "session": world.facts, "arguments": world.valid.arguments}
        if after.where is None or (after.where.surely(scope) and (after.verified or not _repeated(after.where, row))):
            return _evidence(row, once=after.once)
    return None


def _repeated(where: Condition, row: CallRow) -> bool:
    """Whether the condition rests on a value that the model itself had put into that call."""
    tests = [test for test in where.tests if test.path.root == "result"]
    return any(echoes(value, row) for test in tests for value in test.path.find(row.value))


def _evidence(row: CallRow, *, once: bool) -> Evidence:
    return Evidence(turn=row.key.turn, position=row.key.position, once=once)


def _same_call(same: Sequence[Path], world: _World, row: CallRow) -> bool:
    around = [row.value] if isinstance(row.value, Mapping) else []
    return same_record(same, world.valid.arguments, around, row, world.alike)


def _demand(rule: Ground) -> str:
    return f"{rule.argument} must be " + " or ".join(f"{one.text}{same(one)}" for one in rule.sources) + "."


def _wanted(after: After) -> str:
    fields = dict.fromkeys(str(test.path) for test in after.where.tests if test.path.root == "result") if after.where else ()
    told = f"; what counts there is {', '.join(fields)}" if fields else ""
    return f"First call {after.tool}, in an earlier turn{told}."
