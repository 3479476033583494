"""Looking: look-ups are run, those that stand together at once, and written down together.

The part of the walk behind the decision that is about reads and computations, as flows; `pipeline` alone says when each of them is reached.
They need no claim. Comes beside `taking`, which does the same for an action. Yields commands, does no I/O.
"""

from __future__ import annotations

from guard.core import answer
from guard.core import ports as p
from guard.core.board import Board
from guard.core.endings import Ended, ended, share
from guard.core.granting import UseGrant
from guard.core.kills import Killed, refusal
from guard.core.model import Allow, AuthorizedCall
from guard.core.taking import refuse_late, run, unused, use_of
from guard.errors import StoreError


def look_all(board: Board, waiting: list[int]) -> p.Flow[list[tuple[int, Ended]]]:
    """Run look-ups that stand together, and how each ended. One that is allowed under a grant uses it first, or does not run."""
    for index in waiting:
        state = board.states[index]
        if isinstance(state, Allow) and state.grant is not None:
            yield from _use(board, index, state)
    allowed = [(index, state) for index in waiting if isinstance(state := board.states[index], Allow)]
    found: list[Ended] = []
    if len(allowed) > 1:
        found += yield from p.ask(p.Together(flows=tuple(_look(board, index, allow) for index, allow in allowed)))
    else:
        for index, allow in allowed:
            found.append((yield from _look(board, index, allow)))
    looked = [(index, one) for (index, _), one in zip(allowed, found, strict=True)]
    for index, one in looked:
        board.states[index] = one.outcome
    return looked


def _use(board: Board, index: int, allow: Allow) -> p.Flow[None]:
    """Count a look-up on its grant, durable before it runs; a use is never given back by a look-up that fails."""
    valid, use = allow.call.valid, use_of(board, index, allow)
    if use is None:
        return
    command = UseGrant(
        key=board.keys[index], tool=valid.tool.name, arguments=valid.arguments, fingerprint=valid.fingerprint, use=use
    )
    try:
        found = yield from p.ask(command)
    except StoreError as error:
        board.down = error.code
        board.states[index] = yield from refuse_late(board, index, answer.unstored(error.code))
        return
    if isinstance(found, Killed):
        board.states[index] = yield from refuse_late(board, index, refusal(found.stop))
    elif found is not None:
        board.states[index] = yield from unused(board, index, allow, found)


def _look(board: Board, index: int, allow: Allow) -> p.Flow[Ended]:
    """Run one look-up. It needs no claim: running it again would do no harm."""
    return ended(board, index, allow, (yield from run(board, index, allow)))


def close(board: Board, looked: list[tuple[int, Ended]]) -> p.Flow[None]:
    """Record the look-ups of the turn in one transaction. What cannot be recorded is not handed out."""
    rows, events = share(board)
    handles = tuple(handle for _, one in looked for handle in one.handles)
    for _, one in looked:
        rows += one.rows
        events += one.events
    if not rows:
        return
    try:
        yield from p.ask(p.Finish(rows=tuple(rows), events=tuple(events), handles=handles, light=board.light))
    except StoreError:
        for index, _ in looked:
            last = board.last[index]
            if isinstance(last, AuthorizedCall):
                key, detail = board.items[index].key, "Its record could not be written."
                board.states[index] = answer.withheld(last.valid, key, detail=detail)
