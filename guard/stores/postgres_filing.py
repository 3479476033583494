"""Filing on PostgreSQL: the statement that copies the values of records that are not filed yet, and the trigger that did so before.

The copies are those of `filing`, made by the server, many at once and behind the decisions: see `postgres_filer`. Comes after `filing`, before
`postgres_sql`.
"""

from __future__ import annotations

from typing import Final

from guard.stores.filing import COLUMNS, PATHS, REFUSED_KINDS, TAGGED, WIDE

_TOP: Final = (
    "ts text, kind text, tenant text, conversation text, turn int, position int, call_id text, approval text, principal text,"
    " tool json, decision json, exec json, approval_state json, actor json, spoof json, args json, result json"
)
_NAMES: Final = ", ".join(COLUMNS)
_BODY: Final = r"replace(replace({}, '\ud', '\uf'), '\u0000', '\ufffd')::json"
_SOME: Final = "CASE WHEN {0} IS NULL OR json_typeof({0}) <> 'array' OR json_array_length({0}) = 0 THEN 0 ELSE 1 END"


def _text(name: str) -> str:
    places = [f"r.{path[0]}" if len(path) == 1 else f"r.{path[0]} ->> '{path[1]}'" for path in PATHS[name]]
    found = f"left(COALESCE({', '.join(places)}), {WIDE})"
    if name != "verdict":
        return found
    kinds = ", ".join(f"'{kind}'" for kind in REFUSED_KINDS)
    return f"CASE WHEN r.kind IN ({kinds}) THEN 'refuse' ELSE {found} END"


_MADE: Final = {
    "at": "COALESCE(round(extract(epoch FROM r.ts::timestamptz) * 1000000)::bigint, 0)",
    "ts": "r.ts",
    **{name: _text(name) for name in PATHS},
    "turn": "r.turn",
    "position": "r.position",
    "spoof": _SOME.format("r.spoof"),
    "shadow": _SOME.format("(r.decision -> 'shadow')"),
}
_COPIES: Final = ", ".join(_MADE[name] for name in COLUMNS)
_TAGS: Final = " UNION ".join(f"SELECT left(t.value, {WIDE}) FROM json_each_text(r.{of} -> '{name}') t" for of, name in TAGGED)  # noqa: S608 - our own text

FUNCTION: Final = f"""CREATE FUNCTION guard_file() RETURNS trigger LANGUAGE plpgsql AS $guard$
DECLARE r record;
BEGIN
  SELECT * INTO r FROM json_to_record({_BODY.format("NEW.body")}) AS x({_TOP});
  INSERT INTO filed (chain, seq, {_NAMES}) VALUES (NEW.chain, NEW.seq, {_COPIES});
  IF position('"hmac":{{' IN NEW.body) > 0 THEN
    INSERT INTO tags (tag, chain, seq) SELECT g.tag, NEW.chain, NEW.seq FROM ({_TAGS}) g(tag) WHERE g.tag IS NOT NULL;
  END IF;
  RETURN NULL;
END
$guard$"""  # noqa: S608 - our own text
"""Of an earlier version, which filed each record in the transaction that wrote it."""

TRIGGER: Final = "CREATE OR REPLACE TRIGGER audit_filed AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION guard_file()"
_OLD: Final = f"audit a, LATERAL json_to_record({_BODY.format('a.body')}) AS r({_TOP})"
FILL: Final = (
    f"INSERT INTO filed (chain, seq, {_NAMES}) SELECT a.chain, a.seq, {_COPIES} FROM {_OLD}",  # noqa: S608 - our own text
    f"INSERT INTO tags (tag, chain, seq) SELECT g.tag, a.chain, a.seq FROM {_OLD}, LATERAL ({_TAGS}) g(tag) WHERE g.tag IS NOT NULL",  # noqa: S608 - our own text
)
LYING: Final = (
    "SELECT h.chain, f.seq, h.seq, h.hash FROM heads h"
    " CROSS JOIN LATERAL (SELECT COALESCE(MAX(o.seq), 0) AS seq FROM filed o WHERE o.chain = h.chain) f WHERE h.seq > f.seq ORDER BY h.chain"
)
"""Each chain with records that are not filed: the last one that is, and number and hash of the newest."""
STEP: Final = (FUNCTION, TRIGGER, *FILL)
"""What PostgreSQL needs besides the shared step."""
BEHIND: Final = ("DROP TRIGGER audit_filed ON audit", "DROP FUNCTION guard_file()")
"""A later step: up to here the trigger has filed everything."""

_LOCK: Final = 7305228094121574513  # a number that nobody else takes by chance
TRY: Final = f"SELECT pg_try_advisory_xact_lock({_LOCK})"
WAIT: Final = f"SELECT pg_advisory_xact_lock({_LOCK})"
_NEXT: Final = (
    "SELECT n.chain, n.seq, n.body FROM heads h"
    " CROSS JOIN LATERAL (SELECT COALESCE(MAX(o.seq), 0) AS seq FROM filed o WHERE o.chain = h.chain) f"
    " CROSS JOIN LATERAL (SELECT b.chain, b.seq, b.body FROM audit b WHERE b.chain = h.chain AND b.seq > f.seq ORDER BY b.seq LIMIT ?) n"
    " WHERE h.seq > f.seq"
)
_READ: Final = f"FROM a, LATERAL json_to_record({_BODY.format('a.body')})"
_COPY: Final = (
    f"INSERT INTO filed (chain, seq, {_NAMES}) SELECT a.chain, a.seq, {_COPIES} {_READ} AS r({_TOP}) ON CONFLICT DO NOTHING"
)
_TAG: Final = (
    f"INSERT INTO tags (tag, chain, seq) SELECT g.tag, a.chain, a.seq {_READ} AS r(args json, result json), LATERAL ({_TAGS}) g(tag)"
    " WHERE g.tag IS NOT NULL AND position('\"hmac\":{' IN a.body) > 0 ON CONFLICT DO NOTHING"
)
_MOST: Final = "SELECT MAX(c.number) FROM (SELECT COUNT(*) AS number FROM a GROUP BY a.chain) c"
FILE: Final = f"WITH a AS MATERIALIZED ({_NEXT}), copied AS ({_COPY}), tagged AS ({_TAG}) {_MOST}"
"""File the next so many records of each chain: one statement, so that copies and hashes are of the same records. Gives how many of one chain at most."""
