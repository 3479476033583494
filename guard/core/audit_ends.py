"""Records of ends: how a call ended, that it was settled, and that its outcome went back. Comes after audit, whose heads they share; pure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from guard.core.actors import human
from guard.core.audit import LONGEST, SERVICE, called, head_of, name_of, names_of
from guard.core.commitments import mark
from guard.core.model import CallKey, Outcome, Session, ToolCall
from guard.core.ports import CallRow, Event, Executed, Redactor
from guard.core.values import JsonObject, digest, encode, quote, read_json

_COPIED = 4096  # characters of a result of which a record keeps a copy
_SAID = {"done": True, "failed": False, "refused": False}  # what an end that is on record says of the act
_ENDS = {"done": "ok", "unknown": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a record says of a result besides its size and digest: kinds that were hidden in it, tags of personal values, and the call's salt.

    `open`: what went back is what everybody may see of it, so that a copy stands in the record, where it is short. `attempt`: which attempt of
    an action ended. `effect` is what was seen of the act from outside (see `effect_of`), `beside` as in `More`.
    """

    labels: tuple[str, ...] = ()
    open: bool = False
    salt: str = ""
    tags: str = ""
    attempt: int = 0
    effect: str = ""
    beside: str = ""


_NOTHING = Beside()


def reference(key: CallKey) -> str:
    """What the model is told about a failure in place of its text, so that a person finds the record: eight hexadecimal digits."""
    return digest("guard-reference", key.ref.conversation, str(key.turn), str(key.position), key.key)[:8]


def ended(
    key: CallKey,
    call: ToolCall,
    outcome: Outcome,
    redactor: Redactor,
    ran: Executed | None = None,
    more: Beside = _NOTHING,
) -> Event:
    """How the call ended: a digest of what went back, what was hidden in it, and how long it took."""
    kind = "call.unknown" if outcome.status == "unknown" else "call.reconciled" if ran is not None and ran.probed else "call.end"
    head = head_of(kind, key, name_of(call.id, redactor), SERVICE, called(call, redactor))
    approval = f',"approval":"{outcome.approval}"' if outcome.approval else ""
    error = f',"error":"{outcome.reason}"' if outcome.reason is not None else ""
    raised = f',"class":{quote(ran.error)},"reference":"{reference(key)}"' if ran is not None and ran.error else ""
    took = f',"ms":{ran.ms:.3f}' if ran is not None else ""
    tried = f',"attempt":{more.attempt},"fence":{more.attempt}' if more.attempt else ""
    content = outcome.content if isinstance(outcome.content, str) else encode([str(block) for block in outcome.content])
    hidden = f',"labels":{names_of(more.labels)}' if more.labels else ""
    return (
        f'{head}{approval},"exec":{{"status":"{_ENDS.get(outcome.status, "error")}"{error}{raised}{tried}{took}}}{more.effect},'
        f'"result":{{"size":{len(content)},"digest":"{mark(content, redactor, more.salt)}"{_copied(outcome) if more.open else ""}{hidden}{more.tags}}}{more.beside}'
    )


def refused_late(key: CallKey, call: ToolCall, outcome: Outcome, redactor: Redactor, policy: str, note: str) -> Event:
    """A call that was allowed did not start after all; `note` is the guard's own word on why, `policy` the version in force."""
    why = f',"decision":{{"policy":{quote(policy)},"note":{quote(note)}}}' if note else ""
    return f"{ended(key, call, outcome, redactor)}{why}"


def _copied(outcome: Outcome) -> str:
    """What went back, as it went: it is redacted already. JSON stays JSON, so that fields can be found in it."""
    content = outcome.content
    if outcome.status != "done" or not isinstance(content, str) or not 0 < len(content) <= _COPIED:
        return ""
    if content[0] in "{[" and (content.isprintable() or min(content) >= " "):
        with suppress(ValueError):
            read_json(content)
            return f',"shown":{content}'
    return f',"shown":{quote(content)}'


def effect_of(observed: bool, before: CallRow | None) -> JsonObject:  # noqa: FBT001 - what was found
    """What was seen of an act apart from its own end, and whether that agrees with the end on record; where none is, there is nothing to agree with."""
    ended = None if before is None or before.outcome is None else _SAID.get(before.outcome.status)
    return {"observed": observed} if ended is None else {"observed": observed, "agrees": ended == observed}


def reconciled(key: CallKey, row: CallRow, who: Session, happened: bool, reason: str, redactor: Redactor) -> Event:  # noqa: FBT001 - what was found
    """A person settled a call whose outcome was unknown; the identity is the one that the host authenticated."""
    return {
        "kind": "call.reconciled",
        "tenant": key.ref.tenant,
        "conversation": key.ref.conversation,
        "principal": key.ref.principal,
        "turn": key.turn,
        "position": key.position,
        "actor": human(who, redactor),
        "call_id": redactor.detect(None, row.call.id[:LONGEST])[0],
        "tool": {"name": redactor.detect(None, row.call.tool[:LONGEST])[0]},
        "approval": row.approval,
        "exec": {"status": "ok" if happened else "error", "attempt": row.attempt},
        "effect": effect_of(happened, row),
        "reason": redactor.detect(None, reason)[0],
    }


def delivered(
    key: CallKey, call: ToolCall, outcome: Outcome, redactor: Redactor, *, again: bool = True, of: tuple[int, int] | None = None
) -> Event:
    """An outcome went back to the program: a recorded one once more, or (`again` is False) for the first time.

    `of` is the place (turn, position) of the call whose outcome it is, where that is another one.
    """
    cause = f',"cause":{{"turn":{of[0]},"position":{of[1]}}}' if of is not None and of != (key.turn, key.position) else ""
    head = head_of("result.delivered", key, name_of(call.id, redactor), SERVICE, called(call, redactor))
    approval = f',"approval":"{outcome.approval}"' if outcome.approval else ""
    return f'{head}{approval}{cause},"exec":{{"status":"{outcome.status}","replayed":{"true" if again else "false"}}}'
