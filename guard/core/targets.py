"""Targets: what an action acts on, so that one whose outcome nobody knows keeps further ones on the same target from starting.

A policy names the arguments that make the target. The ledger finds calls by a keyed digest of their values: it tells nothing about them, and it is another
one for each tenant and tool. Comes after paths and before rules; pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guard.core.paths import Path
from guard.core.values import Json, JsonObject, canonical, digest

_FORM, _TAG = 12, 40  # hexadecimal digits


@dataclass(frozen=True, slots=True)
class Target:
    """The arguments whose values make the target; none: every call of the tool has the same one."""

    arguments: tuple[Path, ...] = ()

    def values(self, arguments: JsonObject) -> list[list[Json]]:
        """What stands at each of them: nothing where it was left out."""
        return [path.find(arguments) for path in self.arguments]

    def same(self, one: JsonObject | None, other: JsonObject | None) -> bool:
        """Whether two calls of the tool act on the same target. What is not known of a call may be the same."""
        if not self.arguments or one is None or other is None:
            return True
        return canonical(self.values(one)) == canonical(self.values(other))

    def words(self, tool: str) -> str:
        """What an unresolved call of the tool keeps from starting, in the tenant."""
        names = " and ".join(map(str, self.arguments))
        return f"{tool} with the same {names}" if names else f"every {tool}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What one call acts on, as a claim brings it: `tag` begins with `form`, which says of which arguments it is made."""

    tenant: str
    tool: str
    target: Target
    arguments: JsonObject
    tag: str

    @property
    def form(self) -> str:
        """How the tags of all calls begin whose targets are made of the same arguments."""
        return self.tag[: _FORM + 1]

    def meets(self, arguments: JsonObject | None) -> bool:
        """Whether a call of the tool with these arguments acts on the same."""
        return self.target.same(self.arguments, arguments)


def aim(target: Target, tenant: str, tool: str, arguments: JsonObject, derive: Callable[[str], str]) -> Aim:
    """What a call acts on. `derive` makes digests that tell nothing."""
    names = [str(path) for path in target.arguments]
    form = digest("guard-target-form-v1", *names)[:_FORM]
    made = derive("guard-target-v1\0" + canonical([tenant, tool, names, target.values(arguments)]))
    return Aim(tenant=tenant, tool=tool, target=target, arguments=arguments, tag=f"{form}:{made[:_TAG]}")
