"""Events: what a record that is about no single call says, in one line: of a grant, a kill, a policy, a gap, a sink, an export, an erasure.

Tells only what the record holds; whoever shows a text makes it inert. A kind that has no row of its own is told by its policy, its changes and its reason.
Pure; comes after `entry`, before `steps` and `month`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from guard.auditing.entry import Entry
from guard.core.briefing import utc
from guard.core.kills import Stop, words
from guard.core.values import is_number


def said(one: Entry) -> str:
    """What such a record says; empty where it says nothing besides its kind."""
    kind = one.text("kind")
    told = _SAID.get(kind, _SAID.get(kind.partition(".")[0], _policy))(one)
    counts = one.at("counts")
    if isinstance(counts, dict):
        told += _numbers(counts)
    return "; ".join(filter(None, told))


def _numbers(counts: Mapping[str, object]) -> list[str]:
    return [f"{name}: {number}" for name, number in counts.items()]


def _grant(one: Entry) -> list[str]:
    """Which calls a grant is for and how far it reaches, or how often it had been used."""
    grant, known = one.text("grant", "id"), one.text("grant", "scope")
    what = f"{grant} {one.text('grant', 'status')}" + (f": scope {known}" if known else "")
    whose = f"{one.text('tool', 'name')} for {one.text('principal')}"
    bounds = [f"{name} {text}" for name in ("uses", "until", "at_most", "sum", "used") if (text := _bound(one, name))]
    return [f"{what}, {whose}", *bounds, one.text("grant", "reason")]


def _bound(one: Entry, name: str) -> str:
    """One bound as a text; an end as its time."""
    at = one.at("grant", name)
    return utc(float(at)) if name == "until" and is_number(at) else one.text("grant", name)


def _kill(one: Entry) -> list[str]:
    """What a kill stops, or stopped until it was cleared, why, and how many questions and unused yeses it ended."""
    scope = {name: one.text(*path) or None for name, path in _SCOPE.items()}
    what = words(Stop(id=one.text("kill", "id"), **scope))
    done = "let go on" if one.text("kind") == "kill.cleared" else "stopped"
    ended = [f"{text}: {number}" for name, text in _ENDED if (number := one.at("kill", name))]
    return [f"{done}: {what}", one.text("kill", "reason"), *ended]


_SCOPE: Final = {"tool": ("tool", "name"), "conversation": ("conversation",), "tenant": ("tenant",)}
_ENDED: Final = (("cancelled", "questions cancelled"), ("revoked", "unused yeses revoked"))


def _gap(one: Entry) -> list[str]:
    """Why something is not in the log, since when and until when, and how many calls of which kind were refused for it."""
    refused, times = one.at("gap", "refused"), [one.text("gap", name) for name in ("since", "until")]
    between = " to ".join(filter(None, times))
    within, lost = one.text("gap", "within"), one.text("gap", "lost")
    told = [f"refused, {line}" for line in _numbers(refused)] if isinstance(refused, dict) else []
    return [
        one.text("gap", "cause"),
        between,
        *told,
        f"may be lost, of the last {within} seconds: {lost}" if lost else "",
        one.text("reason"),
    ]


def _sink(one: Entry) -> list[str]:
    """Which sink did not take how many records, and why."""
    count, spans = one.text("sink", "count"), one.at("sink", "records")
    which = ", ".join(f"{_place(chain)}{_span(span)}" for chain, span in spans.items()) if isinstance(spans, dict) else ""
    return [
        one.text("sink", "name"),
        f"records: {count}" + (f" ({which})" if which else "") if count else "",
        one.text("sink", "why"),
    ]


def _place(chain: str) -> str:
    return "" if chain == "0" else f"{chain}:"


def _span(span: object) -> str:
    return " to ".join(map(str, span)) if isinstance(span, list) else str(span)


def _export(one: Entry) -> list[str]:
    """Where records went, or which file somebody took along."""
    to, count, own = (one.text("export", name) for name in ("to", "count", "sha256"))
    if one.text("export", "step") == "taken":
        return [f"{one.text('export', 'name')} taken along", f"SHA-256 {own}" if own else ""]
    return [f"{count} records sent to {to}" if count else f"records go to {to} from here on"]


def _erased(one: Entry) -> list[str]:
    """How much went, and why."""
    parts = [(name, one.at("erased", name)) for name in ("calls", "approvals", "grants", "kills")]
    return [f"{name}: {len(found)}" for name, found in parts if isinstance(found, list) and found] + [one.text("reason")]


def _policy(one: Entry) -> list[str]:
    version, how, before = (one.text("policy", name) for name in ("version", "how", "before"))
    told = [f"version {version}" + (f" ({how})" if how else "") + (f", before {before}" if before else "")] if version else []
    why = one.text("reason") or ("" if told else one.text("decision", "policy")) or one.text("why")
    return [*told, *_changed(one), why]


def _changed(one: Entry) -> Iterator[str]:
    """The names that a policy has added, removed and changed, by section."""
    changed = one.at("changed")
    for section, parts in changed.items() if isinstance(changed, dict) else ():
        for what, names in parts.items() if isinstance(parts, dict) else ():
            if isinstance(names, list) and names:
                yield f"{section} {what}: {', '.join(map(str, names))}"


_SAID: Final[Mapping[str, Callable[[Entry], list[str]]]] = {
    "grant": _grant,
    "kill": _kill,
    "sink": _sink,
    "audit.gap": _gap,
    "audit.export": _export,
    "payload.erased": _erased,
}
"""By kind, or by what stands before its dot."""
