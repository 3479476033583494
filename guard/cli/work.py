"""`guard serve work`: a worker that runs approved calls whose own process is gone, and looks after calls that were lost.

Loads the host's tools and its session loader from modules; everything else is `guard.runner.worker`. Stops at SIGTERM or Ctrl-C between two
calls. Used by `serve`.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import signal
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from guard.cli.keys import keys_of
from guard.cli.places import DEFAULT_POLICY, DEFAULT_STORE, RESTORED, UsageError, add_layers
from guard.cli.show import json_text, spell
from guard.compose import AsyncGuard, Guard
from guard.core.unresolved import doubt_name
from guard.errors import GuardError, StoreError
from guard.redactors import REDACTOR
from guard.runner.guard import GuardBase
from guard.runner.worker import Done, Worker

_LONGEST = 2000  # characters of what a program raised
_LOOKS = 10  # at a store that is down, before `--once` gives up
EXAMPLES = """examples:
  guard serve work --tools shop.tools:registry --session shop.people:load_session --store postgresql://guard@db/guard
  guard serve work --guard shop.app:make_guard --session shop.people:load_session     checks, probes and loaders included
  guard serve work --guard shop.app:make_guard --session shop.people:load_session --once

--tools names functions, a mapping or a Registry. --guard names a Guard, or a function without arguments that gives one; it brings its own policy,
store, checks, probes and loaders. --session names a function (principal, tenant) that gives the person's Session as it is now, or None for
somebody who may not act any more: roles that were stored with a call authorize nothing."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `guard serve`."""
    parser = verbs.add_parser(
        "work",
        help="run approved calls whose own process is gone",
        description="Run approved calls whose own process is gone, and settle calls that were lost. Several workers may run at once.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tools", metavar="MODULE:NAME", help="the tools of the program")
    parser.add_argument("--guard", metavar="MODULE:NAME", help="the guard of the program, or what makes it")
    parser.add_argument(
        "--session", metavar="MODULE:NAME", required=True, help="who somebody is now: (principal, tenant) to a Session or None"
    )
    add_layers(parser, default=None)
    parser.add_argument("--store", metavar="URL", help=f"with --tools; default: {DEFAULT_STORE}")
    parser.add_argument(
        "--grace", type=_seconds, default=10.0, metavar="SECONDS", help="left to a call's own process; default: %(default)s"
    )
    parser.add_argument(
        "--poll", type=_seconds, default=2.0, metavar="SECONDS", help="between two looks at the store; default: %(default)s"
    )
    parser.add_argument("--once", action="store_true", help="stop when there is nothing to do")
    parser.add_argument("--json", action="store_true", help="a JSON object a line instead of text")
    parser.set_defaults(run=work)


def _seconds(text: str) -> float:
    found = float(text)
    if not 0 <= found < inf:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {spell(text)}")
    return found


def work(arguments: argparse.Namespace) -> int:
    """Work until told to stop; with --once until nothing is left. Exit code 0."""
    sessions = named(arguments.session, "--session")
    if not callable(sessions):
        raise UsageError(f"--session {spell(arguments.session)}: a function (principal, tenant) is needed")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="guard: %(message)s")
    with guard_of(arguments) as guard, Worker(guard, sessions, grace=arguments.grace) as worker:
        if guard.store.older:
            raise GuardError(RESTORED)
        print(f"guard: working on {spell(_shown(arguments))}", file=sys.stderr, flush=True)
        return _loop(arguments, guard, worker)


def _loop(arguments: argparse.Namespace, guard: GuardBase, worker: Worker) -> int:
    stop, ran, down = _Stop(), 0, 0
    while not stop.asked:
        done = _batch(worker, stop)
        ran += len(done or ())
        for one in done or ():
            print(_line(one, as_json=arguments.json), flush=True)
        if done:
            continue
        down = 0 if done is not None else down + 1
        if arguments.once and not 0 < down < _LOOKS:
            if not ran and not down:
                print(f"guard: nothing to do; {_left(arguments.grace)}", file=sys.stderr)
            return 1 if down else 0
        guard.store.wait(arguments.poll)
    return 0


