"""Grounds: where values must come from and what must have happened before, compiled: `ground`, `after`, and sources in limits.

Every tool named must be in the policy, every argument in the schema. What a tool returns is not known at load, so paths into results are
only read, not checked. Comes after conditions and before tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from guard.core.ceilings import CEILINGS, Ceilings
from guard.core.paths import Path
from guard.core.rules import After, Ground, Source
from guard.core.values import JsonObject
from guard.policy import language
from guard.policy.conditions import RESULT, condition, speaks_about
from guard.policy.fields import gap, kinds
from guard.policy.issues import TYPES
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

_ORIGINS = ("returned_by", "at_most", "at_least", "written_by", "held_by")
_RELATIONS: dict[str, Literal["equals", "at_most", "at_least"]] = {
    "returned_by": "equals",
    "at_most": "at_most",
    "at_least": "at_least",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What compiling one tool's entry needs to know about the rest."""

    tool: str
    schema: JsonObject
    tools: frozenset[str]
    problems: Problems
    ceilings: Ceilings = CEILINGS
    records: bool = False  # whether the tool has a resource, so that `resource.x` can find something

    def argument(self, spelled: str, item: Item) -> Path | None:
        """A path into the arguments; one that the schema cannot hold is a mistake."""
        own = "arguments" in self.schema.get("properties", {})
        name = spelled if own else spelled.removeprefix("arguments.")
        path = language.path(name, "arguments", item, self.problems)
        if path is not None:
            self.known(path, item)
        return path

    def arguments(self, item: Item | None, what: str) -> tuple[Path, ...]:
        """Several paths into the arguments, or one."""
        if item is None:
            return ()
        spelled = ((language.text(spot, self.problems, what), spot) for spot in language.sequence(item, self.problems, what))
        found = [self.argument(name, spot) for name, spot in spelled if name]
        return tuple(path for path in found if path is not None)

    def sensible(self, path: Path, item: Item) -> None:
        """Report a test (`item`) of a condition that can find nothing, or only values of a type that it does not speak about."""
        self.known(path, item)
        possible = kinds(self.schema, path.steps) if path.root == "arguments" else None
        for kind in speaks_about(item.value):
            if possible is not None and kind not in possible:
                found = " or ".join(TYPES[name] for name in sorted(possible) if name in TYPES)
                message = f"{path} is {found} in the schema, and this test is about {TYPES[kind]}"
                self.problems.error(item, message, "it can never hold; compare the types")

    def known(self, path: Path, item: Item) -> None:
        """Report a path into the arguments that can find nothing."""
        if path.root == "resource" and not self.records:
            self.problems.error(
                item, f"resource.{path} never finds anything: {self.tool} has no resource", "add resource: to the tool"
            )
        missing = gap(self.schema, path.steps) if path.root == "arguments" else None
        if missing is not None:
            self.problems.error(item, f"{self.tool} has no argument {path} ({missing.step} is unknown)", missing.cure)

    def result(self, item: Item, what: str) -> tuple[str, Path] | None:
        """`tool.path`: the longest known tool name that begins the text, and the path behind it."""
        spelled = language.text(item, self.problems, what)
        names = [name for name in self.tools if spelled.startswith((f"{name}.", f"{name}["))]
        if not names:
            if spelled in self.tools:
                self.problems.error(item, f"{what}: {spelled} names no field", f"write {spelled}.field")
            elif spelled:
                tool, _, rest = spelled.partition(".")
                self.problems.error(
                    item, f"{what}: {tool} is not a tool of this policy", meant(tool, self.tools) or f"write tool.{rest}"
                )
            return None
        name = max(names, key=len)
        path = language.path(spelled[len(name) :].removeprefix("."), "result", item, self.problems)
        return None if path is None else (name, path)


def grounds(item: Item, context: Context) -> tuple[Ground, ...]:
    """`ground:` of one tool."""
    found: list[Ground] = []
    for spelled, first in language.entries(item, "ground", context.problems).items():
        for below in (first, *first.also):
            one = _ground(spelled, below, context)
            found += [] if one is None else [one]
    return tuple(found)


