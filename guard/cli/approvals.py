"""`guard approvals`: the calls that wait for a person, and that person's yes or no.

The approver is the operating-system user, mapped to a person by the policy folder. Whether a vote counts is judged by
`guard.runner.Approvals`; here nothing is decided and nothing runs. Somebody sees what they may decide about or have asked for, no more.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from guard.cli.places import DEFAULT_POLICY, DEFAULT_STORE, UnknownPersonError, existing_store, person, policy_folder
from guard.cli.tables import table
from guard.cli.views import approval_json, approval_lines, utc
from guard.core.model import Approval, Session
from guard.core.values import encode
from guard.errors import ApprovalError
from guard.redactors import REDACTOR
from guard.runner import Approvals
from guard.runner.guard import Guard

EXAMPLES = """examples:
  guard approvals list                                 what waits for a decision of yours
  guard approvals list --all                           decided ones as well
  guard approvals show ap_1f2e                         every argument in full, and where it came from
  guard approvals approve ap_1f2e
  guard approvals reject ap_1f2e --reason "wrong month"

You are the operating-system user that runs the command; `people:` in the policy folder says which person that is. A yes runs nothing: the
program that asked runs the call when it goes on."""
VERBS = {
    "list": "approvals that wait, oldest first",
    "show": "one approval in full",
    "approve": "say yes to exactly this call",
    "reject": "say no; the model may read the reason",
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "approvals",
        help="list, show, approve or reject calls that wait for a person",
        description="The calls that wait for a person's decision.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for verb, text in VERBS.items():
        one = verbs.add_parser(verb, help=text, description=text.capitalize() + ".")
        _options(one, verb)
        one.set_defaults(run=_RUN[verb])


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that are decided, spent or expired as well")
    else:
        parser.add_argument("id", metavar="ID", help="the approval's id, as listed")
    if verb in ("approve", "reject"):
        parser.add_argument("--reason", metavar="TEXT", help="kept with the decision; after a rejection the model may read it")
    parser.add_argument("--policy", default=DEFAULT_POLICY, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


@dataclass(frozen=True, slots=True)
class Desk:
    """The approvals of a store as one person may see them."""

    approvals: Approvals
    me: Session

    def sees(self, approval: Approval) -> bool:
        """Whether this person may decide about it, or asked for it."""
        own = (approval.requester, approval.tenant) == (self.me.principal, self.me.tenant)
        return own or self.approvals.entitled(approval, self.me)

    def show(self, approval_id: str) -> Approval:
        """One approval, for whoever may see it. Raises ApprovalError alike for one that is not there and for one that is not theirs."""
        with contextlib.suppress(ApprovalError):
            found = self.approvals.show(approval_id)
            if self.sees(found):
                return found
        raise ApprovalError("not_found", f"there is no approval {approval_id} that {self.me.principal} may see")


@contextlib.contextmanager
def _desk(arguments: argparse.Namespace) -> Iterator[Desk]:
    policy = policy_folder(arguments.policy).policy
    with existing_store(arguments.store) as store:
        me = person(policy, arguments.policy)
        yield Desk(Guard(policy=policy, store=store, tools={}, redactor=REDACTOR).approvals, me)


def list_(arguments: argparse.Namespace) -> int:
    """Show what waits, without arguments. Whoever the policy does not know has nothing to decide: an empty list, and how to be known."""
    try:
        return _list(arguments)
    except UnknownPersonError as error:
        print(f"guard: {error}", file=sys.stderr)
        print("[]" if arguments.json else "no approvals for somebody unknown")
        return 0


def _list(arguments: argparse.Namespace) -> int:
    with _desk(arguments) as desk:
        status = None if arguments.all else "pending"
        found = [one for one in desk.approvals.list(status=status, tenant=desk.me.tenant) if desk.sees(one)]
        who = f"{desk.me.principal} in the tenant {desk.me.tenant}"
    if arguments.json:
        print(encode([approval_json(one) for one in found]))
    elif not found:
        print(f"no approvals {'' if arguments.all else 'wait '}for {who}")
    else:
        heads = ("approval", "status", "tool", "asked for by", "conversation", "expires")
        for line in table(heads, [_row(one) for one in found]):
            print(line)
    return 0


def _row(one: Approval) -> tuple[str, ...]:
    return one.id, one.status, one.tool, one.requester, one.conversation + one.branch, utc(one.expires_at)


def show(arguments: argparse.Namespace) -> int:
    """Show one approval in full."""
    with _desk(arguments) as desk:
        found = desk.show(arguments.id)
    for line in [encode(approval_json(found))] if arguments.json else approval_lines(found):
        print(line)
    return 0


def approve(arguments: argparse.Namespace) -> int:
    """Say yes."""
    return _vote(arguments, yes=True)


def reject(arguments: argparse.Namespace) -> int:
    """Say no."""
    return _vote(arguments, yes=False)


def _vote(arguments: argparse.Namespace, *, yes: bool) -> int:
    with _desk(arguments) as desk:
        before = desk.show(arguments.id)
        if not arguments.json:
            print("\n".join(approval_lines(before)))
        vote = desk.approvals.approve if yes else desk.approvals.reject
        after = vote(arguments.id, approver=desk.me, reason=arguments.reason)
    told = (
        f"{after.status} by {desk.me.principal}; the program that asked {'runs the call' if yes else 'is told'} when it goes on"
    )
    print(encode(approval_json(after)) if arguments.json else told)
    return 0


_RUN = {"list": list_, "show": show, "approve": approve, "reject": reject}
