"""`guard serve`: the guard over HTTP, for a loop in another language. Loads policy and store, and listens until it is stopped.

Needs the extra `server`. Decides nothing itself; what is asked is answered by `guard.web`. Used by `serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING

from guard.cli.keys import keys_of
from guard.cli.places import DEFAULT_STORE, RESTORED, UsageError, add_layers, existing_file, existing_folder, policy_folder
from guard.cli.show import spell
from guard.cli.sinks import beside
from guard.compose import AsyncGuard
from guard.errors import GuardError
from guard.extras import install
from guard.runner.overdue import looking
from guard.web.tokens import Tokens

if TYPE_CHECKING:
    from guard.web.server import UnboundError
    from guard.web.settings import Settings

TOKENS = "guard-tokens.json"
EXAMPLES = """examples:
  guard serve token add my-loop                                    once: prints a token, which cannot be had again
  guard serve token add ann --person s_9 --role support --scope vote --expires 30d     a person, who signs in with it at /sign-in
  guard serve                                                      http://127.0.0.1:8710/api/v1/…, policies/ and guard.db
  guard serve --policy policies/ --store postgresql://guard@db/guard --port 9000
  guard serve --console console.yaml                               behind a proxy, or with an OpenID provider"""
_LAST_PORT = 65_535
_LOCAL = ("127.0.0.1", "::1", "localhost")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what `guard serve` takes without a verb."""
    add_layers(parser)
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
    parser.add_argument("--tokens", default=TOKENS, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--console", metavar="FILE", help="public URL, proxy, OpenID provider and time-outs of the console")
    parser.add_argument("--sinks", metavar="FILE", help="send the audit on as this file says, beside serving")
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s; beyond this machine put TLS in front")
    parser.add_argument("--port", type=_port, default=8710, help="default: %(default)s; 0 takes a free one")
    parser.add_argument(
        "--report-within",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="for a report, where the tool has no timeout; default: %(default)s",
    )
    parser.set_defaults(run=serve)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text[:9]) <= _LAST_PORT:
        raise argparse.ArgumentTypeError(f"not a port: {spell(text)} (write a number from 1 to {_LAST_PORT}; 0 takes a free one)")
    return int(text)


def serve(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C. Exit code 0."""
    for folder in (arguments.policy, *arguments.layer):
        existing_folder(folder)
    if not arguments.console and not Tokens(arguments.tokens).all():
        raise UsageError(f"{spell(arguments.tokens)}: nobody has a token yet; make one: guard serve token add NAME")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="guard: %(message)s")
    try:
        asyncio.run(_serve(arguments))
    except ImportError as error:
        raise UsageError(f"guard serve needs more packages: {install('server')} ({error.name})") from None
    return 0


async def _serve(arguments: argparse.Namespace) -> None:
    from guard.web.app import application  # noqa: PLC0415 - an extra: only here
    from guard.web.remote import Remote  # noqa: PLC0415 - as above
    from guard.web.server import UnboundError, listen  # noqa: PLC0415 - as above
    from guard.web.settings_file import read_settings  # noqa: PLC0415 - as above

    settings = read_settings(existing_file(arguments.console, "--console"), os.environ) if arguments.console else None
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
    with guard, beside(arguments.sinks, guard.store) as keys:
        if guard.store.older:
            raise GuardError(RESTORED)
        if arguments.host not in _LOCAL:
            print("guard: what is sent is readable on the way; put TLS in front of it", file=sys.stderr)
        tokens = Tokens(arguments.tokens)
        app = application(guard, remote, tokens, clock=time.time, settings=settings, link_keys=keys)
        async with looking(guard.store):
            try:
                await listen(app, arguments.host, arguments.port, lambda address: _said(address, settings))
            except UnboundError as error:
                raise _unbound(arguments, error) from None
        await remote.close()


def _unbound(arguments: argparse.Namespace, error: UnboundError) -> UsageError:
    """What is told of an address at which nothing can listen."""
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {arguments.port} of {spell(arguments.host)} is in use: choose another one with --port; 0 takes a free one"
        )
    return UsageError(f"cannot listen on --host {spell(arguments.host)} --port {arguments.port}: {spell(str(error))}")


def _said(address: str, settings: Settings | None) -> None:
    print(f"guard: listening on {address}", file=sys.stderr, flush=True)
    public = settings.public_url if settings else ""
    print(f"guard: people sign in at {public or address.removesuffix('/api/v1')}/sign-in", file=sys.stderr, flush=True)
