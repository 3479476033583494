"""Blocks of the proof: what the check of the log found and what pins it, and that a month's records left. Every text is made inert. Pure.

A part of `blocks`, and comes before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from guard.auditing.inert import markup
from guard.auditing.pieces import Cells, Raw, paragraph, table, time


def proof(found: Any) -> Iterator[str]:
    """Whether the log was checked, and the records that pin it."""
    checked = found["checked"]
    if checked is None:
        yield '<p class="check h">Not checked for this page. Run: guard audit verify</p>'
    elif checked["ok"]:
        yield f'<p class="check a">The chain holds: {checked["records"]:,} records were checked from the first to the newest.</p>'
    else:
        where = f"record {checked['first_bad_seq']}" + (
            f" of chain {checked['first_bad_chain']}" if checked["first_bad_chain"] else ""
        )
        yield f'<p class="check r">THE CHAIN IS BROKEN at {markup(where)}: {markup(checked["why"])}</p>'
    names = (("first", "first of the month"), ("last", "last of the month"), ("checkpoint", "last checkpoint in the log"))
    rows: list[Cells] = [
        (name, one["record"], time(one["time"]), Raw(f"<code>{markup(one['hash'])}</code>"))
        for key, name in names
        if (one := found[key])
    ]
    rows += [
        (f"newest of chain {one['chain']}", one["seq"], "", Raw(f"<code>{markup(one['hash'])}</code>")) for one in found["heads"]
    ]
    pinned = table("Records that pin the log", ("which", "record", "time (UTC)", "hash"), rows)
    yield pinned if rows else paragraph("There is no record in this month, so that nothing pins the log.")
    yield paragraph(
        "Each record's hash covers the record before it. So a record that was changed, added, taken out or moved is found, and so is whatever comes behind it. "
        "That the newest records were cut off, or all were written anew, shows only against a hash or checkpoint that was kept elsewhere: keep this page."
    )


def gone(found: Any) -> Iterator[str]:
    """That records of the month are not in the store any more, and where they are."""
    yield from (f'<p class="check h">{markup(one["told"])}.</p>' for one in found)
    yield paragraph(
        "So this page cannot say what happened in the month: a record or two may be left in the store, the others are in the file. "
        "guard audit verify FILE checks it; each of its lines is one record."
    )
