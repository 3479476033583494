"""`guard audit show`: the life of one call from proposal to delivery, told from its records. Only reads."""

from __future__ import annotations

import argparse
import sys

from guard.auditing.entry import Entry
from guard.auditing.timeline import Life, candidates, life
from guard.cli.logs import existing_log
from guard.cli.places import DEFAULT_STORE, UsageError
from guard.cli.show import json_text, spell
from guard.cli.tables import pairs

EXAMPLES = """examples:
  guard audit show 3f1c…                    an approval
  guard audit show conv-7/2/0               the first call of the second turn of a conversation
  guard audit show call_abc123              a call id; those that several calls have are listed
  guard audit show 118                      the call that record 118 is about
  guard audit show 118 --json               the same for a machine

What is shown is what the records hold: redacted copies and digests, never raw values. Exit code 1: nothing has this id, or several calls have it."""


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
            return _several(arguments.id, found, json=arguments.json)
        told = life(log, found[0])
    if arguments.json:
        print(json_text(told.json()))
        return 0
    for line in _lines(told):
        print(line)
    return 0


def _several(name: str, found: tuple[object, ...], *, json: bool) -> int:
    if not found:
        print(f"guard: no record is about {spell(name)}", file=sys.stderr)
        return 1
    print(f"guard: {len(found)} calls or records are called {spell(name)}; write one of these", file=sys.stderr)
    names = [one.number if isinstance(one, Entry) else getattr(one, "name", "") for one in found]
    tenants = ["" if isinstance(one, Entry) else getattr(one, "tenant", "") for one in found]
    if json:
        print(json_text({"candidates": [{"id": one, "tenant": tenant} for one, tenant in zip(names, tenants, strict=True)]}))
        return 1
    for one, tenant in zip(names, tenants, strict=True):
        print(f"{spell(one)}  --tenant {spell(tenant)}" if tenant else spell(one))
    return 1


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
    return [*lines, "", "later records of this call are not shown"] if told.cut else lines
