"""Presented: what an approver is shown of an approval, as one JSON document, and its digest, which stands in the vote.

Built only from the stored approval, whose arguments are the ones that will run: never from what the model says about them. What the policy
calls secret stands as a mask. What changes while people vote (status, votes, who may decide by now) is not in it. Comes after approval; pure.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from guard.core.approval import Approval
from guard.core.names import real
from guard.core.pointers import at, pointer, put, within
from guard.core.values import Json, JsonObject, canonical, digest, equal, keyed

VERSION = 1
_PERMITS = "one execution of exactly this call"


def document(approval: Approval, previous: Approval | None = None) -> JsonObject:
    """Everything that an approver is shown: the call that will run, who asked, why, until when, and what the last revision said otherwise.

    `arguments` lists name, value in full, origin (`model`, `session`, `default`, `result`, `bounded`, `user`, `handle`, `edit`) and whether
    the policy shows it first; `difference` lists place, before and after, each missing where nothing stood.
    """
    return {
        "v": VERSION,
        "approval": approval.id,
        "revision": approval.revision,
        "supersedes": approval.supersedes,
        "edited_by": approval.edited_by,
        **({"edited_why": approval.edited_why} if approval.edited_why else {}),
        "tool": {"name": approval.tool, "kind": approval.kind, "definition": approval.definition},
        "effect": approval.effect,
        "arguments": _arguments(approval),
        "editable": list(approval.editable),
        "secret": list(approval.secret),
        "difference": differences(previous, approval) if previous is not None else [],
        "fingerprint": approval.fingerprint,
        "requester": {"principal": approval.requester, "tenant": approval.tenant, **_called(approval.requester)},
        "conversation": {
            "name": approval.conversation,
            "branch": approval.branch,
            "turn": approval.turn,
            "position": approval.position,
            "call_id": approval.call_id,
        },
        "why": list(approval.why),
        "policy": approval.policy,
        "permits": _PERMITS,
        "need": approval.need,
        "requested_at": approval.requested_at,
        "decide_by": approval.expires_at,
        "use_within": approval.use_within,
        **({"words": approval.words.digest} if approval.words.digest else {}),  # the text itself is shown beside the document
    }


def _called(name: str) -> dict[str, str]:
    """The real name of whoever is kept under a reference."""
    return {"name": real(name)} if real(name) != name else {}


def presented(approval: Approval, previous: Approval | None = None) -> str:
    """The digest of `document`: of its canonical text, with a version tag, under the approval's key, so that nobody who has it can try values."""
    return _keyed(approval.veil, f"guard-presented-v{VERSION}", canonical(document(approval, previous)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked(Approval):
    """An approval in which masks stand. A type of its own: what was masked is never masked once more."""


def masked(approval: Approval) -> Approval:
    """The approval as it may be shown: what is secret stands as a mask with its length and digest. Of a masked approval: itself."""
    if not approval.secret or isinstance(approval, Masked):
        return approval
    arguments = approval.arguments
    for place in approval.secret:
        there, value = at(arguments, place)
        if there:
            arguments = put(arguments, place, mask(value, approval.veil))
    kept = {one.name: getattr(approval, one.name) for one in fields(approval)}
    return Masked(**{**kept, "arguments": arguments})


def mask(value: Json, key: str) -> str:
    """What stands for a secret value: its length in characters and a digest under a key, by which two of them can be told apart.

    Without a key (an approval from before there was one) only the length: who sees a plain digest could try short values.
    """
    text = value if isinstance(value, str) else canonical(value)
    told = f"[secret: {len(text)} characters"
    return f"{told}, digest {_keyed(key, 'guard-secret-v1', canonical(value))[:16]}]" if key else f"{told}]"


def _keyed(key: str, *parts: str) -> str:
    made = digest(*parts)
    return keyed(bytes.fromhex(key), made) if key else made


def _arguments(approval: Approval) -> list[JsonObject]:
    shown = masked(approval).arguments
    first = {path.partition(".")[0].partition("[")[0] for path in approval.show}
    return [
        {
            "name": name,
            "value": value,
            "origin": approval.origins.get(name, "model"),
            "first": name in first,
            "editable": any(within(pointer([name]), [place]) or within(place, [pointer([name])]) for place in approval.editable),
        }
        for name, value in shown.items()
    ]


def differences(before: Approval, after: Approval) -> list[JsonObject]:
    """Where the arguments of two revisions differ, each place with what stood there; masks where it is secret.

    A secret that was changed differs by its mask's digest.
    """
    return _differ(masked(before).arguments, masked(after).arguments, ())


def _differ(old: Json, new: Json, way: tuple[str | int, ...]) -> list[JsonObject]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key in dict.fromkeys((*old, *new)) for found in _at(old, new, key, way)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [found for number, (left, right) in pairs for found in _differ(left, right, (*way, number))]
    return [] if equal(old, new) else [{"path": pointer(way), "before": old, "after": new}]


def _at(old: JsonObject, new: JsonObject, key: str, way: tuple[str | int, ...]) -> list[JsonObject]:
    if key not in new:
        return [{"path": pointer((*way, key)), "before": old[key]}]
    if key not in old:
        return [{"path": pointer((*way, key)), "after": new[key]}]
    return _differ(old[key], new[key], (*way, key))
