"""The SQL of the stores, written once, with `?` for each value. Nothing in here is special to one database. Comes before `sqlite`."""

from __future__ import annotations

from functools import lru_cache

CREATE = (
    "INSERT INTO conversations (id, tenant, conversation, principal, turns, words, run, started, steps, tokens, cost, known,"
    " total_tokens, total_cost, total_known) VALUES (?, ?, ?, ?, 0, 0, 0, NULL, 0, 0, '0', 1, 0, '0', 1)"
)
TALK = (
    "SELECT principal, turns, words, run, started, steps, tokens, cost, known, total_tokens, total_cost, total_known"
    " FROM conversations WHERE id = ?"
)
SAVE = (
    "UPDATE conversations SET turns = ?, words = ?, run = ?, started = ?, steps = ?, tokens = ?, cost = ?, known = ?,"
    " total_tokens = ?, total_cost = ?, total_known = ? WHERE id = ?"
)
SAY = "INSERT INTO words (conversation, number, at, payload) VALUES (?, ?, ?, ?)"
WORDS = "SELECT p.id, p.body FROM words w JOIN payloads p ON p.id = w.payload WHERE w.conversation = ? ORDER BY w.number"

_MARK = "SELECT turn, digest, run, at FROM turns"
_COUNT = "SELECT COUNT(*) FROM turns"
_BRANCH = " WHERE conversation = ? AND name = '' AND branch = ?"
_LAST = " ORDER BY turn DESC LIMIT 1"
NEWEST = _MARK + _BRANCH + _LAST
NEWEST_DIGEST = _MARK + _BRANCH + " AND digest = ?" + _LAST
KEYED = _MARK + " WHERE conversation = ? AND name = ? LIMIT 1"
OPENED = _MARK + " WHERE conversation = ? AND turn > ? ORDER BY turn"
COUNT = _COUNT + _BRANCH
COUNT_DIGEST = COUNT + " AND digest = ?"
COUNT_BEFORE = COUNT + " AND turn < ?"
NUMBER = "INSERT INTO turns (conversation, turn, branch, name, digest, run, at) VALUES (?, ?, ?, ?, ?, ?, ?)"

PAYLOAD = "INSERT INTO payloads (id, kind, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body"

