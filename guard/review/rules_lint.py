"""Rules lint: rules, grants and people without effect, since another rule says as much or more.

Knows the matcher that ships and no other. A voter's rule stands for its own alternative of `approve`, so it is never called superfluous.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from guard.errors import Problem
from guard.policy.rule_files import ANY, PERSON, Rule
from guard.policy.source import Item
from guard.review.view import View, finding


def covered_rules(view: View) -> Iterator[Problem]:
    """A rule that a broader one of the same effect makes superfluous, and an allow that some deny always covers."""
    index = _index(view.rules)
    for rule, spot in view.rules.items():
        over = list(_covering(rule, index, view))
        deny = next((one for one in over if one.eft == "deny"), None)
        same = next((one for one in over if one.eft == rule.eft and one != rule), None)
        if rule.eft == "allow" and deny is not None:
            message = f"{_words(rule)} is always denied by {_at(view, deny)}"
            yield finding(spot, "allow-denied", message, "remove one of the two")
        elif same is not None and (rule.act, rule.eft) != ("approve", "allow"):
            message = f"{_words(rule)} has no effect: {_at(view, same)} says the same of more"
            yield finding(spot, "rule-shadowed", message, "remove the narrower rule, or narrow the other one")


def _index(rules: Iterable[Rule]) -> Mapping[tuple[str, str], Mapping[str, list[Rule]]]:
    """Rules by (subject, act) and object."""
    found: dict[tuple[str, str], dict[str, list[Rule]]] = {}
    for rule in rules:
        found.setdefault((rule.sub, rule.act), {}).setdefault(rule.obj, []).append(rule)
    return found


def _covering(rule: Rule, index: Mapping[tuple[str, str], Mapping[str, list[Rule]]], view: View) -> Iterator[Rule]:
    """The rules that speak about every request that `rule` speaks about."""
    objects = [rule.obj, *(f"{rule.obj[:end]}{ANY}" for end in range(len(rule.obj) + 1))]
    for subject in sorted(view.subjects(rule.sub, rule.dom)):
        known = index.get((subject, rule.act), {})
        for obj in dict.fromkeys(objects) if known else ():
            yield from (one for one in known.get(obj, ()) if one.dom in {ANY, rule.dom})


def dead_denies(view: View) -> Iterator[Problem]:
    """A deny of what nobody may do anyhow: perhaps it names the wrong tool, tenant or person."""
    allows: dict[tuple[str, str], list[Rule]] = {}
    for rule in view.rules:
        if rule.eft == "allow":
            for tool in view.covered(rule.obj):
                allows.setdefault((rule.act, tool), []).append(rule)
    for rule, spot in (*view.rules.items(), *view.survey.book.trial.items()):
        tools = list(view.covered(rule.obj)) if rule.eft == "deny" else []
        if tools and not any(_meets(rule, other) for tool in tools for other in allows.get((rule.act, tool), ())):
            message = f"{_words(rule)} denies what nobody may do anyhow"
            yield finding(spot, "rule-dead", message, "compare the tool, the tenant and the name, or remove the line")


def _meets(one: Rule, other: Rule) -> bool:
    """Whether some request can meet both: a person may hold any number of roles, but is one person in one tenant."""
    persons = {rule.sub for rule in (one, other) if rule.sub.startswith(PERSON)}
    return (ANY in {one.dom, other.dom} or one.dom == other.dom) and len(persons) < 2


def covered_grants(view: View) -> Iterator[Problem]:
    """A role that somebody is given in one tenant and has everywhere."""
    grants = view.survey.book.grants
    everywhere = {(grant.sub, grant.role): spot for grant, spot in grants.items() if grant.dom == ANY}
    for grant, spot in grants.items():
        first = everywhere.get((grant.sub, grant.role))
        if grant.dom != ANY and first is not None:
            message = f"{grant.sub} has the role {grant.role} in every tenant ({first.file}:{first.line}), so also in {grant.dom}"
            yield finding(spot, "grant-shadowed", message, "remove one of the two lines")


def idle_people(view: View) -> Iterator[Problem]:
    """Somebody under `people:` whom no rule, grant or approval speaks about."""
    spoken = {rule.sub for rule in view.rules} | {grant.sub for grant in view.survey.book.grants}
    own = any(rule.self_ for tool in view.tools.values() for rule in tool.approval)
    for user, one in view.survey.people.items():
        if not spoken & {*one.roles, one.principal, PERSON + one.principal, ANY} and (one.roles or not own):
            spot = _person(view, user)
            roles = ", ".join(one.roles) or "no role"
            message = f"{user} ({roles}) can call and approve nothing: no tool or rule names a role of theirs"
            yield finding(spot, "person-idle", message, "give a role that a tool names, or remove the entry")


def _person(view: View, user: str) -> Item:
    return view.survey.places.get(user, Item("people", None))


def _words(rule: Rule) -> str:
    return ", ".join(rule.columns)


def _at(view: View, rule: Rule) -> str:
    spot = view.rules[rule]
    return f"{_words(rule)} ({spot.file}:{spot.line})"
