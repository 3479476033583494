"""`guard serve`: the guard over HTTP, for a loop in another language. Loads policy and store, and listens until it is stopped.

Needs the extra `server`. Decides nothing itself; what is asked is answered by `guard.web`. Used by `serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import warnings

from guard.cli.keys import keys_of
from guard.cli.places import DEFAULT_STORE, RESTORED, UsageError, add_layers, existing_folder, policy_folder
from guard.cli.show import spell
from guard.compose import AsyncGuard
from guard.errors import GuardError
from guard.web.tokens import Tokens

TOKENS = "guard-tokens.json"
EXAMPLES = """examples:
  guard serve token add my-loop                                    once: prints a token, which cannot be had again
  guard serve                                                      http://127.0.0.1:8710/api/v1/…, policies/ and guard.db
  guard serve --policy policies/ --store postgresql://guard@db/guard --port 9000"""
_LOCAL = ("127.0.0.1", "::1", "localhost")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what `guard serve` takes without a verb."""
    add_layers(parser)
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--tokens", default=TOKENS, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s; beyond this machine put TLS in front")
    parser.add_argument("--port", type=int, default=8710, help="default: %(default)s; 0 takes a free one")
    parser.add_argument(
        "--report-within",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="for a report, where the tool has no timeout; default: %(default)s",
    )
    parser.set_defaults(run=serve)


def serve(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C. Exit code 0."""
    for folder in (arguments.policy, *arguments.layer):
        existing_folder(folder)
    if not Tokens(arguments.tokens).all():
        raise UsageError(f"{spell(arguments.tokens)}: nobody has a token yet; make one: guard serve token add NAME")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="guard: %(message)s")
    try:
        asyncio.run(_serve(arguments))
    except ImportError as error:
        raise UsageError(f"guard serve needs more packages: pip install 'guard-middleware[server]' ({error.name})") from None
    return 0


async def _serve(arguments: argparse.Namespace) -> None:
    from guard.web.api import Api  # noqa: PLC0415 - an extra: only here
    from guard.web.remote import Remote  # noqa: PLC0415 - as above
    from guard.web.server import listen  # noqa: PLC0415 - as above

    remote = Remote(arguments.report_within)
    names = [
        name for name, tool in policy_folder(arguments.policy, arguments.layer).policy.tools.items() if tool.endpoint is None
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        guard = AsyncGuard.load(
            [arguments.policy, *arguments.layer], tools=remote.tools(names), store=arguments.store, payload_key=keys_of(arguments)
        )
    for one in said:
        print(f"guard: {spell(str(one.message))}", file=sys.stderr)
    with guard:
        if guard.store.older:
            raise GuardError(RESTORED)
        if arguments.host not in _LOCAL:
            print("guard: what is sent is readable on the way; put TLS in front of it", file=sys.stderr)
        await listen(Api(guard, remote, Tokens(arguments.tokens)).app(), arguments.host, arguments.port, _said)
        await remote.close()


def _said(address: str) -> None:
    print(f"guard: listening on {address}", file=sys.stderr, flush=True)


def add_token(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `guard serve token …`."""
    parser = verbs.add_parser(
        "token", help="make, list and remove tokens of loops", description="Tokens of loops that ask this server."
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="make a token and print it, once")
    add.add_argument("name")
    add.add_argument("--tenant", default="", help="it may bring sessions of this tenant only")
    add.set_defaults(run=token_add)
    shown = actions.add_parser("list", help="the names; secrets are not kept")
    shown.set_defaults(run=token_list)
    gone = actions.add_parser("remove", help="let nobody in by it any more")
    gone.add_argument("name")
    gone.set_defaults(run=token_remove)
    for one in (add, shown, gone):
        one.add_argument("--tokens", default=TOKENS, metavar="FILE", help="default: %(default)s")


def token_add(arguments: argparse.Namespace) -> int:
    """Print a new token. Exit code 0."""
    print(Tokens(arguments.tokens).add(arguments.name, ("propose",), tenant=arguments.tenant))
    print("guard: keep it now, only its hash is kept here", file=sys.stderr)
    return 0


def token_list(arguments: argparse.Namespace) -> int:
    """A line each. Exit code 0."""
    for one in Tokens(arguments.tokens).all():
        print(f"{one.name}  {', '.join(one.scopes)}" + (f"  tenant {spell(one.tenant)}" if one.tenant else ""))
    return 0


def token_remove(arguments: argparse.Namespace) -> int:
    """Exit code 1 where there is no such token."""
    found = Tokens(arguments.tokens).remove(arguments.name)
    print(
        f"removed {arguments.name}" if found else f"there is no token {spell(arguments.name)}",
        file=sys.stdout if found else sys.stderr,
    )
    return 0 if found else 1
