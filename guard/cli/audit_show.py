"""`guard audit show`: the life of one call from proposal to delivery, told from its records. Only reads."""

from __future__ import annotations

import argparse
import sys

from guard.auditing import left
from guard.auditing.entry import Entry
from guard.auditing.log import Log
from guard.auditing.timeline import Life, Place, candidates, life
from guard.cli.logs import existing_log
from guard.cli.places import DEFAULT_STORE, UsageError
from guard.cli.show import json_text, spell
from guard.cli.tables import pairs, table
from guard.core.values import JsonObject

EXAMPLES = """examples:
  guard audit show 3f1c…                    an approval
  guard audit show conv-7/2/0               the first call of the second turn of a conversation
  guard audit show call_abc123              a call id; those that several calls have are listed
  guard audit show 118                      the call that record 118 is about
  guard audit show 118 --json               the same for a machine

What is shown is what the records hold: redacted copies and digests, never raw values. Exit code 1: nothing has this id, or several calls have it."""

_LISTED = 20  # calls of one id that are listed with what became of them
_WHOLE = 23  # characters of an approval's id


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `guard audit`."""
    parser = verbs.add_parser(
        "show",
        help="the life of one call, from proposal to delivery",
        description="Show the life of one call, from proposal to delivery.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "id", metavar="ID", help="an approval, a call id, CONVERSATION/turn/position, or the number or id of a record"
    )
    parser.add_argument("--tenant", metavar="NAME", help="only calls of this tenant")
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where nothing, or more than one call, has the id."""
    if not arguments.id.strip():
        raise UsageError("name a call: its id, its approval, CONVERSATION/turn/position or a record")
    with existing_log(arguments.store) as log:
        found = candidates(log, arguments.id, arguments.tenant)
        if len(found) != 1:
            return _several(log, arguments.id, found, json=arguments.json)
        told = life(log, found[0])
    if arguments.json:
        print(json_text(told.json()))
        return 0
    for line in _lines(told):
        print(line)
    return 0


def _several(log: Log, name: str, found: tuple[Place | Entry, ...], *, json: bool) -> int:
    """What is said where the id is nobody's, or several calls have it."""
    if not found:
        whole = "; write the whole id, guard approvals list --all has it" if name.startswith("ap_") and len(name) < _WHOLE else ""
        gone = f"; {text}" if (text := left.before(log)) else ""
        print(f"guard: no record is about {spell(name)}{whole}{gone}", file=sys.stderr)
        return 1
    if json:
        print(
            json_text({"candidates": [{"id": one.number, "tenant": ""} if isinstance(one, Entry) else _id(one) for one in found]})
        )
        return 1
    what = "an approval of" if name.startswith("ap_") else "a name of"
    print(f"guard: {spell(name)} is {what} {len(found)} calls; show one of them:", file=sys.stderr)
    apart = len({one.tenant for one in found if isinstance(one, Place)}) > 1
    rows = [_candidate(log, one, apart=apart) for one in found[:_LISTED]]
    print("\n".join(table(("show", "tool", "begun", "in the end"), rows)))
    if len(found) > _LISTED:
        print(f"and {len(found) - _LISTED} more; --json has all")
    return 1


def _id(one: Place) -> JsonObject:
    return {"id": one.name, "tenant": one.tenant}


def _candidate(log: Log, one: Place | Entry, *, apart: bool) -> tuple[str, ...]:
    """A call in one line: the command that shows it, what it was, when it began and how it stands."""
    told = life(log, one)
    facts = dict(told.facts)
    end = facts.get("in the end", told.steps[-1].told if told.steps else "")
    tenant = f" --tenant {one.tenant}" if isinstance(one, Place) and apart else ""
    name = one.number if isinstance(one, Entry) else one.name
    return f"guard audit show {name}{tenant}", facts.get("tool", ""), told.steps[0].time if told.steps else "", end


def _lines(told: Life) -> list[str]:
    lines = pairs([(spell(name), spell(text)) for name, text in told.facts])
    wide = max((len(one.kind) for one in told.steps), default=0)
    for one in told.steps:
        lines += ["", f"{spell(one.time)}  {spell(one.kind):<{wide}}  {spell(one.told)}"]
        facts = [
            ("by", spell(one.who)),
            *((spell(name), spell(text)) for name, text in one.facts),
            ("record", f"{one.number}  {one.hash}"),
        ]
        lines += pairs(facts, indent="    ")
    lines += ["", "later records of this call are not shown"] if told.cut else []
    return [*lines, "", told.left] if told.left else lines
