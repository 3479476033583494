"""`guard serve …`: what runs or prepares a program that serves many.

    guard serve             answer a loop in another language over HTTP
    guard serve token       make, list and remove the tokens of loops and people
    guard serve migrate     bring the database of a store to this program's version
    guard serve work        run approved calls whose own process is gone
    guard serve restored    say that a backup was put back into the store

One verb, one row of `VERBS`. Decides nothing itself.
"""

from __future__ import annotations

import argparse

from guard.cli import restored, serve_http, serve_tokens, work
from guard.cli.places import DEFAULT_STORE, UsageError
from guard.cli.show import json_text, spell
from guard.stores import migrations
from guard.stores.migrations import Versions

EXAMPLES = """examples:
  guard serve migrate --store postgresql://guard@db.example/guard            once, before the new programs start
  guard serve migrate --store postgresql://guard@db.example/guard --check    exit code 1 when a migration is due; changes nothing

Two migrations at once are as good as one. A file (sqlite:///guard.db) also migrates by itself when a program opens it. Put a password
into ~/.pgpass or PGPASSWORD rather than into the URL."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the group to the parser."""
    parser = commands.add_parser(
        "serve",
        help="answer loops over HTTP; migrate a store, run its workers, say that a backup was put back",
        description="Without a verb: answer a loop in another language over HTTP. With one: run or prepare what programs share.",
        epilog=f"{serve_http.EXAMPLES}\n\n{EXAMPLES}\n\n{work.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve_http.options(parser)
    verbs = parser.add_subparsers(metavar="VERB")
    for verb in VERBS:
        verb(verbs)


def _add_migrate(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "migrate",
        help="bring the database of a store to this program's version",
        description="Bring the database of a store to this program's version, step by step; does nothing where it is there already.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--check", action="store_true", help="only say whether a migration is due: exit code 1 when it is")
    parser.add_argument("--json", action="store_true", help="one object: from, to, due, migrated")
    parser.set_defaults(run=migrate)


VERBS = (serve_tokens.add_token, _add_migrate, work.add, restored.add)


def migrate(arguments: argparse.Namespace) -> int:
    """Exit code 1 when `--check` finds a migration due."""
    if arguments.store.partition("://")[0] not in migrations.LASTING:
        raise UsageError(f"--store {spell(arguments.store)}: {migrations.NAME_ONE}")
    found = migrations.look(arguments.store) if arguments.check else migrations.migrate(arguments.store)
    print(_json(found, arguments.check) if arguments.json else _line(found, arguments.check))
    return 1 if arguments.check and found.due else 0


def _json(found: Versions, only_looked: bool) -> str:  # noqa: FBT001 - a flag of the command line
    due = found.due and only_looked
    return json_text({"from": found.found, "to": found.needed, "due": due, "migrated": found.due and not only_looked})


def _line(found: Versions, only_looked: bool) -> str:  # noqa: FBT001 - a flag of the command line
    if not found.due:
        return f"the database is at version {found.needed} already"
    way = f"from version {found.found} to {found.needed}"
    return f"a migration is due: {way}" if only_looked else f"migrated {way}"
