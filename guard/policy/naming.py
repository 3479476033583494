"""Naming: which tools the object of a rule names, by the way in which the model's matcher compares it: equal, a pattern, a group of tools.

For summaries and warnings; the authorizer decides by itself. A comparison that is not understood names every tool, so that nothing is told to be out
of reach that is not. Comes after rule_shape and engine, before rule_files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from guard.policy.engine.checks import ANY
from guard.policy.engine.closure import Closure
from guard.policy.engine.functions import table
from guard.policy.rule_shape import Shape

_SIGNS = frozenset("*:{}[]()?\\+|^$!~/")
"""What makes more of a name than itself, for one of the functions or another."""


class Naming:
    """The comparison of one model. `groups` are the closures of its further role definitions (`g2`)."""

    def __init__(self, shape: Shape | None, groups: Mapping[str, Closure]) -> None:
        self._ways = frozenset({"equal", "keyMatch"}) if shape is None else shape.uses.of("obj")
        self._opens = frozenset() if shape is None else shape.uses.opens.get("obj", frozenset())
        self._groups = groups

    @cached_property
    def _functions(self) -> Mapping[str, Callable[..., bool]]:
        return {name: judge for name, judge in table().items() if name in self._ways}

    def names(self, obj: str, tool: str) -> bool:
        """Whether a rule with this object speaks about the tool."""
        if obj in self._opens or not self._ways:
            return True
        return any(self._by(way, obj, tool) for way in self._ways)

    def is_plain(self, obj: str) -> bool:
        """Whether the object names the one tool that is called so, and no other."""
        known = self._ways and self._ways <= {"equal", *self._functions}
        return bool(known) and obj not in self._opens and not _SIGNS & set(obj)

    def _by(self, way: str, obj: str, tool: str) -> bool:
        if way == "equal":
            return obj == tool
        if way == "keyMatch":
            return tool.startswith(obj[:-1]) if obj.endswith(ANY) else obj == tool
        if way == "roles":
            return any(obj in group.of(tool) for group in self._groups.values())
        judge = self._functions.get(way)
        return judge is None or bool(judge(tool, obj))

    def tools(self, objects: Iterable[str], known: Iterable[str]) -> dict[str, frozenset[str]]:
        """The tools that each object names, of those that there are."""
        every = frozenset(known)
        return {
            obj: every & {obj} if self.is_plain(obj) else frozenset(tool for tool in every if self.names(obj, tool))
            for obj in dict.fromkeys(objects)
        }
