"""The step of the schema after which the view of approvals knows revisions, and what belongs to an approval is found in order of time.

What a person edited is another question from then on. Nobody is asked anew by a record of its own: the record of the edit, which is about the revision before, names the new one in its body. So a new revision stands
in `v_approvals` as soon as it was made, with the time of the edit as the one at which it was asked. The columns are those of `steps_query`. Comes before `schema`.
"""

from __future__ import annotations

from typing import Final

from guard.stores.steps_query import COUNTED, ENDED, SETTLED, last

_BY: Final = {
    "file": "json_extract(b.body, '$.approval_state.by')",
    "database": r"replace(replace(b.body, '\ud', '\uf'), '\u0000', '\ufffd')::json #>> '{approval_state,by}'",
}
_EDITS: Final = (
    "SELECT {by} AS approval, MIN(f.ts) AS ts, MIN(f.tenant) AS tenant, MIN(f.conversation) AS conversation, MIN(f.tool) AS tool,"
    " MIN(f.principal) AS principal FROM filed f JOIN audit b ON b.chain = f.chain AND b.seq = f.seq"
    " WHERE f.kind = 'approval.edited' AND f.state = 'superseded' AND {by} IS NOT NULL GROUP BY 1"
)
_ASKED: Final = "CASE WHEN f.kind = 'approval.requested' THEN 0 ELSE 1 END, f.at, f.chain, f.seq"


def _first(column: str, name: str = "") -> str:
    """A value of the record that asked, else of the edit that made it, else of the first one there is."""
    asked = f"SELECT f.{column} FROM filed f WHERE f.approval = a.approval"  # noqa: S608 - our own text
    return f"COALESCE(({asked} AND f.kind = 'approval.requested' LIMIT 1), e.{column}, ({asked} ORDER BY {_ASKED} LIMIT 1)) AS {name or column}"


def _view(where: str) -> str:
    edits = _EDITS.format(by=_BY[where])
    return f"""CREATE VIEW v_approvals AS SELECT a.approval, {_first("tenant")}, {_first("conversation")}, {_first("tool")},
        {_first("principal", "asked_for")},
        COALESCE((SELECT MIN(f.ts) FROM filed f WHERE f.approval = a.approval AND f.kind = 'approval.requested'), e.ts) AS asked_at,
        {last("ts", COUNTED, "voted_at")}, {last("actor", COUNTED, "voted_by")}, {last("state", COUNTED, "vote")},
        {last("kind", ENDED, "ended_by")},
        (SELECT MIN(f.ts) FROM filed f WHERE f.approval = a.approval AND f.kind = 'call.begin') AS began_at,
        COALESCE({last("state", SETTLED)}, 'pending') AS status
        FROM (SELECT approval FROM filed WHERE approval IS NOT NULL UNION SELECT n.approval FROM ({edits}) n) a
        LEFT JOIN ({edits}) e ON e.approval = a.approval"""  # noqa: S608 - our own text


STEP: Final = ("DROP VIEW v_approvals", "CREATE INDEX filed_asked ON filed (at, chain, seq) WHERE approval IS NOT NULL")
FILE: Final = (_view("file"),)
"""What a file needs besides; each reads JSON in words of its own."""
DATABASE: Final = (_view("database"),)
"""What PostgreSQL needs besides."""
