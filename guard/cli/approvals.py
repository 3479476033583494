"""`guard approvals`: the calls that wait for a person, and that person's yes or no.

The approver is the operating-system user, mapped to a person by the policy folder. Whether a vote counts is judged by
`guard.runner.Approvals`; here nothing is decided and nothing runs. Who may see what is said by `desk`.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from guard.cli import changing, granting, unknown, verbs, watch
from guard.cli.beside import ran_json, ran_lines, words_json, words_lines
from guard.cli.desk import Desk, desk
from guard.cli.places import UsageError
from guard.cli.show import json_text, seen, spell, value
from guard.cli.tables import table
from guard.cli.views import approval_json, approval_lines, told_yes, utc
from guard.core.gone import emptied
from guard.core.grants import Grant
from guard.core.model import Approval
from guard.core.names import distinct
from guard.core.presented import masked
from guard.core.values import JsonObject

EXAMPLES = """examples:
  guard approvals list                                 what waits for a decision of yours
  guard approvals list --all                           decided ones as well
  guard approvals show ap_1f2e0c94b7d35a6881e0         every argument in full, and where it came from
  guard approvals approve ap_1f2e0c94b7d35a6881e0      shows it and asks, at a terminal
  guard approvals approve ap_1f2e0c --yes              without asking, or without a terminal; six characters of the id do, where no other begins so
  guard approvals approve ap_1f2e0c --grant amount --at-most 300 --until 2026-12-04   and further calls, as the words say
  guard approvals reject ap_1f2e0c94b7d35a6881e0 --reason "wrong month" --note "third time this week"
  guard approvals edit ap_1f2e0c --set amount=40 --reason "the rest is private"     another person approves the changed call
  guard approvals cancel ap_1f2e0c --reason "no longer needed"                      revoke takes back a yes that was not used

You are the operating-system user that runs the command; `people:` in the policy folder says which person that is. A yes runs nothing: the
program that asked runs the call when it goes on, or a worker does."""
VERBS = {
    "list": "approvals that wait, oldest first",
    "show": "one approval in full",
    "approve": "say yes to exactly this call",
    "reject": "say no; the model may read the reason",
}
MAY = "may decide"
_WIDE = 60  # characters of a line about a call
OWN = "yours, another person must decide"


def add(commands: verbs.Verbs) -> None:
    """Add the command to the parser."""
    what = "The calls that wait for a person's decision."
    told = "list, show, approve or reject calls that wait for a person"
    own = verbs.command(commands, "approvals", told=told, description=what, examples=EXAMPLES)
    verbs.add(own, VERBS, _RUN, _options)
    changing.add(own)
    watch.add(own)
    unknown.add(own)


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that are decided, spent or expired as well")
    else:
        verbs.named(parser, "the approval's id")
    if verb == "approve":
        parser.add_argument("--yes", action="store_true", help="do not ask at the terminal; needed where there is none")
        granting.options(parser)
    if verb in ("approve", "reject"):
        parser.add_argument(
            "--reason", metavar="TEXT", help="kept with the decision; a rejection needs one, and the model may read it"
        )
    if verb == "reject":
        parser.add_argument("--yes", action="store_true", help="changes nothing: with --reason a rejection does not ask")
        parser.add_argument("--note", metavar="TEXT", help="kept with the decision; the model never reads it")


def list_(arguments: argparse.Namespace) -> int:
    """Show what waits, each in a line, and what this person can do about it."""
    with desk(arguments) as here:
        found = here.list(None if arguments.all else "pending")
        who = f"{here.me.principal} in the tenant {here.me.tenant}"
        rows = [_row(here, one) for one in found]
        plain = [_json(here, one) for one in found]
    if arguments.json:
        print(json_text(plain))
    elif not found:
        print(f"no approvals {'' if arguments.all else 'wait '}for {who}")
    else:
        heads = ("approval", "status", "tool", "what", "asked for by", "conversation", "yes", "expires", "you")
        for line in table(heads, rows):
            print(line)
    return 0


def _row(here: Desk, one: Approval) -> tuple[str, ...]:
    you = MAY if here.decides(one) else OWN if one.status == "pending" else ""
    yes = f"{distinct(vote.by for vote in one.yes)} of {one.need}"
    return one.id, one.status, one.tool, _what(one), one.requester, one.conversation + one.branch, yes, utc(one.ends_at), you


def _what(one: Approval) -> str:
    """The operator's line about the call, or its arguments; cut, for all of it is shown before anybody decides."""
    if emptied(one):
        return "erased; `show` says when and by whom"
    known = masked(one)
    told = known.effect or ", ".join(f"{name} {value(given)}" for name, given in known.arguments.items())
    text = spell(told)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"


