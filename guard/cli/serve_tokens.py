"""`guard serve token`: tokens of loops that propose calls, and of people who see and decide approvals. A secret is printed once.

Decides nothing itself. Used by `serve`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from guard.cli.places import DEFAULT_POLICY, UsageError, add_layers, existing_folder
from guard.cli.serve_http import TOKENS
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.cli.views import utc
from guard.core.values import JsonObject
from guard.policy import language, survey_policy
from guard.policy.problems import Problems, meant
from guard.policy.source import Item
from guard.review.view import View
from guard.web.tokens import NAMED, PERSONAL, Token, Tokens, holds

EXAMPLES = """examples:
  guard serve token add my-loop                                              a loop: it proposes calls and decides nothing
  guard serve token add my-loop --tenant acme                                it brings sessions of this tenant only
  guard serve token add ann --person s_9 --role support --scope vote         a person: signs in at /sign-in, or sends it as a bearer token
  guard serve token add bo --person s_7 --tenant acme --scope read --expires 30d
  guard serve token list
  guard serve token remove ann                                               and every login that was made from it

Scopes of people: read (see approvals), vote (decide about them, too), admin (run the console). Whether somebody's vote counts is judged by the policy;
--role adds to what its rules say of the person."""


def add_token(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `guard serve token …`."""
    parser = verbs.add_parser(
        "token",
        help="make, list and remove tokens of loops and people",
        description="Tokens of loops and people that ask this server.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="make a token and print it, once")
    add.add_argument("name")
    add.add_argument(
        "--tenant", default="", help="a loop's: it may bring sessions of this tenant only; a person's: where they are"
    )
    add.add_argument("--person", default="", metavar="PRINCIPAL", help="whose it is; without it is a loop's")
    add.add_argument("--role", action="append", default=[], help="a role that the person has; may be repeated")
    add.add_argument(
        "--scope", action="append", default=[], choices=sorted(PERSONAL), help="what the person may do; may be repeated"
    )
    add.add_argument("--expires", metavar="TIME", help="for example 12h or 30d; without it the token never ends by itself")
    add_layers(add, default=None)
    add.set_defaults(run=token_add)
    shown = actions.add_parser("list", help="the names; secrets are not kept")
    shown.add_argument("--json", action="store_true", help="JSON instead of text")
    shown.set_defaults(run=token_list)
    gone = actions.add_parser("remove", help="let nobody in by it any more")
    gone.add_argument("name")
    gone.set_defaults(run=token_remove)
    for one in (add, shown, gone):
        one.add_argument("--tokens", default=TOKENS, metavar="FILE", help="default: %(default)s")


def token_add(arguments: argparse.Namespace) -> int:
    """Print a new token. Exit code 0."""
    given = arguments
    if given.person and not given.scope:
        raise UsageError("--person: say what the person may do: --scope read or --scope vote")
    if not given.person and (given.scope or given.role):
        raise UsageError("--scope and --role are for people: add --person PRINCIPAL")
    if not NAMED.fullmatch(given.name):
        raise UsageError(f"{spell(given.name) or 'an empty name'}: a token's name is letters, digits, . _ and -")
    scopes = tuple(given.scope) or ("propose",)
    expires = None if given.expires is None else time.time() + _seconds(given.expires)
    strange = _strange(given.role, [given.policy or DEFAULT_POLICY, *given.layer], named=given.policy is not None)
    secret = Tokens(given.tokens).add(
        given.name, scopes, tenant=given.tenant, person=given.person, roles=tuple(given.role), expires=expires
    )
    for line in strange:
        print(f"guard: warning: {line}", file=sys.stderr)
    print(secret)
    print("guard: keep it now, only its hash is kept here", file=sys.stderr)
    return 0


def _strange(roles: Sequence[str], folders: Sequence[str], *, named: bool) -> list[str]:
    """What is said of roles that the policy does not know; nothing where no folder is named and none is in the usual place."""
    if not roles or not (named or Path(folders[0]).is_dir()):
        return []
    for folder in folders:
        existing_folder(folder)
    known = View(survey_policy(folders)).roles - {"*"}
    strange = [role for role in dict.fromkeys(roles) if role not in known]
    told = [(role, meant(role, known)) for role in strange]
    where = spell(" + ".join(folders))
    return [
        f"no rule of {where} names the role {spell(role)}{f' ({cure})' if cure else ''}; it is kept as written"
        for role, cure in told
    ]


def _seconds(text: str) -> float:
    found = language.duration(Item("", None, text), Problems(), "expires")
    if found is None:
        raise UsageError(f"--expires {spell(text)}: write for example 12h or 30d")
    return found


def token_list(arguments: argparse.Namespace) -> int:
    """A line each. Exit code 0."""
    found, now = Tokens(arguments.tokens).all(), time.time()
    if arguments.json:
        print(json_text([_plain(one, now) for one in found]))
        return 0
    for line in table(("name", "kind", "scopes", "person", "tenant", "roles", "ends"), [_row(one, now) for one in found]):
        print(line)
    return 0


def _row(one: Token, now: float) -> tuple[str, ...]:
    ends = "never" if one.expires is None else utc(one.expires) if holds(one, now) else "over"
    return one.name, one.kind, ", ".join(one.scopes), one.person, one.tenant, ", ".join(one.roles), ends


def _plain(one: Token, now: float) -> JsonObject:
    return {
        "name": one.name,
        "kind": one.kind,
        "scopes": list(one.scopes),
        "person": one.person,
        "tenant": one.tenant,
        "roles": list(one.roles),
        "expires": None if one.expires is None else utc(one.expires),
        "over": not holds(one, now),
    }


def token_remove(arguments: argparse.Namespace) -> int:
    """Exit code 1 where there is no such token."""
    found = Tokens(arguments.tokens).remove(arguments.name)
    print(
        f"removed {arguments.name}" if found else f"there is no token {spell(arguments.name)}",
        file=sys.stdout if found else sys.stderr,
    )
    return 0 if found else 1
