"""Endings: what an executed call means for the model, the ledger and the audit. Used by the pipeline after execute; pure.

A failure is never data, an action that may have happened is `unknown`, and a success stays a success even when its result must be
withheld.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core import answer, audit_ends
from guard.core.audit_ends import Beside
from guard.core.board import Board, followers
from guard.core.budget import fit, fit_all, left
from guard.core.concluding import at, row_of
from guard.core.context import Context
from guard.core.cutting import shortened
from guard.core.echoes import echoless, secrets
from guard.core.edited import told
from guard.core.hiding import echoing
from guard.core.model import Allow, CallKey, Content, Outcome, Refusal, ValidCall
from guard.core.ports import CallRow, Event, Executed, Redactor, Vaulted
from guard.core.reasons import Reason
from guard.core.redact import Shown, redact
from guard.core.replacing import replace
from guard.core.rules import ResultRule, Tool
from guard.core.sealing import Sealer, veiled
from guard.core.tags import of_result
from guard.core.untrusted import enclosed, mark_for, words
from guard.core.values import JsonObject, copy, digest, encode
from guard.core.views import Levels, Room, View

SHUT = "text in the result that its rules may mean cannot be read exactly, and was hidden whole"
MISFIT = "does not fit its schema"
_HAPPENED = {"done": True, "failed": False}
_MOST_SAID = 4_000  # bytes of what a tool says about its own failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one call ended, and what the ledger and audit keep of it."""

    outcome: Outcome
    rows: tuple[CallRow, ...]
    events: tuple[Event, ...]
    handles: tuple[Vaulted, ...] = ()


def idempotency(valid: ValidCall, key: CallKey, run: int) -> str:
    """The guard's own key for this act: the same at every attempt and re-proposal until the user speaks again, never the model's.

    A tool that may repeat an equal call gets another key at each place.
    """
    place = (key.ref.branch, str(key.turn), str(key.position), key.key) if valid.tool.repeat else (str(run),)
    return digest("guard-idempotency-v1", valid.mark or valid.fingerprint, *place)


def ended(board: Board, index: int, allow: Allow, ran: Executed, attempt: int = 0) -> Ended:
    """Redact what came back, and say what goes to the model, the ledger, the vault and the audit. `attempt` counts those of an action."""
    item, key = board.items[index], board.keys[index]
    valid, redactor = allow.call.valid, board.context.redactor
    misfit = _misfits(valid.tool.result, ran)
    ran = replace(ran, value=None, content=None) if misfit else ran
    sealer = Sealer(redactor, board.context.ref, valid.tool.name)
    try:
        outcome, labels, idle = _misfit(valid, allow, ran, key) if misfit else _outcome(board, allow, ran, key, sealer)
        board.idle += [f"{valid.tool.name}: {rule if rule == SHUT else f'result.{rule} matched nothing'}" for rule in idle]
    except Exception as error:  # noqa: BLE001 - what cannot be made safe is withheld, whatever went wrong
        outcome, labels = _withheld(valid, key, ran), ("withheld", type(error).__name__)
    outcome = _edited(board, index, allow, outcome)
    tags = of_result(redactor, key.ref.tenant, sealer.pairs, sealer.ruled)
    value = copy(ran.value) if outcome.status == "done" else None  # a tool may go on changing what it returned
    own = row_of(board, index, outcome, outcome.status, key, value)
    beside = Beside(
        labels=labels,
        open=not valid.tool.result.roles,
        salt=board.salts[index],
        tags=tags,
        attempt=attempt,
        effect=_seen(board, index, ran, outcome) if ran.probed or ran.late else "",
        beside=board.context.priv,
    )
    events: tuple[Event, ...] = (audit_ends.ended(key, item.call, outcome, redactor, ran, beside),)
    handles = tuple(sealer.issued.values())
    if key is item.key:
        return Ended(outcome=outcome, rows=(own,), events=events, handles=handles)
    outcome = at(outcome, item.key)  # it stands in the place of an earlier one: its own place has an outcome on record, too
    events += (audit_ends.delivered(item.key, item.call, outcome, redactor, of=(key.turn, key.position)),)
    return Ended(outcome=outcome, rows=(own, row_of(board, index, outcome, "alias")), events=events, handles=handles)


