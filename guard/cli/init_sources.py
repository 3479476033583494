"""The places where `guard init` looks for tools: a file, the standard input, a URL, a Python module, a running MCP server.

One row each in `_PLACES`; what is found is handed on as it is, and judged nowhere here. Used by `init`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from guard.cli.fetching import fetch, public
from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.cli.work import named
from guard.compose import declared
from guard.errors import GuardError
from guard.integrations.mcp_tools import Server, list_tools
from guard.policy import Declared
from guard.review.init import MAX_BYTES, Found, LeftOut, Sources, found_in, read_text

_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PROGRAM = "tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was found, where it is from (for the file's head; never a secret), and the functions behind it, if there are any."""

    sources: Sources
    origin: str
    declared: Mapping[str, Declared] | None = None
    left_out: tuple[LeftOut, ...] = field(default=())


def gather(arguments: argparse.Namespace) -> Gathered:
    """The tools of the source that the command line names. Raises UsageError, GuardError."""
    words: list[str] = arguments.source
    if arguments.mcp:
        return _server(arguments, words)
    if arguments.env or arguments.token_env:
        raise UsageError("--env and --token-env are for --mcp")
    if len(words) != 1:
        raise UsageError("name one source: a file, -, a URL or MODULE:NAME (a command to start an MCP server goes with --mcp --)")
    return next(read for fits, read in _PLACES if fits(words[0]))(words[0])


def _is_url(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


def _is_module(text: str) -> bool:
    return _MODULE.fullmatch(text) is not None and not Path(text).exists()


def _stdin(_: str) -> Gathered:
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    return Gathered(sources=found_in(read_text(data, "standard input"), "standard input"), origin="the standard input")


def _url(text: str) -> Gathered:
    shown = public(text)
    return Gathered(sources=found_in(read_text(fetch(text, MAX_BYTES), spell(shown)), spell(shown)), origin=shown)


def _file(text: str) -> Gathered:
    shown = spell(text)
    if text.endswith(".py"):
        raise UsageError(
            f"{shown}: of a program its tools are named: guard init {spell(Path(text).stem)}:tools (the module is imported)"
        )
    if not Path(text).exists():
        raise UsageError(f"{shown}: there is no such file (a URL begins with http, Python functions are named as MODULE:NAME)")
    try:
        with Path(text).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from error
    return Gathered(sources=found_in(read_text(data, shown), shown), origin=Path(text).name)


def _module(text: str) -> Gathered:
    from guard.tools import registry  # noqa: PLC0415 - only where functions are named

    found = named(text, "init")
    if isinstance(found, list) and found and all(isinstance(one, dict) and not any(map(callable, one.values())) for one in found):
        raise UsageError(
            f"init {spell(text)}: this describes tools and holds no functions: write it as JSON, and name that file or -"
        )
    ready = registry(found)
    tools = tuple(
        Found(name=one.name, description=one.description, schema=one.schema, written=False, keyed=one.keyed)
        for one in ready.values()
    )
    sources = Sources(what="Python functions", tools=tools)
    return Gathered(sources=sources, origin=text, declared={one.name: one for one in declared(ready)})


_PLACES: tuple[tuple[Callable[[str], bool], Callable[[str], Gathered]], ...] = (
    (lambda text: text == "-", _stdin),
    (_is_url, _url),
    (_is_module, _module),
    (lambda _: True, _file),
)


# -- a running server --------------------------------------------------------------------------------------------------


def _server(arguments: argparse.Namespace, words: list[str]) -> Gathered:
    if not words:
        raise UsageError("--mcp: name the server: a URL, or -- and the command that starts it")
    url = words[0] if _is_url(words[0]) else ""
    if url and len(words) > 1:
        raise UsageError("--mcp: one URL, or one command behind --")
    if (url and arguments.env) or (arguments.token_env and not url):
        raise UsageError("--env is for a server that is started, --token-env for one behind a URL")
    server = Server(
        command=() if url else words,
        url=url,
        env={name: _variable(name, "--env") for name in arguments.env},
        token=_variable(arguments.token_env, "--token-env") if arguments.token_env else "",
    )
    where = public(url) if url else words[0]
    print(f"guard: asking the MCP server {spell(where)} for its tools", file=sys.stderr, flush=True)
    tools = list_tools(server, seconds=arguments.timeout)
    data = json.dumps({"tools": tools}).encode()
    found = found_in(read_text(data, "the MCP server's list"), "the MCP server's list")
    return Gathered(sources=found, origin=f"the MCP server {where}")


def _variable(name: str, option: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise UsageError(f"{option} {spell(name)}: there is no such variable in the environment")
    return value


def seconds(text: str) -> float:
    """A duration of the command line, above 0."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < inf:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {spell(text)}")
    return found


__all__ = ["Gathered", "GuardError", "gather", "seconds"]
