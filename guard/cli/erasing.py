"""`guard audit erase` and `guard audit sweep`: raw values go, by a person's word or by age; the records stay and say so. Used by `audit`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from guard.cli import whose
from guard.cli.foretelling import Wanted, foretell
from guard.cli.keys import keys_of
from guard.cli.places import DEFAULT_STORE, UsageError, existing_store
from guard.cli.show import json_text, spell
from guard.core.erasing import Erased
from guard.core.model import ConversationRef
from guard.core.names import is_reference
from guard.core.ports import Sought, Store
from guard.core.redactor import under
from guard.core.values import JsonObject
from guard.redactors import REDACTOR
from guard.runner.erasing import KEEP, Payloads

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_CALL = re.compile(r"(.+)([:/])(\d{1,9})\2(\d{1,4})")
ERASE = """examples:
  guard audit erase --conversation ticket-4711 --reason "request of 3 May"     everything that was said, sent and returned in it
  guard audit erase --call ticket-4711:3:0 --reason "wrong record"             one call: conversation, turn, position
  guard audit erase --person kim@example.com --reason "request of 3 May"       every conversation of this person, every call that names them
  guard audit erase --reference person_… --reason "request of 3 May"           every conversation of whoever has this reference in the records
  guard audit erase --person kim@example.com --reason "request" --dry-run      say what would go, and whose it is, and erase nothing

What would go, and whose it is, is said before it goes. --person is who somebody was signed in as: a text like person_… there means whoever is called so, never the person whose reference it is. What goes is the raw values, and what a standing grant holds of the call that it came from: the grant ends by that; of kills (guard kill), what a person is called and wrote, but for the reason of one in force. The records stay as they are, more say
what was erased, and the chain holds. A call that waits for a decision, is under way or unknown is left and named, with what ends it (exit code 1; a dry run says the same). Nobody can bring back what was erased; a copy of the store made before still has it."""
SWEEP = """examples:
  guard audit sweep                 what ended more than 30 days ago
  guard audit sweep --keep 7d       more than a week ago: s, m, h, d or w

