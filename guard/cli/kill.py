"""`guard kill`: an operator stops a tool, a conversation or a tenant, sees what is stopped, and lets it go on.

Whoever can write to the store may do so: its being on record, with who and why, is the guard against misuse. Whether something is covered is judged in the store,
wherever a call is decided or taken. Decides nothing itself.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator

from guard.cli import alone, verbs
from guard.cli.keys import keys_of
from guard.cli.places import (
    DEFAULT_POLICY,
    UnknownPersonError,
    UsageError,
    existing_store,
    person,
    policy_folder,
    store_of,
    system_user,
)
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.cli.views import utc
from guard.core.approval import Assurance
from guard.core.kills import GONE, Kill, plain, words
from guard.core.model import Session
from guard.core.ports import Policy, Store
from guard.core.ways import Way
from guard.errors import ApprovalError, PolicyError
from guard.redactors import redactor
from guard.runner.guard import Guard
from guard.runner.kills import Kills

EXAMPLES = """examples:
  guard kill set --tool payInvoice --reason "wrong amounts"            every new call of the tool, in every tenant
  guard kill set --conversation c-17 --reason "runs in circles"        every new call of one conversation
  guard kill set --tenant acme --reason "incident 12" --as ops-anna    every new call of a tenant
  guard kill set --tool payInvoice --tenant acme --reason "..."        what meets all of it
  guard kill list                                                      what is stopped now
  guard kill clear ki_2b1e0c --reason "mended in 1.4.2"                six characters do, where no other id begins with them

When `set` returns, no call that it covers starts any more, in no process that has the store: it is refused as `killed`, whatever permits it. Questions about such
calls are cancelled, a yes that was not used is revoked. A call that has begun goes on. What ended by a kill stays ended when it is cleared.

A policy folder that does not load stops nobody: with the store alone no name is checked, which is said, and you are your operating-system account."""
VERBS = {
    "set": "stop a tool, a conversation, a tenant, or what is all of those that are given",
    "list": "what is stopped, oldest first",
    "clear": "let new calls go on",
}


def add(commands: verbs.Verbs) -> None:
    """Add the command to the parser."""
    what = "Stop new calls of a tool, a conversation or a tenant."
    told = "stop a tool, a conversation or a tenant; list what is stopped; let it go on"
    verbs.add(verbs.command(commands, "kill", told=told, description=what, examples=EXAMPLES), VERBS, _RUN, _options)


def _options(parser: argparse.ArgumentParser, verb: str) -> None:
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that were cleared as well")
        return
    if verb == "set":
        parser.add_argument("--tool", metavar="NAME", help="calls of this tool of the policy")
        parser.add_argument(
            "--conversation", metavar="ID", help="calls of this conversation, of your tenant unless --tenant says whose"
        )
        parser.add_argument("--tenant", metavar="TENANT", help="calls of this tenant")
    else:
        verbs.named(parser)
    parser.add_argument("--reason", required=True, metavar="TEXT", help="kept with it, and on record; no model reads it")
    who = "a person of the policy's people, where it has any; on record beside your operating-system account; default: who that account is in people"
    parser.add_argument("--as", dest="who", metavar="NAME", help=who)


@contextlib.contextmanager
def _open(arguments: argparse.Namespace) -> Iterator[tuple[Kills, Policy, Store]]:
    """The kills, the policy that holds or `alone.NOTHING`, and the store. A policy that does not load stops nobody here. Raises UsageError."""
    try:
        policy = policy_folder(arguments.policy, arguments.layer).policy
    except (PolicyError, UsageError) as error:
        if isinstance(error, UsageError) and (arguments.policy is not DEFAULT_POLICY or arguments.layer):
            raise  # a folder that was named and is not there is a slip, which would leave its people and patterns aside
        alone.told(arguments.policy, error)
        policy = alone.NOTHING
    with existing_store(store_of(arguments), keys_of(arguments)) as store:
        guard = Guard(policy=policy, store=store, tools={}, redactor=redactor(policy.redaction))
        yield guard.kills, policy, store


def _who(arguments: argparse.Namespace, policy: Policy) -> tuple[Session, Assurance]:
    """Who does this: by their own word, or who the operating-system user is. Raises UsageError and UnknownPersonError."""
    if not arguments.reason.strip():
        raise UsageError("--reason: say why")
    if arguments.who is not None and not arguments.who.strip():
        raise UsageError("--as: say who you are")
    if policy is alone.NOTHING:
        return alone.somebody(arguments.who), "os-user" if arguments.who is None else "host"
    if arguments.who is not None:
        return _claimed(arguments.who, policy), "host"
    try:
        return person(policy, arguments.policy), "os-user"
    except UnknownPersonError as error:
        raise UnknownPersonError(f"{error}\nor say who you are: --as NAME") from None


def _claimed(name: str, policy: Policy) -> Session:
    """Somebody who says who they are: on record beside the operating-system user. Raises UsageError for a name that the policy's people do not have."""
    known = {one.principal for one in policy.people.values()}
    if known and name not in known:
        raise UsageError(
            f"--as {spell(name)}: nobody in the policy's people is called so "
            f"(they are {', '.join(map(spell, sorted(known)[:20]))})"
        )
    return Session(principal=name, way=Way(assurance="os-user", via="cli", account=system_user()))


