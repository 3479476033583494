"""Audit: what each room did, as records of schema v1, already safe to store.

A record holds digests, redacted copies and origins, never a raw argument or result. The core writes the members as JSON text, since it writes
some for every call; the store adds version, id, time and chain. Used by the pipeline after every room; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from guard.core.hiding import shown_text
from guard.core.model import (
    Allow,
    AuthorizedCall,
    BoundCall,
    CallKey,
    ConversationRef,
    Decision,
    Outcome,
    ParsedCall,
    Refusal,
    Session,
    ToolCall,
    ValidCall,
)
from guard.core.ports import CallRow, Event, Executed, Redactor
from guard.core.rules import Tool
from guard.core.values import Json, canonical, digest, encode, quote, read_json

_AGENT, POLICY, _SERVICE = '{"type":"agent"}', '{"type":"policy"}', '{"type":"service"}'
_COPIED = 4096  # characters of a result of which a record keeps a copy
_LONGEST = 200  # characters of a call id, tool name or argument name that a record keeps
_ENDS = {"done": "ok", "unknown": "unknown"}


@lru_cache(maxsize=1024)
def where(ref: ConversationRef) -> str:
    """The members that say in which conversation, and for whom."""
    branch = f',"branch":{quote(ref.branch)}' if ref.branch else ""
    names = (quote(ref.tenant), quote(ref.conversation), quote(ref.principal))
    return '"tenant":{},"conversation":{},"principal":{}'.format(*names) + branch


@lru_cache(maxsize=4096)
def tool_of(name: str, definition: str, kind: str) -> str:
    """The member that says which tool, with its definition and kind."""
    return f'{{"name":{quote(name)},"definition":"{definition}","kind":"{kind}"}}'


@lru_cache(maxsize=4096)
def _labels(origins: tuple[tuple[str, str], ...], redactor: Redactor) -> str:
    return shown_text({name[:_LONGEST]: origin for name, origin in origins}, redactor, set())


@lru_cache(maxsize=4096)
def name_of(text: str, redactor: Redactor) -> str:
    """A name that the model chose, safe to store: hidden where it must be, and no longer than a name is."""
    return quote(redactor.detect(None, text[:_LONGEST])[0])


@lru_cache(maxsize=4096)
def _names(names: tuple[str, ...]) -> str:
    return encode(list(names))


_LAST: list[tuple[ConversationRef | None, str]] = [(None, "")]


def _near(ref: ConversationRef) -> str:
    """`where`, without hashing the reference again while it stays the same object."""
    known, text = _LAST[0]
    if known is not ref:
        text = where(ref)
        _LAST[0] = (ref, text)
    return text


def head_of(kind: str, key: CallKey, call_id: str, actor: str, tool: str) -> str:
    """The first members of a record about a call."""
    return placed(kind, (key.ref, key.turn, key.position), call_id, actor, tool)


def placed(kind: str, place: tuple[ConversationRef, int, int], call_id: str, actor: str, tool: str) -> str:
    """The same, of a call of which only the place is known."""
    ref, turn, position = place
    return f'"kind":"{kind}",{_near(ref)},"turn":{turn},"position":{position},"actor":{actor},"call_id":{call_id},"tool":{tool}'


def _called(call: ToolCall, redactor: Redactor) -> str:
    return f'{{"name":{name_of(call.tool, redactor)}}}'


def _of(tool: Tool) -> str:
    return tool_of(tool.name, tool.definition, tool.kind)


def proposed(ref: ConversationRef, turn: int, position: int, call: ToolCall, redactor: Redactor) -> Event:
    """A call as the model wrote it: size and digest only, since nothing is known about the text yet."""
    raw = call.arguments if isinstance(call.arguments, str) else "" if call.arguments is None else _raw(call.arguments)
    head = placed("call.proposed", (ref, turn, position), name_of(call.id, redactor), _AGENT, _called(call, redactor))
    return f'{head},"args":{{"size":{len(raw)},"digest":"{redactor.tag(raw)}"}}'


def _raw(arguments: Json) -> str:
    try:
        return canonical(arguments)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return ""


def decided(
    key: CallKey,
    call: ToolCall,
    decision: Decision,
    last: object,
    policy: str,
    redactor: Redactor,
    session: Session | None = None,
    shadowed: tuple[str, ...] = (),
) -> Event:
    """What the rooms decided, by which rules, about which final arguments, for whom. `last` is the furthest proof that the call reached.

    The roles of the session stand in the record, since the decision rests on them; its attributes do not: they may be personal.
    `shadowed` are shadow rules that would have refused it, besides those that its proof names.
    """
    tool = (
        last.valid.tool
        if isinstance(last, AuthorizedCall)
        else last.tool
        if isinstance(last, ParsedCall | BoundCall | ValidCall)
        else None
    )
    head = head_of("call.decided", key, name_of(call.id, redactor), POLICY, _of(tool) if tool else _called(call, redactor))
    approval = ""
    if isinstance(decision, Refusal):
        note = f',"note":{quote(decision.note)}' if decision.note else ""
        verdict = f'"verdict":"refuse","code":"{decision.reason}","rules":{_names(decision.rules)}{note}'
    else:
        shadowed = decision.call.shadowed + shadowed
        verdict = f'"verdict":"{"allow" if isinstance(decision, Allow) else "hold"}","rules":{_names(decision.call.rules)}'
        approval = f',"approval":"{decision.approval.id}"' if decision.approval is not None else ""
        approval += _under(decision) if isinstance(decision, Allow) else ""
    if shadowed:
        verdict += f',"shadow":{_names(shadowed)}'
    who = f',"session":{_held(session)}' if session is not None else ""
    return f'{head}{_final(last, redactor)}{approval}{who},"decision":{{"policy":"{policy}",{verdict}}}'


def _under(allow: Allow) -> str:
    return f',"grant":{{"id":"{allow.grant.id}"}}' if allow.grant is not None else ""


def named(text: str, redactor: Redactor) -> str:
    """A name that the model chose, as a record may hold it."""
    return redactor.detect(None, text[:_LONGEST])[0]


def _held(session: Session) -> str:
    """The roles of a session, and of the one that it is within."""
    outer = f',"within":{_held(session.within)}' if session.within is not None else ""
    return f'{{"roles":{_names(session.roles)}{outer}}}'


def _final(last: object, redactor: Redactor) -> str:
    """Final arguments, their origins and what was spoofed, as far as the call got."""
    origins: Mapping[str, str]
    if isinstance(last, AuthorizedCall):
        valid, origins = last.valid, last.grounded.origins
    elif isinstance(last, ValidCall):
        valid, origins = last, last.origins
    else:
        return _read(last, redactor) if isinstance(last, ParsedCall | BoundCall) else ""
    spoof = f',"spoof":{_names(valid.spoofed)}' if valid.spoofed else ""
    shown = shown_text(valid.arguments, redactor, set())
    labels = _labels(tuple(origins.items()), redactor)
    return f',"args":{{"size":{len(valid.canonical)},"digest":"{valid.digest}","shown":{shown},"labels":{labels}}}{spoof}'


def _read(call: ParsedCall | BoundCall, redactor: Redactor) -> str:
    """The arguments of a call that was refused before they were final: as far as they were read, or bound."""
    text = canonical(call.arguments)
    spoof = f',"spoof":{_names(call.spoofed)}' if isinstance(call, BoundCall) and call.spoofed else ""
    shown = shown_text(call.arguments, redactor, set())
    return f',"args":{{"size":{len(text)},"digest":"{redactor.tag(text)}","shown":{shown}}}{spoof}'


def began(key: CallKey, allow: Allow, policy: str, redactor: Redactor, attempt: int = 1) -> Event:
    """The call was taken and is about to run: durable before the act."""
    valid = allow.call.valid
    head = head_of("call.begin", key, name_of(valid.call.id, redactor), POLICY, _of(valid.tool))
    spent = f',"approval":"{allow.approval.id}"' if allow.approval else _under(allow)
    execution = f'"exec":{{"class":"{valid.tool.effect}","attempt":{attempt}}}'
    return f'{head}{spent},"args":{{"digest":"{valid.digest}"}},"decision":{{"policy":"{policy}"}},{execution}'


def reference(key: CallKey) -> str:
    """What the model is told about a failure in place of its text, so that a person finds the record: eight hexadecimal digits."""
    return digest("guard-reference", key.ref.conversation, str(key.turn), str(key.position), key.key)[:8]


def ended(
    key: CallKey,
    call: ToolCall,
    outcome: Outcome,
    redactor: Redactor,
    ran: Executed | None = None,
    labels: tuple[str, ...] = (),
    *,
    open_: bool = False,
) -> Event:
    """How the call ended: a digest of what went back, what was hidden in it, and how long it took.

    `open_`: what went back is what everybody may see of it, so that a copy stands in the record, where it is short.
    """
    kind = "call.unknown" if outcome.status == "unknown" else "call.reconciled" if ran is not None and ran.probed else "call.end"
    head = head_of(kind, key, name_of(call.id, redactor), _SERVICE, _called(call, redactor))
    approval = f',"approval":"{outcome.approval}"' if outcome.approval else ""
    error = f',"error":"{outcome.reason}"' if outcome.reason is not None else ""
    raised = f',"class":{quote(ran.error)},"reference":"{reference(key)}"' if ran is not None and ran.error else ""
    took = f',"ms":{ran.ms:.3f}' if ran is not None else ""
    content = outcome.content if isinstance(outcome.content, str) else encode([str(block) for block in outcome.content])
    hidden = f',"labels":{_names(labels)}' if labels else ""
    return (
        f'{head}{approval},"exec":{{"status":"{_ENDS.get(outcome.status, "error")}"{error}{raised}{took}}},'
        f'"result":{{"size":{len(content)},"digest":"{redactor.tag(content)}"{_copied(outcome) if open_ else ""}{hidden}}}'
    )


def _copied(outcome: Outcome) -> str:
    """What went back, as it went: it is redacted already. JSON stays JSON, so that fields can be found in it."""
    content = outcome.content
    if outcome.status != "done" or not isinstance(content, str) or not 0 < len(content) <= _COPIED:
        return ""
    if content[0] in "{[" and min(content) >= " ":
        with suppress(ValueError):
            read_json(content)
            return f',"shown":{content}'
    return f',"shown":{quote(content)}'


def reconciled(key: CallKey, row: CallRow, who: Session, happened: bool, reason: str, redactor: Redactor) -> Event:  # noqa: FBT001 - what was found
    """A person settled a call whose outcome was unknown; the identity is the one that the host authenticated."""
    return {
        "kind": "call.reconciled",
        "tenant": key.ref.tenant,
        "conversation": key.ref.conversation,
        "principal": key.ref.principal,
        "turn": key.turn,
        "position": key.position,
        "actor": {"type": "human", "ref": who.principal, "assurance": "host"},
        "call_id": redactor.detect(None, row.call.id[:_LONGEST])[0],
        "tool": {"name": redactor.detect(None, row.call.tool[:_LONGEST])[0]},
        "approval": row.approval,
        "exec": {"status": "ok" if happened else "error", "attempt": row.attempt},
        "effect": {"observed": happened},
        "reason": redactor.detect(None, reason)[0],
    }


def delivered(
    key: CallKey, call: ToolCall, outcome: Outcome, redactor: Redactor, *, again: bool = True, of: tuple[int, int] | None = None
) -> Event:
    """An outcome went back to the program: a recorded one once more, or (`again` is False) for the first time.

    `of` is the place (turn, position) of the call whose outcome it is, where that is another one.
    """
    cause = f',"cause":{{"turn":{of[0]},"position":{of[1]}}}' if of is not None and of != (key.turn, key.position) else ""
    head = head_of("result.delivered", key, name_of(call.id, redactor), _SERVICE, _called(call, redactor))
    approval = f',"approval":"{outcome.approval}"' if outcome.approval else ""
    return f'{head}{approval}{cause},"exec":{{"status":"{outcome.status}","replayed":{"true" if again else "false"}}}'


def said(ref: ConversationRef, text: str, redactor: Redactor) -> Event:
    """The user spoke: size and digest of the words."""
    actor = f'{{"type":"human","ref":{quote(ref.principal)}}}'
    return f'"kind":"user.said",{where(ref)},"actor":{actor},"args":{{"size":{len(text)},"digest":"{redactor.tag(text)}"}}'


def drifted(ref: ConversationRef, server: str, name: str, why: str, redactor: Redactor) -> Event:
    """A server's tool was refused, since its definition is not the reviewed one."""
    shown = f'{{"server":{name_of(server, redactor)},"why":{quote(why)}}}'
    return f'"kind":"tool.refused",{where(ref)},"actor":{_SERVICE},"tool":{{"name":{name_of(name, redactor)}}},"drift":{shown}'