CALLS_OF_ALL = (
    "SELECT c.turn, c.position, c.branch, c.name, c.status, c.kind, c.fingerprint, c.mark, c.run, c.again, c.settled, c.at, c.approval,"
    " c.owned, c.evidence, c.outcome, c.effect, c.attempt, c.lease, c.idem, c.executor, p.body, t.tenant, t.conversation, t.principal"
    " FROM calls c JOIN payloads p ON p.id = c.payload JOIN conversations t ON t.id = c.conversation"
)
_CALL = CALLS_OF_ALL + " WHERE c.conversation = ?"
_IN_ORDER = " ORDER BY c.turn, c.position"
CALL = _CALL + " AND c.turn = ? AND c.position = ?"
CALLS = _CALL + _IN_ORDER
UNSETTLED = _CALL + " AND c.settled = 0" + _IN_ORDER
# A status is cast where it is looked for: an index holds the rows of one status alone, so SQLite would plan `status = ?` anew for each value.
SETTLE = "UPDATE calls SET settled = 1 WHERE conversation = ? AND turn = ? AND position = ? AND status = ?"
CALLS_OF_TURN = _CALL + " AND c.turn = ?" + _IN_ORDER
CALLS_OF_TOOL = _CALL + " AND c.tool = ? AND c.turn < ?" + _IN_ORDER
_ALIKE = " FROM calls WHERE conversation = ? AND mark = ? AND mark <> ''"
_NEWEST_FIRST = " ORDER BY turn DESC, position DESC LIMIT 1"
ALIKE = "SELECT turn, position" + _ALIKE + " AND status = CAST(? AS TEXT)" + _NEWEST_FIRST
ALIKE_IN_RUN = "SELECT turn, position" + _ALIKE + " AND status = CAST(? AS TEXT) AND run = ?" + _NEWEST_FIRST
PUT = (
    "INSERT INTO calls (conversation, turn, position, branch, name, status, kind, tool, fingerprint, mark, run, again, settled, at,"
    " approval, owned, evidence, outcome, effect, attempt, lease, idem, executor, payload, ended)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (conversation, turn, position) DO UPDATE SET branch = excluded.branch, name = excluded.name,"
    " status = excluded.status, kind = excluded.kind, tool = excluded.tool, fingerprint = excluded.fingerprint, mark = excluded.mark,"
    " run = excluded.run, again = excluded.again, settled = excluded.settled, at = excluded.at, approval = excluded.approval,"
    " owned = excluded.owned, evidence = excluded.evidence, outcome = excluded.outcome, effect = excluded.effect,"
    " attempt = excluded.attempt, lease = excluded.lease, idem = excluded.idem, executor = excluded.executor,"
    " ended = COALESCE(calls.ended, excluded.ended)"
)
PUT_ON = (  # of a call that was taken: what no end of it changes is only looked at, so that indexes of tool and time stay as they are
    "UPDATE calls SET status = ?, kind = ?, mark = ?, run = ?, again = ?, settled = ?, approval = ?, owned = ?, evidence = ?, outcome = ?,"
    " effect = ?, attempt = ?, lease = ?, idem = ?, executor = ?, ended = COALESCE(ended, ?) WHERE conversation = ? AND turn = ? AND position = ?"
    " AND branch = ? AND name = ? AND fingerprint = ? AND tool = ? AND at = ?"
)
RENEW = (
    "UPDATE calls SET lease = ? WHERE conversation = ? AND turn = ? AND position = ? AND status = 'started' AND attempt = ?"
    " AND executor = ?"
)
_ANY_OPEN = " WHERE c.status IN ('held', 'started', 'unknown') AND c.status"  # says to SQLite which index serves
_OPEN = CALLS_OF_ALL + _ANY_OPEN + " IN ('started', 'unknown') AND c.kind = 'action'"
DOUBTFUL = _OPEN + " ORDER BY c.at, c.turn, c.position"
DOUBTFUL_IN = _OPEN + " AND t.tenant = ? ORDER BY c.at, c.turn, c.position"
APPROVED = (
    CALLS_OF_ALL + " JOIN approvals a ON a.id = c.approval" + _ANY_OPEN + " = 'held' AND a.status = 'approved'"
    " AND a.decided_at <= ? AND a.expires_at > ? AND (c.picked IS NULL OR c.picked <= ?) ORDER BY a.decided_at LIMIT ?"
)
_GRANTED = "SELECT 1 FROM grants g WHERE g.tenant = t.tenant AND g.principal = t.principal AND g.tool = c.tool AND g.revoked IS NULL AND g.at <= ?"
_ASKED = (
    " JOIN approvals a ON a.id = c.approval" + _ANY_OPEN + " = 'held' AND c.branch = '' AND c.at <= ? AND a.status = 'pending'"
    " AND a.expires_at > ? AND (c.picked IS NULL OR c.picked <= ?)"
)
ANSWERABLE = CALLS_OF_ALL + _ASKED + " AND EXISTS (" + _GRANTED + ") ORDER BY a.requested_at LIMIT ?"
WAITS = CALL + " AND c.status = 'held' AND (c.picked IS NULL OR c.picked <= ?)"
LOST = (
    CALLS_OF_ALL + _ANY_OPEN + " = 'started' AND (c.lease IS NULL OR c.lease <= ?) AND (c.picked IS NULL OR c.picked <= ?)"
    " ORDER BY c.at LIMIT ?"
)
AIM = "UPDATE calls SET target = ? WHERE conversation = ? AND turn = ? AND position = ?"
AIMED = CALLS_OF_ALL + " WHERE c.target = ? AND c.target <> '' AND c.status IN ('started', 'unknown') ORDER BY c.status DESC"
_OTHERWISE = " AND c.tool = ? AND c.kind = 'action' AND t.tenant = ? AND "
_UNKNOWN = CALLS_OF_ALL + " WHERE c.status = 'unknown'" + _OTHERWISE
UNKNOWN_OTHERWISE = _UNKNOWN + "c.target < ? UNION ALL " + _UNKNOWN + "c.target >= ? LIMIT ?"
LOST_OTHERWISE = (
    CALLS_OF_ALL
    + _ANY_OPEN
    + " = 'started' AND (c.lease IS NULL OR c.lease <= ?)"
    + _OTHERWISE
    + "(c.target < ? OR c.target >= ?) LIMIT ?"
)
PICK = "UPDATE calls SET picked = ? WHERE conversation = ? AND turn = ? AND position = ?"
EPOCH = "SELECT MAX(number) FROM epochs"
NEW_EPOCH = "INSERT INTO epochs (number, at, why) VALUES (?, ?, ?)"
CLAIMED = "SELECT 1 FROM claims WHERE conversation = ? AND turn = ? AND position = ?"
CLAIM = "INSERT INTO claims (conversation, turn, position, fingerprint, approval, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

