"""Serving: `guard mcp` at work: the policy, the store and the pins behind the proxy, and one server for each session of a client.

Ends with the client, the server or a signal, whichever comes first, and leaves no process behind. Used by `mcp`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import secrets
import sys
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from guard.cli.aside import run_aside
from guard.cli.keys import keys_of
from guard.cli.places import UsageError, where
from guard.cli.show import spell
from guard.compose import AsyncGuard, PolicyWarning
from guard.core.ceilings import Ceilings
from guard.core.model import Session
from guard.core.ports import Redactor
from guard.errors import GuardError, PolicyError
from guard.integrations.mcp.desk import Desk
from guard.integrations.mcp.lines import Child, own_lines, start
from guard.integrations.mcp.listing import missing
from guard.integrations.mcp.peer import Channel
from guard.integrations.mcp.relay import Relay
from guard.policy import load_policy
from guard.policy.file_names import PINS
from guard.policy.pins import Pin, read_pins
from guard.policy.problems import Problems, squash
from guard.policy.source import File
from guard.redactors import redactor
from guard.stores.payload_keys import Keyring
from guard.tools import RegisteredTool

_WITHHELD = "[withheld: the policy does not load]"
_LAST_LOOK = 0.5  # seconds for the exit code of a server whose output has ended


def say(text: str) -> None:
    """A line for the person who looks after the proxy."""
    print("\n".join(f"guard: {spell(line)}" for line in text.splitlines()), file=sys.stderr, flush=True)


def serve(arguments: argparse.Namespace, session: Session | None, ceilings: Ceilings) -> int:
    """Serve until it is over, and give the exit code; messages stay within `ceilings`. Raises UsageError, GuardError."""
    log, shown = logging.getLogger("guard"), logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter("guard: %(message)s"))
    log.addHandler(shown)  # what a tool raised, and why a changed policy was not taken
    desk = desk_of(arguments, ceilings)
    gc.collect()
    gc.freeze()  # what is there by now stays: no call waits for it to be looked through
    try:
        return run_aside(_pipes(arguments, desk, session) if not arguments.http else _web(arguments, desk, session), say)
    finally:
        gc.unfreeze()
        desk.close()
        log.removeHandler(shown)


# -- what stands behind the proxy --------------------------------------------------------------------------------------


def desk_of(arguments: argparse.Namespace, ceilings: Ceilings) -> Desk:
    """The policy folder, its store and its pins, as the proxy needs them. Nothing is opened yet."""
    folder = Path(arguments.policy).absolute()
    store = arguments.store or f"sqlite:///{folder.parent / 'guard.db'}"
    return Desk(
        server=arguments.server,
        make=lambda tools: make_guard(str(folder), store, arguments.server, tools, keys_of(arguments), arguments.batch_reads),
        pins=lambda: server_pins(folder, arguments.server),
        hide=Hiding(folder),
        say=say,
        console=arguments.console,
        options=where(folder, store),
        seconds=arguments.timeout,
        ceilings=ceilings,
    )


class Hiding:
    """What the policy of a folder hides, for what passes by before there is a guard. A policy that does not load shows nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._redactor: Redactor | None = None

    def __call__(self, key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        """See guard.core.ports.Redactor."""
        if self._redactor is None:
            try:
                self._redactor = redactor(load_policy(str(self._folder)).policy.redaction)
            except (GuardError, ImportError, ValueError):
                return _WITHHELD, ("withheld",)
        return self._redactor.detect(key, text)


def make_guard(
    folder: str,
    store: str,
    server: str,
    tools: Sequence[RegisteredTool],
    keys: Keyring | None = None,
    batch_reads: float | None = None,
) -> AsyncGuard:
    """The guard for a server's tools. A tool of the policy that the server does not offer stands there and cannot be called."""
    every = [*tools, *absent(folder, server, tools)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolicyWarning)
        guard = AsyncGuard.load(folder, tools=every, store=store, watch=True, payload_key=keys, batch_reads=batch_reads)
    for warning in caught:
        say(str(warning.message))
    return guard


def absent(folder: str, server: str, tools: Sequence[RegisteredTool]) -> list[RegisteredTool]:
    """Stand-ins for the tools of the policy that are not among these."""
    there = {squash(tool.name) for tool in tools}
    gone = [name for name in load_policy(folder).policy.tools if squash(name) not in there]
    for name in gone:
        say(f"{name}: the policy names it, and the server {server} offers no such tool")
    return [missing(name, server) for name in gone]


def server_pins(folder: Path, server: str) -> Mapping[str, Pin] | None:
    """The reviewed definitions of this server; None where there are none of any server. Raises PolicyError for a broken file."""
    try:
        data = (folder / PINS).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GuardError(f"{PINS} cannot be read: {error.strerror}") from None
    problems = Problems()
    pinned = read_pins((File(PINS, data),), problems) or {}
    if problems.errors:
        raise PolicyError(problems.errors)
    servers = {name: pins for name, pins in pinned.items() if name}
    return servers.get(server, {}) if servers else None


# -- the server --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def connected(arguments: argparse.Namespace, most: int) -> AsyncIterator[Channel]:
    """A connection to the server, for one session; none of its messages may have more than `most` bytes."""
    if arguments.url:
        from guard.integrations.mcp.web import connect  # noqa: PLC0415 - needs the extra

        token = os.environ.get(arguments.token_env) if arguments.token_env else None
        if arguments.token_env and token is None:
            raise UsageError(f"--token-env {spell(arguments.token_env)}: there is no such variable in the environment")
        async with connect(arguments.url, token, arguments.timeout, most) as channel:
            yield channel
        return
    env = {name: value for name, value in os.environ.items() if not name.startswith("GUARD_")}
    child = await start(arguments.command, env, most=most)
    try:
        yield child
    finally:
        await asyncio.shield(child.close())


async def _pipes(arguments: argparse.Namespace, desk: Desk, session: Session | None) -> int:
    if session is None:
        raise UsageError("nobody is signed in")
    most = desk.ceilings.message_bytes
    async with connected(arguments, most) as server:
        client = await own_lines(most)
        relay = Relay(client, server, desk, session, arguments.conversation or f"mcp-{secrets.token_hex(8)}")
        left = await relay.run()
        if not left:
            say(f"the server {arguments.server} ended{await _code(server)}; its session is over")
        await client.close()
    return 0 if left else 1


async def _code(server: Channel) -> str:
    code = await server.code(_LAST_LOOK) if isinstance(server, Child) else None
    return "" if code is None else f" with exit code {code}"


async def _web(arguments: argparse.Namespace, desk: Desk, session: Session | None) -> int:
    from guard.cli.mcp_web import serve_web  # noqa: PLC0415 - needs the extra

    def relay(client: Channel, server: Channel, who: Session) -> Relay:
        return Relay(client, server, desk, who, f"mcp-{secrets.token_hex(8)}")  # a client of its own each time

    most = desk.ceilings.message_bytes
    return await serve_web(arguments, session, say, lambda: connected(arguments, most), relay, most)
