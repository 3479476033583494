"""Effects: the side-effect class of an action: what may be done about a call that was started and has no outcome; and its lease.

Reads `effect:` and `lease:` of one tool, and checks at the end that what a compensation needs is there. Comes after language; before tools and load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from guard.core.rules import Effect, Kind, Tool
from guard.policy import language
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

PLAIN = ("once", "idempotent", "probe")
_KEY = "the guard's key must reach what stands behind the tool: give the function a parameter idempotency_key and pass it on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What `effect:` and `lease:` say."""

    effect: Effect = "once"
    dedupes: bool = False
    compensation: str = ""
    lease: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the classes need from a tool's program: None where no program is at hand."""

    name: str
    tools: frozenset[str]
    keyed: bool | None
    probes: Collection[str] | None


def life(fields: Mapping[str, Item], kind: Kind, around: Around, problems: Problems) -> Life:
    """The class of one tool, and how long whoever takes a call of it is believed to be at it."""
    lease = _lease(fields, problems)
    if kind != "action":
        for key in ("effect", "lease"):
            if key in fields:
                problems.error(fields[key], f"{key}: only an action has one; {around.name} is a {kind}", "leave it out")
        return Life(effect="read")
    if "effect" not in fields:
        return Life(lease=lease)
    found = _effect(fields["effect"], around, problems)
    if (found.effect == "idempotent" or found.dedupes) and around.keyed is False:
        problems.error(fields["effect"], f"{around.name} takes no idempotency_key", _KEY)
    elif found.effect == "probe" and around.keyed is False:
        problems.warn(fields["effect"], f"the probe is asked by a key that {around.name} never gets", _KEY)
    if found.effect == "probe" and around.probes is not None and around.name not in around.probes:
        cure = (
            meant(around.name, around.probes)
            or f"pass probes={{{around.name!r}: function}} to Guard.load; a worker gets it by --guard"
        )
        problems.error(fields["effect"], f"no probe is registered for {around.name}", cure)
    return Life(effect=found.effect, dedupes=found.dedupes, compensation=found.compensation, lease=lease)


def _effect(item: Item, around: Around, problems: Problems) -> Life:
    if not isinstance(item.value, dict):
        return _plain(item, problems)
    only = next(iter(item.fields), "")
    if len(item.fields) == 1 and only in PLAIN and (only != "probe" or item.value[only] is True):
        problems.error(item, f"effect: {only} stands alone", f"write effect: {only}")
        return Life()
    fields = language.mapping(item, "effect", problems)
    if len(fields) > 1:
        problems.error(item, "effect: one class is needed", "write {probe: {dedupes: true}} or {compensate: other_tool}")
    if len(fields) != 1:
        return Life()
    if "probe" in fields:
        inner = language.mapping(fields["probe"], "probe", problems)
        return Life(effect="probe", dedupes=language.flag(inner.get("dedupes"), problems, "dedupes"))
    return Life(effect="compensate", compensation=_other(fields["compensate"], around, problems))


def _plain(item: Item, problems: Problems) -> Life:
    word = item.value if isinstance(item.value, str) else ""
    if word not in PLAIN:
        problems.error(item, "effect: no such class", _classes(item.value))
    return Life(effect="idempotent" if word == "idempotent" else "probe" if word == "probe" else "once")


def _other(item: Item, around: Around, problems: Problems) -> str:
    other = language.text(item, problems, "compensate")
    if other == around.name:
        problems.error(item, f"compensate: {other} cannot take itself back", "name another tool")
    elif other and other not in around.tools:
        cure = meant(other, around.tools - {around.name}) or "write an entry for it"
        problems.error(item, f"compensate: there is no other tool {other}", cure)
    return other


def _classes(given: object) -> str:
    near = meant(given, PLAIN) if isinstance(given, str) else ""
    return (
        near
        if near.startswith("did you mean")
        else "write once, idempotent, probe, {probe: {dedupes: true}} or {compensate: other_tool}"
    )


def _lease(fields: Mapping[str, Item], problems: Problems) -> float | None:
    lease = language.duration(fields.get("lease"), problems, "lease")
    timeout = language.duration(fields.get("timeout"), Problems(), "timeout")
    if lease is not None and timeout is not None and lease <= timeout:
        cure = "leave it out, or make it longer by what may pass before the tool starts"
        problems.error(fields["lease"], "lease: not longer than the timeout, so that nothing could start within it", cure)
    return lease


def check_compensations(entries: Mapping[str, Item], tools: Mapping[str, Tool], problems: Problems) -> None:
    """A compensation is an action, and everything that it needs stands under the same name in the call that it is for."""
    for name, tool in tools.items():
        other = tools.get(tool.compensation)
        if other is None or other.name == name:
            continue
        spot = entries[name].at(["effect"])
        if not other.acts:
            problems.error(spot, f"compensate: {other.name} is not an action", "name the action that takes the effect back")
        elif not other.approval or any(rule.strictness == 0 for rule in other.approval):
            cure = f"let approve: of {other.name} name who decides, in every case"
            problems.error(spot, f"compensate: {other.name} may run without a person's approval", cure)
        own = {*tool.schema.get("properties", {}), *(binding.field for binding in other.bindings)}
        lacking = [field for field in other.schema.get("required", ()) if field not in own]
        if lacking and tool.schema.get("properties"):
            cure = "give both tools the argument under one name"
            problems.error(spot, f"compensate: {other.name} needs {', '.join(lacking)}, which {name} does not have", cure)
        _same_hidden(tool, other, spot, problems)


def _same_hidden(tool: Tool, other: Tool, spot: Item, problems: Problems) -> None:
    """What may be hidden in an argument of a call may be so in the same argument of the call that takes it back, else that is refused."""
    shared = set(other.visible.get("properties", {}))
    given = {str(one.argument): one.types for one in other.reveals}
    for one in tool.reveals:
        lacking = one.types - given.get(str(one.argument), frozenset())
        if one.argument.steps[0] in shared and lacking:
            cure = f"write handles: {{{one.argument}: {', '.join(sorted(one.types))}}} below {other.name}, or take the argument out of it"
            what = (
                f"compensate: {other.name} gets {one.argument} of {tool.name} as a handle, and may not have the value behind it"
            )
            problems.error(spot, what, cure)
    allowed = {str(path) for path in other.masks}
    for path in tool.masks:
        if path.steps[0] in shared and str(path) not in allowed:
            cure = f"write masks: {{{path}: allow}} below {other.name}, or take the argument out of it"
            problems.error(
                spot, f"compensate: {other.name} gets {path} of {tool.name}, where a mask may stand, and takes none", cure
            )


__all__ = ["Around", "Life", "check_compensations", "life"]
