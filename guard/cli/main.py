"""Main: the parser of `guard …`, and the way from what a command raises to one plain line and an exit code.

    guard demo         the travel-expense assistant, guarded, from the first question to the audit
    guard init         from the tools that somebody has, a policy folder that refuses everything until it has been read
    guard check        read a policy folder and name every mistake in it; pin reviewed definitions
    guard test         play the cases of a policy folder
    guard explain      why a call is allowed, held or refused, and who may do what
    guard diff         what another version of the folder widens or narrows
    guard approvals    list, show, approve or reject the calls that wait for a person
    guard grants       list, show or revoke the standing permissions that people gave
    guard kill         stop a tool, a conversation or a tenant, and let it go on
    guard audit        the records, and whether their chain holds
    guard sinks        send the audit on to files, webhooks and people, and how that stands
    guard serve        what programs share: bring the database of a store to this program's version
    guard mcp          stand between an MCP client and an MCP server

Exit codes: 0 good, 1 refused or problems found, 2 misuse, 3 (`test`) nothing to play: it does not load, 130 interrupted. Decides nothing itself; each command is one file beside this one.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tomllib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from guard.cli import approvals, audit, check, demo, diff, explain, grants, init, kill, mcp, serve, sinks, test
from guard.cli.collecting import seldom
from guard.cli.keys import everywhere
from guard.cli.places import UsageError
from guard.cli.show import lines
from guard.errors import GuardError

DISTRIBUTION = "guard-middleware"
COMMANDS = (demo, init, check, test, explain, diff, approvals, grants, kill, audit, sinks, serve, mcp)


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and give its exit code. Misuse that the parser finds raises SystemExit(2)."""
    _tolerant_output()
    logging.getLogger("guard").addHandler(logging.NullHandler())  # a command says what it has to say; `serve work` logs besides
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        with seldom():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: say nothing more, at exit either
        return 1
    except UsageError as error:
        return _say(str(error), 2)
    except GuardError as error:
        return _say(str(error), 1)
    return code


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command line. What no option takes is told with the usage of the verb that it was written for."""
    top = parser()
    arguments, left = top.parse_known_args(words)
    if left:
        own = top
        for word in words:
            own = next((a.choices[word] for a in own._actions if isinstance(a.choices, dict) and word in a.choices), own)  # noqa: SLF001 - as in verbs
        own.error(f"unrecognized arguments: {' '.join(left)}")
    return arguments


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(
        prog="guard",
        description="A policy layer between the tool call that a model proposes and the program that runs it.",
        epilog="Exit codes: 0 good, 1 refused or problems found, 2 misuse. Start with: guard demo",
    )
    top.add_argument("--version", action="version", version=f"guard {version()}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    everywhere(top)
    return top


def version() -> str:
    """The installed version, or the one that a checkout would build."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pass
    try:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
    except (OSError, KeyError, ValueError):
        return "of an unknown version"


def _say(text: str, code: int) -> int:
    print("guard: " + "\n".join(lines(text)), file=sys.stderr)
    return code


def _tolerant_output() -> None:
    """A terminal that cannot show a character gets its escape instead of an exception; an exported line has the same end on every system."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace", newline="\n")
