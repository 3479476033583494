"""Blocks: the report of a month as sections of HTML. Every text of a record is made inert; nothing is fetched, no script runs. Pure.

The page to file (`page`) and the console show the same blocks. `link` gives the address of a call or an approval where there is one. Comes after `charts`, before
`page`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from guard.auditing import charts
from guard.auditing.blocks_proof import gone, proof
from guard.auditing.inert import markup
from guard.auditing.pieces import Cells, Link, Raw, counted, figure, lasted, listed, paragraph, section, table, time
from guard.auditing.uncounted import verb
from guard.core.values import JsonObject


def sections(made: JsonObject, link: Link | None = None) -> str:
    """All sections, in the order in which an auditor asks."""
    return "\n".join(_sections(made, _Linked(link)))


@dataclass(frozen=True, slots=True)
class _Linked:
    link: Link | None

    def __call__(self, name: object) -> Raw:
        text = markup(name)
        return Raw(f'<a href="{markup(self.link(str(name)))}">{text}</a>' if self.link and name else text)


def _sections(made: Any, link: _Linked) -> Iterator[str]:
    if made["left"]:  # figures and lists would say that nothing happened
        yield from gone(made["left"])
        yield section("proof", "Does the log hold?", *proof(made["proof"]))
        return
    yield _figures(made["totals"])
    yield section("proof", "Does the log hold?", *proof(made["proof"]))
    yield section("days", "Decisions by day", *_days(made["days"]))
    yield section("refused", "What was refused, and why", *_refused(made))
    yield section("approvals", "Who approved what, and how fast", *_approvals(made, link))
    yield section("grants", "What ran under a standing grant", *_grants(made, link))
    yield section("never", "Expired and never decided", *_never(made, link))
    yield section("unknown", "Unknown outcomes, and how each ended", *_unknown(made["unknown"], link))
    yield section("spoofs", "Spoof attempts", *_spoofs(made["spoofs"], link))
    yield section(
        "changes",
        "Changes of policy, roles and settings, grants and kills",
        *_events(made["changes"], "Records of changes", "No change is on record in this month."),
    )
    yield section(
        "events",
        "Gaps, restores, erasures and exports",
        *_events(made["events"], "Records of such events", "None is on record in this month."),
    )
    decided = any(day[verdict] for day in made["days"] for verdict in ("allow", "hold", "refuse"))
    yield section(
        "figures", "Figures by day", _day_table(made["days"]) if decided else paragraph("No call was decided in this month.")
    )


# -- sections ----------------------------------------------------------------------------------------------------------

_FIGURES = (
    ("proposed", "proposed", ""), ("allowed", "allowed", "a"), ("held", "held", "h"), ("refused", "refused", "r"), ("approved", "approved", "a"),
    ("rejected", "rejected", "r"), ("by_grant", "by a standing grant", "a"), ("expired", "expired", "h"), ("undecided", "undecided", "h"), ("cancelled", "cancelled", "h"),
    ("revoked", "revoked", "r"), ("superseded", "superseded", "h"), ("ended_well", "ended well", "a"), ("failed", "failed", "r"), ("unknown", "outcome unknown", "r"),
    ("spoof_attempts", "spoof attempts", "r"), ("quick_votes", "votes under 5 s", "h"),
    ("kills", "kills", "r"),
)  # fmt: skip


def _figures(totals: Any) -> str:
    cells = "".join(f'<div class="{kind}"><dt>{markup(name)}</dt><dd>{totals[key]:,}</dd></div>' for key, name, kind in _FIGURES)
    return f'<dl class="figures">{cells}</dl>'


_KEY = (("a", "allowed"), ("h", "held"), ("r", "refused"))


def _days(days: Any) -> Iterator[str]:
    names = [day["day"][8:].lstrip("0") for day in days]
    series = {"allow": ("a", "allowed"), "hold": ("h", "held"), "refuse": ("r", "refused")}
    made = [(*series[verdict], [day[verdict] for day in days]) for verdict in series]
    total = sum(sum(numbers) for _, _, numbers in made)
    if not total:
        yield paragraph("No call was decided in this month.")
        return
    label = f"Columns: decisions on each day of the month, {total} in all; figures in the table Figures by day"
    yield figure("All decisions", charts.stacked(label, names, made), _KEY)
    if not any(map(any, (numbers for _, _, numbers in made[1:]))):
        yield paragraph("No call was held or refused in this month.")
        return
    label = "Columns: calls held and refused on each day; figures in the table Figures by day"
    yield figure("Held and refused alone", charts.stacked(label, names, made[1:], height=150), _KEY[1:])


def _day_table(days: Any) -> str:
    rows = [(day["day"], day["allow"], day["hold"], day["refuse"]) for day in days]
    return table("Decisions by day (UTC)", ("day", "allowed", "held", "refused"), rows, numbers=(1, 2, 3))


def _refused(made: Any) -> Iterator[str]:
    reasons = made["reasons"]
    if not reasons:
        yield paragraph("Nothing was refused in this month.")
        return
    label = "Bars: refusals by reason; figures in the table below"
    yield figure("Refusals by reason", charts.bars(label, [(row["reason"], row["count"]) for row in reasons[:12]], "r"))
    rows = [
        (row["reason"], row["count"], row["people"], ", ".join(f"{name} {number}" for name, number in row["tools"]))
        for row in reasons
    ]
    yield table("Refusals by reason", ("reason", "refusals", "people", "most often for the tools"), rows, numbers=(1, 2))
    yield '<div class="two">'
    for name, found in (("tool", made["refused_tools"]), ("person", made["refused_people"])):
        more = f", the first {len(found['rows'])} of {found['all']}" if found["all"] > len(found["rows"]) else ""
        yield table(f"Refusals by {name}{more}", (name, "refusals"), found["rows"], numbers=(1,))
    yield "</div>"


def _approvals(made: Any, link: _Linked) -> Iterator[str]:
    totals = made["totals"]
    own = counted(totals["own_votes_refused"], "vote on a call of one's own was", "votes on calls of one's own were")
    yield paragraph(
        f"{counted(totals['asked'], 'question was', 'questions were')} asked. {own} refused; "
        f"{counted(totals['quick_votes'], 'vote', 'votes')} came within 5 seconds."
    )
    yield from _votes(made)
    for caption, key, none in _VOTES:
        yield f"<h3>{markup(caption)}</h3>"
        heads = ("time (UTC)", "who", "vote" if key == "quick" else "wanted to", "tool", "asked for", "took", "approval")
        yield listed(caption, made[key], heads, lambda row: _vote(row, link), none, numbers=(5,))
    yield "<h3>Every approval</h3>"
    yield listed(
        "Approvals asked or answered in this month",
        made["approvals"],
        _HEADS,
        lambda row: _asked(row, link),
        "No approval was asked for.",
        numbers=(6,),
    )
    if made["approvals_cut"]:
        yield paragraph("There are more records of approvals than one report reads; narrow it with --tenant.")


def _votes(made: Any) -> Iterator[str]:
    """How long people took, and who voted."""
    latency = made["latency"]
    if not made["approvers"] and not any(row["count"] for row in latency):
        yield paragraph("Nobody voted in this month.")
        return
    label = "Bars: how many votes took how long; figures in the table below"
    yield figure("How long votes took", charts.bars(label, [(row["took"], row["count"]) for row in latency], "h"))
    yield '<div class="two">'
    yield table(
        "How long votes took", ("from question to vote", "votes"), [(row["took"], row["count"]) for row in latency], numbers=(1,)
    )
    people = [
        (row["who"], row["approved"], row["rejected"], lasted(row["median_seconds"]), row["quick"]) for row in made["approvers"]
    ]
    yield table("Votes by person", ("who", "approved", "rejected", "median time", "under 5 s"), people, numbers=(1, 2, 3, 4))
    yield "</div>"


_VOTES = (
    ("Votes within 5 seconds", "quick", "No vote came within 5 seconds of its question."),
    ("Self-approvals refused", "own", "Nobody tried to approve a call of their own."),
    ("Votes of people who may not decide", "not_entitled", "No vote of somebody who may not decide is on record."),
    ("Votes on something else than what stood", "stale", "No vote was about another revision, other content or another view than what stood."),
    ("Votes that came too late", "too_late", "No vote came after the decision or the end of its time."),
    ("Second votes of one person", "voted", "Nobody tried to vote twice."),
    ("Edits that the policy refused", "edit_refused", "No edit was refused."),
    ("Other votes that did not count", "other", "None."),
)  # fmt: skip
_HEADS = ("asked (UTC)", "tool", "for", "outcome", "by", "decided (UTC)", "took", "then", "approval")


def _vote(row: Any, link: _Linked) -> Cells:
    said = verb(row["wanted"]) if row["status"] == "refused" else row["status"]
    return time(row["time"]), row["who"], said, row["tool"], row["for"], lasted(row["seconds"]), link(row["approval"])


def _asked(row: Any, link: _Linked) -> Cells:
    times = time(row["asked"]) if row["asked"] else "", time(row["at"]) if row["at"] else ""
    return (
        times[0],
        row["tool"],
        row["for"],
        row["status"],
        row["by"],
        times[1],
        lasted(row["seconds"]),
        row["ran"],
        link(row["approval"]),
    )


def _grants(made: Any, link: _Linked) -> Iterator[str]:
    yield paragraph(
        f"{counted(made['totals']['by_grant'], 'call', 'calls')} ran without a question of their own, because somebody had given a grant."
    )
    heads = ("grant", "scope", "tool", "for", "calls", "left", "first (UTC)", "last (UTC)", "given with")

    def row(one: Any) -> Cells:
        names = one["grant"], one["scope"], one["tool"], one["for"]
        left = "no limit" if one["left"] is None else one["left"]
        return *names, one["uses"], left, time(one["first"]), time(one["last"]), link(one["approval"])

    yield listed("Grants that were used", made["grants"], heads, row, "No grant was used in this month.", numbers=(4, 5))


def _never(made: Any, link: _Linked) -> Iterator[str]:
    totals = made["totals"]
    otherwise = ", ".join(f"{totals[name]} {name}" for name in ("cancelled", "revoked", "superseded") if totals[name])
    if otherwise:
        yield paragraph(f"Ended before anybody decided, or before the yes was used: {otherwise}; see Every approval.")
    none = "No question expired, and none waits undecided."
    heads = ("asked (UTC)", "tool", "for", "outcome", "approval", "call")
    yield listed(
        "Expired or undecided",
        made["never"],
        heads,
        lambda row: (time(row["asked"]), row["tool"], row["for"], row["status"], link(row["approval"]), link(row["call"])),
        none,
    )


def _unknown(found: Any, link: _Linked) -> Iterator[str]:
    heads = ("time (UTC)", "tool", "for", "call", "ended", "by", "when (UTC)", "what was said")

    def row(one: Any) -> Cells:
        ended = one["ended"] or Raw('<strong class="r">still unknown</strong>')
        return (
            time(one["time"]),
            one["tool"],
            one["principal"],
            link(one["call"]),
            ended,
            one["by"],
            time(one["at"]) if one["at"] else "",
            one["said"],
        )

    yield listed("Calls whose outcome was unknown", found, heads, row, "Every call that was started has a known outcome.")


def _spoofs(found: Any, link: _Linked) -> Iterator[str]:
    yield paragraph(
        "A model sent a field that belongs to the signed-in session. What it sent was discarded; the session's value was used."
    )
    heads = ("time (UTC)", "person", "tool", "fields", "decision", "call")
    yield listed(
        "Spoof attempts",
        found,
        heads,
        lambda row: (
            time(row["time"]),
            row["principal"],
            row["tool"],
            ", ".join(row["fields"]),
            row["verdict"] + (f" ({row['reason']})" if row["reason"] else ""),
            link(row["call"]),
        ),
        "None.",
    )


def _events(found: Any, caption: str, none: str) -> Iterator[str]:
    heads = ("time (UTC)", "what", "by", "said", "record")
    yield listed(
        caption, found, heads, lambda row: (time(row["time"]), row["kind"], row["who"], row["said"], row["record"]), none
    )
