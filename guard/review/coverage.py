"""Coverage: for each point of a policy, in how many cases it did its work, and in how many it let a call pass.

Read from what happened to the calls that cases propose: their decisions, the rules that decided, what the model sees. Points that refuse, hold or
overwrite in no case are named. Counts, judges nothing. Comes after `points` and `suite`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from guard.core.limit import OVER
from guard.core.values import equal
from guard.review.judging import told
from guard.review.point import Point
from guard.review.suite import Result
from guard.review.world import Happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """`worked`: cases in which the point refused, held, overwrote or hid something; `passed`: cases in which it let a call pass."""

    point: Point
    worked: int
    passed: int


def coverage(found: Iterable[Point], results: Sequence[Result]) -> list[Covered]:
    """A row for each point that is counted by itself, in their order."""
    calls = [[one for step in result.played.steps for one in step.calls] for result in results]
    return [_covered(point, calls) for point in found if not point.detail]


def _covered(point: Point, calls: Sequence[Sequence[Happened]]) -> Covered:
    mine = [[one for one in case if _speaks_about(point, one)] for case in calls]
    worked = sum(any(_worked(point, one) for one in case) for case in mine)
    passed = sum(any(_passed(point, one) for one in case) for case in mine)
    return Covered(point=point, worked=worked, passed=passed)


def _speaks_about(point: Point, one: Happened) -> bool:
    tool = one.proposal.tool
    return not point.tool or tool == point.tool or (point.tool.endswith("*") and tool.startswith(point.tool[:-1]))


def _passed(point: Point, one: Happened) -> bool:
    """Whether the call got past the point. Of alternatives of an approval and of rules that allow, the one that applied."""
    if one.decision not in {"allow", "hold"}:
        return False
    if point.kind == "approve":
        return one.decision == "allow" and _asked(point, one)
    return not (point.kind == "allow" and point.name) or point.name in one.rules


def _worked(point: Point, one: Happened) -> bool:
    row = _WORKED.get(point.kind)
    return row(point, one) if row is not None else _limited(point, one)


def _asked(point: Point, one: Happened) -> bool:
    asked = one.approval
    return asked is not None and ",".join(sorted([*asked.by, *(["self"] if asked.by_self else [])])) == point.name


def _bound(point: Point, one: Happened) -> bool:
    refused = one.reason in {"bound_field_sent", "session_fact_missing"} and point.name in told(one)
    return point.name in one.spoofed or refused


def _named(point: Point, one: Happened) -> bool:
    return point.name in one.rules or point.name in one.shadow


def _resource(point: Point, one: Happened) -> bool:
    unknown = one.reason == "fact_unavailable" and f"The {point.name.removeprefix('resource ')} " in told(one)
    return point.name in one.rules or unknown


def _check(point: Point, one: Happened) -> bool:
    failed = one.reason == "check_failed" and f"Check: {point.name.removeprefix('check ')}." in told(one)
    return point.name in one.rules or failed


def _hid(_point: Point, one: Happened) -> bool:
    """Whether the model sees less than the tool returned."""
    if not one.ran or not isinstance(one.content, str):
        return False
    try:
        return not equal(json.loads(one.content, parse_float=Decimal), one.proposal.returns)
    except (ValueError, RecursionError):
        return bool(one.content != one.proposal.returns)


def _ceiling(point: Point, one: Happened) -> bool:
    """Whether something was too large: the arguments, whose refusals name no rule, or what the rule says."""
    sized = one.reason == "arguments_too_large" and point.name.startswith("ceiling arguments_")
    return point.name in one.rules or sized


_WORKED: Mapping[str, Callable[[Point, Happened], bool]] = {
    "allow": lambda _point, one: one.reason == "not_authorized" and not one.rules,
    "deny": _named,
    "bind": _bound,
    "schema": lambda _point, one: one.reason == "invalid_arguments",
    "check": _check,
    "rule": _named,
    "resource": _resource,
    "unknown": lambda _point, one: one.reason == "earlier_unknown",
    "approve": _asked,
    "keep": _hid,
    "form": lambda _point, one: one.reason == "result_invalid",
    "ceiling": _ceiling,
}
"""How the work of a point shows. Limits are told by their name and by what they count over."""

_OVER = {f"limits.{name}": words for name, words in OVER.items()}


def _window(point: Point, one: Happened) -> bool:
    """Whether a limit over a window was reached: of this tool, or of all."""
    tool = "" if point.kind == "window.windows" else point.kind.partition(".")[2]
    return any(rule.startswith("limit ") and " per " in rule and tool in rule for rule in (*one.rules, *one.shadow))


def _limited(point: Point, one: Happened) -> bool:
    if point.kind.startswith("window."):
        return _window(point, one)
    if one.reason not in {"limit_reached", "limit_unknown", "repeated_call"}:
        return False
    if point.kind == "limits.calls":
        return "limit tool" in one.rules
    if point.kind == "limits.sum":
        return any(rule == "limit sum" or rule.startswith("sum:") for rule in one.rules)
    name = point.kind.partition(".")[2] if point.kind == "limits.equal" else "calls" if point.name == "whole" else point.name
    return f"limit {name}" in one.rules and (name != "calls" or _OVER[point.kind] in told(one))
