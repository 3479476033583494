"""Hints: what a policy may say and probably does not mean, found by looking at compiled tools beside their entries.

May only warn. Comes after grounds and fields; before tools and load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.paths import ANY, DEEP, Path
from guard.core.rules import Source, Tool
from guard.core.values import JsonObject
from guard.policy.fields import gap
from guard.policy.identities import is_identity, owner
from guard.policy.problems import Problems
from guard.policy.source import Item

_UNUSABLE = frozenset({"drop", "mask", "hash"})
_SAYS_NOTHING = frozenset({"default", "description", "title", "examples"})


def warn_identities(tool: Tool, item: Item, problems: Problems) -> None:
    """Warn where the model chooses on whose behalf a tool acts."""
    owned = {binding.field for binding in tool.bindings}
    owned |= {ground.argument.steps[0] for ground in tool.grounds} | {rule.argument.steps[0] for rule in tool.resources}
    tests = [test for rule in tool.rules if rule.effect == "require" and not rule.shadow for test in rule.when.tests]
    owned |= {test.path.steps[0] for test in tests if test.equals is not None and test.equals.root == "session"}
    for name in tool.schema.get("properties", {}):
        if is_identity(name) and name not in owned:
            cure = f"bind: {{{name}: session.{owner(name) or 'principal'}}}, or ground it"
            problems.warn(
                item, f"{tool.name}: nobody owns the argument {name}, so the model chooses it", cure, code="identity-unbound"
            )


def warn_untyped(tool: Tool, signature: JsonObject, item: Item, problems: Problems) -> None:
    """Warn about each parameter of a function that says no type: whatever the model writes there is accepted."""
    bound = {binding.field for binding in tool.bindings}
    for name, shape in signature.get("properties", {}).items():
        if name not in bound and isinstance(shape, Mapping) and shape.keys() <= _SAYS_NOTHING:
            message = f"{tool.name}: the parameter {name} has no type, so any value is accepted"
            problems.warn(item, message, f"annotate it, or write schema: below {tool.name}")


def warn_unseen(entries: Mapping[str, Item], tools: Mapping[str, Tool], problems: Problems) -> None:
    """Warn about each grounded value that the model cannot repeat, because the rules of the tool that it comes from hide it."""
    for name, tool in tools.items():
        bound = {binding.field for binding in tool.bindings}
        for ground in tool.grounds:
            for source in ground.sources if ground.argument.steps[0] not in bound else ():
                known = tools.get(source.tool)
                if source.path is not None and _is_lacking(source.path, known):
                    message = f"{source.tool}.{source.path} is grounded, and the schema of that result has no such field"
                    problems.warn(_spot(entries[name], source), message, f"correct the path, or result.schema of {source.tool}")
                    continue
                how = _hidden(source.path, known) if source.path is not None and known is not None else ""
                if how:
                    message = f"{source.tool}.{source.path} is grounded but {how}, so the model never sees it"
                    keep = f"add {source.path} to result.keep of {source.tool}"
                    cure = keep if how == "not kept" else "make it a handle, or leave it to the user's words"
                    problems.warn(_spot(entries[name], source), message, cure)


def _is_lacking(path: Path, tool: Tool | None) -> bool:
    """Whether no result of the tool can have a value at `path`, by the schema that it must fit."""
    if tool is None or not isinstance(tool.result.shape, Mapping):
        return False
    shape = dict(tool.result.shape)
    return all(gap(shape, steps) is not None for steps in (path.steps, (ANY, *path.steps)))


def _hidden(path: Path, tool: Tool) -> str:
    """How the tool's rules hide the value at `path` and everything in it from everybody; empty where they may show it."""
    wanted, keep = _steps(path), tool.result.keep
    for rule in tool.result.rules.hide:
        if rule.does in _UNUSABLE and _steps(rule.path) == wanted[: len(_steps(rule.path))]:
            return f"hidden by {rule.does}"
    if keep is None or any(step.startswith((DEEP, "[")) for kept in keep for step in _steps(kept) if step != ANY):
        return ""
    return "" if any(all(map(str.__eq__, wanted, _steps(kept))) for kept in keep) else "not kept"


def _steps(path: Path) -> tuple[str, ...]:
    """The steps without a leading `[*]`, which may be left out where the result is a list of records."""
    return path.steps[1:] if path.steps[0] == ANY else path.steps


def _spot(entry: Item, source: Source) -> Item:
    """Where the source stands in its tool's `ground`."""
    return next((item for item in _below(entry.fields["ground"]) if _says(item, source)), entry)


def _says(item: Item, source: Source) -> bool:
    return any(f"{origin} {below.value}" == source.text for origin, below in item.fields.items())


def _below(item: Item) -> Iterator[Item]:
    yield item
    for below in (*item.fields.values(), *item.items):
        yield from _below(below)
