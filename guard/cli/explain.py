"""`guard explain`: why a call is allowed, held or refused, and who may do what. Nothing of a program runs; only reads."""

from __future__ import annotations

import argparse
import json
from decimal import Decimal
from pathlib import Path

from guard.cli import explained, permitted
from guard.cli.places import UsageError, add_layers, policy_folder
from guard.cli.show import json_text, spell
from guard.core.model import Session
from guard.core.values import Json
from guard.errors import PolicyError
from guard.policy import Loaded
from guard.policy.problems import Problems, meant
from guard.policy.source import File, Item, read_yaml
from guard.review.cases import START, Case, Proposal, Step
from guard.review.explain import explain
from guard.review.keys import moment
from guard.review.reading import background, read_cases

EXAMPLES = """examples:
  guard explain refund --principal c_1 --role customer --args '{"order_id": "A17", "amount": 20}'
  guard explain refund --principal c_1 --role customer --args '{}' --user "Refund 20 please" --history before.yaml
  guard explain cancel_order --principal c_1 --role customer --args '{"order_id": "A17"}' --facts '{"order": {"A17": {"customer_id": "c_1"}}}'
  guard explain --case "a refund waits"        a call of the folder's cases.yaml
  guard explain --policy policies/org --layer policies/app --who refund     layers, the widest first
  guard explain --who refund                   who may call it, and approve its calls
  guard explain --what support                 what a role or person (user:E1) may do
  guard explain --matrix --html matrix.html    everybody, every tenant, every tool

A file of --history holds the steps of a case's `history`; or a mapping with the keys history, facts and checks. --facts holds the records that the
program's loaders would find, as `facts` of a case does; a record that is given nowhere is one that nobody can look up.
Exit codes: 0 explained, whatever the verdict; 1 --check named another verdict, or the folder does not load; 2 misuse.
Without the program's functions their signatures are unknown. Times are the fastest of three walks on this machine."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="why a call is allowed, held or refused, and who may do what",
        description="Walk one call through a policy without running anything, and say what each room decides and why.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="the tool that is called")
    parser.add_argument("--args", default="{}", metavar="JSON", help="the arguments as the model writes them; default: {}")
    parser.add_argument("--principal", metavar="ID", help="who is signed in")
    parser.add_argument("--role", action="append", default=[], metavar="ROLE", help="a role of theirs; may be repeated")
    parser.add_argument("--tenant", default="default", metavar="TENANT", help="default: %(default)s")
    parser.add_argument("--attribute", action="append", default=[], metavar="NAME=VALUE", help="a fact of the session")
    parser.add_argument("--user", action="append", default=[], metavar="TEXT", help="what the user said just before")
    parser.add_argument("--history", metavar="FILE", help="what came before, in YAML")
    parser.add_argument(
        "--facts", action="append", default=[], metavar="FILE|JSON", help="records that exist: {NAME: {ID: RECORD}}"
    )
    parser.add_argument("--at", metavar="TIME", help="when, such as 2026-01-15T09:00:00Z")
    parser.add_argument("--case", metavar="NAME", help="explain a call of the folder's cases")
    parser.add_argument("--check", choices=("allow", "hold", "refuse"), help="exit with 1 when the verdict is another")
    parser.add_argument("--values", action="store_true", help="show arguments as they are, not redacted")
    parser.add_argument("--who", metavar="TOOL", help="who may call TOOL, and who approves its calls")
    parser.add_argument("--what", metavar="NAME", help="what a role, or user:PERSON, may do")
    parser.add_argument("--matrix", action="store_true", help="everybody, every tenant, every tool")
    parser.add_argument("--html", metavar="FILE", help="write the matrix, or --who or --what, as one HTML file")
    add_layers(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when --check names another verdict. Raises UsageError unless exactly one thing is asked."""
    asked = [arguments.tool, arguments.who, arguments.what, arguments.case, arguments.matrix]
    if sum(map(bool, asked)) + (not any(asked) and bool(arguments.html)) != 1:
        raise UsageError("ask one thing: a TOOL, --case NAME, --who TOOL, --what NAME or --matrix")
    loaded = policy_folder(arguments.policy, arguments.layer)
    if arguments.who or arguments.what or arguments.matrix or arguments.html:
        return permitted.run(arguments, loaded)
    case = _of_folder(arguments, loaded) if arguments.case else _of_line(arguments, loaded)
    found = explain(loaded, case)
    if arguments.json:
        plain = [explained.plain(one, values=arguments.values) for one in found]
        print(json_text(plain[0] if len(plain) == 1 else {"calls": plain}))
    else:
        for one in found:
            print("\n".join(explained.lines(one, values=arguments.values)))
    wrong = arguments.check and any(one.call.decision != arguments.check for one in found)
    return 1 if wrong else 0


def _of_folder(arguments: argparse.Namespace, loaded: Loaded) -> Case:
    problems = Problems()
    cases = {case.name: case for case in read_cases([arguments.policy, *arguments.layer][-1], loaded, problems)}
    if problems.errors:
        raise PolicyError(problems.errors)
    if arguments.case not in cases:
        near = meant(arguments.case, cases)
        raise UsageError(f"{spell(arguments.case)}: no case of the folder is called so{f' ({spell(near)})' if near else ''}")
    return cases[arguments.case]


def _of_line(arguments: argparse.Namespace, loaded: Loaded) -> Case:
    permitted.known_tool(arguments.tool, loaded)
    if not arguments.principal:
        raise UsageError("who calls? name them with --principal ID, and their roles with --role")
    try:
        session = Session(
            principal=arguments.principal,
            roles=tuple(arguments.role),
            tenant=arguments.tenant,
            attributes=dict(map(_attribute, arguments.attribute)),
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    call = Proposal(tool=arguments.tool, arguments=arguments.args)
    case = Case(
        name="the call",
        sessions={"caller": session},
        steps=(Step(session="caller", words=tuple(arguments.user), proposals=(call,)),),
        at=_moment(arguments.at),
    )
    if arguments.history is not None:
        case = _with(_read(arguments.history), case, loaded)
    for told in arguments.facts:
        item = _inline(told) if told.lstrip().startswith("{") else _read(told)
        case = _with(None if item is None else Item(item.file, item.line, {"facts": item.value}, {"facts": item}), case, loaded)
    return case


def _attribute(text: str) -> tuple[str, Json]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(f"--attribute {spell(text)}: write NAME=VALUE")
    try:
        return name, json.loads(value, parse_float=Decimal)
    except ValueError:
        return name, value


def _moment(text: str | None) -> float:
    problems = Problems()
    found = START if text is None else moment(Item("--at", None, text), problems)
    if problems.errors or found is None:
        raise UsageError(f"--at {spell(str(text))}: write a time such as 2026-01-15T09:00:00Z")
    return found


def _read(name: str) -> Item | None:
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{spell(name)}: cannot be read ({error.strerror})") from error
    return _yaml(File(name, data))


def _inline(text: str) -> Item | None:
    return _yaml(File("--facts", text.encode()))


def _yaml(file: File) -> Item | None:
    problems = Problems()
    item = read_yaml(file, problems)
    if problems.errors:
        raise UsageError("\n".join(map(str, problems.errors)))
    return item


def _with(item: Item | None, case: Case, loaded: Loaded) -> Case:
    """The case with what an item says came before, or exists. Raises UsageError."""
    problems = Problems()
    found = case if item is None else background(item, case, loaded, problems)
    if problems.errors:
        raise UsageError("\n".join(map(str, problems.errors)))
    return found
