"""Pipeline: the whole walk of a turn's calls, top to bottom. The only file that knows the order of the rooms.

parse → bind → validate → (facts) ground → authorize → limit → approve → record → claim → execute → redact → record. A call that a room refuses goes no
further; its siblings do. No call reaches `Execute` except through `act` (in `taking`) or `look_all` (in `looking`), and those are given an `Allow`, which only `approve` or
the absence of an approval rule makes of an `AuthorizedCall`, which only `authorize` makes of a `GroundedCall`, and so on back to `parse`.

Nothing here does I/O: it yields commands (`guard.core.ports`) and two drivers carry them out. A StoreError before execution refuses; after it
the outcome is `unknown` (action) or withheld (look-up). What must be durable before an act: the decision (`Record`) and the start (`Claim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from guard.core import answer, audit_asked
from guard.core import ports as p
from guard.core.ahead import ahead, likely, planned, written
from guard.core.approve import approve, proposal
from guard.core.authorize import authorize, lookups
from guard.core.bind import bind
from guard.core.board import Board, Waits
from guard.core.budgets_of_people import others
from guard.core.concluding import conclude
from guard.core.context import Context, Item, salt_of
from guard.core.edited import edited
from guard.core.endings import Ended
from guard.core.ground import ground
from guard.core.handles import Signs
from guard.core.kills import Killed
from guard.core.limit import priced
from guard.core.looking import close, look_all
from guard.core.model import (
    Allow,
    Approval,
    AuthorizedCall,
    BoundCall,
    GroundedCall,
    Hold,
    Outcome,
    ParsedCall,
    Refusal,
    ToolCall,
    ValidCall,
)
from guard.core.parse import Names, parse
from guard.core.permits import standing_grants
from guard.core.putback import Hidden
from guard.core.putback import wanted as wanted_handles
from guard.core.quotas import reserve, settle, wanted
from guard.core.reasons import Reason
from guard.core.recall import adopt, recall, same_content
from guard.core.replacing import replace
from guard.core.rules import ApprovalRule
from guard.core.sealing import Sealer
from guard.core.spoken import beside
from guard.core.standing import holds, ledgers_of, said_since
from guard.core.stopping import decision, halted, stopped
from guard.core.taking import act, give_up, join, overtaken
from guard.core.unopened import told, unopened
from guard.core.unresolved import forestall
from guard.core.validate import validate
from guard.core.walked import Walked, cut, items_of, walked
from guard.errors import ApprovalError, StoreError


def guard_turn(opening: p.OpenTurn, context: Context, *, truncated: bool = False, most: int | None = None) -> p.Flow[Walked]:
    """Walk every call of one assistant message.

    `truncated` says that the message was cut off: nothing of it may run. `most` is how many calls the provider takes back.
    """
    salts = [context.salt() for _ in opening.calls]
    told_ = partial(told, opening, context, salts)
    opening = replace(opening, usage=priced(opening.usage, context.policy.limits), told=told_)
    turn = None if truncated else likely(opening, context)
    if turn is not None:
        found = yield from _at_once(opening, context, turn, salts)
        if found is not None:
            return found
    try:
        opened = yield from p.ask(opening)
        context.gap.written()
    except StoreError as error:
        return Walked(outcomes=(yield from unopened(opening, context, error.code)), limited=False)
    items = items_of(opening, opened, salts)
    board = Board(items=items, context=context, opened=opened)
    board.each(ToolCall, lambda index, _: recall(items[index], opened))
    if truncated:
        board.each(ToolCall, lambda _, __: Refusal(reason=Reason.TRUNCATED_REPLY))
    cut(board, most)
    return (yield from _walk(board))


def _at_once(opening: p.OpenTurn, context: Context, turn: p.Opened, salts: Sequence[str]) -> p.Flow[Walked | None]:
    """Walk a single call in the turn that is foreseen, and have all of it written in one transaction; None: nothing was written."""
    board = Board(items=items_of(opening, turn, salts), context=context, opened=turn)
    try:
        ledgers = yield from judge(board)
        drawn = wanted(board, ledgers)
        board.each(AuthorizedCall, lambda _, call: Allow(call=call) if call.approval is None else call)
        command = planned(board, opening, drawn)
        stood = None if command is None else (yield from p.ask(command))
    except (StoreError, p.HaltedError):
        return None
    if stood is None:
        return None
    context.gap.written()
    board.opened = stood.opened
    if stood.won is not None:
        board.won[0] = stood.won
    yield from _perform(board)
    return walked(board)


def settle_calls(rows: Sequence[p.CallRow], context: Context) -> p.Flow[Walked]:
    """Walk calls again, each at its own place: held ones, after somebody may have decided about them, and those that may have been lost."""
    items = tuple(
        Item(key=row.key, call=row.call, row=row, since=row.key.turn, salt=salt_of(row, context.salt())) for row in rows
    )
    board = Board(items=items, context=context, opened=None)
    for index, row in enumerate(rows):
        if row.status == "started":
            board.put(index, Waits(row, row.call))
    return (yield from _walk(board))


def _walk(board: Board) -> p.Flow[Walked]:
    """Every room once, in order; then whatever was allowed runs, in call order."""
    try:
        ledgers = yield from judge(board)
        yield from reserve(board, ledgers)
        yield from forestall(board)
        yield from _approve(board)
        yield from give_up(board)
        yield from _record(board)
    except StoreError as error:
        board.abandon(answer.unstored(error.code))
        conclude(board)
    yield from _perform(board)
    return walked(board)


def judge(board: Board, *, known: bool = True) -> p.Flow[dict[int, p.Ledger]]:
    """The rooms up to authorize, in order; gives what earlier turns left. Unless the session is `known` to be the call's own, up to validate."""
    context, policy, session = board.context, board.context.policy, board.context.session
    names = Names(offered=context.offered, visible=context.visible, unlisted=policy.unlisted)
    yield from join(board)
    board.each(ToolCall, lambda index, call: stopped(board, index, call))
    board.each(ToolCall, lambda index, call: edited(call, board.edits(index)), Reason.APPROVAL_INVALID)
    board.each(ToolCall, lambda _, call: parse(call, policy.tools, names))
    hidden = yield from _hidden(board)
    board.each(ParsedCall, lambda _, call: bind(call, session, hidden))
    board.each(BoundCall, lambda index, call: validate(call, context.ref, context.redactor.derive, board.salts[index]))
    if not known:
        return {}
    board.each(ValidCall, lambda index, call: same_content(board.items[index], call))
    yield from _aliases(board)
    yield from join(board)
    facts = yield from _facts(board)
    ledgers = yield from ledgers_of(board)
    since = yield from said_since(board)
    board.each(ValidCall, lambda index, call: holds(call, board, since.get(index)))
    board.each(ValidCall, lambda index, call: ground(call, session, ledgers[board.items[index].since], context.redactor.tag))
    board.each(GroundedCall, lambda _, call: authorize(call, session, policy.authorizer, facts), Reason.POLICY_FAILED)
    return ledgers