def _json(here: Desk, one: Approval) -> JsonObject:
    return {**approval_json(one), "yours": here.owns(one), "you_may_decide": here.decides(one)}


def show(arguments: argparse.Namespace) -> int:
    """Show one approval in full."""
    with desk(arguments) as here:
        seen = here.view(arguments.id)
    plain = {
        **approval_json(seen.approval),
        "document": seen.document,
        "presented": seen.presented,
        "needs": seen.needs,
        "erased": seen.gone or None,
    }
    plain |= {"ran": ran_json(seen.ran), "words": words_json(seen.approval)}
    told = [
        *approval_lines(seen.approval, previous=seen.previous, gone=seen.gone),
        *ran_lines(seen.ran),
        *words_lines(seen.approval),
    ]
    print(json_text(plain) if arguments.json else "\n".join(told))
    return 0


def approve(arguments: argparse.Namespace) -> int:
    """Say yes, with --yes or after it was asked for at a terminal. Exit code 1 when the answer is no, or there is nobody to ask."""
    return _vote(arguments, yes=True, ask=not arguments.yes)


def reject(arguments: argparse.Namespace) -> int:
    """Say no, with a reason: that of --reason, or what is typed at a terminal. Raises UsageError where there is neither."""
    if not (arguments.reason or "").strip() and not sys.stdin.isatty():
        raise UsageError('a rejection needs its reason, which the model may read: --reason "wrong month"')
    return _vote(arguments, yes=False, ask=False)


def _vote(arguments: argparse.Namespace, *, yes: bool, ask: bool) -> int:
    with desk(arguments) as here:
        shown = here.view(arguments.id)
        grant = granting.drafted(here, arguments, shown.approval) if yes else None
        offers = granting.lines(here, shown.approval, grant) if yes else []
        lines = [*approval_lines(shown.approval, previous=shown.previous), *offers, *words_lines(shown.approval)]
        print("\n".join(lines), file=sys.stderr if arguments.json else sys.stdout, flush=True)  # the vote says that it was shown
        if ask and not _confirmed(here, grant):
            how = "" if sys.stdin.isatty() else " (nobody is at a terminal: confirm with --yes)"
            return _undecided(how)
        reason = arguments.reason if yes else arguments.reason or _why(here)
        if not yes and not reason:
            return _undecided(" (a rejection needs its reason)")
        more: dict[str, Any] = {"approver": here.me, "reason": reason, "seen": shown.seen, "via": "cli", "assurance": "os-user"}
        vote = here.approvals.approve if yes else partial(here.approvals.reject, note=arguments.note)
        after = vote(shown.approval.id, **more)
        kept = None if grant is None else granting.given(here, arguments, after, grant)
        further = {} if kept is None else {"grant": granting.grant_json(here, kept)}
    lines = [_told(after, here.me.principal, yes=yes), *([] if kept is None else [granting.outcome(kept)])]
    print(json_text({**approval_json(after), **further}) if arguments.json else "\n".join(lines))
    return 0


def _undecided(how: str) -> int:
    print(f"guard: nothing was decided{how}", file=sys.stderr)
    return 1


def _why(here: Desk) -> str:
    """What the person at the terminal says why; nothing is no rejection."""
    print(
        f"Reject as {seen(here.me.who, sys.stderr)}. Why? (the model may read it; empty: do not decide) ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip()


def _told(after: Approval, who: str, *, yes: bool) -> str:
    if after.status == "pending":
        return f"{who} says yes: {told_yes(after)}; another person must say yes before it may run"
    return f"{after.status} by {who}; the program that asked {'runs the call' if yes else 'is told'} when it goes on"


def _confirmed(here: Desk, grant: Grant | None) -> bool:
    """Whether the person at the terminal says yes; anything else is no, and so is nobody."""
    if not sys.stdin.isatty():
        return False
    print(
        f"Approve{' and give this grant' if grant else ''} as {seen(here.me.who, sys.stderr)}? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


_RUN = {"list": list_, "show": show, "approve": approve, "reject": reject}
