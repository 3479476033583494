"""`guard audit report`: what happened in one month, as one page that an auditor can file, or as JSON. Only reads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from guard.auditing import moments, page
from guard.auditing.log import Log, size
from guard.auditing.month import report
from guard.cli.logs import existing_log
from guard.cli.places import DEFAULT_STORE, UsageError
from guard.cli.progress import Progress
from guard.cli.show import json_text, spell
from guard.core.log import Sealed
from guard.stores.chain import Verified, verify_chains

EXAMPLES = """examples:
  guard audit report --month 2026-11                    the page on standard output
  guard audit report --month 2026-11 -o november.html   into a file; it needs nothing else to be read or printed
  guard audit report --month 2026-11 --tenant acme      of one tenant
  guard audit report --month 2026-11 --json             the figures for a machine

The whole chain is checked first, whatever the month. Exit codes: 0 good, 1 the chain does not hold (the page says so), 2 misuse."""
_PAGE = 5000


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `guard audit`."""
    parser = verbs.add_parser(
        "report",
        help="what happened in one month, as a page to file",
        description="Report one month: refusals, approvals, doubts, spoof attempts, changes, and whether the chain holds.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--month", metavar="YYYY-MM", help="default: this month (UTC)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    parser.add_argument("--tenant", metavar="NAME", help="only what concerns this tenant")
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="JSON instead of a page")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when the chain does not hold."""
    with existing_log(arguments.store) as log:
        name = arguments.month or moments.month_of(log.now())
        try:
            moments.month(name)
        except ValueError as error:
            raise UsageError(f"--month {spell(name)}: {error}") from None
        verified = _verified(log)
        made = report(log, name, tenant=arguments.tenant, verified=verified)
    text = json_text(made) if arguments.json else page.whole(made)
    if arguments.output:
        _write(Path(arguments.output), text)
    else:
        print(text)
    return 0 if verified.ok else 1


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{spell(str(path))}: {error.strerror or error}") from error
    print(f"guard: written to {spell(str(path))}", file=sys.stderr)


def _verified(log: Log) -> Verified:
    whole, done = size(log), 0
    with Progress("records checked") as progress:

        def pages(chain: int) -> Iterator[Sealed]:
            nonlocal done
            after = 0
            while found := log.audit(chain=chain, after=after, limit=_PAGE):
                yield from found
                after = found[-1].seq
                done += len(found)
                progress.told(done, whole)

        return verify_chains({chain: pages(chain) for chain in range(log.chains)}, log.beginnings())
