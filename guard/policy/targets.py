"""Targets: what an action keeps from starting while nobody knows how it ended: `unknown:` of one tool.

Without the key only the very same call of the conversation is not run again. Comes after grounds; before tools.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.paths import ANY, Path
from guard.core.rules import Kind
from guard.core.targets import Target
from guard.policy import language
from guard.policy.fields import kinds
from guard.policy.grounds import Context
from guard.policy.source import Item

BLOCKS = ("call", "target", "tool")


def target(fields: Mapping[str, Item], kind: Kind, context: Context) -> Target | None:
    """What makes the target of a tool's calls; None where only the same call is meant."""
    item, problems = fields.get("unknown"), context.problems
    if item is None:
        return None
    if kind != "action":
        problems.error(item, f"unknown: only an action has it; {context.tool} is a {kind}", "leave it out: look-ups run again")
        return None
    own = language.mapping(item, "unknown", problems)
    blocks = language.choice(own.get("blocks"), problems, "blocks", BLOCKS, "target" if "target" in own else "call")
    if blocks == "target" and "target" not in own:
        problems.error(own["blocks"], "unknown: it does not say what the target is", "write target: [the argument that names it]")
    if blocks != "target" and "target" in own:
        problems.error(own["target"], f"unknown: target has no effect beside blocks: {blocks}", "leave one of the two out")
    if blocks != "target":
        return Target() if blocks == "tool" else None
    found = {str(path): path for path in _paths(own.get("target"), context)}
    return Target(tuple(found[name] for name in sorted(found)))


def _paths(item: Item | None, context: Context) -> list[Path]:
    found: list[Path] = []
    for spot in language.sequence(item, context.problems, "target") if item is not None else ():
        spelled = language.text(spot, context.problems, "target")
        path = context.argument(spelled, spot) if spelled else None
        if path is not None and ANY in path.steps:
            cure = "name an argument that holds one value; a list is compared as a whole"
            context.problems.error(spot, f"unknown: {path} names many values, and a call has one target", cure)
        elif path is not None:
            _whole(path, spot, context)
            found.append(path)
    return found


def _whole(path: Path, item: Item, context: Context) -> None:
    possible = kinds(context.schema, path.steps)
    if possible is not None and "array" in possible:
        message = f"unknown: {path} is a list and compared as a whole: lists that share an item are two targets"
        context.problems.warn(item, message, "name an argument that holds one value")
