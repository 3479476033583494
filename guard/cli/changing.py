"""`guard approvals edit | cancel | revoke`: a person changes a held call, withdraws a question, or takes back a yes.

Whether they may is judged by `guard.runner.Approvals`; here nothing is decided and nothing runs. Used by `approvals`.
"""

from __future__ import annotations

import argparse
import sys

from guard.cli.desk import desk
from guard.cli.places import DEFAULT_STORE, UsageError, add_layers
from guard.cli.show import json_text, spell
from guard.cli.views import approval_json, approval_lines
from guard.core.approval import Approval
from guard.core.model import Outcome
from guard.core.values import Json, JsonObject, read_json
from guard.errors import ApprovalError

VERBS = {
    "edit": "change arguments that the policy lets an approver change; somebody else approves the changed call",
    "cancel": "withdraw a question, or a yes that was not used",
    "revoke": "take back a yes that was not used",
}


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verbs to `guard approvals`."""
    for verb, text in VERBS.items():
        one = verbs.add_parser(verb, help=text, description=text.capitalize() + ".")
        one.add_argument(
            "id", metavar="ID", help="the approval's id, as listed; its beginning is enough where no other one has it"
        )
        if verb == "edit":
            what = "an argument (amount=40) or a place in one (/lines/0/price=12.50); JSON, or else a text; may be repeated"
            one.add_argument("--set", action="append", required=True, metavar="NAME=VALUE", help=what)
        one.add_argument("--reason", required=True, metavar="TEXT", help="kept with it, and on record")
        add_layers(one)
        one.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
        one.add_argument("--json", action="store_true", help="JSON instead of text")
        one.set_defaults(run=edit if verb == "edit" else end, verb=verb)


def edit(arguments: argparse.Namespace) -> int:
    """Make another revision; exit code 1 where the policy refuses the changed call."""
    changes = dict(map(_change, arguments.set))
    with desk(arguments) as here:
        before = here.view(arguments.id)
        more = {"reason": arguments.reason, "seen": before.seen, "via": "cli", "assurance": "os-user"}
        try:
            made = here.approvals.edit(before.approval.id, editor=here.me, changes=changes, **more)
        except ApprovalError as error:
            if isinstance(error.outcome, Outcome):
                print(spell(str(error.outcome.content)), file=sys.stderr)
            raise
        after = here.approvals.view(made, here.me)
    told = f"revision {made.revision} waits as {made.id}; another person must decide about it"
    return _told(arguments, made, [*approval_lines(after.approval, previous=after.previous), told])


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


def _change(text: str) -> tuple[str, Json]:
    """A place and its new value. Raises UsageError."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip("/"):
        raise UsageError(f"--set {spell(text)}: write NAME=VALUE, such as amount=40")
    try:
        given: Json = read_json(value)
    except ValueError:
        given = value
    return (name if name.startswith("/") else "/" + name.replace("~", "~0")), given
