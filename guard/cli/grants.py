"""`guard grants`: the standing permissions that people gave from approvals: which there are, what is left of them, and taking one back.

The person is the operating-system user, mapped by the policy folder. What may be seen and revoked is judged by `guard.runner.Grants`; a grant is given with
`guard approvals approve ID --grant …`, and nowhere else here.
"""

from __future__ import annotations

import argparse

from guard.cli import verbs
from guard.cli.desk import Desk, desk
from guard.cli.granting import grant_json
from guard.cli.show import json_text, spell
from guard.cli.tables import pairs, table
from guard.cli.views import utc
from guard.core.grants import Grant

EXAMPLES = """examples:
  guard grants list                                       live grants that you gave, may revoke or are covered by
  guard grants list --all                                 spent, expired and revoked ones as well
  guard grants show gr_2b1e0c94b7d35a6881e0               in words: whose calls, which arguments, how often, how much, until when
  guard grants revoke gr_2b1e0c --reason "left the team"   six characters do, where no other id begins with them
  guard approvals approve ap_1f2e0c --grant same_call     gives one together with a yes; it says what it allows and asks

A grant only answers the question that a person would be asked; what the policy refuses stays refused. It is dead as soon as the policy no longer
offers it (`void`), the tool is defined anew, or it is spent, expired or revoked. A call that has begun goes on."""
VERBS = {
    "list": "grants, oldest first, with what is left of them",
    "show": "one grant in words",
    "revoke": "take one back, for good",
}


def add(commands: verbs.Verbs) -> None:
    """Add the command to the parser."""
    what = "Standing permissions that people gave from approvals."
    told = "list, show or revoke standing permissions that people gave"
    verbs.add(verbs.command(commands, "grants", told=told, description=what, examples=EXAMPLES), VERBS, _RUN, _options)


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that are spent, expired, void or revoked as well")
    else:
        verbs.named(parser, "the grant's id")
    if verb == "revoke":
        parser.add_argument("--reason", metavar="TEXT", help="kept with it")


def list_(arguments: argparse.Namespace) -> int:
    """Show the grants that concern this person."""
    with desk(arguments) as here:
        found = [one for one in _seen(here) if arguments.all or here.standing(one) in ("live", "proposed")]
        rows, plain = [_row(here, one) for one in found], [grant_json(here, one) for one in found]
        who = f"{here.me.principal} in the tenant {here.me.tenant}"
    if arguments.json:
        print(json_text(plain))
    elif not found:
        print(f"no grants for {spell(who)}")
    else:
        heads = ("grant", "status", "scope", "tool", "calls of", "conversation", "used", "left", "until", "given by")
        print("\n".join(table(heads, rows)))
    return 0


def _seen(here: Desk) -> list[Grant]:
    return [one for one in here.grants.list(status=None, tenant=here.me.tenant) if here.grants.concerns(one, here.me)]


def _row(here: Desk, one: Grant) -> tuple[str, ...]:
    where = "any" if one.conversation is None else one.conversation + one.branch
    until = "-" if one.until is None else utc(one.until)
    givers = ", ".join(giver.by for giver in one.givers)
    return one.id, here.standing(one), one.scope, one.tool, one.principal, where, str(one.used), _left(one), until, givers


def _left(one: Grant) -> str:
    calls = "" if one.uses is None else f"{one.uses - one.used} calls"
    amount = "" if one.sum is None else f"{one.sum - one.summed} of {one.sum}"
    return ", ".join(filter(None, (calls, amount))) or "any number"


def show(arguments: argparse.Namespace) -> int:
    """Show one grant in words."""
    with desk(arguments) as here:
        found = _one(here, arguments.id)
        lines = [json_text(grant_json(here, found))] if arguments.json else _lines(here, found)
    print("\n".join(lines))
    return 0


def _lines(here: Desk, one: Grant) -> list[str]:
    why = f": {spell(one.reason)}" if one.reason else ""
    facts = [
        ("grant", one.id),
        ("status", here.standing(one)),
        ("made from", one.approval),
        *(("given by", f"{spell(giver.by)} ({spell(', '.join(giver.roles))}), {utc(giver.at)}{why}") for giver in one.givers),
        ("policy then", one.policy),
        ("used", f"{one.used} times" + (f", {one.summed} in all" if one.scope == "amount" else "")),
        ("left", _left(one)),
    ]
    if one.revoked_by is not None and one.revoked_at is not None:
        because = f": {spell(one.revoked_why)}" if one.revoked_why else ""
        facts.append(("revoked by", f"{spell(one.revoked_by)}, {utc(one.revoked_at)}{because}"))
    return [*pairs(facts), *here.grants.words(one)]


def revoke(arguments: argparse.Namespace) -> int:
    """Take a grant back."""
    with desk(arguments) as here:
        after = here.grants.revoke(_one(here, arguments.id).id, by=here.me, reason=arguments.reason)
        plain = grant_json(here, after)
    used = f"{after.used} call{'' if after.used == 1 else 's'} used it"
    print(json_text(plain) if arguments.json else f"revoked by {spell(here.me.principal)}; {used}, and no further call can")
    return 0


def _one(here: Desk, name: str) -> Grant:
    """Raises ApprovalError alike for one that is not there and for one that is not theirs."""
    nobody = f"there is no grant {name} that {here.me.who} may see; give the whole id"
    return verbs.one_of([(one.id, one) for one in _seen(here)], name, what="grants", nobody=nobody)


_RUN = {"list": list_, "show": show, "revoke": revoke}
