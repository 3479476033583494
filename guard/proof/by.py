"""By: what the records of one call say of its row, column by column, beside how it ended: by which digests, in which run, since when, under which approval.

What an earlier version did not record is not compared. A row of the newest attempt, or of an earlier one that ended well after all, is as some record of a begin says. Comes after
`chains` and before `ran`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from guard.core.log import Rowed
from guard.core.rowed import EMPTY, key_of, key_shown, of_column
from guard.core.values import keyed

_OPEN: Final = frozenset({"started", "unknown"})
_FINISHED: Final = frozenset({"done", "failed"})
_MOST_EARLY: Final = 1e-3  # seconds: a lease is a sum of floating numbers
_PLAIN: Final = frozenset("[*<")  # what stands in a name in which something was hidden


class Begin(NamedTuple):
    """One record of a begin: what it says of the row, when it was, the rest, and how often the user spoke since its turn was opened."""

    row: dict[str, Any]
    ts: str
    idem: str
    lease: float | None
    approval: str | None
    branch: str
    spoke: int


class By:
    """The records of one call."""

    __slots__ = ("approvals", "begins", "doubted", "ended", "erased", "places", "prints", "tool")

    def __init__(self) -> None:
        self.begins: tuple[Begin, ...] = ()
        self.places: tuple[tuple[int, int], ...] = ()
        self.ended: tuple[str, ...] = ()
        self.approvals: tuple[str, ...] = ()
        self.prints: tuple[str, ...] = ()
        self.tool = ""
        self.erased = self.doubted = False  # doubted: it may have run before a backup was put back, whose records are gone

    def add(self, kind: str, found: dict[str, Any], spoke: int) -> None:
        """A record of how it began or ended; `spoke`: how often the user did since its turn was opened."""
        self.asked(found)
        if kind == "call.begin":
            self._began(found, spoke)
        else:
            self.doubted = self.doubted or kind != "call.end"
            self.ended = (*self.ended, str(found.get("ts")))
            self.tool = str(_part(found, "tool").get("name", ""))

    def _began(self, found: dict[str, Any], spoke: int) -> None:
        exec_, row, approval = _part(found, "exec"), _part(found, "row"), found.get("approval")
        lease = exec_.get("lease")
        self.places = (*self.places, (found.get("chain", 0), found.get("seq", 0)))
        self.begins = (
            *self.begins,
            Begin(
                row=row,
                ts=str(found.get("ts")),
                idem=str(exec_.get("idem", "")),
                lease=lease if isinstance(lease, int | float) else None,
                approval=approval if isinstance(approval, str) else None,
                branch=str(found.get("branch", "")),
                spoke=spoke,
            ),
        )

    def asked(self, found: dict[str, Any]) -> None:
        """Another record of it: under which approval, about which content."""
        state = _part(found, "approval_state")
        for name in (found.get("approval"), state.get("by")):
            if isinstance(name, str) and name not in self.approvals:
                self.approvals = (*self.approvals, name)
        for text in (found.get("fingerprint"), state.get("to")):
            if isinstance(text, str) and text not in self.prints:
                self.prints = (*self.prints, text)

    # -- held against the row ----------------------------------------------------------------------------------------------------

    def differing(self, one: Rowed, secret: bytes, *, cut: bool) -> Iterator[str]:
        """The columns of the row that are not as recorded, each with its table. `cut`: earlier records may have left."""
        says = one.says
        if says["payload"] != says["own"]:
            yield "calls.payload"
        if self.erased != (says["erased"] is not None) and not cut:
            yield "calls.erased"
        known = [begin for begin in self.begins if begin.row]
        if known and len(known) == len(self.begins):
            yield from self._as_begun(one, known, secret)
        elif not self.begins:
            yield from self._not_begun(one, cut=cut)
        yield from self._ended(one, begun=bool(known))

    def _as_begun(self, one: Rowed, known: list[Begin], secret: bytes) -> Iterator[str]:
        says = one.says
        key = key_of(says["mark"], says["fingerprint"], one.turn, one.position)
        if not any(begin.row.get("mark") in (None, of_column(key, "mark", says["mark"])) for begin in known):
            yield "calls.mark"  # everything else is told with it
            return
        for column in ("fingerprint", "executor", "name", "owned", "target"):
            value, plain = says[column], EMPTY.get(column)
            if (column == "target" and one.status not in _OPEN) or (column == "owned" and self.erased):
                continue
            told = None if value == plain else of_column(key, column, str(value))
            if not any(begin.row.get(column) == told for begin in known):
                yield f"calls.{column}"
        runs = [(begin.row.get("run", -1), begin.spoke) for begin in known]
        if not any(type(says["run"]) is int and run <= says["run"] <= run + more for run, more in runs):
            yield "calls.run"
        yield from self._plainly(one, known, secret)

    def _plainly(self, one: Rowed, known: list[Begin], secret: bytes) -> Iterator[str]:
        says, first = one.says, known[0]
        idem = key_shown(keyed(secret, f"guard-idempotency-v1\0{says['idem']}")) if says["idem"] else ""
        checked = {
            "calls.idem": not secret or idem in [begin.idem for begin in known],
            "calls.branch": says["branch"] in [begin.branch for begin in known],
            "calls.at": says["at"] in [begin.ts for begin in known],
            "calls.approval": says["approval"] is None or says["approval"] in self.approvals,
            "calls.lease": one.status != "started" or _lasts(says["lease"], known[-1]),
            "claims.fingerprint": says["claim_fingerprint"] == says["fingerprint"],
            "claims.approval": says["claim_approval"] == first.approval,
            "claims.at": says["claim_at"] == first.ts,
        }
        yield from (column for column, holds in checked.items() if not holds and (one.claimed or not column.startswith("claims")))

    def _not_begun(self, one: Rowed, *, cut: bool) -> Iterator[str]:
        says = one.says
        ran = one.status in ("done", "started") and not (cut or self.doubted)
        if ran and says["mark"] != "":
            yield "calls.mark"
        if ran and one.kind == "action":
            yield "calls.kind"
        if one.status == "held" and self.prints and says["fingerprint"] not in self.prints:
            yield "calls.fingerprint"
        if one.status == "held" and self.approvals and says["approval"] not in self.approvals:
            yield "calls.approval"

    def _ended(self, one: Rowed, *, begun: bool) -> Iterator[str]:
        says = one.says
        if self.ended and says["ended"] is not None and says["ended"] not in self.ended:
            yield "calls.ended"
        if begun and one.status in _FINISHED and says["ended"] is None:
            yield "calls.ended"
        if one.status == "done" and self.tool and not _PLAIN & set(self.tool) and one.tool != self.tool:
            yield "calls.tool"


def _lasts(until: Any, begin: Begin) -> bool:
    """Whether a lease lasts at least as long as it was taken for; a longer one was renewed."""
    if begin.lease is None:
        return True
    try:
        began = datetime.fromisoformat(begin.ts).timestamp()
    except ValueError:
        return True  # as its hash will tell
    return isinstance(until, int | float) and until >= began + begin.lease - _MOST_EARLY


def _part(found: dict[str, Any], name: str) -> dict[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}
