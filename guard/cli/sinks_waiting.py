"""What waits since before a sink began: told as `guard sinks run` starts, and sent with `--waiting`.

A sink that tells people begins behind what is in the log already, so nobody heard of the approvals that waited then. Decides nothing; used by `sinks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.cli.show import spell
from guard.core import audit_exports
from guard.core.approval import Approval
from guard.core.ports import Sealed, Store
from guard.core.searching import Sought
from guard.sinks import Planned
from guard.sinks.entry import entry, wanted

ASKED = ("approval.requested", "approval.edited")
_NAMED = 5  # ids in a line


def untold(store: Store, planned: Sequence[Planned]) -> dict[str, list[tuple[str, Sealed]]]:
    """By sink that tells people: the approvals that wait since before it began, each with the record that somebody is asked. For sinks that have begun."""
    tells = [one for one in planned if one.bounds.newest and wanted(ASKED[0], one.bounds.kinds)]
    waits = [(one.id, _question(store, one)) for one in store.approvals(status="pending")] if tells else []
    found: dict[str, list[tuple[str, Sealed]]] = {}
    for one in tells:
        behind = _begun(store, one.sink.name)
        found[one.sink.name] = [(name, asked) for name, asked in waits if asked and asked.seq <= behind.get(asked.chain, 0)]
    return {name: old for name, old in found.items() if old}


def _question(store: Store, one: Approval) -> Sealed | None:
    """The record that somebody is asked; of a changed call, that it was changed."""
    for name in filter(None, (one.id, one.supersedes)):
        found = store.search(Sought(approval=name, kinds=ASKED, limit=1))
        if found:
            return found[0]
    return None


def _begun(store: Store, sink: str) -> Mapping[int, int]:
    """Behind which number of each chain a sink began."""
    for one in map(entry, store.search(Sought(kinds=(audit_exports.KIND,), newest=False))):
        behind = one.at("export", "behind")
        if (one.text("export", "step"), one.text("export", "to")) == ("begin", sink) and isinstance(behind, dict):
            return {int(chain): seq for chain, seq in behind.items() if isinstance(seq, int)}
    return {}


def line(sink: str, old: Sequence[tuple[str, Sealed]], *, sends: bool) -> str:
    """One line about what a sink did not tell."""
    count = len(old)
    what = "1 approval waits" if count == 1 else f"{count} approvals wait"
    names = ", ".join(spell(name) for name, _ in old[:_NAMED]) + (f" and {count - _NAMED} more" if count > _NAMED else "")
    them = "it" if count == 1 else "them"
    how = (
        f"sending {them} now"
        if sends
        else f"nobody was told; guard sinks run --waiting sends {them}, guard approvals list shows {them}"
    )
    return f"{sink}: {what} since before this sink began: {names} ({how})"
