"""The step of the schema that makes audit records findable: the copies, the keyed hashes, and views for other programs.

`filed` holds one row for each audit record and `tags` one for each keyed hash of a personal value in it. Neither holds anything that the record does
not, so both may be made again. In a file that is done behind the decisions, see `refiling`: the views show what is filed. Each index costs every record: there is
one for what people ask for, and most are of few records. The views keep their columns: other programs read them. `/*C*/` and WITHOUT ROWID are for one database each, see `postgres_schema`. Comes before
`schema`.
"""

from __future__ import annotations

from typing import Final

_DECISION: Final = "kind IN ('call.decided', 'tool.refused')"
_VOTES: Final = "('approval.vote', 'approval.resolved')"

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
    f"""CREATE VIEW v_approvals AS SELECT approval, MAX(tenant) AS tenant, MAX(conversation) AS conversation, MAX(tool) AS tool,
        MAX(principal) AS asked_for, MIN(CASE WHEN kind = 'approval.requested' THEN ts END) AS asked_at,
        MAX(CASE WHEN kind IN {_VOTES} THEN ts END) AS voted_at, MAX(CASE WHEN kind IN {_VOTES} THEN actor END) AS voted_by,
        MAX(CASE WHEN kind IN {_VOTES} THEN state END) AS vote,
        MAX(CASE WHEN kind IN ('approval.expired', 'approval.cancelled', 'approval.revoked') THEN kind END) AS ended_by,
        MIN(CASE WHEN kind = 'call.begin' THEN ts END) AS began_at
        FROM filed WHERE approval IS NOT NULL GROUP BY approval""",  # noqa: S608 - our own text
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
