"""Lists: a search and a life as blocks of HTML, for the console. Every text of a record is made inert. Pure; beside `blocks`."""

from __future__ import annotations

from collections.abc import Sequence

from guard.auditing.entry import Entry
from guard.auditing.inert import markup
from guard.auditing.pieces import Cells, Link, Raw, table, time
from guard.auditing.timeline import Life

HEADS = ("time (UTC)", "what", "tool", "decision", "why", "by", "for", "record")


def name(one: Entry) -> str:
    """What a record is found again by: the place of its call, or its own number."""
    conversation, turn, position = (one.at(part) for part in ("conversation", "turn", "position"))
    if isinstance(conversation, str) and isinstance(turn, int) and isinstance(position, int):
        return f"{conversation}/{turn}/{position}"
    return f"{one.sealed.chain}:{one.sealed.seq}"


def found(records: Sequence[Entry], link: Link) -> str:
    """Records as a table; each leads to its call."""
    return table("Records", HEADS, (_row(one, link) for one in records))


def _row(one: Entry, link: Link) -> Cells:
    verdict = (
        one.text("decision", "verdict")
        or one.text("approval_state", "decision")
        or one.text("approval_state", "status")
        or one.text("exec", "status")
    )
    spoof = one.at("spoof")
    why = [
        one.text("decision", "code") or one.text("exec", "error"),
        f"spoof: {', '.join(map(str, spoof))}" if isinstance(spoof, list) and spoof else "",
    ]
    return (
        time(one.text("ts")),
        one.text("kind") or "(cannot be read)",
        one.text("tool", "name"),
        verdict,
        ", ".join(filter(None, why)),
        one.text("actor", "ref") or one.text("actor", "type"),
        one.text("principal"),
        Raw(f'<a href="{markup(link(name(one)))}">{markup(one.number)}</a>'),
    )


def told(life: Life) -> str:
    """A life: what does not change in it, then each record in order."""
    facts = "".join(f"<dt>{markup(name)}</dt><dd>{markup(text)}</dd>" for name, text in life.facts)
    steps = "".join(
        f'<li class="{one.tone}"><h2>{markup(one.told)}</h2><p class="soft small">{time(one.time).html} by {markup(one.who) or "nobody"}, {markup(one.kind)}</p>'
        f'<dl class="facts">{"".join(f"<dt>{markup(name)}</dt><dd>{markup(text)}</dd>" for name, text in one.facts)}</dl>'
        f'<p class="small soft">record {markup(one.number)} <code>{markup(one.hash)}</code></p></li>'
        for one in life.steps
    )
    cut = "<p>Later records of this call are not shown.</p>" if life.cut else ""
    gone = f"<p>{markup(life.left)}</p>" if life.left else ""
    return f'<dl class="facts card">{facts}</dl>{gone}<ol class="life">{steps}</ol>{cut}'
