"""Matrix: what every role and person may do with every tool in every tenant, and which rules say so.

A square says what becomes of a call that meets all that the tool's entry demands; whether it meets them only a call can tell. Comes after cells;
used by the commands and by matrix_page. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from guard.core import source_words
from guard.core.rules import Tool
from guard.policy import Loaded
from guard.review.cells import NONE, Axes, Cell, Grid, axes, rule_places, tenant_label

Told = Callable[[int, int], None]
ALLOW, HOLD, EITHER, REFUSE, DENY, ERROR = "allow", "hold", "allow or hold", "refuse", "deny", "error"
WORDS = (ALLOW, HOLD, EITHER, REFUSE, DENY, ERROR)
MEANINGS = {
    ALLOW: "a call runs at once",
    HOLD: "a call waits for a person",
    EITHER: "the arguments decide whether it runs or waits",
    REFUSE: "no rule allows it",
    DENY: "a rule forbids it, whatever other roles allow",
    ERROR: "the policy fails here, so a call is refused",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """What one subject may do with one tool in one tenant. `call` is one of `WORDS`; `rules` and `places` decided about the call."""

    subject: str
    kind: str
    tenant: str
    tool: str
    call: str = REFUSE
    approves: bool = False
    rules: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    approve_rules: tuple[str, ...] = ()
    approve_places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    """A policy's squares, with what its rows and columns are. `said` holds those in which a rule has a say; all others are refused."""

    over: Axes
    tools: tuple[str, ...]
    said: tuple[Square, ...]
    conditions: dict[str, tuple[str, ...]]
    version: str

    @property
    def size(self) -> int:
        """How many squares there are."""
        return len(self.tools) * len(self.over.subjects) * len(self.over.tenants)

    @property
    def squares(self) -> tuple[Square, ...]:
        """Every square, tool by tool."""
        said = {(one.tool, one.subject, one.tenant): one for one in self.said}
        rest = (
            Square(subject=label, kind=who.kind, tenant=tenant, tool=tool)
            for tool in self.tools
            for label, who in self.over.subjects.items()
            for tenant in map(tenant_label, self.over.tenants)
        )
        return tuple(said.get((one.tool, one.subject, one.tenant), one) for one in rest)


def matrix(loaded: Loaded, told: Told = lambda _done, _all: None, *, tools: tuple[str, ...] = (), subject: str = "") -> Matrix:
    """The squares of all tools, or of `tools`; of everybody, or of the one labelled `subject`."""
    over = axes(loaded)
    if subject:
        over = Axes({subject: over.subjects[subject]}, over.tenants)
    names = tools or tuple(sorted(loaded.policy.tools))
    places, grid = rule_places(loaded), Grid(loaded, over)
    found: list[Square] = []
    for index, name in enumerate(names):
        found += _squares(grid, over, loaded.policy.tools[name], places)
        told(index + 1, len(names))
    known = {name: conditions(loaded.policy.tools[name]) for name in names}
    return Matrix(over, names, tuple(found), known, loaded.policy.version)


def _squares(grid: Grid, over: Axes, tool: Tool, places: dict[str, str]) -> Iterator[Square]:
    found = grid.cells(tool.name)
    for number in sorted({number for number, _ in found}):
        label, tenant = grid.places[number]
        call, approve = found.get((number, "call"), NONE), found.get((number, "approve"), NONE)
        yield Square(
            subject=label,
            kind=over.subjects[label].kind,
            tenant=tenant_label(tenant),
            tool=tool.name,
            call=_word(call, tool),
            approves=approve.standing == "allow",
            rules=call.rules,
            places=_at(call, places),
            approve_rules=approve.rules,
            approve_places=_at(approve, places),
        )


def _at(one: Cell, places: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(places[rule] for rule in one.rules if rule in places))


def _word(one: Cell, tool: Tool) -> str:
    if one.standing != "allow":
        return {"none": REFUSE, "deny": DENY}.get(one.standing, ERROR)
    if not tool.approval:
        return ALLOW
    asked = {bool(rule.strictness) for rule in tool.approval}
    return EITHER if len(asked) > 1 else HOLD if True in asked else ALLOW


def conditions(tool: Tool) -> tuple[str, ...]:
    """What a call of the tool has to meet besides, in short."""
    found = [f"{binding.field} is session.{binding.source}" for binding in tool.bindings]
    found += [source_words.ground(one) for one in tool.grounds if not one.shadow]
    found += [source_words.after(one) for one in tool.after if not one.shadow]
    found += [f"{'own ' if one.owner else ''}{one.name} named by {one.argument}" for one in tool.resources]
    found += [f"{one.effect} {one.when.text}" for one in tool.rules if not one.shadow]
    found += [f"check {one.name}" for one in tool.checks]
    found += [
        f"asks {_asked(rule.by, self_=rule.self_)}{f' when {rule.when.text}' if rule.when else ''}" for rule in tool.approval
    ]
    return tuple(found)


def _asked(by: tuple[str, ...], *, self_: bool) -> str:
    return " or ".join([*(["the requester"] if self_ else []), *by]) or "nobody"