def _seen(board: Board, index: int, ran: Executed, outcome: Outcome) -> str:
    """What a probe, or the end of a call that was given up, says of an act whose own end is not on record."""
    happened = _HAPPENED.get(outcome.status)
    if happened is None:
        return ""
    return f',"effect":{encode(audit_ends.effect_of(happened, board.lost.get(index) if ran.probed else None))}'


def _edited(board: Board, index: int, allow: Allow, outcome: Outcome) -> Outcome:
    """The outcome of a call that a person changed says with which arguments it ran."""
    if not board.edits(index):
        return outcome
    secret = () if allow.approval is None else allow.approval.secret
    try:
        return replace(outcome, content=told(outcome, allow.call.valid, secret, board.redactor(index)))
    except Exception:  # noqa: BLE001 - it has run: that its arguments cannot be shown changes nothing
        return outcome


def _misfits(rule: ResultRule, ran: Executed) -> bool:
    """Whether what came back is no result of this tool. A failure has a form of its own, and so has nothing where `empty` says what it means."""
    ended = ran.started and not (ran.interrupted or ran.timed_out or ran.unclear or ran.failed or ran.error is not None)
    silent = ran.value is None and (
        rule.empty is not None or ran.probed
    )  # a probe need not have the result to know that there was one
    if rule.fits is None or not ended or silent:
        return False
    try:
        return not rule.fits(ran.value)
    except Exception:  # noqa: BLE001 - what cannot be judged does not fit
        return True


def _withheld(valid: ValidCall, key: CallKey, ran: Executed) -> Outcome:
    """Nothing of what came back is shown; whether it went well is said all the same."""
    failed = ran.failed or ran.error is not None
    return answer.failed(valid, key, Reason.TOOL_FAILED, "") if failed else answer.withheld(valid, key)


def _outcome(
    board: Board, allow: Allow, ran: Executed, key: CallKey, sealer: Sealer
) -> tuple[Outcome, tuple[str, ...], tuple[str, ...]]:
    valid, context = allow.call.valid, board.context
    hiding = echoless(echoing(context.redactor, valid.arguments), secrets(valid.tool, valid.arguments))
    context = context if hiding is context.redactor else replace(context, redactor=hiding)
    spent = allow.approval.id if allow.approval else None
    redactor = veiled(context.redactor, valid.revealed)
    if not ran.started:
        reason = Reason.INTERRUPTED if ran.interrupted else Reason.LEASE_OVER if ran.lapsed else Reason.INTERNAL_ERROR
        return answer.refused(valid.call, key, Refusal(reason=reason), valid.arguments, redactor), (), ()
    if ran.interrupted or ran.timed_out or ran.unclear:
        return _unfinished(valid, key, ran, spent), (), ()
    view = valid.tool.result.views.of(_levels(context) if valid.tool.result.roles else ())
    if ran.error is not None:
        broken = _broken(context, valid, ran, spent, key, (redactor, view, sealer))
        return replace(broken, view=stamp(context, valid.tool, board.views)) if ran.safe else broken, (), ()
    shown = redact(ran, valid.tool, redactor, view, sealer.change)
    sealer.pairs = shown.pairs
    outcome, cut = _finished(context, valid, key, ran, shown, spent)
    outcome = outcome if shown.empty else replace(outcome, view=stamp(context, valid.tool, board.views))
    labels = dict.fromkeys((*_labels(shown, sealer), *(("cut",) if cut else ())))
    return outcome, tuple(labels), (*shown.idle, *((SHUT,) if shown.shut else ()))


