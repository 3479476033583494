"""Rows: conversations and calls as columns and back, raw values kept apart from everything else.

Raw values go into one payload text each: what the model proposed (its call id and tool name included), the final arguments, the raw
result. The other columns hold ids, digests and what may be shown. Numbers come back as `int` or `Decimal`, whatever they were. May not touch a database. Comes before `approval_rows` and `sqlite`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Any, TypeAlias, TypeVar

from guard.core import names
from guard.core.model import CallKey, Content, ConversationRef, Evidence, Image, Outcome, ToolCall
from guard.core.ports import CallRow, Vaulted
from guard.core.reasons import Reason
from guard.core.values import Json, digest, encode
from guard.errors import StoreError
from guard.stores.budget_tables import Span
from guard.stores.chain import storable
from guard.stores.claims import LEDGER
from guard.stores.locks import MARK, OPEN, Lock
from guard.stores.tables import Home, Place, Talk

Columns: TypeAlias = tuple[Any, ...]

_decode = json.JSONDecoder(parse_float=Decimal).decode


@lru_cache(maxsize=4096)
def name_of(home: Home) -> str:
    """The id of a conversation's row: known without asking the database."""
    return digest(*home)[:32]


def dump(value: Json) -> str:
    """JSON text that a text column can hold. Raises StoreError where `value` is not JSON."""
    try:
        return storable(encode(value))
    except (ValueError, TypeError, RecursionError):
        raise StoreError("a value cannot be written as JSON") from None


_T = TypeVar("_T")


def whole(read: Callable[..., _T]) -> Callable[..., _T]:
    """Turn whatever `read` stumbles over into a StoreError: what is stored was written by this file, so it was damaged since."""

    @wraps(read)
    def safely(*given: Any) -> _T:
        try:
            return read(*given)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            raise StoreError("a stored value cannot be read: the database is damaged") from None

    return safely


@whole
def load(text: str) -> Json:
    """What `dump` wrote. Raises StoreError where the stored text is damaged."""
    return _decode(text)


@whole
def number(text: str) -> Decimal:
    """A stored Decimal."""
    return Decimal(text)


@whole
def meter(columns: Columns) -> tuple[Decimal, float]:
    """An amount and a time, from the columns of `sql.METER` or `sql.LEAVING`."""
    return Decimal(columns[0]), _time(columns[1])


@whole
def span_row(columns: Columns) -> Span:
    """A draw on a window from the columns of `sql.DUE`."""
    *name, amount, at, status, ended, until = columns
    ended, until = (None if one is None else _time(one) for one in (ended, until))
    return Span(tuple(name), Decimal(amount), _time(at), status, ended, until)


@whole
def key(text: str, size: int) -> bytes:
    """A stored secret of so many bytes."""
    found = bytes.fromhex(text)
    if len(found) != size:
        raise ValueError("a secret of another size")
    return found


def _time(value: Any) -> float:
    """A stored time. A text in its place would be an error wherever two of them are compared."""
    if not isinstance(value, int | float):
        raise ValueError("a time of another type")
    return value


@whole
def place(text: str) -> Place:
    """Turn and position, as `sql.alike` says them."""
    turn, position = text.split(":")
    return int(turn), int(position)


@whole
def talk_row(home: Home, columns: Columns) -> Talk:
    """Counters from the columns of `sql.TALK`."""
    principal, turns, words, run, started, steps, tokens, cost, known, total_tokens, total_cost, total_known = columns
    return Talk(
        home=home,
        principal=principal,
        turns=turns,
        words=words,
        run=run,
        started=None if started is None else _time(started),
        steps=steps,
        tokens=tokens,
        cost=None if cost is None else Decimal(cost),
        known=bool(known),
        total_tokens=total_tokens,
        total_cost=None if total_cost is None else Decimal(total_cost),
        total_known=bool(total_known),
    )


def talk_columns(talk: Talk) -> Columns:
    """The columns of `sql.SAVE`, without the id."""
    counts = (talk.turns, talk.words, talk.run, talk.started, talk.steps, talk.tokens)
    return *counts, _digits(talk.cost), talk.known, talk.total_tokens, _digits(talk.total_cost), talk.total_known


def _digits(value: Decimal | None) -> str | None:
    return None if value is None else str(value)


