"""Explained: an explanation as lines for a person, or as an object for a program. Arguments are redacted unless values are asked for."""

from __future__ import annotations

from guard.cli import show
from guard.cli.tables import table
from guard.core.facts import ORIGINS
from guard.core.hiding import hide
from guard.core.values import JsonObject
from guard.policy.engine.explain import Candidate, Explained
from guard.review.explain import Explanation


def lines(one: Explanation, *, values: bool) -> list[str]:
    """The whole explanation."""
    call = one.call
    code = f" {call.reason}" if call.reason else ""
    who = f"{show.spell(one.session.principal)} (tenant {show.spell(one.session.tenant)}, roles {_roles(one)})"
    told = [f"{call.decision.upper()}{code}: {show.spell(call.proposal.tool)} by {who}", ""]
    told += table(("room", "verdict", "µs", "why"), [_room(room) for room in one.rooms])
    told += ["", *_rules(one)]
    final = arguments(one, values=values)
    if final is not None:
        origins = call.origins
        rows = [(name, show.value(value), ORIGINS.get(origins.get(name, ""), "unknown")) for name, value in final.items()]
        told += ["", *(table(("argument", "value", "from"), rows) if rows else ["no arguments"])]
    if one.demands:
        told += ["", "what every call of it must meet", *(f"  {show.spell(text)}" for text in one.demands)]
    return [*told, "", f"policy {one.version}; times are of this run, look-ups between rooms included"]


def _roles(one: Explanation) -> str:
    return ", ".join(map(show.spell, one.session.roles)) or "none"


def _room(room: object) -> tuple[object, ...]:
    micros = getattr(room, "micros", None)
    return (
        getattr(room, "name", ""),
        getattr(room, "verdict", ""),
        "" if micros is None else f"{micros:.0f}",
        getattr(room, "note", ""),
    )


def _rules(one: Explanation) -> list[str]:
    """The rules about this tool, and the ways from the person to roles."""
    found = every(one.authorized)
    rows = [(rule.rule, one.places.get(rule.rule, ""), rule.subject, _failed(rule)) for rule in found]
    deciding = [(rule, one.places.get(rule, ""), "", "decides") for rule in one.authorized.verdict.rules]
    told = table(("rule", "where", "asked for", "first term that failed"), rows or deciding) if rows or deciding else []
    paths = [" -> ".join(map(show.spell, path.names)) for path in one.authorized.paths if len(path.names) > 1]
    told = told or ["no rule speaks about this tool"]
    told += ["", *(f"role path: {path}" for path in paths)] if paths else []
    return [*told, *(_strange(role, meant) for role, meant in one.strange.items())]


def _strange(role: str, meant: str) -> str:
    """What is said of a role that the policy does not name."""
    return f"no rule and nobody in people names the role {show.spell(role)}" + (f" (did you mean {meant}?)" if meant else "")


def every(explained: Explained) -> list[Candidate]:
    """The candidates of the session and of those that it is within."""
    return [*explained.candidates, *(every(explained.outer) if explained.outer else [])]


def _failed(rule: Candidate) -> str:
    if rule.error:
        return f"error: {rule.error}"
    return rule.failed or (f"applies unless {rule.open} fails" if rule.open else "applies")


def arguments(one: Explanation, *, values: bool) -> JsonObject | None:
    """The final arguments, redacted as in the audit: by the detectors that the policy asks for."""
    final = one.call.arguments
    if final is None or values:
        return final
    shown: JsonObject = hide(final, one.redactor, set())
    return shown


def plain(one: Explanation, *, values: bool) -> JsonObject:
    """The same for a program."""
    call = one.call
    return {
        "tool": call.proposal.tool,
        "verdict": call.decision,
        "reason": call.reason,
        "principal": one.session.principal,
        "tenant": one.session.tenant,
        "roles": list(one.session.roles),
        "unknown_roles": dict(one.strange),
        "rooms": [
            {"room": room.name, "verdict": room.verdict, "note": room.note, "microseconds": _rounded(room.micros)}
            for room in one.rooms
        ],
        "rules": list(call.rules),
        "candidates": [
            {
                "rule": rule.rule,
                "effect": rule.effect,
                "place": one.places.get(rule.rule, ""),
                "subject": rule.subject,
                "failed": rule.failed,
                "open": rule.open,
                "error": rule.error,
            }
            for rule in every(one.authorized)
        ],
        "paths": [{"names": list(path.names), "grants": list(path.grants)} for path in one.authorized.paths],
        "arguments": arguments(one, values=values),
        "origins": call.origins,
        "spoofed": list(call.spoofed),
        "demands": list(one.demands),
        "policy": one.version,
    }


def _rounded(micros: float | None) -> int | None:
    return None if micros is None else round(micros)
