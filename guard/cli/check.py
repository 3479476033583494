"""`guard check`: read a policy folder, name everything in it that is wrong or probably not meant, and say what it permits.

Only reads, except for `--pin`, which writes the reviewed definitions. The findings are `guard.policy`'s and `guard.review`'s.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from guard.cli.needed import needed_variables
from guard.cli.permissions import Permissions, permissions
from guard.cli.pinning import write_pins
from guard.cli.places import DEFAULT_POLICY, UsageError, named_folders
from guard.cli.progress import Progress
from guard.cli.shadows import shadowed
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.cli.work import named
from guard.cli.yes_windows import open_ended
from guard.compose import declared
from guard.core.rules import ApprovalRule, Tool
from guard.core.values import JsonObject
from guard.errors import Problem
from guard.policy import Survey, survey_policy
from guard.policy.problems import Problems
from guard.policy.reading import read_places
from guard.policy.source import UNREAD
from guard.review.lints import lint, place
from guard.review.reading import read_cases
from guard.review.view import View
from guard.review.visible import Shown, shown, tokens
from guard.tools import registry

EXAMPLES = """examples:
  guard check                        the folder policies/
  guard check shop/policies          another folder; --policy shop/policies is the same
  guard check policies/org policies/team policies/app    layers, the widest first: what a narrower one loosens is a problem
  guard check --tools app:tools      with the functions of the program: their parameters and descriptions as well
  guard check --strict               for CI: warnings count as problems
  guard check --json                 for a program: problems, warnings, tools, roles and notes
  guard check --tools app:tools --pin    write pins.json: these definitions are reviewed
  guard check --mcp "npx -y @modelcontextprotocol/server-filesystem /srv/files"    with the tools of an MCP server, held against its pins
  guard check --pin --mcp "npx -y @modelcontextprotocol/server-filesystem /srv/files"    they are reviewed: `guard mcp` takes them as they are now

A definition that differs from pins.json is a problem, here and in `Guard.load`, until somebody reviews it and pins it again; a new one is a warning.
Exit codes: 0 no problems, 1 problems (with --strict: or warnings), 2 misuse."""
WITHOUT = "without --tools MODULE:NAME the program's functions, their parameters and descriptions are not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything that a check found. `roles` is empty where rules have a meaning of their own; `unread`: a file could not be read, so only problems are told."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    tools: list[JsonObject]
    roles: list[Shown]
    shadows: list[str]
    notes: tuple[str, ...]
    unread: bool = False


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="find every mistake in a policy folder",
        description="Read a policy folder, print every mistake with file, line and cure, and a summary of what it permits.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = "the policy folder, the same as --policy DIR; several are layers, the widest first"
    parser.add_argument("folder", nargs="*", metavar="DIR", help=told)
    parser.add_argument("--policy", metavar="DIR", help=f"default: {DEFAULT_POLICY}")
    parser.add_argument("--tools", metavar="MODULE:NAME", help="the tools of the program")
    parser.add_argument(
        "--mcp", metavar="COMMAND|URL", help="the tools of this MCP server, as `guard mcp` uses them; no tool is called"
    )
    parser.add_argument(
        "--server", default="mcp", metavar="NAME", help="with --mcp: what its pins are called; default: %(default)s"
    )
    parser.add_argument("--pin", action="store_true", help="write the definitions of all tools to pins.json as reviewed")
    parser.add_argument("--strict", action="store_true", help="warnings are problems: exit code 1")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when there are problems, with --strict also for warnings. Raises UsageError when two folders are named."""
    folders = named_folders(arguments.folder, arguments.policy)
    found = _of_server(arguments, folders) if arguments.mcp else _of_program(arguments, folders)
    if arguments.json:
        print(json_text(_json(found)))
    else:
        _tell(" + ".join(folders), found)
    return 1 if found.problems or (arguments.strict and found.warnings) else 0


def _of_program(arguments: argparse.Namespace, folders: Sequence[str]) -> Found:
    survey = _survey(folders, arguments.tools)
    pinned = write_pins(folders[-1], survey) if arguments.pin else ()
    if pinned:
        survey = _survey(folders, arguments.tools)
    return _found(survey, () if arguments.tools else (WITHOUT,), pinned, folders)


def _of_server(arguments: argparse.Namespace, folders: Sequence[str]) -> Found:
    from guard.cli.mcp_pinning import server_survey  # noqa: PLC0415 - asks a server: only where one is named

    if arguments.tools:
        raise UsageError("--tools and --mcp: check them one after the other")
    survey, pinned, drift = server_survey(arguments, folders)
    found = _found(survey, (), pinned, folders)
    return replace(found, problems=(*found.problems, *drift.errors), warnings=(*found.warnings, *drift.warnings))


def _survey(folders: Sequence[str], program: str | None) -> Survey:
    with Progress("tools read") as progress:
        if program is None:
            return survey_policy(folders, told=progress.told)
        tools = declared(registry(named(program, "--tools")))
        return survey_policy(folders, tools, checks=None, probes=None, told=progress.told)