def call_payload(row: CallRow) -> str:
    """The raw values of a call."""
    outcome = row.outcome
    told: Json = None
    if outcome is not None:
        same = outcome.arguments is row.arguments
        told = [outcome.call_id, outcome.tool, same, None if same else outcome.arguments]
    whose = [] if row.erased else [[name, real] for name, real in names.pairs([row.key.ref.principal]).items()]
    more = [row.salt, *([row.edits] if row.edits else []), *whose]
    return dump([row.call.id, row.call.tool, row.call.arguments, row.arguments, row.value, told, *more])


def call_columns(row: CallRow, conversation: str, payload: str) -> Columns:
    """The columns of `sql.PUT`."""
    key = row.key
    return (
        conversation,
        key.turn,
        key.position,
        key.ref.branch,
        key.key,
        row.status,
        row.kind,
        row.call.tool if row.status in LEDGER else None,  # a refused call's tool is whatever the model wrote
        row.fingerprint,
        row.mark,
        row.run,
        row.repeat,
        row.settled,
        row.at,
        row.approval,
        dump(sorted(row.owned)),
        evidence_text(row),
        None if row.outcome is None else _outcome_text(row.outcome),
        row.effect,
        row.attempt,
        row.lease,
        row.idem,
        row.executor,
        payload,
    )


def evidence_text(row: CallRow) -> str:
    """The earlier calls that a call rests on."""
    return dump([[item.turn, item.position] for item in row.evidence])


def _outcome_text(outcome: Outcome) -> str:
    content: Json = outcome.content
    if not isinstance(content, str):
        content = [block if isinstance(block, str) else [block.data, block.media_type] for block in outcome.content]
    reason = None if outcome.reason is None else outcome.reason.value
    place = [outcome.turn, outcome.position]
    return dump([outcome.status, reason, content, outcome.replayed, outcome.approval, *place, outcome.view])


@whole
def vaulted(columns: Columns) -> Vaulted:
    """What stands behind a handle, from the columns of `sql.HANDLE`."""
    handle, kind, mark, tool, path, body = columns
    return Vaulted(handle=handle, kind=kind, digest=mark, value=load(body), tool=tool, path=path)


@whole
def call_row(columns: Columns, lock: Lock = OPEN) -> CallRow:
    """A call from the columns of `sql.CALL`."""
    turn, position, branch, name, status, kind, fingerprint, mark, run, again, settled, at, approval, *rest = columns
    owned, evidence, outcome, effect, attempt, lease, idem, executor, body, tenant, conversation, principal = rest
    call_id, tool, proposed, arguments, value, told, *more = load(
        body if body[:1] != MARK else lock.open(f"call:{name_of((tenant, conversation))}:{turn}:{position}", body)
    )
    whose = dict(
        [pair] if (pair := next((one for one in more if isinstance(one, list)), None)) else []
    )  # all of `more` came later
    principal = names.restored(principal, whose)
    ref = ConversationRef(tenant=tenant, principal=principal, conversation=conversation, branch=branch)
    return CallRow(
        key=CallKey(ref, turn, position, name),
        call=ToolCall(call_id, tool, proposed),
        status=status,
        kind=kind,
        fingerprint=fingerprint,
        mark=mark,
        arguments=arguments,
        owned=frozenset(load(owned)),
        evidence=tuple(Evidence(turn=a, position=b) for a, b in load(evidence)),
        approval=approval,
        value=value,
        outcome=None if outcome is None else _outcome(load(outcome), told, arguments),
        run=run,
        repeat=bool(again),
        settled=bool(settled),
        at=_time(at),
        effect=effect,
        attempt=attempt,
        lease=None if lease is None else _time(lease),
        idem=idem,
        executor=executor,
        salt=next((one for one in more if isinstance(one, str)), ""),
        edits=next((one for one in more if isinstance(one, dict)), {}),
    )


def _outcome(shown: Json, told: Json, arguments: Json) -> Outcome:
    status, reason, content, replayed, approval, turn, position, *view = shown  # `view` came later
    call_id, tool, same, other = told
    return Outcome(
        call_id=call_id,
        tool=tool,
        status=status,
        reason=None if reason is None else Reason(reason),
        arguments=arguments if same else other,
        content=content_of(content),
        replayed=replayed,
        approval=approval,
        turn=turn,
        position=position,
        view=str(view[0]) if view else "",
    )


def content_of(stored: Json) -> Content:
    """What went back, from its place in the column of an outcome."""
    if isinstance(stored, str):
        return stored
    return tuple(block if isinstance(block, str) else Image(data=block[0], media_type=block[1]) for block in stored)
