"""`guard check`: read a policy folder without a program, name every mistake in it, and say what it permits. Only reads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from guard.cli.permissions import Permissions, permissions
from guard.cli.places import DEFAULT_POLICY, UsageError, policy_folder
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core.ports import Policy
from guard.core.rules import ApprovalRule, Tool
from guard.core.values import JsonObject
from guard.errors import PolicyError, Problem

EXAMPLES = """examples:
  guard check                        the folder policies/
  guard check shop/policies          another folder; --policy shop/policies is the same
  guard check --json                 for a program: problems, warnings and tools

Without the program's functions their parameters are unknown; `Guard.load` checks the policy against them as well."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="find every mistake in a policy folder",
        description="Read a policy folder, print every mistake with file, line and cure, and a summary of what it permits.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="?", metavar="DIR", help="the policy folder; the same as --policy DIR")
    parser.add_argument("--policy", metavar="DIR", help=f"default: {DEFAULT_POLICY}")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when there are problems; warnings alone are no problem. Raises UsageError when two folders are named."""
    if arguments.folder and arguments.policy:
        raise UsageError(f"two folders: {spell(arguments.folder)} and {spell(arguments.policy)} (name one)")
    folder = arguments.folder or arguments.policy or DEFAULT_POLICY
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    tools: list[JsonObject] = []
    shadows: list[str] = []
    try:
        loaded = policy_folder(folder)
        warnings = loaded.warnings
        known = permissions(loaded)
        tools = [_summary(tool, known) for tool in loaded.policy.tools.values()]
        shadows = shadowed(loaded.policy)
    except PolicyError as error:
        problems, warnings = error.problems, error.warnings
    if arguments.json:
        plain = {"problems": _plain(problems), "warnings": _plain(warnings), "tools": tools, "shadows": shadows}
        print(json_text({"ok": not problems, **plain}))
    else:
        _tell(folder, problems, warnings, tools, shadows)
    return 1 if problems else 0


def _tell(
    folder: str, problems: tuple[Problem, ...], warnings: tuple[Problem, ...], tools: list[JsonObject], shadows: list[str]
) -> None:
    for problem in problems:
        print(spell(str(problem)), file=sys.stderr)
    for warning in warnings:
        print(f"warning: {spell(str(warning))}", file=sys.stderr)
    counts = f"{_count(len(problems), 'problem')}, {_count(len(warnings), 'warning')}"
    if problems:
        print(f"{spell(folder)}: {counts}", file=sys.stderr)
        return
    heads = ("tool", "kind", "allowed", "who approves", "bound fields")
    rows = [(one["name"], one["kind"], _join(one["allowed"]), one["approved_by"], _join(one["bound"])) for one in tools]
    for line in table(heads, rows):
        print(line)
    told = f", {_count(len(shadows), 'shadow rule')} refusing nothing: {spell('; '.join(shadows))}" if shadows else ""
    print(f"{spell(folder)}: {_count(len(tools), 'tool')}, {counts}{told}")


def shadowed(policy: Policy) -> list[str]:
    """Every rule that only records what it would refuse, so that nobody forgets it."""
    found = [f"limit {name}" for name in sorted(policy.limits.shadow)]
    found += [one.text for one in policy.limits.windows if one.shadow]
    for tool in policy.tools.values():
        limits = tool.limits
        found += [f"{tool.name}: check {one.name}" for one in tool.checks if one.shadow]
        found += [f"{tool.name}: ground {one.argument}" for one in tool.grounds if one.shadow]
        found += [f"{tool.name}: after {one.tool}" for one in tool.after if one.shadow]
        found += [one.id for one in tool.rules if one.shadow]
        found += [f"limit {tool.name}.sum {one.argument}" for one in limits.sums if one.shadow]
        found += [one.text for one in limits.windows if one.shadow]
        counts = {"calls": limits.shadow_calls, "equal": limits.shadow_equal}
        found += [f"limit {tool.name}.{name}" for name, most in counts.items() if most is not None]
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)


def _plain(problems: Iterable[Problem]) -> list[JsonObject]:
    return [{"file": one.file, "line": one.line, "message": one.message, "cure": one.cure} for one in problems]


# -- what one tool permits ---------------------------------------------------------------------------------------------


def _summary(tool: Tool, known: Permissions) -> JsonObject:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "allowed": known.of(tool.name),
        "approved_by": "; ".join(map(_rule, tool.approval)) or "nobody is asked",
        "bound": [f"{binding.field} = session.{binding.source}" for binding in tool.bindings],
    }


def _rule(rule: ApprovalRule) -> str:
    who = _join([*(["the requester"] if rule.self_ else []), *rule.by]) or "nobody is asked"
    return who if rule.when is None else f"{who} (on a condition)"
