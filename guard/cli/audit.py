"""`guard audit`: the records of a store, and whether their chain holds. Only reads."""

from __future__ import annotations

import argparse

from guard.cli import (
    audit_checkpoint,
    audit_filters,
    audit_query,
    audit_report,
    audit_show,
    audit_verify,
    erasing,
    hashing,
    keys,
    segments,
)
from guard.cli.logs import existing_log
from guard.cli.places import DEFAULT_STORE, UsageError
from guard.cli.records import verdict_line
from guard.cli.show import json_text
from guard.stores.chain import Verified, verify_chains

EXAMPLES = """examples:
  guard audit                                      the newest records of guard.db, and the check of the chain
  guard audit --refused --since 7d                 what was refused in the last week, and why
  guard audit --tool createExpenseSupplement       what happened to one tool
  guard audit --person ann@example.com             what concerns one person; the address itself is in no record
  guard audit --approved-by E20417 --since 2026-11   what one person approved since November
  guard audit --month 2026-11 --spoof               what was spoofed in one month; guard audit report has the month on a page
  guard audit --reason not_grounded --csv > x.csv  for a spreadsheet; nothing in it is computed
  guard audit --json > audit.jsonl                 every record as a line of JSON; what is said besides goes to stderr
  guard audit --held --follow                      the newest ones, and each one as it comes, until Ctrl-C
  guard audit --verify                             the check alone; guard audit verify --help says what it proves
  guard audit sweep                                raw values that are older than they are kept go; records stay

The records are opened for reading only, also beside programs that write. A small log is checked on the way, whatever is shown; the check
cannot notice that the newest records were cut off. Exit codes: 0 good, 1 the chain does not hold, 2 misuse."""

VERBS = (
    audit_show.add,
    audit_report.add,
    audit_verify.add_verify,
    audit_verify.add_verifier,
    audit_checkpoint.add_key,
    audit_checkpoint.add_checkpoint,
    segments.add_close,
    segments.add_drop,
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
    form = parser.add_argument_group("how they are shown")
    form.add_argument("--json", action="store_true", help="one line of JSON for each record: its body with prev and hash")
    form.add_argument("--csv", action="store_true", help="rows for a spreadsheet")
    form.add_argument(
        "--limit", type=_count, metavar="N", help=f"only the newest N; a table shows {audit_query.SHOWN} unless told otherwise"
    )
    form.add_argument("--follow", action="store_true", help="go on with each record as it is written, until Ctrl-C")
    form.add_argument("--verify", action="store_true", help="check the chain and show no records")
    audit_filters.add(parser)
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
    if arguments.json and arguments.csv:
        raise UsageError("--json and --csv: write one")
    with existing_log(arguments.store) as log:
        if arguments.verify:
            verified = verify_chains({chain: log.audit(chain=chain) for chain in range(log.chains)}, log.beginnings())
            print(_verdict_json(verified) if arguments.json else verdict_line(verified))
            return 0 if verified.ok else 1
        return audit_query.follow(log, arguments) if arguments.follow else audit_query.show(log, arguments)


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
