"""Steps: what one record says about a call, in words for a person and as facts. Pure.

Tells only what the record holds: redacted copies, digests, names. Texts of others are given as they are; whoever shows them makes them inert. One row of
`WORDS` for each kind; an unknown kind is told by its name. Comes after `entry`, before `timeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guard.auditing import events, uncounted
from guard.auditing.entry import Entry
from guard.core.values import Json, encode

Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One record of a life. `tone`: plain, good, held or bad."""

    time: str
    kind: str
    who: str
    told: str
    tone: str
    facts: tuple[tuple[str, str], ...]
    number: str
    hash: str
    id: str = ""


def step(one: Entry) -> Step:
    """What a record says."""
    kind = one.text("kind")
    told, tone = WORDS.get(kind, _other)(one)
    return Step(
        time=one.text("ts"),
        kind=kind or "(cannot be read)",
        who=who(one),
        told=told,
        tone=tone,
        facts=tuple(_facts(one)),
        number=one.number,
        hash=one.sealed.hash,
        id=one.text("id"),
    )


def who(one: Entry) -> str:
    """Whoever caused a record, and how that is known."""
    ref, kind = one.text("actor", "ref"), one.text("actor", "type")
    how = [text for name in ("assurance", "via") if (text := one.text("actor", name) or one.text(name))]
    return (ref or {"agent": "the model", "policy": "the policy", "service": "the guard"}.get(kind, kind)) + (
        f" ({', '.join(how)})" if how else ""
    )


# -- in words ----------------------------------------------------------------------------------------------------------


def _decided(one: Entry) -> tuple[str, str]:
    verdict, code = one.text("decision", "verdict"), one.text("decision", "code")
    if verdict == "allow":
        return "allowed", "good"
    if verdict == "hold":
        return "held for a person's approval", "held"
    return f"refused: {code}" if code else "refused", "bad"


def _asked(one: Entry) -> tuple[str, str]:
    by = one.at("approval_state", "by")
    whom = " or ".join(map(str, by)) if isinstance(by, list) and by else "a person"
    need = one.at("approval_state", "need")
    return f"{whom} asked to decide" + (f", {need} must agree" if isinstance(need, int) and need > 1 else ""), "held"


def _voted(one: Entry) -> tuple[str, str]:
    said = one.text("approval_state", "decision") or one.text("approval_state", "status")
    if said == "refused":
        return (
            f"vote to {uncounted.verb(one.text('approval_state', 'wanted'))} not counted: {uncounted.TOLD[uncounted.sort(one)]}",
            "bad",
        )
    return said or "decided", "good" if said == "approved" else "bad" if said == "rejected" else "plain"


def _begun(one: Entry) -> tuple[str, str]:
    attempt = one.at("exec", "attempt")
    return "started" + (f", attempt {attempt}" if isinstance(attempt, int) and attempt > 1 else ""), "plain"


def _ended(one: Entry) -> tuple[str, str]:
    status, error = one.text("exec", "status"), one.text("exec", "error")
    if status == "ok":
        return "ended well", "good"
    return (f"failed: {error}" if error else "failed"), "bad"


def _reconciled(one: Entry) -> tuple[str, str]:
    happened = one.at("effect", "observed")
    if happened is None:
        return f"found out: {one.text('exec', 'status')}", "plain"
    return ("found out that it took effect", "good") if happened else ("found out that it did not take effect", "bad")


def _delivered(one: Entry) -> tuple[str, str]:
    return ("outcome given back once more" if one.at("exec", "replayed") else "outcome given back"), "plain"


def _exported(one: Entry) -> tuple[str, str]:
    to, count = one.text("export", "to"), one.at("export", "count")
    done = {"begin": f"records go to {to} from here on", "end": f"{count} records sent to {to}"}
    return done.get(one.text("export", "step"), f"{one.text('export', 'name')} taken along"), "plain"


def _verified(one: Entry) -> tuple[str, str]:
    if one.text("verify", "verdict") == "broken":
        return f"the log was verified and is broken: {one.text('verify', 'problems')} problems", "bad"
    by = {"checkpoint": f"up to checkpoint {one.text('verify', 'checkpoint', 'number')}", "chain": "by its chain alone"}
    count = f" ({number} records)" if (number := one.text("verify", "records")) else ""
    return f"the log was verified and holds, {by.get(one.text('verify', 'proved'), '')}{count}", "good"


def _closed(one: Entry) -> tuple[str, str]:
    month, number, own = (one.text("segment", name) for name in ("month", "records", "sha256"))
    return f"{month} was closed: {number} records, export with SHA-256 {own}", "plain"


def _dropped(one: Entry) -> tuple[str, str]:
    return (
        f"the records up to the end of {one.text('segment', 'month')} left; their export has SHA-256 {one.text('segment', 'sha256')}",
        "plain",
    )


def _other(one: Entry) -> tuple[str, str]:
    status = one.text("approval_state", "status") or one.text("exec", "status")
    return one.text("kind").replace(".", " ").replace("_", " ") + (f": {status}" if status else ""), "plain"


def _said(tone: str, text: str) -> Callable[[Entry], tuple[str, str]]:
    return lambda _: (text, tone)


def _taken(text: str) -> Callable[[Entry], tuple[str, str]]:
    return lambda one: (text + (" by a kill" if one.text("kill", "id") else ""), "bad")


