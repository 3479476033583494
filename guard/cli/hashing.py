"""`guard audit hash`: the tag under which records hold a value of a person, so that they can be found without storing it. Used by `audit`."""

from __future__ import annotations

import argparse

from guard.cli.places import DEFAULT_STORE, existing_store
from guard.core.actors import address_tag
from guard.core.tags import tag, tenant_key

EXAMPLES = """examples:
  guard audit hash kim@example.com                        the tag, as it stands under args.hmac and result.hmac
  guard audit hash "+49 170 1234567" --tenant acme        spelled with or without blanks and signs: the same tag
  guard audit hash --field addr 192.0.2.7                 as it stands under actor.addr: from where somebody voted
  guard audit --json | grep "$(guard audit hash kim@example.com)"

A tag is made with a key of the store and the tenant: nobody can make or check one without the store."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `guard audit`."""
    parser = verbs.add_parser(
        "hash",
        help="the tag that stands in records for a value of a person",
        description="Print the tag that stands in records in the place of an address, a number or a name.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("value", metavar="VALUE")
    parser.add_argument(
        "--field",
        metavar="KIND",
        help="what it is: `addr` is the network address that somebody acted from; all others have one spelling",
    )
    parser.add_argument("--tenant", default="default", help="default: %(default)s")
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0."""
    with existing_store(arguments.store, locked=True) as store:
        key = tenant_key(store.secret, arguments.tenant)
        print(address_tag(key, arguments.value) if arguments.field == "addr" else tag(key, arguments.value))
    return 0