def _misfit(valid: ValidCall, allow: Allow, ran: Executed, key: CallKey) -> tuple[Outcome, tuple[str, ...], tuple[str, ...]]:
    """A tool ran and returned what is no result of it; where a probe found that it took effect, that is certain all the same."""
    spent = allow.approval.id if allow.approval else None
    said = answer.withheld(valid, key, approval=spent) if ran.probed else answer.unreadable(valid, key, spent)
    return said, (MISFIT,), ()


def stamp(context: Context, tool: Tool, known: dict[str, str]) -> str:
    """What `_stamp` gives; `known` is what it gave in this walk, by the tool's name."""
    if tool.name not in known:
        known[tool.name] = _stamp(context, tool)
    return known[tool.name]


def _stamp(context: Context, tool: Tool) -> str:
    """By which rules a result of this tool is shown to this session: the same text for the same rules, whichever roles they come of."""
    view = tool.result.views.of(_levels(context) if tool.result.roles else ())
    rules = [f"{rule.does} {rule.path} {rule.kind}" for tree in view.trees for rule in tree.rules]
    images = "any" if view.blocks.images is None else ",".join(sorted(view.blocks.images))
    blocks = f"{view.blocks.text}{view.blocks.structured}{view.blocks.resources}{images}"
    return digest("guard-view-v1", *rules, blocks, repr(context.policy.redaction), str(tool.untrusted))


def as_now(outcome: Outcome, context: Context, known: dict[str, str] | None = None) -> Outcome:
    """An outcome as this session may see it now: what was made of a result by other rules is not shown again. `known`: see `stamp`."""
    if outcome.status not in ("done", "failed") or outcome.view == "-":
        return outcome
    tool = context.policy.tools.get(outcome.tool)
    if tool is not None and not outcome.view and not (tool.result.roles or tool.result.views.of(()).trees):
        return outcome  # of a record that does not say, where there are no rules
    try:
        same = tool is not None and outcome.view == stamp(context, tool, {} if known is None else known)
    except Exception:  # noqa: BLE001 - where nobody can tell what holds now, nothing is shown
        same = False
    return outcome if same else answer.not_now(outcome)


def _levels(context: Context) -> Levels:
    """The roles of the session, and of each that it is within."""
    found, session = list[frozenset[str]](), context.session
    while True:
        found.append(context.policy.authorizer.roles(session))
        if session.within is None:
            return tuple(found)
        session = session.within


def in_doubt(row: CallRow, redactor: Redactor, *, told: bool) -> tuple[CallRow, Event]:
    """The row and record of a call that was started and lost: it may or may not have taken effect. `told`: the model is told just now."""
    outcome = answer.unknown(row.call, row.key, row.arguments, approval=row.approval, again=row.safe)
    event = audit_ends.ended(row.key, row.call, outcome, redactor, more=Beside(salt=row.salt))
    return replace(row, status="unknown", outcome=outcome, settled=row.settled or told), event


def never_started(row: CallRow, redactor: Redactor) -> tuple[tuple[CallRow, ...], tuple[Event, ...]]:
    """The row and record of a call that was taken, and whose taker never learned it: it was refused, and did not run."""
    outcome = answer.refused(row.call, row.key, answer.unstored("unavailable"), row.arguments, redactor)
    return (replace(row, status="refused", outcome=outcome),), (audit_ends.ended(row.key, row.call, outcome, redactor),)


_REASON = {(True, False): Reason.TOOL_TIMED_OUT, (False, True): Reason.INTERRUPTED, (False, False): Reason.TOOL_FAILED}


def _unfinished(valid: ValidCall, key: CallKey, ran: Executed, spent: str | None) -> Outcome:
    if valid.tool.acts:
        detail = "It did not answer in time." if ran.timed_out else "It was interrupted." if ran.interrupted else ""
        return answer.unknown(valid.call, key, valid.arguments, detail, spent, again=valid.tool.effect == "idempotent")
    return answer.failed(valid, key, _REASON[ran.timed_out, ran.interrupted], "")


