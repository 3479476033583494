"""`guard approvals unknown`: calls that were started and have no outcome, and a person's word on what became of them.

Such a call may or may not have taken effect; nothing here says that it did not happen before a person has found out. Whether somebody's word
counts is judged by `guard.runner.Doubts`. Used by `approvals`.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from guard.cli import verbs
from guard.cli.desk import SHORTEST, Desk, desk
from guard.cli.places import DEFAULT_POLICY, DEFAULT_STORE, UsageError
from guard.cli.show import json_text, spell, value
from guard.cli.tables import pairs, table
from guard.cli.views import utc
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.runner.doubts import Unknown

EXAMPLES = """examples:
  guard approvals unknown                                          what is in doubt and yours to settle or asked for by you
  guard approvals unknown show un_5b0c7e1f2a9d48c36e07             arguments in full, and the key to look for where the act would show
  guard approvals unknown resolve un_5b0c7e --happened --reason "booked as 4711 on 3 March"
  guard approvals unknown resolve un_5b0c7e --did-not-happen --reason "no booking with this key at the bank"

Unknown means that nobody knows: the call may well have taken effect. Look where its effect would show before you say anything; the
program is told when it goes on, and a call that did not happen may then be proposed again. What stands under `blocks` is refused until then, for
everybody in the tenant: the policy says what, by `unknown:` of the tool."""


def add(within: verbs.Verbs) -> None:
    """Add the verb, with verbs of its own, to `guard approvals`."""
    parser = within.add_parser(
        "unknown",
        help="calls that were started and have no outcome; settle one",
        description="Calls that were started and have no outcome: they may or may not have taken effect.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _places(parser)
    parser.set_defaults(run=list_)
    own = parser.add_subparsers(metavar="VERB")
    for verb, run in (("list", list_), ("show", show), ("resolve", resolve)):
        one = own.add_parser(
            verb,
            help=_HELP[verb],
            description=_HELP[verb].capitalize() + ".",
            epilog=_EXAMPLE.get(verb),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if verb != "list":
            one.add_argument("id", metavar="ID", help="as listed; its beginning is enough where no other one has it")
        if verb == "resolve":
            word = one.add_mutually_exclusive_group(required=True)
            word.add_argument("--happened", action="store_true", help="it took effect")
            word.add_argument("--did-not-happen", action="store_true", help="it did not take effect")
            one.add_argument("--reason", metavar="TEXT", required=True, help="how it was found out; the model reads it, redacted")
        _places(one, again=True)
        one.set_defaults(run=run)


_HELP = {
    "list": "calls in doubt, oldest first",
    "show": "one call in doubt, in full",
    "resolve": "say what became of it",
}


_EXAMPLE = {
    "resolve": 'example:\n  guard approvals unknown resolve un_5b0c7e --happened --reason "booked as 4711 on 3 March"\n'
    '  guard approvals unknown resolve un_5b0c7e --did-not-happen --reason "no booking with this key at the bank"'
}


def _places(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """The options of every verb. `again`: what was given before the verb stands where it is not given behind it."""
    for name, default, what in (("--policy", DEFAULT_POLICY, "DIR"), ("--store", DEFAULT_STORE, "URL")):
        parser.add_argument(name, default=argparse.SUPPRESS if again else default, metavar=what, help=f"default: {default}")
    told = "a narrower folder on top of --policy; may be repeated, the narrowest last"
    parser.add_argument("--layer", action="append", default=argparse.SUPPRESS if again else [], metavar="DIR", help=told)
    other = argparse.SUPPRESS if again else False
    parser.add_argument("--json", action="store_true", default=other, help="JSON instead of text")


def list_(arguments: argparse.Namespace) -> int:
    """Show what is in doubt, without arguments, and whether this person may settle it."""
    with desk(arguments) as here:
        found = _seen(here)
        more = len(here.doubts.list(tenant=here.me.tenant)) - len(found)
        rows = [_row(here, one) for one in found]
        plain = [{**_json(one), "you_may_settle": here.doubts.entitled(one, here.me)} for one in found]
    if arguments.json:
        print(json_text(plain))
    elif not found:
        print(f"nothing is in doubt for {here.me.principal} in the tenant {here.me.tenant}{_others(more)}")
    else:
        for line in table(("call", "tool", "class", "started", "asked for by", "conversation", "blocks", "you"), rows):
            print(line)
    return 0


def _others(more: int) -> str:
    """That there are calls in doubt that others must settle: nobody should take an empty list for the whole of it."""
    return f"; {more} more, for others to settle (who may approve calls of the tool, or who asked for it)" if more else ""


def _seen(here: Desk) -> list[Unknown]:
    """What this person may settle or has asked for."""
    found = here.doubts.list(tenant=here.me.tenant)
    return [one for one in found if here.me.means(one.requester) or here.doubts.entitled(one, here.me)]


def _row(here: Desk, one: Unknown) -> tuple[str, ...]:
    you = "may settle it" if here.doubts.entitled(one, here.me) else "yours, another person must settle it"
    return one.id, one.tool, one.effect, utc(one.since), one.requester, one.conversation + one.branch, one.blocks, you


def _json(one: Unknown) -> JsonObject:
    return {**asdict(one), "since": utc(one.since)}


def _one(here: Desk, name: str) -> Unknown:
    """The call of this id, or of an id that begins so, for whoever may see it."""
    seen = [(one.id, one) for one in _seen(here)]
    known = len(name) < SHORTEST or any(key.startswith(name) for key, _ in seen)
    if not known and (told := here.doubts.settled(name, here.me)):
        raise ApprovalError("already_decided", f"{name} is not in doubt any more: {told}")
    nobody = f"there is no call {name} in doubt that {here.me.who} may see; give the whole id"
    return verbs.one_of(seen, name, what="calls in doubt", nobody=nobody)


def show(arguments: argparse.Namespace) -> int:
    """Show one call in doubt in full."""
    with desk(arguments) as here:
        found = _one(here, arguments.id)
    for line in [json_text(_json(found))] if arguments.json else _lines(found):
        print(line)
    return 0


def _lines(one: Unknown) -> list[str]:
    facts = [
        ("call", one.id),
        ("tool", f"{spell(one.tool)} ({one.effect})"),
        ("asked for by", f"{spell(one.requester)} in {spell(one.tenant)}"),
        ("where", f"{spell(one.conversation + one.branch)}, turn {one.turn}, position {one.position}"),
        ("started", f"{utc(one.since)}, attempt {one.attempt}"),
        ("approval", one.approval or "none was needed"),
        ("key", one.key or "none"),
        ("blocks", spell(one.blocks)),
    ]
    arguments = [f"  {spell(name)}: {value(given)}" for name, given in one.arguments.items()] or ["  none"]
    started = "It was started and has no outcome" if one.attempt else "It was approved when the backup was made that was put back"
    return [*pairs(facts), "arguments", *arguments, f"{started}: it may or may not have taken effect."]


def resolve(arguments: argparse.Namespace) -> int:
    """Settle one call in doubt."""
    if not arguments.reason.strip():
        raise UsageError("--reason: say how it was found out")
    with desk(arguments) as here:
        before = _one(here, arguments.id)
        after = here.doubts.resolve(before, happened=arguments.happened, approver=here.me, reason=arguments.reason)
    word = "it took effect" if arguments.happened else "it did not take effect"
    told = f"{after.id}: {word}, says {here.me.principal}; the program is told when it goes on"
    print(json_text({**_json(after), "happened": arguments.happened}) if arguments.json else told)
    return 0