# -- before the decision ---------------------------------------------------------------------------------------------------


def _hidden(board: Board) -> p.Flow[Hidden]:
    """Read the values behind the handles that the calls may be given, and say what else to look for."""
    signs = Signs(types=board.context.policy.types, masks=board.context.redactor.masks)
    if not signs.types:  # no tool of this policy gives out a handle or is given one back
        return Hidden(signs=signs)
    hidden = Hidden(signs=signs, name=Sealer(board.context.redactor, board.context.ref).named)
    handles = wanted_handles((call for _, call in board.having(ParsedCall)), hidden)
    return replace(hidden, vault=(yield from p.ask(p.LoadHandles(ref=board.context.ref, handles=handles)))) if handles else hidden


def _aliases(board: Board) -> p.Flow[None]:
    """An action equal to one that is held, under way, in doubt or just done is that one."""
    marks = tuple(dict.fromkeys(call.mark for _, call in board.having(ValidCall) if call.mark))
    if marks and not ahead(board):
        adopt(board, (yield from p.ask(p.FindTwins(ref=board.context.ref, marks=marks))))


def _facts(board: Board) -> p.Flow[p.Facts]:
    """Look up every record and file path that the calls name."""
    wanted = [lookups(call) for _, call in board.having(ValidCall)]
    records = tuple(record for found, _ in wanted for record in found)
    paths = tuple(path for _, found in wanted for path in found)
    if not records and not paths:
        return p.Facts()
    revealed = tuple(one for _, call in board.having(ValidCall) for one in call.revealed)
    return (yield from p.ask(p.LoadFacts(resources=records, paths=paths, session=board.context.session, revealed=revealed)))


