"""Month: the figures and lists of one month of records, as one JSON object: what the page, the console and machines are given.

Everything is counted or copied from records; nothing is guessed. Lists are bounded, and each says how many there are in all. Comes after `questions` and `log`,
before `page`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from guard.auditing import events, left, moments, questions, spoofs, standing
from guard.auditing.entry import Entry, entry
from guard.auditing.log import Log, found, size
from guard.auditing.steps import step
from guard.core.log import Sealed
from guard.core.searching import Sought
from guard.core.values import JsonObject
from guard.stores.chain import Verified

LISTED: Final = 300
"""Rows of one list."""
_SETTLED: Final = 10_000
"""Records that are read for how unknown calls ended; a report says so where there are as many."""
_DAY: Final = 86400
_HOMES: Final = 200  # conversations that are looked up at once
_CHANGES: Final = ("policy.loaded", "role.changed", "config.changed", "kill.*", "grant.created", "grant.revoked")
_KILLS: Final = ("kill.set",)
_EVENTS: Final = (
    "audit.gap",
    "audit.segment_closed",
    "audit.segment_dropped",
    "audit.export",
    "audit.verify",
    "store.restored",
    "sink.*",
    "payload.erased",
    "key.*",
)
_TOLD: Final = ("audit.export", "audit.verify", "audit.segment_closed", "audit.segment_dropped")
"""Events that are told in the words of `steps`."""
_DECIDED: Final = ("call.decided", "tool.refused")
_VERDICTS: Final = {"allow": "allowed", "hold": "held", "refuse": "refused"}


def report(
    log: Log,
    name: str,
    *,
    tenant: str | None = None,
    verified: Verified | None = None,
    heads: Mapping[int, Sealed] | None = None,
    most: int = questions.MOST,
) -> JsonObject:
    """The report of a month such as 2026-11. `most` records are read for its approvals. Raises ValueError for another name."""
    begin, end = moments.month(name)
    window = Sought(since=begin, until=end, tenant=tenant)
    days, totals = _days(log, window)
    kinds = _kinds(log, window)
    asked = questions.of(log, window, most)
    return {
        "month": name,
        "tenant": tenant,
        "made_at": _text(log.now()),
        "over": log.now() >= end,
        "records": sum(kinds.values()),
        "left": [left.plain(one) for one in left.left(log, begin, end)],
        "totals": {
            **totals,
            **_ran(log, window, kinds),
            **asked.totals(),
            "kills": _concerning(log, replace(window, kinds=_KILLS)),
        },
        "days": days,
        **_refused(log, window),
        **asked.lists(LISTED),
        "grants": standing.grants(log, replace(window, kinds=standing.KINDS, newest=False, limit=standing.MOST), LISTED),
        "unknown": _unknown(log, window),
        "spoofs": _spoofs(log, window),
        "changes": _of_all(log, replace(window, kinds=_CHANGES)),
        "events": _of_all(log, replace(window, kinds=_EVENTS)),
        "proof": _proof(log, window, verified, heads),
    }


def _count(log: Log, sought: Sought) -> int:
    return sum(number for _, number in log.tally(sought, ()))


def _kinds(log: Log, window: Sought) -> dict[str, int]:
    """How many records there are of each kind: all of them counted at once, in the index by kind."""
    return {str(kind): number for (kind,), number in log.tally(replace(window, kinds=("*",)), ("kind",))}


def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _days(log: Log, window: Sought) -> tuple[list[JsonObject], dict[str, int]]:
    """Decisions by day and verdict, every day of the month, and their sums."""
    begin, end = window.since or 0.0, window.until or 0.0
    names = [moments.day_of(begin + number * _DAY) for number in range(round((end - begin) / _DAY))]
    days: dict[str, dict[str, int]] = {day: dict.fromkeys(_VERDICTS, 0) for day in names}
    counted = (group for kind in _DECIDED for group in log.tally(replace(window, kinds=(kind,)), ("day", "verdict")))
    for (day, verdict), number in counted:
        name = moments.day_of(int(str(day)) * _DAY)
        if name in days and verdict in _VERDICTS:
            days[name][str(verdict)] += number
    totals = {told: sum(day[verdict] for day in days.values()) for verdict, told in _VERDICTS.items()}
    return [{"day": day, **counts} for day, counts in days.items()], totals


def _ran(log: Log, window: Sought, kinds: Mapping[str, int]) -> dict[str, int]:
    """How calls ended, and how many people and proposals there were."""
    ends = {str(state): number for (state,), number in log.tally(replace(window, kinds=("call.end",)), ("state",))}
    return {
        "proposed": kinds.get("call.proposed", 0),
        "ended_well": ends.get("ok", 0),
        "failed": sum(number for state, number in ends.items() if state != "ok"),
        "by_grant": sum(kinds.get(kind, 0) for kind in standing.KINDS),
        "unknown": _lost(log, window),
        "spoof_attempts": spoofs.count(log, window),
    }


def _lost(log: Log, window: Sought) -> int:
    """How many calls were unknown and have no end of their own in the month: with those that ended well and that failed they are those that began."""
    lost = set(log.filed(replace(window, kinds=("call.unknown",), newest=False), spoofs.CALL))
    homes = sorted({str(conversation) for _, conversation, _, _ in lost})
    for start in range(0, len(homes), _HOMES):
        some = tuple(homes[start : start + _HOMES])
        lost -= set(log.filed(replace(window, kinds=("call.end",), conversation=some, newest=False), spoofs.CALL))
    return len(lost)


def _refused(log: Log, window: Sought) -> JsonObject:
    """Refusals by reason (the most frequent first, each with the tools it met and how many people), by tool and by person."""
    reasons: dict[str, dict[str, int]] = {}
    tools: dict[str, int] = {}
    people: dict[str, int] = {}
    met: dict[str, set[str]] = {}
    for group, number in log.tally(replace(window, verdict="refuse"), ("reason", "tool", "principal")):
        reason, tool, person = ("" if value is None else str(value) for value in group)
        by = reasons.setdefault(reason or "(none)", {})
        by[tool] = by.get(tool, 0) + number
        tools[tool] = tools.get(tool, 0) + number
        people[person] = people.get(person, 0) + number
        met.setdefault(reason or "(none)", set()).add(person)
    rows = [
        {"reason": one, "count": sum(by.values()), "people": len(met[one]), "tools": _largest(by)} for one, by in reasons.items()
    ]
    return {
        "reasons": sorted(rows, key=lambda row: (-int(str(row["count"])), str(row["reason"]))),
        "refused_tools": {"all": len(tools), "rows": _largest(tools, 15)},
        "refused_people": {"all": len(people), "rows": _largest(people, 15)},
    }


def _largest(counts: Mapping[str, int], most: int = 5) -> list[list[Any]]:
    return [[name, number] for name, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]]


def _listed(log: Log, sought: Sought, told: Any) -> JsonObject:
    """The first rows of a list, oldest first, and how long it is in all."""
    rows = [told(one) for one in found(log, replace(sought, newest=False, limit=LISTED))]
    return {"all": len(rows) if len(rows) < LISTED else _count(log, sought), "rows": rows}


def _of_all(log: Log, sought: Sought) -> JsonObject:
    """Records that may belong to no tenant: then they concern all of them. Those of another tenant are left out."""
    every = found(log, replace(sought, tenant=None, newest=False, limit=10 * LISTED))
    rows = [_event(one) for one in every if sought.tenant is None or one.at("tenant") in (None, sought.tenant)]
    return {"all": len(rows) if len(rows) < 10 * LISTED else _concerning(log, sought), "rows": rows[:LISTED]}


def _concerning(log: Log, sought: Sought) -> int:
    """How many such records there are, of the tenant and of none."""
    counted = log.tally(replace(sought, tenant=None), ("tenant",))
    return sum(number for (tenant,), number in counted if sought.tenant is None or tenant in (None, sought.tenant))


def _spoofs(log: Log, window: Sought) -> JsonObject:
    """The first spoofs, one of each call."""
    rows = [_spoof(one) for one in islice(spoofs.proposals(log, window), LISTED)]
    return {"all": len(rows) if len(rows) < LISTED else spoofs.count(log, window), "rows": [*rows]}


def _spoof(one: Entry) -> JsonObject:
    fields = one.at("spoof")
    return {
        **_where(one),
        "fields": list(map(str, fields)) if isinstance(fields, list) else [],
        "verdict": one.text("decision", "verdict"),
        "reason": one.text("decision", "code"),
    }


def _event(one: Entry) -> JsonObject:
    told = step(one)
    said = events.said(one) or (told.told if told.kind in _TOLD else "")
    return {"time": told.time, "kind": told.kind, "who": told.who, "said": said, "record": one.number}


def _where(one: Entry) -> JsonObject:
    return {
        "time": one.text("ts"),
        "tool": one.text("tool", "name"),
        "principal": one.text("principal"),
        "tenant": one.text("tenant"),
        "call": f"{one.text('conversation')}/{one.text('turn')}/{one.text('position')}",
        "record": one.number,
    }


def _unknown(log: Log, window: Sought) -> JsonObject:
    """Calls whose outcome was unknown in the month, and how each ended, whenever that was."""
    ends: dict[str, Entry] = {}
    settled = list(found(log, replace(window, until=None, kinds=("call.reconciled",), newest=False, limit=_SETTLED)))
    for one in settled:
        known = ends.get(_call(one))
        if known is None or (
            one.at("effect", "observed") and not known.at("effect", "observed")
        ):  # that it was done outranks a word
            ends[_call(one)] = one

    def told(one: Entry) -> JsonObject:
        end = ends.get(_call(one))
        how = (
            {}
            if end is None
            else {"ended": step(end).told, "by": step(end).who, "at": end.text("ts"), "said": end.text("reason")}
        )
        return {**_where(one), "approval": one.text("approval"), "ended": "", "by": "", "at": "", "said": "", **how}

    return {**_listed(log, replace(window, kinds=("call.unknown",)), told), "cut": len(settled) >= _SETTLED}


def _call(one: Entry) -> str:
    return "\0".join((one.text("tenant"), one.text("conversation"), one.text("turn"), one.text("position")))


def _proof(log: Log, window: Sought, verified: Verified | None, heads: Mapping[int, Sealed] | None) -> JsonObject:
    """What the check found, the first and last record of the month, the heads of the chains, and the last checkpoint in the log."""
    ends = {name: _end(log, replace(window, tenant=None, newest=name == "last", limit=1)) for name in ("first", "last")}
    points = log.search(Sought(kinds=("audit.checkpoint",), until=window.until, limit=1))
    return {
        "whole": size(log),
        "checked": None if verified is None else _checked(verified),
        **ends,
        "heads": [{"chain": chain, "seq": one.seq, "hash": one.hash} for chain, one in sorted((heads or {}).items())],
        "checkpoint": _mark(points) if points else None,
    }


def _checked(verified: Verified) -> JsonObject:
    return {
        "ok": verified.ok,
        "records": verified.records,
        "why": verified.why,
        "first_bad_seq": verified.first_bad_seq,
        "first_bad_chain": verified.chain,
    }


def _end(log: Log, sought: Sought) -> JsonObject | None:
    records = log.search(sought)
    return _mark(records) if records else None


def _mark(records: Iterable[Sealed]) -> JsonObject:
    one = entry(next(iter(records)))
    return {"record": one.number, "time": one.text("ts"), "hash": one.sealed.hash}
