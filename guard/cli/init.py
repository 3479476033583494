"""`guard init`: from the tools that somebody has, a policy folder that refuses everything until a person has read it.

Writes the whole folder or nothing, and never over a policy that stands there unless told to. What was written is loaded before it is put in
its place: each entry must be read back as it was meant. Decides nothing itself; the guesses are `guard.review.init`'s.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from guard.cli.folders import check_free, write_folder
from guard.cli.init_sources import Gathered, gather, seconds
from guard.cli.places import DEFAULT_POLICY, UsageError
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core.values import JsonObject, equal
from guard.errors import GuardError
from guard.policy import Loaded, load_policy
from guard.policy.approvals import check_role
from guard.policy.problems import Problems
from guard.policy.source import Item
from guard.review.init import Draft, LeftOut, drafts, policy_files

EXAMPLES = """examples:
  guard init tools.json                          a tool list, as OpenAI, Anthropic, Gemini, Bedrock or MCP have it, or a whole request body
  guard init app:tools                           Python functions, a mapping or a Registry in a module
  guard init openapi.yaml                        an OpenAPI 3 document; also http://127.0.0.1:8000/openapi.json
  guard init --mcp -- npx -y @modelcontextprotocol/server-filesystem /tmp/files
  guard init --mcp https://example.com/mcp --token-env MCP_TOKEN
  some-program | guard init - --into shop/policies --role clerk --json

Nothing is allowed by what is written: uncomment `allow:` where a role may call a tool. Each guess is marked. --mcp needs the extra mcp."""
_MANY = 500


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "init",
        help="write a policy folder for the tools that you have",
        description="Write a commented policy folder that refuses everything, from a tool list, Python functions, an OpenAPI document "
        "or a running MCP server.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source",
        nargs="*",
        metavar="SOURCE",
        help="a file, - for standard input, a URL, or MODULE:NAME (the module is imported, which runs it)",
    )
    parser.add_argument(
        "--mcp", action="store_true", help="SOURCE is the URL of an MCP server or, behind --, the command that starts one"
    )
    parser.add_argument("--into", default=DEFAULT_POLICY, metavar="DIR", help="the folder to write; default: %(default)s")
    parser.add_argument("--role", default="", help="the role in the commented allow: lines; allows nothing by itself")
    parser.add_argument("--force", action="store_true", help="replace a policy that stands there")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="pass this variable on to the MCP server")
    parser.add_argument("--token-env", metavar="NAME", help="the variable that holds the bearer token for the MCP server's URL")
    parser.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="SECONDS", help="for the MCP server; default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object: what was written, guessed and left out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when there is no tool that an entry could be written for. Raises UsageError, GuardError; then nothing is written."""
    _check_role(arguments.role)
    folder = Path(arguments.into)
    check_free(folder, force=arguments.force)
    found = gather(arguments)
    made, gone = _sorted(found)
    left_out = [*found.sources.left_out, *gone]
    warnings: list[str] = []
    files: dict[str, str] = {}
    if made:
        what = found.sources.what if found.origin in found.sources.what else f"{found.sources.what} ({found.origin})"
        where = shlex.quote(arguments.into)
        files = policy_files(made, left_out, what=what, folder=where, role=arguments.role, session=arguments.mcp)
        write_folder(folder, files, lambda stage: warnings.extend(_judge(stage, made, found)))
    _tell(arguments, made, left_out, list(files), warnings)
    return 0 if made else 1


def _check_role(role: str) -> None:
    problems = Problems()
    if role:
        check_role(role, Item("--role", None), problems)
    if problems.errors:
        raise UsageError(f"--role {spell(role)}: this cannot be a role (write letters, digits, - and _)")


def _sorted(found: Gathered) -> tuple[list[Draft], list[LeftOut]]:
    made: list[Draft] = []
    gone: list[LeftOut] = []
    for number, one in enumerate(drafts(found.sources.tools, found.declared), 1):
        if isinstance(one, Draft):
            made.append(one)
        else:
            gone.append(one)
        if number % _MANY == 0:
            print(f"guard: read {number} of {len(found.sources.tools)} tools", file=sys.stderr, flush=True)
    return made, gone


# -- proof ---------------------------------------------------------------------------------------------------------------


def _judge(stage: Path, made: Sequence[Draft], found: Gathered) -> Iterator[str]:
    """Load what was written: every entry must be what was meant. Gives a warning for each older rule that allows one of the tools."""
    loaded = load_policy(stage, None if found.declared is None else list(found.declared.values()))
    for one in made:
        if not equal(loaded.entries[one.name].value, one.entry):
            raise GuardError(f"{spell(one.name)}: what was written is not read back as it was meant, so nothing was written")
    yield from _allowed(loaded, {one.name for one in made})


def _allowed(loaded: Loaded, names: set[str]) -> Iterator[str]:
    for rule, place in loaded.book.rules.items():
        covered = (
            sorted(name for name in names if loaded.book.covers(rule, name)) if (rule.act, rule.eft) == ("call", "allow") else []
        )
        if covered:
            more = f" and {len(covered) - 1} more" if len(covered) > 1 else ""
            yield f"{place.file}:{place.line}: a rule that stood there already allows {rule.sub} to call {covered[0]}{more}"


# -- telling -------------------------------------------------------------------------------------------------------------


def _tell(
    arguments: argparse.Namespace,
    made: Sequence[Draft],
    left_out: Sequence[LeftOut],
    files: Sequence[str],
    warnings: Sequence[str],
) -> None:
    where = [str(Path(arguments.into, name)) for name in files]
    for text in warnings:
        print(f"warning: {spell(text)}", file=sys.stderr)
    for one in left_out:
        print(f"left out: {spell(one.name)}: {spell(one.why)}", file=sys.stderr)
    if arguments.json:
        print(json_text(_plain(made, left_out, where, warnings)))
        return
    if not made:
        print("guard: nothing was written: no tool was found that a policy could have an entry for", file=sys.stderr)
        return
    for row in table(("tool", "kind", "guessed, since", "bound, by guess"), [_row(one) for one in made]):
        print(row)
    guesses = sum(len(one.guesses) for one in made)
    count = f"{len(made)} tool{'' if len(made) == 1 else 's'}, {guesses} guesses, {len(left_out)} left out"
    print(f"{spell(', '.join(where))}: {count}; nobody may call anything yet\n")
    print("next:\n" + "\n".join(_next(arguments.into, where[0])))


def _row(one: Draft) -> tuple[str, str, str, str]:
    why = next(guess.why for guess in one.guesses if guess.key == "kind")
    return one.name, one.kind, why, ", ".join(f"{name} = {fact}" for name, fact in one.bound.items())


def _next(folder: str, file: str) -> Iterator[str]:
    yield f'  1. read {spell(file)}: each guess ends in "# guess:" and its reason'
    yield "  2. uncomment allow: where a role may call the tool, and write the role that your sessions have"
    yield f"  3. guard check {spell(shlex.quote(folder))}"


def _plain(made: Sequence[Draft], left_out: Sequence[LeftOut], files: Sequence[str], warnings: Sequence[str]) -> JsonObject:
    return {
        "ok": bool(made),
        "files": list(files),
        "tools": [
            {"name": one.name, "kind": one.kind, "guesses": list(map(_guess, one.guesses)), "notes": list(one.notes)}
            for one in made
        ],
        "left_out": [{"name": one.name, "why": one.why} for one in left_out],
        "warnings": list(warnings),
    }


def _guess(guess: object) -> Mapping[str, object]:
    return {name: getattr(guess, name) for name in ("key", "value", "why", "active")}
