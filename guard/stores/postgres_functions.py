"""Functions in a PostgreSQL database: what is done there in one step. Made by the migration, called by `postgres_take`.

`guard_take` takes a plain call: it locks the conversation, looks whether anything is known of the call, writes it and seals its record, by the recipe
of `chain`, last of all: the chain's head is locked by that, and only a COMMIT follows. It is volatile, so each of its statements sees what was
committed before that began, behind the lock. Holds no rule: see `plain`. Comes before `postgres_sql`.
"""

from __future__ import annotations

from typing import Final

_GIVEN: Final = (
    "home text, whose text, era int, turn int, place int, branch text, name text, sort text, tool text, print text, mark text, run int,"
    " again int, settled int, approval text, owned text, evidence text, effect text, lease float8, idem text, executor text,"
    " payload text, body text, chain int, before text, behind text, clock float8"
)
_NUMBER: Final = {name.rpartition(" ")[0].strip(): f"${number}" for number, name in enumerate(_GIVEN.split(","), 1)}
_BODY: Final = """
DECLARE its_run int; its_at float8; once text := 'started'; lost text := 'unknown'; done text := 'done';
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN RETURN; END IF;
  SELECT t.run INTO its_run FROM conversations t WHERE t.id = {home} AND t.principal = {whose} FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF EXISTS (SELECT FROM calls WHERE conversation = {home} AND turn = {turn} AND position = {place})
    OR EXISTS (SELECT FROM calls WHERE conversation = {home} AND mark = {mark} AND mark <> '' AND status IN (once, lost))
    OR ({again} = 0 AND EXISTS (SELECT FROM calls WHERE conversation = {home} AND mark = {mark} AND mark <> '' AND status = done AND run = {run}))
    OR {era} <> (SELECT COALESCE(MAX(number), 0) FROM epochs){besides} THEN RETURN; END IF;
  its_at := COALESCE({clock}, extract(epoch FROM clock_timestamp())::float8);
  RETURN QUERY WITH
    one AS (INSERT INTO claims (conversation, turn, position, fingerprint, approval, at)
      VALUES ({home}, {turn}, {place}, {print}, NULL, its_at)),
    two AS (INSERT INTO payloads (id, kind, body) VALUES ({payload}, 'call', {body})),
    three AS (INSERT INTO calls (conversation, turn, position, branch, name, status, kind, tool, fingerprint, mark, run, again, settled, at,
        approval, owned, evidence, outcome, effect, attempt, lease, idem, executor, payload, ended)
      VALUES ({home}, {turn}, {place}, {branch}, {name}, 'started', {sort}, {tool}, {print}, {mark}, its_run, {again}, {settled}, its_at,
        {approval}, {owned}, {evidence}, NULL, {effect}, 1, its_at + {lease}, {idem}, {executor}, {payload}, NULL)),
    head AS (UPDATE heads h SET seq = h.seq + 1, prev = h.hash, hash = encode(sha256(
        convert_to('guard-audit-v1', 'UTF8') || '\\x00'::bytea || int8send(length(h.chain::text)::bigint) || convert_to(h.chain::text, 'UTF8')
        || int8send(h.seq + 1) || decode(h.hash, 'hex') || int8send(octet_length(g.before || (h.seq + 1) || {behind})::bigint)
        || convert_to(g.before || (h.seq + 1) || {behind}, 'UTF8')), 'hex')
      FROM (SELECT replace({before}, '#', to_char(to_timestamp(its_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS before) g
      WHERE h.chain = {chain} RETURNING h.seq, h.prev, h.hash, g.before || h.seq || {behind} AS body)
    INSERT INTO audit (chain, seq, prev, hash, body)
      SELECT {chain}, h.seq, h.prev, h.hash, h.body FROM (SELECT) always LEFT JOIN head h ON true RETURNING its_at, seq, hash;
END
"""
_KILLED: Final = """
    OR (EXISTS (SELECT FROM kills WHERE cleared IS NULL) AND EXISTS (SELECT FROM kills k JOIN conversations t ON t.id = {home}
      WHERE k.cleared IS NULL AND (k.tenant IS NULL OR k.tenant = t.tenant) AND (k.conversation IS NULL OR k.conversation = t.conversation)
        AND (k.tool IS NULL OR k.tool = {tool})))"""


def _made(name: str, besides: str = "") -> str:
    return (
        f"CREATE FUNCTION {name}({', '.join(part.strip().rpartition(' ')[2] for part in _GIVEN.split(','))})"
        " RETURNS TABLE (at float8, seq bigint, hash text) LANGUAGE plpgsql VOLATILE AS $guard$ #variable_conflict use_column"
        + _BODY.format(**_NUMBER, besides=besides.format(**_NUMBER))
        + "$guard$"
    )


GUARD_TAKE: Final = _made("guard_take")
"""A step of the schema: never changed once published; another version gets another name."""
GUARD_TAKE_HEEDING: Final = _made("guard_take_heeding", _KILLED)
"""The same, which does nothing where a kill covers the call. Kills are set while nobody else writes in a conversation, so behind its lock they are all seen."""

TAKE: Final = f"SELECT at, seq, hash FROM guard_take_heeding({', '.join(['?'] * len(_NUMBER))})"  # noqa: S608 - our own text
