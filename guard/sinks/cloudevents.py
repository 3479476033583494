"""CloudEvents: a record as an event of CloudEvents 1.0 in its JSON form. Comes after entry; pure.

`id` is the record's, so that a receiver drops what arrives twice; `source` names the store's chain, `subject` the approval or call; the hash stands in
the extension attributes `guardhash` and `guardprev`, whose names the specification keeps to lower-case letters and digits. `traceparent` is the caller's
place in a trace, by the extension for distributed tracing.
"""

from __future__ import annotations

import re

from guard.core.values import JsonObject
from guard.sinks.entry import Entry

TYPE = "guard."
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z"
)  # whatever else stands there no reader would take


def cloudevent(one: Entry) -> JsonObject:
    """The event of a record."""
    subject = one.text("approval") or one.text("call_id") or one.text("conversation")
    return {
        "specversion": "1.0",
        "id": one.id,
        "source": f"/guard/chains/{one.sealed.chain}",
        "type": f"{TYPE}{one.kind or 'unreadable'}",
        **({"subject": subject} if subject else {}),
        **({"time": one.text("ts")} if _TIME.fullmatch(one.text("ts")) else {}),
        "datacontenttype": "application/json",
        **({"traceparent": one.text("trace")} if one.text("trace") else {}),
        "guardseq": one.sealed.seq if one.sealed.seq < 2**31 else str(one.sealed.seq),
        "guardprev": one.sealed.prev,
        "guardhash": one.sealed.hash,
        "data": one.body,
    }
