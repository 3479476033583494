"""Audit: what each room did, as records of schema v1, already safe to store.

A record holds digests, redacted copies and origins, never a raw argument or result. The core writes the members as JSON text, since it writes
some for every call; the store adds version, id, time and chain. Used by the pipeline after every room; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from guard.core.commitments import More, commitment, mark, of_arguments
from guard.core.hiding import shown_text, shown_value
from guard.core.model import (
    Allow,
    AuthorizedCall,
    BoundCall,
    CallKey,
    ConversationRef,
    Decision,
    ParsedCall,
    Refusal,
    Session,
    ToolCall,
    ValidCall,
)
from guard.core.pointers import at, put, spots
from guard.core.ports import Event, Redactor
from guard.core.rules import Tool
from guard.core.tags import of_arguments as of_call
from guard.core.values import Json, JsonObject, canonical, encode, quote

_AGENT, POLICY, SERVICE = '{"type":"agent"}', '{"type":"policy"}', '{"type":"service"}'
_FIELDS = 100  # names of an object that does not fit its schema
LONGEST = 200  # characters of a call id, tool name or argument name that a record keeps


@lru_cache(maxsize=1024)
def where(ref: ConversationRef) -> str:
    """The members that say in which conversation, and for whom."""
    branch = f',"branch":{quote(ref.branch)}' if ref.branch else ""
    names = (quote(ref.tenant), quote(ref.conversation), quote(ref.principal))
    return '"tenant":{},"conversation":{},"principal":{}'.format(*names) + branch


@lru_cache(maxsize=4096)
def tool_of(name: str, definition: str, kind: str) -> str:
    """A tool in a record."""
    return f'{{"name":{quote(name)},"definition":"{definition}","kind":"{kind}"}}'


@lru_cache(maxsize=4096)
def _labels(origins: tuple[tuple[str, str], ...], redactor: Redactor) -> str:
    return shown_text({name[:LONGEST]: origin for name, origin in origins}, redactor, set())


@lru_cache(maxsize=4096)
def name_of(text: str, redactor: Redactor) -> str:
    """A name that the model chose, safe to store: hidden where it must be, and no longer than a name is."""
    return quote(redactor.detect(None, text[:LONGEST])[0])


@lru_cache(maxsize=4096)
def names_of(names: tuple[str, ...]) -> str:
    """Names as a list of JSON."""
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
    """What every record about a call begins with."""
    return placed(kind, (key.ref, key.turn, key.position), call_id, actor, tool)


def placed(kind: str, place: tuple[ConversationRef, int, int], call_id: str, actor: str, tool: str) -> str:
    """The same, of a call of which only the place is known."""
    ref, turn, position = place
    return f'"kind":"{kind}",{_near(ref)},"turn":{turn},"position":{position},"actor":{actor},"call_id":{call_id},"tool":{tool}'


def called(call: ToolCall, redactor: Redactor) -> str:
    """The tool by the name that the model wrote."""
    return f'{{"name":{name_of(call.tool, redactor)}}}'


def of(tool: Tool) -> str:
    """A tool of the policy in a record."""
    return tool_of(tool.name, tool.definition, tool.kind)


def proposed(
    ref: ConversationRef, turn: int, position: int, call: ToolCall, redactor: Redactor, salt: str = "", beside: str = ""
) -> Event:
    """A call as the model wrote it: size and digest only, since nothing is known about the text yet."""
    raw = call.arguments if isinstance(call.arguments, str) else "" if call.arguments is None else _raw(call.arguments)
    head = placed("call.proposed", (ref, turn, position), name_of(call.id, redactor), _AGENT, called(call, redactor))
    return f'{head},"args":{{"size":{len(raw)},"digest":"{mark(raw, redactor, salt)}"}}{beside}'


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
    more: More | None = None,
) -> Event:
    """What the rooms decided, by which rules, about which final arguments, for whom. `last` is the furthest proof that the call reached.

    The roles of the session stand in the record, since the decision rests on them; its attributes do not: they may be personal.
    """
    more = more or More()
    shadowed = more.shadowed
    tool = (
        last.valid.tool
        if isinstance(last, AuthorizedCall)
        else last.tool
        if isinstance(last, ParsedCall | BoundCall | ValidCall)
        else None
    )
    head = head_of("call.decided", key, name_of(call.id, redactor), POLICY, of(tool) if tool else called(call, redactor))
    approval = ""
    if isinstance(decision, Refusal):
        note = f',"note":{quote(decision.note)}' if decision.note else ""
        verdict = f'"verdict":"refuse","code":"{decision.reason}","rules":{names_of(decision.rules)}{note}'
    else:
        shadowed = decision.call.shadowed + shadowed
        verdict = f'"verdict":"{"allow" if isinstance(decision, Allow) else "hold"}","rules":{names_of(decision.call.rules)}'
        approval = f',"approval":"{decision.approval.id}"' if decision.approval is not None else ""
        approval += under(decision) if isinstance(decision, Allow) else ""
    if shadowed:
        verdict += f',"shadow":{names_of(shadowed)}'
    who = "" if session is None else _roles(session.roles) if session.within is None else f',"session":{_held(session)}'
    if more.ms is not None:
        verdict += f',"ms":{more.ms:.3f}'
    return (
        f"{head}{_final(last, redactor, key.ref.tenant, more.salt)}{approval}{who},"
        f'"decision":{{"policy":"{policy}",{verdict}}}{more.beside}'
    )


def under(allow: Allow) -> str:
    """The grant that a call was allowed under."""
    return f',"grant":{{"id":"{allow.grant.id}"}}' if allow.grant is not None else ""


def named(text: str, redactor: Redactor) -> str:
    """A name that the model chose, as a record may hold it."""
    return redactor.detect(None, text[:LONGEST])[0]


@lru_cache(maxsize=1024)
def _roles(roles: tuple[str, ...]) -> str:
    return f',"session":{{"roles":{names_of(roles)}}}'


def _held(session: Session) -> str:
    """The roles of a session, and of the one that it is within."""
    outer = f',"within":{_held(session.within)}' if session.within is not None else ""
    return f'{{"roles":{names_of(session.roles)}{outer}}}'


def _final(last: object, redactor: Redactor, tenant: str, salt: str) -> str:
    """Final arguments, their origins and what was spoofed, as far as the call got."""
    origins: Mapping[str, str]
    if isinstance(last, AuthorizedCall):
        valid, origins = last.valid, last.grounded.origins
    elif isinstance(last, ValidCall):
        valid, origins = last, last.origins
    else:
        return _read(last, redactor, salt) if isinstance(last, ParsedCall | BoundCall) else ""
    spoof = f',"spoof":{names_of(valid.spoofed)}' if valid.spoofed else ""
    arguments = unsecret(valid.arguments, valid.tool)
    shown, hidden = shown_value(arguments, redactor, set())
    bound = [one.field for one in valid.tool.bindings] if valid.tool.bindings else ()
    tags = of_call(redactor, tenant, (arguments, hidden), bound) if bound or hidden is not arguments else ""
    labels = _labels(tuple(origins.items()), redactor)
    return f',"args":{{"size":{len(valid.canonical)},"digest":"{of_arguments(valid, salt)}","shown":{shown}{tags},"labels":{labels}}}{spoof}'


def _read(call: ParsedCall | BoundCall, redactor: Redactor, salt: str) -> str:
    """What was sent in a call that was refused before its arguments fitted: names and numbers; of texts their sizes."""
    text = canonical(call.arguments)
    spoof = f',"spoof":{names_of(call.spoofed)}' if isinstance(call, BoundCall) and call.spoofed else ""
    shown = shown_text(_shape(call.arguments), redactor, set())
    return f',"args":{{"size":{len(text)},"digest":"{mark(text, redactor, salt)}","shown":{shown}}}{spoof}'


def _shape(value: Json, depth: int = 3) -> Json:
    """What was sent without any text: a password may stand in any field of a call that does not fit its schema."""
    if isinstance(value, dict) and depth:
        return {key[:LONGEST]: _shape(one, depth - 1) for key, one in list(value.items())[:_FIELDS]}
    if isinstance(value, str | list | dict):
        return f"[{'text' if isinstance(value, str) else 'list' if isinstance(value, list) else 'object'} of {len(value)}]"
    return value


def unsecret(arguments: JsonObject, tool: Tool) -> JsonObject:
    """The arguments without those that the policy shows to nobody: records leave the house, so not even their digests stand there."""
    for place in spots(paths, arguments) if (paths := [path for rule in tool.approval for path in rule.secret]) else ():
        arguments = put(arguments, place, "[secret]") if at(arguments, place)[0] else arguments
    return arguments


def said(ref: ConversationRef, text: str, salt: str, beside: str = "") -> Event:
    """The user spoke: size and digest of the words, under a salt that is kept with them."""
    actor = f'{{"type":"human","ref":{quote(ref.principal)},"assurance":"host"}}'
    args = f'{{"size":{len(text)},"digest":"{commitment(salt, text)}"}}'
    return f'"kind":"user.said",{where(ref)},"actor":{actor},"args":{args}{beside}'


def drifted(ref: ConversationRef, server: str, name: str, why: str, redactor: Redactor) -> Event:
    """A server's tool was refused, since its definition is not the reviewed one."""
    shown = f'{{"server":{name_of(server, redactor)},"why":{quote(why)}}}'
    return f'"kind":"tool.refused",{where(ref)},"actor":{SERVICE},"tool":{{"name":{name_of(name, redactor)}}},"drift":{shown}'
