"""The step of the schema that makes audit records findable: the copies, the keyed hashes, and views for other programs.

`filed` holds one row for each audit record and `tags` one for each keyed hash of a personal value in it. Neither holds anything that the record does
not, so both may be made again. In a file that is done behind the decisions, see `refiling`: the views show what is filed. Each index costs every record: there is
one for what people ask for, and most are of few records. The views keep their columns: other programs read them. `/*C*/` and WITHOUT ROWID are for one database each, see `postgres_schema`. Comes before
`schema`.
"""

from __future__ import annotations

from typing import Final

_DECISION: Final = "kind IN ('call.decided', 'tool.refused')"
COUNTED: Final = "f.kind IN ('approval.vote', 'approval.resolved') AND f.state IN ('approved', 'rejected')"
ENDED: Final = "f.kind IN ('approval.expired', 'approval.cancelled', 'approval.revoked')"
SETTLED: Final = (
    "f.kind IN ('approval.resolved', 'approval.expired', 'approval.cancelled', 'approval.revoked', 'approval.superseded', 'approval.edited',"
    " 'approval.revalidation_failed')"
)


def _first(column: str, name: str = "") -> str:
    """A value of the record that asked; of an edited call, whose record is about the revision before, of the first one there is."""
    order = "CASE WHEN f.kind = 'approval.requested' THEN 0 ELSE 1 END, f.at, f.chain, f.seq"
    return f"(SELECT f.{column} FROM filed f WHERE f.approval = a.approval ORDER BY {order} LIMIT 1) AS {name or column}"  # noqa: S608 - our own text


def last(column: str, which: str, name: str = "") -> str:
    """A value of the last of some records about an approval, so that values of one row come from one record."""
    found = f"(SELECT f.{column} FROM filed f WHERE f.approval = a.approval AND {which} ORDER BY f.at DESC, f.chain DESC, f.seq DESC LIMIT 1)"  # noqa: S608 - our own text
    return f"{found} AS {name}" if name else found


TABLES: Final = (
    """CREATE TABLE filed (
        chain INTEGER NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, ts TEXT, kind TEXT /*C*/, tenant TEXT, conversation TEXT, turn INTEGER,
        position INTEGER, call TEXT, approval TEXT, tool TEXT, verdict TEXT, state TEXT, reason TEXT, actor TEXT, principal TEXT,
        spoof INTEGER NOT NULL, shadow INTEGER NOT NULL,
        PRIMARY KEY (chain, seq)) WITHOUT ROWID""",
    """CREATE TABLE tags (tag TEXT NOT NULL, chain INTEGER NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (tag, chain, seq)) WITHOUT ROWID""",
    """CREATE INDEX tags_place ON tags (chain, seq)""",
    """CREATE INDEX filed_at ON filed (at, chain, seq)""",
    """CREATE INDEX filed_conversation ON filed (conversation)""",
    """CREATE INDEX filed_call ON filed (call) WHERE call IS NOT NULL""",
    """CREATE INDEX filed_principal ON filed (principal, at)""",
    """CREATE INDEX filed_tool ON filed (tool, at)""",
    """CREATE INDEX filed_kind ON filed (kind, at, chain, seq, tenant, verdict, state)""",  # what is counted over a month is read from the index alone
    """CREATE INDEX filed_verdict ON filed (verdict, at) WHERE verdict <> 'allow'""",
    *(f"CREATE INDEX filed_{name} ON filed ({name}, at) WHERE {name} IS NOT NULL" for name in ("approval", "reason", "actor")),
    """CREATE INDEX filed_spoof ON filed (at, chain, seq) WHERE spoof = 1""",
    """CREATE INDEX filed_shadow ON filed (at, chain, seq) WHERE shadow = 1""",
)

VIEWS: Final = (
    f"""CREATE VIEW v_calls AS SELECT tenant, conversation, turn, position, MAX(call) AS call_id, MAX(principal) AS principal, MAX(tool) AS tool,
        MIN(CASE WHEN kind = 'call.proposed' THEN ts END) AS proposed_at, MAX(CASE WHEN {_DECISION} THEN ts END) AS decided_at,
        SUM(CASE WHEN verdict = 'allow' THEN 1 ELSE 0 END) AS allowed, SUM(CASE WHEN verdict = 'hold' THEN 1 ELSE 0 END) AS held,
        SUM(CASE WHEN verdict = 'refuse' THEN 1 ELSE 0 END) AS refused, MAX(CASE WHEN verdict = 'refuse' THEN reason END) AS refused_for,
        MAX(approval) AS approval, MIN(CASE WHEN kind = 'call.begin' THEN ts END) AS began_at,
        MAX(CASE WHEN kind IN ('call.end', 'call.reconciled') THEN ts END) AS ended_at,
        MAX(CASE WHEN kind IN ('call.end', 'call.reconciled') THEN state END) AS ended, MAX(spoof) AS spoof
        FROM filed WHERE turn IS NOT NULL GROUP BY tenant, conversation, turn, position""",  # noqa: S608 - our own text
    f"""CREATE VIEW v_approvals AS SELECT a.approval, {_first("tenant")}, {_first("conversation")}, {_first("tool")},
        {_first("principal", "asked_for")}, (SELECT MIN(f.ts) FROM filed f WHERE f.approval = a.approval AND f.kind = 'approval.requested') AS asked_at,
        {last("ts", COUNTED, "voted_at")}, {last("actor", COUNTED, "voted_by")}, {last("state", COUNTED, "vote")},
        {last("kind", ENDED, "ended_by")},
        (SELECT MIN(f.ts) FROM filed f WHERE f.approval = a.approval AND f.kind = 'call.begin') AS began_at,
        COALESCE({last("state", SETTLED)}, 'pending') AS status
        FROM (SELECT DISTINCT approval FROM filed WHERE approval IS NOT NULL) a""",  # noqa: S608 - our own text
    """CREATE VIEW v_refusals AS SELECT ts, tenant, conversation, turn, position, call AS call_id, principal, tool, reason, spoof, chain, seq
        FROM filed WHERE verdict = 'refuse'""",
    """CREATE VIEW v_unknown AS SELECT u.ts, u.tenant, u.conversation, u.turn, u.position, u.principal, u.tool, u.chain, u.seq,
        (SELECT MIN(r.ts) FROM filed r WHERE r.conversation = u.conversation AND r.tenant = u.tenant AND r.turn = u.turn
            AND r.position = u.position AND r.kind = 'call.reconciled') AS reconciled_at,
        (SELECT MIN(r.actor) FROM filed r WHERE r.conversation = u.conversation AND r.tenant = u.tenant AND r.turn = u.turn
            AND r.position = u.position AND r.kind = 'call.reconciled') AS reconciled_by
        FROM filed u WHERE u.kind = 'call.unknown'""",
)

STEP: Final = (*TABLES, *VIEWS)
