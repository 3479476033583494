"""Voting: the further keys of one alternative of `approve:`: how many people, how long, what they may change, what nobody is shown.

Comes after language and grounds; before approvals, which reads who decides and when.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from guard.core.asking import ApprovalRule
from guard.core.paths import Path
from guard.policy import language
from guard.policy.grounds import Context
from guard.policy.problems import Problems
from guard.policy.source import Item

_MOST_PEOPLE = 10
_BLANK = re.compile(r"\{([^{}]*)\}")
Check = Callable[[str, Item, Problems], None]


def voting(fields: Mapping[str, Item], context: Context, bound: Collection[str], role: Check) -> dict[str, Any]:
    """What these keys say, as fields of an ApprovalRule. `bound` are the arguments that are not the model's; `role` checks a role's name."""
    after, to = _escalate(fields.get("escalate"), context, role)
    return {
        "need": _need(fields, context.problems),
        "use_within": _within(fields.get("use_within"), context),
        "edit": _edit(fields.get("edit"), context, bound),
        "secret": context.arguments(fields.get("secret"), "secret"),
        "effect": _effect(fields.get("effect"), context),
        "escalate_after": after,
        "escalate_to": to,
        "on_message": language.choice(fields.get("on_message"), context.problems, "on_message", ("keep", "cancel"), "keep"),
    }


def _need(fields: Mapping[str, Item], problems: Problems) -> int:
    item = fields.get("need")
    need = language.whole(item, problems, "need")
    if item is None or need is None:
        return 1
    if not 1 <= need <= _MOST_PEOPLE:
        problems.error(item, f"need: from 1 to {_MOST_PEOPLE} people", "write need: 2")
        return 1
    names = language.texts(fields.get("by"), problems, "by")
    if need > 1 and not [name for name in names if name != "self"]:
        problems.error(item, f"need: {need} people can never say yes where only the requester decides", "name a role in by")
    return need


def _within(item: Item | None, context: Context) -> float | None:
    seconds, most = language.duration(item, context.problems, "use_within"), context.ceilings.approval_seconds
    if item is not None and seconds is not None and seconds > most:
        message = f"use_within: {item.value} is more than the ceiling of {language.spelled(most)}"
        context.problems.error(item, message, "shorten it, or write ceilings: {approval_expires: …}")
    return seconds


def _edit(item: Item | None, context: Context, bound: Collection[str]) -> tuple[Path, ...]:
    found = context.arguments(item, "edit")
    for path in found:
        if item is not None and path.steps[0] in bound:
            message = f"edit: {path.steps[0]} is not the model's to write, so no approver may change it"
            context.problems.error(item, message, "name another argument")
    return found


def _effect(item: Item | None, context: Context) -> tuple[str | Path, ...]:
    """The parts of a line such as `Pay {amount} to {payee}`."""
    line = language.text(item, context.problems, "effect")
    if item is None or not line:
        return ()
    parts: list[str | Path] = []
    for number, part in enumerate(_BLANK.split(line)):
        if number % 2:
            path = context.argument(part, item) if part else None
            parts += [] if path is None else [path]
        elif "{" in part or "}" in part or "\n" in part:
            context.problems.error(item, "effect: one line, with arguments as {name}", "write effect: Pay {amount} to {payee}")
        elif part:
            parts.append(part)
    return tuple(parts)


def _escalate(item: Item | None, context: Context, role: Check) -> tuple[float | None, tuple[str, ...]]:
    if item is None:
        return None, ()
    problems = context.problems
    fields = language.mapping(item, "escalate", problems)
    after = language.duration(fields.get("after"), problems, "after")
    to = tuple(name.removeprefix("role:") for name in language.texts(fields.get("to"), problems, "to"))
    if fields and (after is None or not to):
        problems.error(item, "escalate: after and to are needed", "write escalate: {after: 12h, to: [role]}")
        return None, ()
    for name in to:
        if name in {"self", "never"}:
            problems.error(fields["to"], f"escalate: {name} is not a role", "name roles that may decide as well")
        role(name, fields["to"], problems)
    return after, to


def checked_times(rule: ApprovalRule, fields: Mapping[str, Item], problems: Problems) -> None:
    """Report what can never happen: an escalation behind the end of the question."""
    if rule.escalate_after is not None and rule.escalate_after >= rule.expires and "escalate" in fields:
        message = f"escalate: after {language.spelled(rule.escalate_after)} the question is over already"
        problems.error(fields["escalate"], message, f"write less than {language.spelled(rule.expires)}")