A program sweeps by itself, a little whenever it opens a conversation (keep_payloads=…)."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both verbs to `guard audit`."""
    parser = _verb(verbs, "erase", "erase the raw values of a conversation, a call or a person", ERASE)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--conversation", metavar="NAME", default=None)
    what.add_argument("--call", metavar="CONVERSATION:TURN:POSITION", default=None)
    what.add_argument(
        "--person", metavar="WHO", default=None, help="as signed in, or an address, number or name in arguments and results"
    )
    what.add_argument(
        "--reference", metavar="person_…", default=None, help="a person, by the reference that stands in the records"
    )
    parser.add_argument("--tenant", help="only of this tenant; needed where several have a conversation of this name")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="kept with the record")
    parser.add_argument("--yes", action="store_true", help="do not ask at the terminal")
    parser.add_argument("--dry-run", action="store_true", help="say what would be erased, and whose it is; erase nothing")
    whose.add(parser)
    parser.set_defaults(run=erase)
    parser = _verb(verbs, "sweep", "erase the raw values of calls that ended long ago", SWEEP)
    parser.add_argument("--keep", type=_seconds, default=KEEP, metavar="TIME", help="default: 30d")
    parser.set_defaults(run=sweep)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, told: str, epilog: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(
        name,
        help=told,
        description=told.capitalize() + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    return parser


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None:
        raise argparse.ArgumentTypeError("write a number and s, m, h, d or w, such as 30d")
    return float(int(found[1]) * _UNITS[found[2]])


def sweep(arguments: argparse.Namespace) -> int:
    """Exit code 0."""
    with existing_store(arguments.store, keys_of(arguments)) as store:
        return _told(store, _payloads(store).sweep(arguments.keep), as_json=arguments.json)


def erase(arguments: argparse.Namespace) -> int:
    """Exit code 1 where something is left, nothing is about it, or the answer is no."""
    if not arguments.reason.strip():
        raise UsageError("--reason: say why")
    with existing_store(arguments.store, keys_of(arguments)) as store:
        payloads, who = _payloads(store), whose.name(store, arguments.policy)
        wanted = _wanted(store, payloads, arguments)
        theirs = payloads.theirs(arguments.person, arguments.reference, arguments.tenant)
        kills = payloads.kills(theirs) if arguments.person or arguments.reference else ()
        if not wanted and not kills:
            return _nothing(arguments)
        left = {} if arguments.yes and not arguments.dry_run else _not_over(store, payloads, wanted)
        something = bool(kills) or any(calls is None or _known(store, home, calls) for home, calls in wanted)
        if arguments.dry_run and not left and not something:
            return _nothing(arguments)
        foretell(payloads, wanted, left, kills, as_json=arguments.json and arguments.dry_run)
        if arguments.dry_run:
            return 1 if left else 0
        if not arguments.yes and not _confirmed(wanted, kills):
            print("guard: nothing was erased (confirm with --yes)", file=sys.stderr)
            return 1
        found = [payloads.erase(home, who=who, reason=arguments.reason, calls=calls) for home, calls in wanted]
        found += payloads.erase_kills(theirs, who=who, reason=arguments.reason) if kills else ()
        if not something and not any(one.anything or one.left for one in found):
            return _nothing(arguments)
        return _told(store, found, as_json=arguments.json)


def _payloads(store: Store) -> Payloads:
    return Payloads(store, under(REDACTOR, store.secret))


def _wanted(store: Store, payloads: Payloads, arguments: argparse.Namespace) -> list[Wanted]:
    """Conversations, each with the calls of it, or None for all of it. Raises UsageError where there is nothing of the kind."""
    found: list[Wanted]
    if arguments.reference is not None:
        found = [(home, None) for home in payloads.under(_reference(arguments.reference), arguments.tenant)]
    elif arguments.person is not None:
        found = _of_person(payloads, arguments)
    elif arguments.call is not None:
        match = _CALL.fullmatch(arguments.call)
        if match is None:
            raise UsageError(
                f"--call {spell(arguments.call)}: write CONVERSATION:TURN:POSITION, as `guard audit --json` shows them"
            )
        found = [(_home(store, match[1], arguments.tenant), frozenset({(int(match[3]), int(match[4]))}))]
    else:
        found = [(_home(store, arguments.conversation, arguments.tenant), None)]
    return found


def _reference(text: str) -> str:
    if not is_reference(text):
        raise UsageError(f"--reference {spell(text)}: write one as records show it, person_ and 40 letters (a name: --person)")
    return text


def _of_person(payloads: Payloads, arguments: argparse.Namespace) -> list[Wanted]:
    whole = payloads.of(arguments.person, arguments.tenant)
    some = payloads.naming(arguments.person, arguments.tenant)
    return [*((home, None) for home in whole), *((home, places) for home, places in some.items() if home not in whole)]


def _home(store: Store, name: str, tenant: str | None) -> tuple[str, str]:
    """The conversation of this name. Raises UsageError where there is none, or more than one tenant has one."""
    found = sorted(home for home in Payloads(store, REDACTOR).named(name) if tenant in (None, home[0]))
    if not found:
        raise UsageError(f"there is no conversation {spell(name)}" + (f" in the tenant {spell(tenant)}" if tenant else ""))
    if len(found) > 1:
        raise UsageError(
            f"several tenants have a conversation {spell(name)}: name one with --tenant ({', '.join(spell(one) for one, _ in found)})"
        )
    return found[0]


def _nothing(arguments: argparse.Namespace) -> int:
    print(f"guard: no record is about {spell(arguments.person or arguments.reference or arguments.call)}", file=sys.stderr)
    return 1


def _known(store: Store, home: tuple[str, str], calls: frozenset[tuple[int, int]]) -> bool:
    """Whether there is a record of one of these calls."""
    return any(
        store.search(Sought(tenant=home[0], conversation=home[1], turn=turn, position=position, limit=1))
        for turn, position in calls
    )


def _confirmed(wanted: Sequence[Wanted], kills: Sequence[str]) -> bool:
    whole, single = sum(calls is None for _, calls in wanted), sum(len(calls or ()) for _, calls in wanted)
    counted = ((whole, "whole conversation"), (single, "single call"), (len(kills), "kill"))
    parts = [f"{count} {what}{'s' * (count != 1)}" for count, what in counted if count]
    print(
        f"Everything that is over in {' and '.join(parts)} goes; the records stay, with their redacted copies. ",
        end="",
        file=sys.stderr,
    )
    print("What is erased cannot be brought back. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.isatty() and sys.stdin.readline().strip().lower() in {"y", "yes"}


def _told(store: Store, found: Sequence[Erased], *, as_json: bool) -> int:
    left = _left(store, found)
    calls, words = sum(len(one.calls) for one in found), sum(one.words for one in found)
    grants, kills = [name for one in found for name in one.grants], [name for one in found for name in one.kills]
    found = [one for one in found if not one.kills]
    if as_json:
        print(
            json_text(
                {
                    "calls": calls,
                    "words": words,
                    "conversations": [_plain(one) for one in found if one.anything],
                    "left": list(left),
                    **({"kills": kills} if kills else {}),
                }
            )
        )
    else:
        homes = sum(one.anything for one in found)
        print(
            f"erased {calls} call{'s' * (calls != 1)} and {words} message{'s' * (words != 1)} of users in {homes} conversation{'s' * (homes != 1)}"
            "; the records stay, with their redacted copies"
        )
        for name in grants:
            print(f"erased what was left of the grant {name}; it covers no call")
        for name in kills:
            print(f"erased names and reasons of the kill {name}; what it stops or stopped, and when, is left")
        for name, cure in left.items():
            print(f"left, since it is not over: {spell(name)} ({spell(cure)})")
    return 1 if left else 0


def _not_over(store: Store, payloads: Payloads, wanted: Sequence[Wanted]) -> dict[str, str]:
    """The calls that will be left, each with what ends it."""
    return _left(store, [payloads.left(home, calls) for home, calls in wanted])


def _left(store: Store, found: Sequence[Erased]) -> dict[str, str]:
    return {
        f"{one.conversation}:{turn}:{position}": _cure(store, one, (turn, position))
        for one in found
        for turn, position in one.left
    }


def _cure(store: Store, one: Erased, place: tuple[int, int]) -> str:
    """What ends a call that was left."""
    ref = ConversationRef(tenant=one.tenant, principal=one.principal, conversation=one.conversation)
    row = next((row for row in store.rows(ref, turn=place[0]) if row.key.position == place[1]), None)
    if row is None or row.status == "started":
        return "it is under way: erase it once it has ended"
    if row.status == "unknown":
        return "nobody knows how it ended: guard approvals unknown"
    asked = f"guard approvals reject {row.approval} --reason TEXT" if row.approval else "guard approvals"
    return f"it waits for a person: {asked}"


def _plain(one: Erased) -> JsonObject:
    return {
        "tenant": one.tenant,
        "conversation": one.conversation,
        "calls": [list(place) for place in one.calls],
        "approvals": list(one.approvals),
        "grants": list(one.grants),
        "words": one.words,
    }
