"""Targets: what an action acts on, so that one whose outcome nobody knows keeps further ones on the same target from starting.

A policy names the arguments that make the target. The ledger finds calls by a keyed digest of their values: it tells nothing about them, and it is another
one for each tenant and tool. Whatever is in doubt counts as the same: a value that was left out, null, and spellings that a person would take for one. A call
that waits for nothing costs a person a look; one that does not wait may pay twice. Comes after paths and before rules; pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from guard.core.paths import Path
from guard.core.values import Json, JsonObject, canonical, digest, is_number, number_text

_FORM, _TAG = 12, 40  # hexadecimal digits


@dataclass(frozen=True, slots=True)
class Target:
    """The arguments whose values make the target; none: every call of the tool has the same one."""

    arguments: tuple[Path, ...] = ()

    def values(self, arguments: JsonObject) -> dict[str, str]:
        """What stands at each of them, as it is compared; what was left out or is null is not known, and missing here."""
        found = {str(path): path.find(arguments) for path in self.arguments}
        return {name: canonical(_plain(values)) for name, values in found.items() if values and values[0] is not None}

    def same(self, one: JsonObject | None, other: JsonObject | None) -> bool:
        """Whether two calls of the tool act on the same target. What is not known of a call may be the same."""
        if one is None or other is None:
            return True
        mine, others = self.values(one), self.values(other)
        return all(mine[name] == others[name] for name in mine.keys() & others.keys())

    def words(self, tool: str, arguments: JsonObject | None = None) -> str:
        """What an unresolved call of the tool, perhaps one with these arguments, keeps from starting, in the tenant."""
        known = [str(path) for path in self.arguments] if arguments is None else list(self.values(arguments))
        return f"{tool} with the same {' and '.join(known)}" if known else f"every {tool}"


def _plain(value: Json) -> Json:
    """A value in the form in which it is compared: texts without case, width and room around them, numbers and what reads as one as one text."""
    if isinstance(value, str):
        return _text(value)
    if is_number(value):
        return number_text(value)
    if isinstance(value, Mapping):
        return {"fields": sorted([_text(key), canonical(_plain(below))] for key, below in value.items() if below is not None)}
    return [_plain(below) for below in value] if isinstance(value, list | tuple) else canonical(value)


def _text(value: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold()).strip()
    try:
        return number_text(Decimal(folded))
    except (ArithmeticError, ValueError):  # no number, or one that no JSON can bring
        return folded


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
    known = target.values(arguments)  # a call of which less is known has a form of its own: it is compared by its arguments
    form = digest("guard-target-form-v2", *names, "known", *known)[:_FORM]
    made = derive("guard-target-v2\0" + canonical([tenant, tool, names, known]))
    return Aim(tenant=tenant, tool=tool, target=target, arguments=arguments, tag=f"{form}:{made[:_TAG]}")