SEAL_AWAY = (
    "INSERT INTO handles (conversation, handle, kind, digest, tool, path, at, void, payload) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)"
    " ON CONFLICT (conversation, handle) DO UPDATE SET at = excluded.at,"
    " void = CASE WHEN handles.digest = excluded.digest AND handles.kind = excluded.kind THEN handles.void ELSE 1 END"
)
HANDLE = (
    "SELECT h.handle, h.kind, h.digest, h.tool, h.path, p.body FROM handles h JOIN payloads p ON p.id = h.payload"
    " WHERE h.conversation = ? AND h.handle = ? AND h.at >= ? AND h.void = 0"
)
PAYLOAD_ONCE = "INSERT INTO payloads (id, kind, body) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
LAST_HANDLE = "SELECT at FROM handles WHERE conversation = ? ORDER BY at DESC LIMIT 1 OFFSET ?"
FORGET_PAYLOADS = "DELETE FROM payloads WHERE id IN (SELECT payload FROM handles WHERE conversation = ? AND at < ?)"
FORGET_HANDLES = "DELETE FROM handles WHERE conversation = ? AND at < ?"

BATCHING = "SELECT executor, seconds, at FROM batching ORDER BY at, executor"
BEGIN_BATCHING = "INSERT INTO batching (executor, seconds, at) VALUES (?, ?, ?)"
END_BATCHING = "DELETE FROM batching WHERE executor = ?"
AGED = (
    "SELECT t.tenant, t.conversation, c.turn, c.position FROM calls c JOIN conversations t ON t.id = c.conversation"
    " LEFT JOIN approvals a ON a.id = c.approval WHERE c.erased IS NULL AND c.at <= ? AND COALESCE(c.ended, c.at) <= ?"
    " AND (c.status NOT IN ('held', 'started', 'unknown') OR (c.status = 'held' AND a.status <> 'consumed'"
    " AND CASE WHEN a.status = 'rejected' THEN a.decided_at ELSE a.expires_at END <= ?)) ORDER BY c.at LIMIT ?"
)
HOMES = "SELECT tenant, conversation FROM conversations WHERE principal = ? OR conversation = ? ORDER BY tenant, conversation"
ERASED = "UPDATE calls SET erased = ?, target = '' WHERE conversation = ? AND turn = ? AND position = ?"
NO_AMOUNT = "UPDATE grant_uses SET amount = '' WHERE conversation = ? AND turn = ? AND position = ?"
FORGET_VOTES = "DELETE FROM payloads WHERE id IN (SELECT payload FROM votes WHERE approval = ?)"
FORGET_WORDS = "DELETE FROM payloads WHERE id IN (SELECT payload FROM words WHERE conversation = ? AND at <= ?)"

METER = "SELECT total, latest FROM budgets WHERE id = ?"
PACE = "UPDATE budgets SET latest = ? WHERE id = ?"
SET_TOTAL = "INSERT INTO budgets (id, total) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET total = excluded.total"
_OF_CALL = " FROM draws WHERE conversation = ? AND turn = ? AND position = ?"
HOLDS = "SELECT 1" + _OF_CALL + " LIMIT 1"
LAST_DRAW = "SELECT MAX(number)" + _OF_CALL
DRAWS = "SELECT budget, amount, CASE WHEN due IS NULL THEN 0 ELSE 1 END" + _OF_CALL + " AND summed >= ? ORDER BY number"
DROP = "DELETE" + _OF_CALL + " AND summed >= ?"
DRAW = (
    "INSERT INTO draws (conversation, turn, position, number, budget, amount, summed, at, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SPAN = (
    " FROM draws d LEFT JOIN calls c ON c.conversation = d.conversation AND c.turn = d.turn AND c.position = d.position"
    "{} WHERE d.budget = ?"
)
DUE = (
    "SELECT d.conversation, d.turn, d.position, d.number, d.amount, d.at, c.status, c.ended, a.expires_at"
    + _SPAN.format(" LEFT JOIN approvals a ON a.id = c.approval")
    + " AND d.due <= ?"
)
POSTPONE = "UPDATE draws SET due = ? WHERE conversation = ? AND turn = ? AND position = ? AND number = ?"
LEAVE = "DELETE FROM draws WHERE budget = ? AND due <= ?"
LEAVING = (
    "SELECT d.amount, d.due"
    + _SPAN.format("")
    + " AND d.due IS NOT NULL AND (c.status IS NULL OR c.status NOT IN ('held', 'started', 'unknown')) ORDER BY d.due LIMIT ?"
)