def _broken(
    context: Context, valid: ValidCall, ran: Executed, spent: str | None, key: CallKey, seen: tuple[Redactor, View, Sealer]
) -> Outcome:
    """A tool raised: its own words only where it declared them safe, by the same rules as a result."""
    redactor, view, sealer = seen
    shown = redact(Executed(value=ran.safe, failed=True), valid.tool, redactor, view, sealer.change) if ran.safe else None
    detail = shown.content if shown is not None and not shown.empty and isinstance(shown.content, str) else ""
    return _failed(context, valid, key, detail, spent, reference=audit_ends.reference(key))


def _failed(context: Context, valid: ValidCall, key: CallKey, detail: str, spent: str | None, reference: str = "") -> Outcome:
    """A tool that failed, with its own words: those of others stand apart from the guard's."""
    extra: JsonObject = {}
    if valid.tool.untrusted and detail:
        extra["said"], detail = words(detail, valid.tool.name, _mark(context, key, detail)), ""
    return answer.failed(valid, key, Reason.TOOL_FAILED, detail, approval=spent, reference=reference, extra=extra)


def _mark(context: Context, key: CallKey, content: Content) -> str:
    place = (key.ref.tenant, key.ref.conversation, key.ref.branch, str(key.turn), str(key.position), key.key)
    return mark_for(context.redactor.derive, digest("guard-place-v1", *place), content)


def _finished(
    context: Context, valid: ValidCall, key: CallKey, ran: Executed, shown: Shown, spent: str | None
) -> tuple[Outcome, bool]:
    """A tool that says itself that it failed is an error on every wire, in the tool's own words where they are left saying so.

    Says besides whether something was cut.
    """
    content, rule = shown.content, valid.tool.result
    own = isinstance(ran.value, dict) and ran.value.get("ok") is False and rule.keep is None and not valid.tool.untrusted
    if ran.failed and not own:
        whole = content if isinstance(content, str) else " ".join(block for block in content if isinstance(block, str))
        said = "" if shown.empty else shortened(whole, min(rule.max_bytes, _MOST_SAID))
        return _failed(context, valid, key, said, spent), bool(said) and said != whole
    if valid.tool.untrusted and not shown.empty:
        content = enclosed(content, valid.tool.name, _mark(context, key, content))
    fitted = fit(content, Room(bytes=rule.max_bytes, tokens=rule.max_tokens), context.count)
    return answer.shown(valid, key, fitted, failed=ran.failed, approval=spent), fitted is not content


def _labels(shown: Shown, sealer: Sealer) -> tuple[str, ...]:
    """What a record says of a result: kinds, never values."""
    dropped = ("nothing shown",) if shown.dropped else ()
    closed = ("unreadable text",) if shown.shut else ()
    return (*shown.hidden, *sorted(sealer.kinds), *dropped, *closed, *(f"{rule} matched nothing" for rule in shown.idle))


def within(board: Board) -> tuple[Outcome, ...]:
    """The outcomes of the walk, in what its message and its conversation have left for results."""
    context = board.context
    outcomes = tuple(as_now(outcome, context, board.views) for outcome in board.outcomes())
    limits, own = context.policy.limits, {item.key.turn for item in board.items}
    room = left(limits.turn_room, limits.conversation_room, [one for one in context.spent if one.turn not in own])
    try:
        return fit_all(outcomes, room, context.count)
    except Exception:  # noqa: BLE001 - everything has run: results that are too long are better than none
        return outcomes


def share(board: Board) -> tuple[list[CallRow], list[Event]]:
    """Give every follower its leader's outcome; the rows and events that say so."""
    rows: list[CallRow] = []
    events: list[Event] = []
    for index, leader in followers(board.states):
        found, item = board.states[leader], board.items[index]
        if isinstance(found, Outcome):
            board.states[index] = outcome = at(replace(found, call_id=item.call.id, replayed=True), item.key)
            rows.append(row_of(board, index, outcome, "alias"))
            place = (found.turn, found.position)
            events.append(audit_ends.delivered(item.key, item.call, outcome, board.context.redactor, of=place))
    return rows, events
