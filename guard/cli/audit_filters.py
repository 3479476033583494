"""Filters: the options by which records are chosen, and the search that they mean. Used by `guard audit`."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from guard.auditing import moments, persons
from guard.auditing.log import Log, tenants
from guard.auditing.words import unknown
from guard.cli.places import DEFAULT_POLICY, UsageError, policy_folder
from guard.cli.show import spell
from guard.core.searching import Sought
from guard.errors import PolicyError
from guard.policy.problems import meant

_SAME = ("conversation", "tool", "reason", "tenant", "approval", "principal")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the filters. A record is shown when it meets all of them."""
    group = parser.add_argument_group("which records (all that are given must be met)")
    group.add_argument("--refused", action="store_true", help="refusals")
    group.add_argument("--held", action="store_true", help="decisions to ask a person")
    group.add_argument("--spoof", action="store_true", help="proposals that sent a field which belongs to the session")
    group.add_argument("--shadow", action="store_true", help="decisions that a shadow rule would have refused")
    group.add_argument("--approved-by", metavar="WHO", help="votes of this person for a call")
    group.add_argument("--actor", metavar="WHO", help="records that this person caused")
    group.add_argument("--principal", metavar="WHO", help="records about calls for this person")
    group.add_argument(
        "--person", metavar="VALUE", help="a principal, or a personal value such as an e-mail address, found by its keyed hash"
    )
    group.add_argument("--reference", metavar="person_…", help="a person, by the reference that stands in the records")
    group.add_argument("--tool", metavar="NAME", help="records about this tool")
    group.add_argument("--reason", metavar="CODE", help="refused or failed for this reason, such as not_grounded")
    group.add_argument("--kind", metavar="KIND", help="call.decided, or approval.* for all that begin so")
    group.add_argument("--tenant", metavar="NAME", help="records of this tenant")
    group.add_argument("--conversation", metavar="ID", help="records of this conversation")
    group.add_argument("--approval", metavar="ID", help="records about this approval")
    group.add_argument("--month", dest="in_month", metavar="YYYY-MM", help="records of this month, as in report")
    group.add_argument("--since", metavar="TIME", help=f"{moments.HOW.removeprefix('write ')}")
    group.add_argument("--until", metavar="TIME", help="the same; a day or month is meant with its end")


def given(arguments: argparse.Namespace) -> bool:
    """Whether any filter was written."""
    names = (
        *_SAME,
        "refused",
        "held",
        "spoof",
        "shadow",
        "approved_by",
        "actor",
        "person",
        "reference",
        "kind",
        "in_month",
        "since",
        "until",
    )
    return any(getattr(arguments, name) for name in names)


def sought(arguments: argparse.Namespace, log: Log) -> Sought:
    """The search that the options mean. Raises UsageError where they contradict each other, name no time, or a code or kind that nothing has."""
    if arguments.refused and arguments.held:
        raise UsageError("--refused and --held: no decision is both (write one)")
    if arguments.approved_by and arguments.actor:
        raise UsageError("--approved-by and --actor: write one")
    if arguments.person and arguments.reference:
        raise UsageError("--person and --reference: write one")
    _check(arguments, log)
    since, until = _times(arguments, log)
    same = {name: getattr(arguments, name) for name in _SAME if name not in ("conversation", "principal")}
    tenant, person = arguments.tenant, arguments.person
    return Sought(
        **same,
        since=since,
        until=until,
        kinds=_kinds(arguments),
        verdict="refuse" if arguments.refused else "hold" if arguments.held else None,
        state="approved" if arguments.approved_by else None,
        conversation=persons.conversation(log, arguments.conversation),
        principal=persons.names(log, arguments.principal, tenant),
        actor=persons.names(log, arguments.approved_by or arguments.actor, tenant, "actor"),
        person=arguments.reference or persons.names(log, person, tenant),
        tags=persons.tags(person, log.secret, _tenants(arguments, log)) if person else (),
        spoof=arguments.spoof,
        shadow=arguments.shadow,
    )


def _check(arguments: argparse.Namespace, log: Log) -> None:
    """Refuse a code or a kind that is neither known nor in the store, which may hold those of another version."""
    none = unknown(log, reason=arguments.reason, kind=arguments.kind)
    if none is not None:
        cure = meant(none.word.removesuffix("*"), none.known)
        raise UsageError(f"--{none.field} {spell(none.word)}: {none.what}{f' ({cure})' if cure else ''}")


def _tenants(arguments: argparse.Namespace, log: Log) -> tuple[str, ...]:
    """Whose keys the hashes of a personal value may be made with."""
    return (arguments.tenant,) if arguments.tenant else tenants(log)


def _kinds(arguments: argparse.Namespace) -> tuple[str, ...]:
    if arguments.approved_by and not arguments.kind:
        return ("approval.vote", "approval.resolved")
    return (arguments.kind,) if arguments.kind else ()


def _times(arguments: argparse.Namespace, log: Log) -> tuple[float | None, float | None]:
    if arguments.in_month is None:
        return _time("--since", arguments.since, moments.since, log), _time("--until", arguments.until, moments.until, log)
    if arguments.since or arguments.until:
        raise UsageError("--month and --since or --until: write the month or the times")
    try:
        return moments.month(arguments.in_month)
    except ValueError as error:
        raise UsageError(f"--month {spell(arguments.in_month)}: {error}") from None


def tell_unknown_tool(arguments: argparse.Namespace, log: Log) -> None:
    """Say on standard error that no record, and no policy of this folder, knows the tool: it may be misspelt, or nobody has called it yet."""
    name = arguments.tool
    if not name or log.search(Sought(tool=name, limit=1)):
        return
    listed = _listed()
    if listed is not None and name in listed:
        return
    known = {str(tool) for (tool,), _ in log.tally(Sought(), ("tool",)) if tool is not None}
    cure = meant(name, sorted({*known, *(listed or ())}))
    whom = "no record" if listed is None else f"neither {DEFAULT_POLICY} nor any record"
    print(f"guard: --tool {spell(name)}: {whom} knows this tool{f' ({cure})' if cure else ''}", file=sys.stderr)


def _listed() -> frozenset[str] | None:
    """The tools of the policy of this folder; None where there is none that can be read."""
    if not Path(DEFAULT_POLICY).is_dir():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever checks the policy is told of them
            return frozenset(policy_folder(DEFAULT_POLICY).policy.tools)
    except PolicyError:
        return None


def _time(option: str, text: str | None, read: Callable[[str, float], float], log: Log) -> float | None:
    if text is None:
        return None
    try:
        return read(text, log.now())
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text!r}: {moments.HOW}") from None