_ASKED = (
    "SELECT a.id, a.fingerprint, a.status, a.run, a.decided_run, a.branch, a.turn, a.position, a.requested_at, a.expires_at,"
    " a.decided_at, a.decided_by, a.detail, p.body, t.tenant, t.conversation"
    " FROM approvals a JOIN payloads p ON p.id = a.payload JOIN conversations t ON t.id = a.conversation"
)
_OLDEST_FIRST = " ORDER BY a.requested_at, a.turn, a.position, a.id"
_LIVE = "a.status IN ('pending', 'approved')"
ASKED = _ASKED + " WHERE a.id = ?"
ALIVE = _ASKED + " WHERE a.conversation = ? AND a.turn = ? AND a.position = ? AND a.fingerprint <> ? AND " + _LIVE + _OLDEST_FIRST
ABOUT = _ASKED + " WHERE a.conversation = ? AND a.fingerprint = ?" + _OLDEST_FIRST
ASKED_IN = _ASKED + " WHERE a.conversation = ? AND a.run = ?" + _OLDEST_FIRST
OPEN_IN = _ASKED + " WHERE a.conversation = ? AND a.status = 'pending'" + _OLDEST_FIRST
OPEN = (
    "INSERT INTO approvals (id, conversation, fingerprint, status, run, decided_run, branch, turn, position, requested_at, expires_at,"
    " decided_at, decided_by, escalate_at, detail, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
CLOSE_ASKED = (
    "UPDATE approvals SET status = ?, decided_run = ?, decided_at = ?, decided_by = ?, expires_at = ?, escalate_at = ?, detail = ?"
    " WHERE id = ?"
)
WAITING = (
    "SELECT COUNT(*) FROM approvals a JOIN conversations t ON t.id = a.conversation"
    " WHERE a.status = 'pending' AND a.expires_at > ? AND t.tenant = ? AND t.principal = ?"
)
VOTE = "INSERT INTO votes (approval, number, status, voter, roles, at, detail, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

HEAD = "SELECT seq, hash FROM audit WHERE chain = ? ORDER BY seq DESC LIMIT 1"
HASH = "SELECT hash FROM audit WHERE chain = ? AND seq = ?"
APPEND = "INSERT INTO audit (chain, seq, prev, hash, body) VALUES (?, ?, ?, ?, ?)"
AUDIT = "SELECT chain, seq, prev, hash, body FROM audit WHERE chain = ? AND seq > ? ORDER BY seq LIMIT ?"

FAR = 10**12
"""Seconds: no time is that far away, so what is stored there is none (a file lets a text stand in the place of a number)."""

_UNDER = {"tenant": "t.tenant = ?", "conversation": "t.conversation = ?", "tool": "(c.tool IS NULL OR c.tool = ?)"}
_CONDITIONS = {
    "tenant": "t.tenant = ?",
    "conversation": "t.conversation = ?",
    "status": "a.status = ?",
    "due": _LIVE  # a text stands above every number
    + " AND (CASE WHEN a.escalate_at < a.expires_at THEN a.escalate_at ELSE a.expires_at END <= ?"
    + f" OR a.expires_at >= {FAR})",
}


@lru_cache(maxsize=16)
def alike(statuses: tuple[str, ...], *, in_run: bool) -> str:
    """The newest calls with a mark: the place of one for each status, as text, found in an index alone. Asks for conversation, mark and maybe run each time.

    The statuses stand in the text. SQLite plans a statement anew for every value that is compared with a column which an index of some rows names.
    """
    names = [f"SELECT turn || ':' || position{_ALIKE} AND status = '{status}'" for status in statuses]
    return "SELECT " + ", ".join(f"({one}{' AND run = ?' if in_run else ''}{_NEWEST_FIRST})" for one in names)


def meeting(fields: tuple[str, ...]) -> str:
    """Conditions on these fields of an approval `a` and its conversation `t`."""
    where = " AND ".join(_CONDITIONS[field] for field in fields)
    return f" WHERE {where}" if where else ""


def open_under(fields: tuple[str, ...]) -> str:
    """Live approvals about calls with these of tenant, conversation and tool; the tool is what the ledger has of the call, where it has it."""
    where = "".join(f" AND {_UNDER[field]}" for field in fields)
    call = " LEFT JOIN calls c ON c.conversation = a.conversation AND c.turn = a.turn AND c.position = a.position"
    return _ASKED + call + " WHERE " + _LIVE + where + _OLDEST_FIRST


def listed(fields: tuple[str, ...]) -> str:
    """Approvals that meet conditions on these fields."""
    return _ASKED + meeting(fields) + _OLDEST_FIRST
