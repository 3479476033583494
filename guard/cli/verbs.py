"""Verbs: a command that has verbs of its own, each of which works with a policy folder and a store, and answers in text or JSON.

One form for all of them: what the command is for, one line a verb, its own options first, then where policy and store lie. Used by `approvals`, `grants` and `kill`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from guard.cli.desk import SHORTEST
from guard.cli.places import DEFAULT_STORE, add_layers
from guard.errors import ApprovalError

T = TypeVar("T")
Run: TypeAlias = Callable[[argparse.Namespace], int]
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no other name for it


def command(commands: Verbs, name: str, *, told: str, description: str, examples: str) -> Verbs:
    """Add a command; gives what its verbs are added to."""
    parser = commands.add_parser(
        name, help=told, description=description, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    return parser.add_subparsers(required=True, metavar="VERB")


def add(
    verbs: Verbs, told: Mapping[str, str], run: Mapping[str, Run], options: Callable[[argparse.ArgumentParser, str], None]
) -> None:
    """Add verbs, each with its line of `told`, its own `options` and what it runs."""
    for verb, text in told.items():
        one = verbs.add_parser(verb, help=text, description=text[0].upper() + text[1:] + ".")
        options(one, verb)
        places(one)
        one.set_defaults(run=run[verb], verb=verb)


def places(parser: argparse.ArgumentParser, *, json: str = "JSON instead of text") -> None:
    """Add where policy and store lie, and `--json`."""
    add_layers(parser)
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help=json)


def named(parser: argparse.ArgumentParser, of: str = "the id") -> None:
    """Add the id that a verb is about."""
    parser.add_argument("id", metavar="ID", help=f"{of}, as listed; its beginning is enough where no other one has it")


def one_of(found: Sequence[tuple[str, T]], name: str, *, what: str, nobody: str) -> T:
    """The one of this id, or the only one whose id begins so. Raises ApprovalError; `what` are several of them, `nobody` what is said where there is none."""
    begun = [one for key, one in found if key == name]
    begun = begun or [one for key, one in found if len(name) >= SHORTEST and key.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    raise ApprovalError("not_found", f"{len(begun)} {what} begin with {name}; give the whole id" if begun else nobody)
