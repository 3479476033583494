"""Points: everything in a written policy that narrows what may happen, each with its place, and the policy as it would be without it.

A point is what coverage counts and what mutation takes away: who may call, bound fields, checks, grounds, prerequisites, owners, argument rules,
limits, approvals, schemas and filters of results. A detail of a point (`same`, `once`, one test of several) is only taken away, not counted.
Comes after `edits`; `tool_points` has the rows of one tool's entry. Reads the policy as it is written; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.policy.result_form import ROOM
from guard.policy.rule_files import ANY, Rule, RuleBook
from guard.policy.source import Item
from guard.policy.written import Written
from guard.review.edits import Edit, Steps, without_line
from guard.review.point import Point, place
from guard.review.tool_points import tool_points

_COUNTED = ("run", "conversation", "turn", "windows")


def points(written: Written, book: RuleBook) -> list[Point]:
    """Every point of the policy: the tools in their order, then limits over all tools, then the lines of the rule files."""
    found: list[Point] = []
    for number, document in enumerate(written.documents):
        for name, item in _below(document, "tools").items():
            found += tool_points(name, item, number)
    for number, document in enumerate(written.documents):
        for table, item in _below(document, "limits").items():
            found += _windows(item, number) if table == "windows" else _limits(table, item, number)
        for key, item in _below(document, "ceilings").items():
            found.append(_over(key, item, ("ceilings", key), number, kind="ceiling", name=f"ceiling {key}"))
    return found + list(_lines(written, book))


def _below(document: Item, key: str) -> Mapping[str, Item]:
    return document.fields[key].fields if key in document.fields else {}


def _limits(table: str, item: Item, document: int) -> Iterator[Point]:
    for key, below in item.fields.items() if table in _COUNTED else ():
        if below.value is False or key in ROOM:  # room for results refuses nothing
            continue
        most = below.fields.get("at_most", below)
        what = f"{table}.{key}"
        yield _over(f"{what}", most, ("limits", table, key), document, kind=f"limits.{table}", name=key)


def _windows(item: Item, document: int) -> Iterator[Point]:
    several = isinstance(item.value, list)
    for number, one in enumerate(item.items if several else [item]):
        what = f"windows of {one.fields['per'].value}"
        steps: Steps = ("limits", "windows", number) if several else ("limits", "windows")
        yield _over(what, one.fields["calls"], steps, document, kind="window.windows", name=what)


def _over(what: str, item: Item, steps: Steps, document: int, *, kind: str, name: str) -> Point:
    """A point over all tools: a limit or a ceiling."""
    said = f"{'ceilings' if kind == 'ceiling' else 'limits'}.{what}: {item.value}"
    return Point(kind=kind, name=name, what=said, spot=place(item), document=document, edits=(Edit(steps),))


# -- rule files ------------------------------------------------------------------------------------------------------------


def _lines(written: Written, book: RuleBook) -> Iterator[Point]:
    """The lines of the rule files: a denial or a role that a denial is about is taken away, whoever or wherever is allowed is widened."""
    names = {file.name for file in written.files}
    denied = {rule.sub for rule in book.rules if rule.eft == "deny"}
    for rule, item in book.rules.items():
        if item.file not in names or item.file.lower().endswith((".yaml", ".yml")):
            continue
        yield from _rule(rule, item)
    for grant, item in book.grants.items():
        if grant.role in denied:
            yield _line("grant", f"g, {grant.sub}, {grant.role}, {grant.dom}", item, detail=True)


def _rule(rule: Rule, item: Item) -> Iterator[Point]:
    if rule.eft == "deny":
        yield _line("deny", str(rule), item, name=str(rule), tool=rule.obj)
        return
    yield _line(
        "allow", str(rule), item, name=str(rule), tool=rule.obj, new=f"p, {ANY}, {rule.dom}, {rule.obj}, {rule.act}, allow"
    )
    if rule.dom != ANY:
        what = f"the tenant of {rule}"
        yield _line("allow", what, item, tool=rule.obj, new=f"p, {rule.sub}, {ANY}, {rule.obj}, {rule.act}, allow", detail=True)


def _line(kind: str, what: str, item: Item, *, name: str = "", tool: str = "", new: str = "", detail: bool = False) -> Point:
    line = item.line or 1
    return Point(
        kind=kind,
        name=name,
        what=what,
        tool=tool,
        spot=place(item),
        detail=detail,
        change=lambda written: without_line(written, item.file, line, new),
    )