def _found(survey: Survey, notes: tuple[str, ...], pinned: tuple[str, ...], folders: Sequence[str]) -> Found:
    unread = sorted({one.file for one in survey.errors if one.code == UNREAD})
    if unread:  # what is missing elsewhere may well stand in it
        later = f"warnings are told when {', '.join(unread)} can be read"
        return Found(problems=survey.errors, warnings=(), tools=[], roles=[], shadows=[], notes=(later,), unread=True)
    warnings, passed = lint(survey)
    view = View(survey)
    known = permissions(survey)
    good = not survey.errors
    cases = _of_cases(survey, folders)
    return Found(
        problems=(*survey.errors, *cases.errors),
        warnings=tuple(sorted((*survey.warnings, *warnings, *cases.warnings), key=place)),
        tools=[_summary(tool, known) for tool in survey.tools.values()] if good else [],
        roles=shown(view) if good and not view.own_model else [],
        shadows=shadowed(survey.policy) if good and survey.policy is not None else [],
        notes=(*pinned, *passed, *(_said(survey.tools.values()) if good else ()), *notes),
    )


def _said(tools: Collection[Tool]) -> tuple[str, ...]:
    return (*open_ended(tools), *needed_variables(tools))


def _of_cases(survey: Survey, folders: Sequence[str]) -> Problems:
    """Mistakes in the files of cases, as `guard test` finds them; none is looked for under a policy that does not load. No case is played."""
    problems = Problems()
    if not survey.errors:
        read_cases(read_places(folders).cases, survey.loaded(), problems)
    return problems


def _json(found: Found) -> JsonObject:
    return {
        "ok": not found.problems,
        "problems": _plain(found.problems),
        "warnings": _plain(found.warnings),
        "tools": found.tools,
        "roles": [
            {"role": one.role, "tenant": one.tenant or None, "tools": one.tools, "tokens": one.tokens} for one in found.roles
        ],
        "shadows": found.shadows,
        "notes": list(found.notes),
    }


def _tell(folder: str, found: Found) -> None:
    for problem in found.problems:
        print(spell(str(problem)), file=sys.stderr)
    for warning in found.warnings:
        print(f"warning: {spell(str(warning))}", file=sys.stderr)
    counts = f"{_count(len(found.problems), 'problem')}, {_count(len(found.warnings), 'warning')}"
    if found.problems:
        told = f"{_count(len(found.problems), 'problem')}; {'; '.join(found.notes)}" if found.unread else counts
        print(spell(f"{folder}: {told}"), file=sys.stderr)
        return
    heads = ("tool", "kind", "allowed", "who approves", "bound fields")
    rows = [(one["name"], _kind(one), _join(one["allowed"]), one["approved_by"], _join(one["bound"])) for one in found.tools]
    for line in table(heads, rows):
        print(line)
    roles = [(_role(one), _count(one.tools, "tool"), _cost(one)) for one in found.roles]
    for line in ["", *table(("role", "sees", "about"), roles)] if roles else []:
        print(line)
    for note in found.notes:
        print(f"note: {spell(note)}")
    shadows = (
        f", {_count(len(found.shadows), 'shadow rule')} refusing nothing: {spell('; '.join(found.shadows))}"
        if found.shadows
        else ""
    )
    print(f"{spell(folder)}: {_count(len(found.tools), 'tool')}, {counts}{shadows}")


def _kind(one: JsonObject) -> str:
    """The kind, and of an action what may be done about a lost call, where that is not the plain case."""
    return str(one["kind"]) if one["kind"] != "action" or one["effect"] == "once" else f"action, {one['effect']}"


def _role(one: Shown) -> str:
    return f"{one.role} in {one.tenant}" if one.tenant else one.role


def _cost(one: Shown) -> str:
    return f"{_count(one.tokens, 'token')} a request"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)


def _plain(problems: Iterable[Problem]) -> list[JsonObject]:
    return [
        {"file": one.file, "line": one.line, "message": one.message, "cure": one.cure, "code": one.code or None}
        for one in problems
    ]


# -- what one tool permits ---------------------------------------------------------------------------------------------


def _summary(tool: Tool, known: Permissions) -> JsonObject:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "effect": tool.effect if tool.acts else None,
        "lease": tool.lease,
        "unknown_blocks": (tool.target.words(tool.name) if tool.target else "the same call") if tool.acts else None,
        "tokens": tokens(tool),
        "allowed": known.of(tool.name),
        "approved_by": "; ".join(map(_rule, tool.approval)) or "nobody is asked",
        "bound": [f"{binding.field} = session.{binding.source}" for binding in tool.bindings],
    }


def _rule(rule: ApprovalRule) -> str:
    own = f"the requester{', at the client' if rule.assurance == 'client' else ''}"
    who = _join([*([own] if rule.self_ else []), *rule.by]) or "nobody is asked"
    return who if rule.when is None else f"{who} (on a condition)"
