"""`guard audit`: the records of a store, and whether their chain holds. Only reads."""

from __future__ import annotations

import argparse
import sys

from guard.cli import audit_checkpoint, audit_verify, erasing, hashing, keys
from guard.cli.places import DEFAULT_STORE, existing_store
from guard.cli.records import Entry, entries, json_line, table_lines, verdict_line
from guard.cli.show import json_text
from guard.stores.chain import Verified

EXAMPLES = """examples:
  guard audit                                    every record of guard.db, and the check of the chain
  guard audit --tool createExpenseSupplement     what happened to one tool
  guard audit --kind call.decided --limit 20     the newest 20 decisions
  guard audit --shadow                           decisions in which a shadow rule would have refused
  guard audit --verify                           the check alone
  guard audit hash kim@example.com               the tag that stands in records for a value of a person
  guard audit erase --help                       raw values of a conversation, a call or a person go; records stay
  guard audit --json > audit.jsonl               one line of JSON for each record; the check's answer goes to stderr

The check always covers the whole chain, whatever the table shows. It cannot notice that the newest records
were cut off, or that the chain was written anew: for that see guard audit verify --help and guard audit checkpoint --help."""


VERBS = (
    audit_verify.add_verify,
    audit_verify.add_verifier,
    audit_checkpoint.add_key,
    audit_checkpoint.add_checkpoint,
    hashing.add,
    erasing.add,
    keys.add,
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "audit",
        help="show the audit records and check their chain",
        description="Show the audit records of a store and check that none was changed, added or taken out.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each record: its body with prev and hash")
    parser.add_argument("--verify", action="store_true", help="check the chain and show no records")
    parser.add_argument("--kind", help="only records of this kind, such as call.decided")
    parser.add_argument("--tool", help="only records about this tool")
    parser.add_argument("--shadow", action="store_true", help="only decisions that a shadow rule would have refused")
    parser.add_argument("--conversation", help="only records of this conversation")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the newest N of them")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(metavar="VERB")
    for verb in VERBS:
        verb(verbs)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when the chain does not hold."""
    with existing_store(arguments.store, locked=True) as store:
        found, verified = entries(store)
    if arguments.verify:
        print(_verdict_json(verified) if arguments.json else verdict_line(verified))
        return 0 if verified.ok else 1
    chosen = [entry for entry in found if _wanted(entry, arguments)]
    chosen = chosen[-arguments.limit :] if arguments.limit else chosen
    for line in map(json_line, chosen) if arguments.json else table_lines(chosen):
        print(line)
    print(verdict_line(verified), file=sys.stderr if arguments.json or not verified.ok else sys.stdout)
    return 0 if verified.ok else 1


def _wanted(entry: Entry, arguments: argparse.Namespace) -> bool:
    asked = {("kind",): arguments.kind, ("tool", "name"): arguments.tool, ("conversation",): arguments.conversation}
    if arguments.shadow and not entry.at("decision", "shadow"):
        return False
    return all(value is None or entry.at(*path) == value for path, value in asked.items())


def _verdict_json(verified: Verified) -> str:
    return json_text(
        {
            "records": verified.records,
            "verified": verified.ok,
            "first_bad_seq": verified.first_bad_seq,
            "first_bad_chain": verified.chain,
            "why": verified.why or None,
        }
    )