WORDS: Mapping[str, Callable[[Entry], tuple[str, str]]] = {
    "call.proposed": _said("plain", "proposed by the model"),
    "call.decided": _decided,
    "tool.refused": _said("bad", "refused: the server's definition of the tool is not the reviewed one"),
    "approval.requested": _asked,
    "approval.viewed": _said("plain", "the question was looked at"),
    "approval.vote": _voted,
    "approval.resolved": _voted,
    "approval.edited": _said("held", "arguments edited: a new revision"),
    "approval.escalated": _said("held", "escalated"),
    "approval.expired": _said("bad", "the time to decide or to use the decision is over"),
    "approval.cancelled": _taken("the question was withdrawn"),
    "approval.revoked": _taken("the approval was revoked"),
    "approval.superseded": _said("plain", "replaced by a later revision"),
    "approval.revalidation_failed": _said("bad", "approved, but today's policy refuses it"),
    "kill.set": _said("bad", "calls like these were stopped by an operator"),
    "kill.cleared": _said("plain", "an operator let calls like these go on"),
    "grant.used": _said("good", "answered by a standing grant"),
    "call.begin": _begun,
    "call.end": _ended,
    "call.unknown": _said("bad", "outcome unknown: it may or may not have taken effect"),
    "call.reconciled": _reconciled,
    "result.delivered": _delivered,
    "audit.export": _exported,
    "audit.verify": _verified,
    "audit.segment_closed": _closed,
    "audit.segment_dropped": _dropped,
    "payload.erased": _said("plain", "the full arguments and result were erased; the redacted copies in the records stay"),
}


# -- facts -------------------------------------------------------------------------------------------------------------

_TEXTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("note", ("decision", "note")),
    ("policy", ("decision", "policy")),
    ("reason given", ("approval_state", "reason")),
    ("reason given", ("reason",)),
    ("reason given", ("kill", "reason")),
    ("kill", ("kill", "id")),
    ("server", ("drift", "server")),
    ("why", ("drift", "why")),
    ("class of the failure", ("exec", "class")),
    ("reference", ("exec", "reference")),
    ("grant", ("grant", "id")),
    ("what", ("approval_state", "effect")),
    ("outcome", ("exec", "status")),
    ("effect", ("exec", "class")),
    ("fingerprint", ("fingerprint",)),
    ("from the address", ("actor", "addr")),
    ("from the account", ("actor", "account")),
    ("caller's trace", ("trace",)),
    ("digest of the key", ("exec", "idem")),
    ("encrypted under the key", ("priv", "key")),
    ("arguments' digest", ("args", "digest")),
    ("result's digest", ("result", "digest")),
)
_LISTS = (
    ("rules", ("decision", "rules")),
    ("shadow rules", ("decision", "shadow")),
    ("hidden in the result", ("result", "labels")),
    ("changed", ("approval_state", "changed")),
    ("changed since it was asked", ("revalidation", "changed")),
)

_EVENTS = frozenset(
    (
        *("grant.created", "grant.revoked", "kill.set", "kill.cleared", "policy.loaded", "role.changed", "config.changed"),
        *("audit.gap", "sink.spooled", "sink.dropped", "sink.failed"),
    )
)
_NUMBERS = (
    ("decided within", ("decision", "ms"), "ms"),
    ("taken for", ("exec", "lease"), "s"),
    ("took", ("exec", "ms"), "ms"),
    ("result's size", ("result", "size"), "characters"),
)


def _facts(one: Entry) -> Facts:
    found: Facts = []
    spoof = one.at("spoof")
    if isinstance(spoof, list) and spoof:
        found.append(("spoof attempt", f"{', '.join(map(str, spoof))} (the session's value was used)"))
    found += _arguments(one)
    roles = one.at("session", "roles")
    found += [("roles", ", ".join(map(str, roles)))] if isinstance(roles, list) and roles else []
    found += _named(one)
    found += [(name, "; ".join(map(str, items))) for name, path in _LISTS if isinstance(items := one.at(*path), list) and items]
    for name, path in _TEXTS:
        text = one.text(*path)
        if text and _fits(name, one):
            found.append((name, text))
    return [*found, *_event(one), *_measures(one)]


def _event(one: Entry) -> Facts:
    """What a record about no call says, where its kind alone does not."""
    text = events.said(one) if one.text("kind") in _EVENTS else ""
    return [("says", text)] if text and text != one.text("reason") else []


def _named(one: Entry) -> Facts:
    """Who may decide about a question, or under which id a changed one goes on."""
    by = one.at("approval_state", "by")
    if isinstance(by, list):
        return [("may decide", " or ".join(map(str, by)))] if by else []
    return [("goes on as", str(by))] if by else []


def _fits(name: str, one: Entry) -> bool:
    """`exec.class` is an effect when a call begins, and an exception's class when it ends; other kinds tell their status in words."""
    if name == "outcome":
        return one.text("kind") == "result.delivered"
    return (name == "effect") == (one.text("kind") == "call.begin") if name in ("effect", "class of the failure") else True


def _arguments(one: Entry) -> Facts:
    """Each argument as the record shows it, with where it came from."""
    shown, labels = one.at("args", "shown"), one.at("args", "labels")
    if not isinstance(shown, dict):
        return []
    return [(f"argument {name}", f"{_json(value)}{_from(labels, name)}") for name, value in shown.items()]


def _from(labels: Json, name: str) -> str:
    origin = labels.get(name) if isinstance(labels, dict) else None
    return f"  ({origin})" if origin else ""


def _json(value: Json) -> str:
    return encode(value)


def _measures(one: Entry) -> Facts:
    found = [(name, f"{value} {unit}") for name, path, unit in _NUMBERS if (value := one.at(*path)) is not None]
    agrees = one.at("effect", "agrees")
    return found if agrees is None else [*found, ("the end on record", "said the same" if agrees else "said otherwise")]