def _left(grace: float) -> str:
    return f"an approved call is left to its own program for {grace:g} seconds, a lost one until its lease ends"


def _batch(worker: Worker, stop: _Stop) -> list[Done] | None:
    """One batch; None when the store is down: the next look may find it up again."""
    try:
        return worker.once(lambda: stop.asked)
    except StoreError as error:
        print(f"guard: {error}; trying again", file=sys.stderr, flush=True)
        return None


def _line(one: Done, *, as_json: bool) -> str:
    row, outcome = one.row, one.outcome
    status = "nobody" if outcome is None else outcome.status
    reason = "" if outcome is None or outcome.reason is None else str(outcome.reason)
    ref = row.key.ref
    if as_json:
        place = {"tenant": ref.tenant, "conversation": ref.conversation, "turn": row.key.turn, "position": row.key.position}
        return json_text({"tool": row.call.tool, "status": status, "reason": reason or None, "id": doubt_name(row.key), **place})
    because = f" ({reason})" if reason else " (the session loader gave nobody, or failed)" if outcome is None else ""
    where = f"{spell(ref.conversation)}, turn {row.key.turn}, for {spell(str(ref.principal))} in {spell(ref.tenant)}"
    return f"{spell(row.call.tool)}: {status}{because}; {where}"


def _shown(arguments: argparse.Namespace) -> str:
    given: str = arguments.guard or arguments.store or DEFAULT_STORE
    return given.rpartition("@")[2]  # what stands before may be a password


class _Stop:
    """Remembers that somebody asked to stop: the call under way ends first."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def guard_of(arguments: argparse.Namespace) -> GuardBase:
    """The guard that the options name. Raises UsageError."""
    if (arguments.tools is None) == (arguments.guard is None):
        raise UsageError("name either --tools MODULE:NAME or --guard MODULE:NAME")
    if arguments.tools is not None:
        tools = named(arguments.tools, "--tools")
        kind = AsyncGuard if _awaits(tools) else Guard
        return kind.load(
            [arguments.policy or DEFAULT_POLICY, *arguments.layer],
            tools=tools,
            store=arguments.store or DEFAULT_STORE,
            payload_key=keys_of(arguments),
        )
    if arguments.policy or arguments.layer or arguments.store:
        raise UsageError("--guard brings its own policy and store; leave out --policy and --store")
    found = named(arguments.guard, "--guard")
    made = found if isinstance(found, GuardBase) else _made(found, arguments.guard) if callable(found) else found
    if not isinstance(made, GuardBase):
        raise UsageError(f"--guard {spell(arguments.guard)}: this is no Guard, and gives none")
    return made


def _made(make: Callable[[], Any], text: str) -> Any:
    try:
        return make()
    except GuardError:
        raise
    except Exception as error:
        raise UsageError(f"--guard {spell(text)}: it raised {_told(error)}") from error


def _awaits(tools: Any) -> bool:
    from guard.tools import registry  # noqa: PLC0415 - only where tools are named

    return any(tool.is_async for tool in registry(tools).values())


def named(text: str, option: str) -> Any:
    """What `module:name` names, looked for in the current folder too. Raises UsageError."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise UsageError(f"{option} {spell(text)}: write MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError) as error:
        raise UsageError(f"{option} {spell(text)}: {_told(error).partition(': ')[2]}") from error
    except Exception as error:
        raise UsageError(f"{option} {spell(text)}: loading the module raised {_told(error)}") from error
    return found


def _told(error: Exception) -> str:
    """What a program raised, as one line in which nothing personal or secret stands."""
    said = REDACTOR.detect(None, str(error)[:_LONGEST])[0]
    return f"{type(error).__name__}: {spell(said)}" if said else type(error).__name__
