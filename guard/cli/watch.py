"""`guard approvals watch`: follows what waits for a person, and prints each approval once, in the view that `show` and `approve` print.

Looks and prints; who decides uses `approve` or `reject`, which show the same again and ask. Used by `approvals`.
"""

from __future__ import annotations

import argparse
import sys
import time
from math import inf

from guard.cli import show, verbs
from guard.cli.beside import words_json, words_lines
from guard.cli.desk import Desk, desk
from guard.cli.show import json_text, spell
from guard.cli.views import approval_json, approval_lines
from guard.core.model import Approval
from guard.errors import StoreError

EXAMPLES = """examples:
  guard approvals watch               what waits now, and what comes, until Ctrl-C
  guard approvals watch --once        what waits now
  guard approvals watch --json        a line of JSON each, for a program that tells people

You see what you may decide about or have asked for. An edited approval is printed anew: it is another call."""
_DOWN = 2.0  # seconds between two looks at a store that is down


def add(own: verbs.Verbs) -> None:
    """Add the verb to `guard approvals`."""
    parser = own.add_parser(
        "watch",
        help="follow what waits, each printed once",
        description="Follow the calls that wait for a person's decision; each is printed once, in full.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--once", action="store_true", help="print what waits now, and end")
    parser.add_argument("--poll", type=_seconds, default=2.0, metavar="SECONDS", help="between two looks; default: %(default)s")
    verbs.places(parser, json="a line of JSON for each approval")
    parser.set_defaults(run=watch)


def _seconds(text: str) -> float:
    found = float(text)
    if not 0 < found < inf:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {spell(text)}")
    return found


def watch(arguments: argparse.Namespace) -> int:
    """Print until told to stop. Exit code 0."""
    seen: set[tuple[str, int]] = set()
    with desk(arguments) as here:
        print(
            f"guard: what waits for {show.seen(here.me.who, sys.stderr)} in the tenant {spell(here.me.tenant)}",
            file=sys.stderr,
            flush=True,
        )
        try:
            while True:
                pause = _look(here, seen, arguments)
                if arguments.once:
                    return 0
                time.sleep(pause)
        except KeyboardInterrupt:
            return 0


def _look(here: Desk, seen: set[tuple[str, int]], arguments: argparse.Namespace) -> float:
    """Print what was not printed yet; how long to wait then."""
    try:
        for one in here.list("pending"):
            if (one.id, one.revision) not in seen:
                print("\n".join(_lines(here, one, as_json=arguments.json)), flush=True)
                seen.add((one.id, one.revision))
    except StoreError as error:
        if arguments.once:
            raise
        print(f"guard: {error}; trying again", file=sys.stderr, flush=True)
        return max(_DOWN, float(arguments.poll))
    return float(arguments.poll)


def _lines(here: Desk, one: Approval, *, as_json: bool) -> list[str]:
    view = here.view(one.id)
    if as_json:
        return [json_text({**approval_json(one), "you_may_decide": here.decides(one), "words": words_json(one)})]
    how = f"guard approvals approve {one.id}  |  guard approvals reject {one.id} --reason TEXT"
    decide = f"decide: {how}" if here.decides(one) else "decide: another person must"
    return [*approval_lines(view.approval, previous=view.previous), decide, *words_lines(view.approval), ""]
