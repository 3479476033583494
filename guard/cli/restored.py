"""`guard serve restored`: a person's word that a backup was put back into the store.

What was approved or started when the backup was made may have run since: all of it becomes unknown, for people to settle. Decides nothing
else and runs nothing. Used by `serve`.
"""

from __future__ import annotations

import argparse
import sys

from guard.cli import whose
from guard.cli.keys import keys_of
from guard.cli.places import DEFAULT_STORE, UsageError, existing_store
from guard.cli.show import json_text
from guard.core.redactor import under
from guard.redactors import REDACTOR
from guard.runner.doubts import restored

WHAT = """Calls that were approved or started when the backup was made may have run since, and the store cannot know.
They become unknown, and no one runs them again by itself: see guard approvals unknown. Calls that were proposed after the backup was made are not
in the store at all. Programs that have the store open refuse their actions until they are started again."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `guard serve`."""
    parser = verbs.add_parser(
        "restored",
        help="say that a backup was put back into the store",
        description="Say that a backup was put back into the store.",
        epilog=WHAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--reason", metavar="TEXT", required=True, help="kept with the record: which backup, and why")
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--yes", action="store_true", help="do not ask at the terminal")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    whose.add(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Begin a new epoch of the store. Exit code 1 when the answer is no."""
    if not arguments.reason.strip():
        raise UsageError("--reason: say which backup was put back, and why")
    if not arguments.yes and not _confirmed():
        print("guard: nothing was changed", file=sys.stderr)
        return 1
    with existing_store(arguments.store, keys_of(arguments)) as store:
        redactor = under(REDACTOR, store.secret)
        count = restored(store, redactor, arguments.reason, whose.name(store, arguments.policy))
    told = f"{count} call{'' if count == 1 else 's'} in doubt by that; see guard approvals unknown"
    print(json_text({"unknown": count}) if arguments.json else told)
    return 0


def _confirmed() -> bool:
    print(f"{WHAT}\nGo on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.isatty() and sys.stdin.readline().strip().lower() in {"y", "yes"}
