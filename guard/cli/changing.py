"""`guard approvals edit | cancel | revoke`: a person changes a held call, withdraws a question, or takes back a yes.

Whether they may is judged by `guard.runner.Approvals`; here nothing is decided and nothing runs. Used by `approvals`.
"""

from __future__ import annotations

import argparse
import sys

from guard.cli import verbs
from guard.cli.beside import words_lines
from guard.cli.desk import desk
from guard.cli.new_values import changes
from guard.cli.show import json_text, spell
from guard.cli.views import approval_json, approval_lines
from guard.core.approval import Approval
from guard.core.model import Outcome
from guard.core.values import JsonObject
from guard.errors import ApprovalError

VERBS = {
    "edit": "change arguments that the policy lets an approver change; somebody else approves the changed call",
    "cancel": "withdraw a question, or a yes that was not used",
    "revoke": "take back a yes that was not used",
}


def add(own: verbs.Verbs) -> None:
    """Add the verbs to `guard approvals`."""
    verbs.add(own, VERBS, {"edit": edit, "cancel": end, "revoke": end}, _options)


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    verbs.named(parser, "the approval's id")
    if verb == "edit":
        what = "an argument (amount=40) or a place in one (/lines/0/price=12.50): a text where a text stands, else JSON; may be repeated"
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=what)
        what = "the same with a value of any kind, as JSON ('memo=null'); may be repeated"
        parser.add_argument("--set-json", action="append", default=[], metavar="NAME=JSON", help=what)
    parser.add_argument("--reason", required=True, metavar="TEXT", help="kept with it, and on record")


def edit(arguments: argparse.Namespace) -> int:
    """Make another revision; exit code 1 where the policy refuses the changed call."""
    with desk(arguments) as here:
        changed = changes(here.show(arguments.id), arguments.set, arguments.set_json)
        before = here.approvals.view(here.show(arguments.id), here.me)  # it is not shown here, so nobody has looked at it
        more = {"reason": arguments.reason, "seen": before.seen, "via": "cli", "assurance": "os-user"}
        try:
            made = here.approvals.edit(before.approval.id, editor=here.me, changes=changed, **more)
        except ApprovalError as error:
            if isinstance(error.outcome, Outcome):
                print(spell(str(error.outcome.content)), file=sys.stderr)
            raise
        after = here.approvals.view(made, here.me)
    told = f"revision {made.revision} waits as {made.id}; another person must decide about it"
    shown = [*approval_lines(after.approval, previous=after.previous), *words_lines(after.approval), told]
    return _told(arguments, made, shown)


def end(arguments: argparse.Namespace) -> int:
    """Cancel or revoke."""
    with desk(arguments) as here:
        which = here.show(arguments.id)
        do = here.approvals.cancel if arguments.verb == "cancel" else here.approvals.revoke
        after = do(which.id, by=here.me, reason=arguments.reason, via="cli", assurance="os-user")
    return _told(arguments, after, [f"{after.status} by {here.me.principal}; the program that asked is told when it goes on"])


def _told(arguments: argparse.Namespace, after: Approval, lines: list[str]) -> int:
    found: JsonObject = approval_json(after)
    print(json_text(found) if arguments.json else "\n".join(lines))
    return 0
