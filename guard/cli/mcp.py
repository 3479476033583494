"""`guard mcp`: the guard between any MCP client and any MCP server.

Reads what the command line says, so that mistakes are told before anything is started; `mcp_serving` does the rest. Says everything that it has
to say on standard error: standard output is the protocol's. Decides nothing itself.
"""

from __future__ import annotations

import argparse

from guard.cli.init_sources import seconds
from guard.cli.mcp_session import ENVIRONMENT, add_session, session_of
from guard.cli.places import DEFAULT_POLICY, UsageError, policy_folder
from guard.compose import LONGEST_BATCH

EXAMPLES = f"""examples:
  guard mcp --policy /srv/policies -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  guard mcp --policy /srv/policies --principal E10238 --role employee --attribute city_tier=2 -- mcp-server-time
  guard mcp --policy /srv/policies --url https://example.com/mcp --token-env MCP_TOKEN
  guard mcp --http 127.0.0.1:8765 --jwt-keys https://id.example.com/jwks.json --jwt-issuer https://id.example.com --jwt-audience files -- mcp-server-time

In a client's settings write `guard` for the command, and the rest as its arguments with the server's own command behind --. The policy folder is
made by `guard init --mcp -- COMMAND`; `guard check --pin --mcp "COMMAND"` writes the server's definitions down as reviewed, and from then on a
tool that changed or is new is refused.

Who is signed in is said by options, by {", ".join(ENVIRONMENT)}, or by `people:` in the policy folder for
the operating-system user; over HTTP with --jwt-keys by each client's bearer token. The records go to guard.db beside the policy folder.

A call that waits for a person is answered with how to approve it: guard approvals approve ID. When it was approved the same call runs.
Exit codes: 0 the client ended the session, 1 the server or the policy did, 2 misuse, 130 and 143 after Ctrl-C and SIGTERM."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "mcp",
        help="stand between an MCP client and an MCP server",
        description="A proxy for the Model Context Protocol: the client sees the tools that the session may call, and each call walks the "
        "whole path.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="behind --: the command that starts the server")
    parser.add_argument("--url", metavar="URL", help="the server is there already, and speaks streamable HTTP")
    parser.add_argument("--token-env", metavar="NAME", help="with --url: the variable that holds the bearer token for the server")
    parser.add_argument("--policy", default=DEFAULT_POLICY, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--store", metavar="URL", help="default: guard.db beside the policy folder")
    parser.add_argument(
        "--server", default="mcp", metavar="NAME", help="what pins and records call the server; default: %(default)s"
    )
    parser.add_argument("--conversation", metavar="NAME", help="go on with this conversation; default: a new one each time")
    parser.add_argument("--console", default="", metavar="URL", help="where people approve: told to the client with a held call")
    parser.add_argument(
        "--timeout", type=seconds, default=300.0, metavar="SECONDS", help="for one answer of the server; default: %(default)s"
    )
    parser.add_argument(
        "--batch-reads",
        type=seconds,
        metavar="SECONDS",
        help="how allowed look-ups ended is written so much later, together: what a crash may lose of them; default: at once",
    )
    parser.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp instead of standard input and output")
    add_session(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Stand between client and server until one of them is gone. Raises UsageError, GuardError."""
    if bool(arguments.command) == bool(arguments.url):
        raise UsageError("name one server: --url URL, or -- and the command that starts it")
    if arguments.token_env and not arguments.url:
        raise UsageError("--token-env is for --url (a server that is started inherits the environment)")
    if arguments.conversation and arguments.http:
        raise UsageError("--conversation is for standard input and output: over HTTP each session is a conversation of its own")
    if arguments.batch_reads is not None and arguments.batch_reads > LONGEST_BATCH:
        raise UsageError(f"--batch-reads: at most {LONGEST_BATCH:g} seconds, since a crash may lose what waits")
    loaded = policy_folder(arguments.policy)
    session = session_of(arguments, loaded.policy)
    from guard.cli.mcp_serving import serve  # noqa: PLC0415 - asyncio and the proxy: only where they run

    return serve(arguments, session, loaded.policy.ceilings)
