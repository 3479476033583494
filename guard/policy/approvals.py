"""Approvals and argument rules: `approve`, `require` and `refuse` of one tool, compiled.

An action says who approves it; `never` must be written. Comes after conditions and grounds, before tools.
"""

from __future__ import annotations

from typing import Literal

from guard.core.conditions import Condition
from guard.core.paths import Path
from guard.core.rules import ApprovalRule, ArgumentRule
from guard.policy import language
from guard.policy.conditions import CALL, condition
from guard.policy.grants import grant_offers
from guard.policy.grounds import Context
from guard.policy.problems import Problems, is_invisible
from guard.policy.rule_files import PERSON
from guard.policy.source import Item
from guard.policy.voting import checked_times, voting

NEVER = "never"
SELF = "self"
_CURE = "write approve: {by: [role]}, {by: self} or never"


def approvals(
    entry: Item, fields: dict[str, Item], kind: str, context: Context, bound: frozenset[str] = frozenset()
) -> tuple[tuple[ApprovalRule, ...], tuple[Path, ...]]:
    """The alternatives of `approve:` in order, and the file paths that their conditions look at. Empty: nobody is asked."""
    item = fields.get("approve")
    if item is None:
        if kind == "action":
            message = f"{context.tool} is an action and does not say who approves it"
            context.problems.error(entry, message, _CURE)
        return (), ()
    if item.value == NEVER:
        return (), ()
    items = item.items if isinstance(item.value, list) and item.items else [item]
    rules = [_rule(one, context, bound, last=one is items[-1]) for one in items]
    good = tuple(rule for rule in rules if rule is not None)
    return good, tuple(path for rule in good for path in resolved(rule.when))


def _rule(item: Item, context: Context, bound: frozenset[str], *, last: bool) -> ApprovalRule | None:
    problems = context.problems
    if item.value == NEVER:
        _check_order(item, problems, conditional=False, last=last)
        return ApprovalRule()
    if not item.fields:  # false, nothing, a bare role, …
        found = language.kind_of(item) if item.value not in ({}, []) else "an empty one"
        problems.error(item, f"approve: an approval must be a mapping or never, not {found}", _CURE)
        return None
    fields = language.mapping(item, "approval", problems)
    if not fields:
        return None
    _check_order(item, problems, conditional="when" in fields, last=last)
    by, self_ = _by(item, fields, problems)
    when = condition(fields["when"], CALL, problems, "when", context.sensible) if "when" in fields else None
    expires = _expires(fields.get("expires"), context)
    show = context.arguments(fields.get("show"), "show")
    if not by and not self_ and not _nobody(fields):
        return None
    if _nobody(fields) and "grants" in fields:
        problems.error(fields["grants"], "grants: nobody is asked here, so nobody gives one", "leave grants out")
    usual = min(ApprovalRule().expires, context.ceilings.approval_seconds)
    assurance = _assurance(fields, problems, self_=self_)
    more = voting(fields, context, bound, check_role)
    offers = grant_offers(fields.get("grants"), context)
    rule = ApprovalRule(
        by=by, self_=self_, when=when, expires=expires or usual, show=show, assurance=assurance, grants=offers, **more
    )
    checked_times(rule, fields, problems)
    return rule


def _assurance(fields: dict[str, Item], problems: Problems, *, self_: bool) -> Literal["host", "client"]:
    """Whose word counts for who clicked: only the requester's own answer can be left to the program in front of the requester."""
    item = fields.get("assurance")
    found = language.choice(item, problems, "assurance", ("client", "host"), "host")
    if item is not None and found == "client" and not self_:
        problems.error(item, "assurance: client is only for by: self", "leave it out: others answer where they are signed in")
    return "client" if found == "client" and self_ else "host"


def _expires(item: Item | None, context: Context) -> float | None:
    problems, most = context.problems, context.ceilings.approval_seconds
    seconds = language.duration(item, problems, "expires")
    if item is not None and seconds is not None and seconds > most:
        message = f"expires: {item.value} is more than the ceiling of {language.spelled(most)}"
        problems.error(item, message, "shorten it, or write ceilings: {approval_expires: …}")
    if item is not None and seconds is not None and not language.has_unit(item):
        cure = f"write {item.value}h or {item.value}s"
        problems.warn(item, f"expires: {item.value} counts as {item.value} seconds", cure)
    return seconds