def set_(arguments: argparse.Namespace) -> int:
    """Set a kill."""
    scope = {name: getattr(arguments, name) for name in ("tool", "conversation", "tenant")}
    if all(value is None for value in scope.values()):
        raise UsageError("say what to stop: --tool NAME, --conversation ID or --tenant TENANT")
    empty = next((name for name, value in scope.items() if value == ""), None)
    if empty is not None:
        raise UsageError(f"--{empty}: it is empty")
    with _open(arguments) as (kills, policy, store):
        who, assurance = _who(arguments, policy)
        if policy is alone.NOTHING:
            alone.whose(arguments.conversation, arguments.tenant)
        try:
            made = kills.set(by=who, reason=arguments.reason, via="cli", assurance=assurance, **scope)
        except ApprovalError as error:
            raise UsageError(str(error)) if error.code == "unknown_tool" else error from error
        if policy is alone.NOTHING:
            alone.check_tool(store, arguments.tool)
    print(json_text(plain(made, utc)) if arguments.json else "\n".join(_told(made)))
    return 0


def _told(kill: Kill) -> list[str]:
    questions = f"{kill.cancelled} question{'' if kill.cancelled == 1 else 's'} cancelled"
    given = f"{kill.revoked} unused yes revoked" if kill.revoked == 1 else f"{kill.revoked} unused yeses revoked"
    return [
        f"stopped by {spell(kill.by)}: {spell(words(kill.stop))}; new calls are refused as `killed`",
        f"{questions}, {given}; a call that has begun goes on",
        f"let it go on with: guard kill clear {kill.id} --reason ...",
    ]


def list_(arguments: argparse.Namespace) -> int:
    """Show what is stopped."""
    with _open(arguments) as (kills, _, _store):
        found = kills.list(status=None if arguments.all else "set")
    if arguments.json:
        print(json_text([plain(one, utc) for one in found]))
    elif not found:
        print("nothing is stopped" if not arguments.all else "nothing was ever stopped")
    else:
        print("\n".join(table(("kill", "status", "stops", "since", "by", "ended", "reason"), [_row(one) for one in found])))
    return 0


def _row(one: Kill) -> tuple[str, ...]:
    until = "" if one.cleared_at is None else f" until {utc(one.cleared_at)} ({one.cleared_by}: {one.cleared_why or GONE})"
    ended = f"{one.cancelled + one.revoked} approval{'' if one.cancelled + one.revoked == 1 else 's'}"
    return one.id, one.status, words(one.stop), utc(one.at) + until, one.by, ended, one.reason or GONE


def clear(arguments: argparse.Namespace) -> int:
    """Clear a kill."""
    with _open(arguments) as (kills, policy, _store):
        who, assurance = _who(arguments, policy)
        after = kills.clear(_one(kills, arguments.id).id, by=who, reason=arguments.reason, via="cli", assurance=assurance)
    told = f"cleared by {spell(str(after.cleared_by))}: {spell(words(after.stop))}; new calls are judged again, what ended stays ended"
    print(json_text(plain(after, utc)) if arguments.json else told)
    return 0


def _one(kills: Kills, name: str) -> Kill:
    found = [(one.id, one) for one in kills.list(status=None)]
    nobody = f"there is no kill {name}; guard kill list --all names every one"
    return verbs.one_of(found, name, what="kills", nobody=nobody)


_RUN = {"set": set_, "list": list_, "clear": clear}