def _ground(spelled: str, below: Item, context: Context) -> Ground | None:
    argument = context.argument(spelled, below)
    options, shadow = _options(below, context.problems)
    sources = [_source(option, context, shadow_allowed=option is below) for option in options]
    good = tuple(source for source in sources if source is not None)
    return (
        None if argument is None or not good else Ground(argument=argument, sources=good, shadow=shadow, vouches=not below.added)
    )


def _options(item: Item, problems: Problems) -> tuple[list[Item], bool]:
    shadow = language.shadow(item.fields, problems)
    if "any_of" not in item.fields:
        return [item], shadow
    fields = language.mapping(item, "any_of", problems)
    return language.sequence(fields["any_of"], problems, "any_of"), shadow


def _source(item: Item, context: Context, *, shadow_allowed: bool) -> Source | None:
    problems = context.problems
    fields = language.mapping(item, "source", problems, also=("any_of",) if shadow_allowed else ())
    if not fields:
        return None
    origins = [key for key in _ORIGINS if key in fields]
    if len(origins) != 1:
        problems.error(item, f"a ground has exactly one of {', '.join(_ORIGINS)}", "write any_of: [..] for alternatives")
        return None
    if "enforce" in fields and not shadow_allowed:
        problems.error(fields["enforce"], "enforce belongs to the whole ground", "write it beside any_of")
    origin = origins[0]
    text = f"{origin} {fields[origin].value}"
    if origin in _RELATIONS:
        return tool_source(fields, origin, text, context)
    for key in ("same", "latest", "once", "verified"):
        if key in fields:
            problems.error(fields[key], f"{key} has no effect beside {origin}", "leave it out")
    if origin == "written_by":
        language.choice(fields[origin], problems, origin, ("user",))
        return Source(origin="user", text=text)
    path = language.session_path(fields[origin], problems, origin)
    return None if path is None else Source(origin="session", text=text, path=path)


def tool_source(fields: dict[str, Item], origin: str, text: str, context: Context) -> Source | None:
    """A value returned by a tool; `fields` may hold same, latest, once and verified."""
    problems = context.problems
    same = context.arguments(fields.get("same"), "same")
    latest = language.flag(fields.get("latest"), problems, "latest", default=origin != "returned_by")
    once = language.flag(fields.get("once"), problems, "once")
    verified = language.flag(fields.get("verified"), problems, "verified")
    named = context.result(fields[origin], origin)
    if named is None:
        return None
    return Source(
        origin="tool",
        text=text,
        tool=named[0],
        path=named[1],
        relation=_RELATIONS[origin],
        same=same,
        latest=latest,
        once=once,
        verified=verified,
    )


def prerequisites(item: Item, context: Context) -> tuple[After, ...]:
    """`after:` of one tool."""
    found = [_after(one, context) for one in language.sequence(item, context.problems, "after")]
    return tuple(after for after in found if after is not None)


def _after(item: Item, context: Context) -> After | None:
    problems = context.problems
    fields = language.mapping(item, "after", problems)
    if not fields:
        return None
    tool = language.text(fields.get("tool"), problems, "after.tool")
    if "tool" not in fields:
        problems.error(item, "after: tool is missing", "name the tool that must have run")
    elif tool and tool not in context.tools:
        problems.error(fields["tool"], f"after: {tool} is not a tool of this policy", meant(tool, context.tools))
    where = condition(fields["where"], RESULT, problems, "where", context.sensible) if "where" in fields else None
    return After(
        tool=tool,
        text=f"after {tool}" + (f" where {where.text}" if where else ""),
        where=where,
        same=context.arguments(fields.get("same"), "same"),
        latest=language.flag(fields.get("latest"), problems, "latest", default=True),
        once=language.flag(fields.get("once"), problems, "once"),
        verified=language.flag(fields.get("verified"), problems, "verified"),
        shadow=language.shadow(fields, problems),
    )