def _approve(board: Board) -> p.Flow[None]:
    """Ask a person where the policy says so; nobody is asked about a call that was refused above."""
    context = board.context
    asked: dict[str, Approval] = {}  # questions of this turn, which are not in the store yet
    grants = yield from standing_grants(board)
    for index, call in board.having(AuthorizedCall):
        if call.approval is None:
            board.put(index, Allow(call=call))
            continue
        item, key = board.items[index], board.keys[index]
        if index in board.lost and grants.answer(board, index, call):
            continue  # it goes on under the grant that it was taken under
        question = proposal(call, call.approval, key, context.policy.version, context.now, board.edits(index))
        veil, salt = board.redactor(index), board.salts[index]
        question = beside(question, context.words, ([one.call for one in board.items], context.policy.tools), veil, salt)
        event = partial(audit_asked.requested, question, key, item.call, context.redactor, veil, salt, context.priv)
        lost = index in board.lost  # it is in doubt until somebody says yes, so it will not be held: the question opens now
        ask = p.AskApproval(
            proposal=question,
            event=event,
            run=board.run(index),
            most=context.policy.ceilings.open_approvals,
            opens=lost,
            instead=board.waited(index, question.fingerprint),
            also=others(context.redactor, context.session, key.ref),
        )
        found = asked.get(question.fingerprint) or (question if board.fresh(index) else (yield from p.ask(ask)))
        if found is not None and found.status == "pending" and not lost and grants.answer(board, index, call, found):
            continue  # a grant answers what a person would be asked, and never a no
        if found is question and not lost:
            asked[question.fingerprint] = question
            board.asks.append(ask)
        yield from _answered(board, index, call, found)


def _answered(board: Board, index: int, call: AuthorizedCall, found: Approval | None) -> p.Flow[None]:
    """What this approval means for the call, and what became of a call whose approval was spent."""
    if found is not None and found.status == "consumed" and index not in board.lost:
        state = yield from overtaken(board, index, call.valid)
        if isinstance(state, Outcome | Refusal):
            board.put(index, state)
            return
    try:
        rule = cast("ApprovalRule", call.approval)
        board.put(index, approve(call, rule, found, board.context.rights, again=index in board.lost))
    except Exception as error:  # noqa: BLE001 - default deny, as in every room
        board.put(index, Refusal(reason=Reason.POLICY_FAILED, note=type(error).__name__))
    judged = board.states[index]
    if found is not None and found.status == "approved" and isinstance(judged, Refusal):  # what was approved does not do today
        event = partial(audit_asked.unfit, found, board.context.policy.version, judged.note, board.context.redactor)
        with suppress(ApprovalError):  # somebody was faster
            yield from p.ask(p.Void(approval=found.id, event=event))


def _record(board: Board) -> p.Flow[None]:
    """Make every proposal, question and decision durable, in one transaction, before anything runs."""
    if not any(isinstance(state, Hold) for state in board.states):  # nobody is asked, so nothing is reserved with a question
        yield from settle(board)
    undecided, (rows, events) = tuple(board.states), conclude(board)
    holds = {index: state for index, state in enumerate(undecided) if isinstance(state, Hold)}
    asks = board.opening(holds)
    found = (yield from written(board, decision(board, undecided, rows, events, asks))) if rows or events else None
    if found is None:
        return
    board.states[:] = undecided  # somebody else was faster: with a kill, or with one of the questions, and all are answered now
    yield from settle(board)
    if isinstance(found, Killed):
        return (yield from halted(board, found, _record))
    if not found:  # there was no room for it, or only in shadow
        return (yield from _record(board))
    board.asks[:] = [ask for ask, approval in zip(asks, found, strict=True) if approval is ask.proposal]  # not opened yet
    answers = {ask.proposal.id: approval for ask, approval in zip(asks, found, strict=True)}
    for index, state in holds.items():
        if state.approval.id in answers and board.states[index] is state:
            yield from _answered(board, index, state.call, answers[state.approval.id])
    yield from _record(board)


# -- after the decision ----------------------------------------------------------------------------------------------------


def _perform(board: Board) -> p.Flow[None]:
    """Run what was allowed: look-ups that stand together overlap, actions run one by one in call order."""
    waiting: list[int] = []
    looked: list[tuple[int, Ended]] = []
    for index, state in enumerate(board.states):
        if not isinstance(state, Allow):
            continue
        if not state.call.valid.tool.acts:
            waiting.append(index)
            continue
        looked += yield from look_all(board, waiting)
        waiting = []
        board.states[index] = yield from act(board, index, state)
    looked += yield from look_all(board, waiting)
    yield from close(board, looked)