def _by(item: Item, fields: dict[str, Item], problems: Problems) -> tuple[tuple[str, ...], bool]:
    if _nobody(fields):
        return (), False
    names = language.texts(fields.get("by"), problems, "by")
    if "by" not in fields:
        problems.error(item, "approve: by is missing", "write by: self, by: [role] or by: never")
    if NEVER in names:
        problems.error(fields["by"], "never is not a role", "write by: never, alone")
    by = tuple(name.removeprefix("role:") for name in names if name not in {SELF, NEVER})
    for name in by:
        check_role(name, fields["by"], problems)
    return by, SELF in names


def _nobody(fields: dict[str, Item]) -> bool:
    """Whether an alternative says that nobody is asked where its condition surely holds."""
    return "by" in fields and fields["by"].value == NEVER


def check_role(name: str, item: Item, problems: Problems) -> None:
    """Report a role name that a rule file could not hold, or that stands for everybody where a person must be named."""
    if name != name.strip() or any(char in name for char in ',"#()[]\n') or "*" in name:
        problems.error(item, f"{name} cannot be a role", "write letters, digits, - and _")
    elif any(map(is_invisible, name)):
        problems.error(item, f"{name!a} holds a character that cannot be seen", "write the name again")
    elif name.casefold().startswith((PERSON, "role:")):
        problems.error(item, f"{name} cannot be a role", "write the role's plain name; a person stands in a rule file")


def _check_order(item: Item, problems: Problems, *, conditional: bool, last: bool) -> None:
    if last and conditional:
        problems.error(item, "approve: the last alternative must have no when", "add one without when for all other calls")
    if not last and not conditional:
        problems.error(item, "approve: the alternatives after this one are never reached", "move it to the end, or add when")


def argument_rules(fields: dict[str, Item], context: Context) -> tuple[tuple[ArgumentRule, ...], tuple[Path, ...]]:
    """`require` and `refuse` in order, and the file paths that they look at."""
    rules = [*_rules(fields.get("require"), "require", context), *_rules(fields.get("refuse"), "refuse", context)]
    return tuple(rules), tuple(path for rule in rules for path in resolved(rule.when))


def _rules(item: Item | None, effect: Literal["require", "refuse"], context: Context) -> list[ArgumentRule]:
    if item is None:
        return []
    problems = context.problems
    found = []
    for number, one in enumerate(language.sequence(item, problems, effect)):
        bare = effect == "require" and not _is_rule(one, context)
        fields = {"when": one} if bare else language.mapping(one, "rule", problems)
        if bare and _strays(one, context):
            continue
        if fields and "when" not in fields:
            problems.error(one, f"{effect}: when is missing", "write when: {argument: test}")
            continue
        when = condition(fields["when"], CALL, problems, effect, context.sensible) if fields else None
        say = language.text(fields.get("say"), problems, "say") or None
        shadow = language.shadow(fields, problems)
        if effect == "refuse" and fields and "command" in _matchers(fields["when"]):
            problems.warn(one, "a list of forbidden programs is easily evaded", "require the permitted ones instead")
        if when is not None:
            found.append(ArgumentRule(id=f"{context.tool}.{effect}[{number}]", effect=effect, when=when, say=say, shadow=shadow))
    return found


def _strays(item: Item, context: Context) -> bool:
    """A condition that stands alone names arguments only: what else a rule may say stands beside its `when`."""
    found = [key for key in ("enforce", "say") if key in item.fields and key not in context.schema.get("properties", {})]
    for key in found:
        cure = f"write {{when: {{…}}, {key}: {item.fields[key].value}}}"
        context.problems.error(item.fields[key], f"require: {key} would be an argument here", cure)
    return bool(found)


def _is_rule(item: Item, context: Context) -> bool:
    return "when" in item.fields and "when" not in context.schema.get("properties", {})


def _matchers(item: Item) -> set[str]:
    return {key for test in item.fields.values() for key in test.fields}


def resolved(when: Condition | None) -> tuple[Path, ...]:
    """The arguments of a condition that are file paths to be resolved."""
    return tuple(test.path for test in when.tests if test.resolve) if when else ()
