"""`guard check --mcp`: a policy folder with the tools of a running MCP server, and the server's definitions against their pins, or pinned anew.

The server is started or asked, listed and left; no tool is called. Used by `check`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from guard.cli.mcp_serving import server_pins
from guard.cli.pinning import write_server_pins
from guard.cli.places import UsageError
from guard.compose import declared
from guard.core.values import Json
from guard.errors import GuardError, Problem
from guard.integrations.mcp.calls import ask_server
from guard.integrations.mcp.dial import dialled, list_all
from guard.integrations.mcp.lines import start
from guard.integrations.mcp.listing import Listing, judge, missing, registered
from guard.integrations.mcp.messages import RemoteError
from guard.policy import Survey, survey_policy
from guard.policy.file_names import PINS
from guard.policy.pins import Drift, Pin, compare
from guard.policy.problems import Problems, squash

_CURE = 'review the definition, then guard check --pin --mcp "…"'


def server_survey(arguments: argparse.Namespace, folders: Sequence[str]) -> tuple[Survey, tuple[str, ...], Problems]:
    """The folders with the server's tools, what was pinned, and what differs from the pins. Raises UsageError, GuardError."""
    listing = judge(asyncio.run(_asked(arguments.mcp)), arguments.server, None)
    drift = Problems()
    for name, why in listing.refused.items():
        drift.errors.append(Problem(file=arguments.server, message=f"the server's tool {name} is refused: {why}"))
    pinned: tuple[str, ...] = ()
    if arguments.pin:
        pinned = write_server_pins(folders[-1], arguments.server, listing.pins)
    _against(server_pins(Path(folders[-1]), arguments.server), listing.pins, drift)
    return _survey(folders, arguments.server, listing, drift), pinned, drift


def _survey(folders: Sequence[str], server: str, listing: Listing, drift: Problems) -> Survey:
    tools = [registered(name, one, ask_server, server=server) for name, one in listing.accepted.items()]
    there = {squash(tool.name) for tool in tools}
    gone = [name for name in survey_policy(folders).entries if squash(name) not in there]
    for name in gone:
        drift.warnings.append(Problem(file=server, message=f"the policy names {name}, and the server offers no such tool"))
    every = {tool.name: tool for tool in [*tools, *(missing(name, server) for name in gone)]}
    return survey_policy(folders, declared(every), checks=None, probes=None)


def _against(pinned: Mapping[str, Pin] | None, now: Mapping[str, Pin], drift: Problems) -> None:
    for one in compare(pinned, now) if pinned is not None else ():
        drift.errors += _problem(one)
    if pinned is None:
        message = "no definition of this server is pinned: nobody has reviewed any"
        drift.warnings.append(Problem(file=PINS, message=message, cure=_CURE, code="pin-new"))


def _problem(drift: Drift) -> Iterator[Problem]:
    if drift.kind == "changed":
        message = f"{drift.name}: review it first: its definition changed since it was pinned, so it is refused"
        yield Problem(file=PINS, message=message, cure='then guard check --pin --mcp "…"', code="pin-changed")
    elif drift.kind == "new":
        yield Problem(file=PINS, message=f"{drift.name}: it is not pinned, so it is refused", cure=_CURE, code="pin-new")


async def _asked(given: str) -> list[Json]:
    """Every tool of the server. Raises UsageError, GuardError."""
    try:
        if given.startswith(("http://", "https://")):
            from guard.integrations.mcp.web import connect  # noqa: PLC0415 - needs the extra

            async with connect(given, None, 60.0) as remote, dialled(remote) as (server, _):
                return await list_all(server)
        command = shlex.split(given)
        if not command:
            raise UsageError("--mcp: name the command that starts the server, in quotes, or its URL")
        child = await start(command, {name: value for name, value in os.environ.items() if not name.startswith("GUARD_")})
        try:
            async with dialled(child) as (server, _):
                return await list_all(server)
        finally:
            await child.close()
    except (RemoteError, OSError) as error:
        raise GuardError(f"the MCP server cannot be asked for its tools: {error or type(error).__name__}") from None
