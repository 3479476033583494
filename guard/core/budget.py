"""Budget: how much of what tools return goes to the model: of one result, of one assistant message, of a conversation.

What is too large is cut by its structure (`cutting`), the largest first, so that one result does not starve its siblings; every call keeps its
result, and the guard's own notices are never cut. Works on what is redacted. Pure; used by endings for one result and by the pipeline behind
the last of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import ascii_letters, digits, whitespace
from typing import TypeAlias

from guard.core.clipping import parsed
from guard.core.commands import CallRow
from guard.core.cutting import level, shortened, size
from guard.core.model import Block, Content, Image, Outcome
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.untrusted import opened
from guard.core.views import Room

Count: TypeAlias = Callable[[str], int]
"""How many tokens a text has."""
PICTURE_TOKENS = 1_600
"""What a picture is taken for; providers count between a few hundred and this, by its size. Its bytes count for nothing: they are no text."""
_TRIES = 8
_RAN = frozenset({"done", "failed"})
_NOTICE = '{"ok":false,"error":{"code":'
_LETTERS, _DIGITS, _BLANKS = ascii_letters.encode(), digits.encode(), whitespace.encode()
_LEADS, _TRAILS = bytes(range(0xC0, 0x100)), bytes(range(0x80, 0xC0))


def approximate(text: str) -> int:
    """About how many tokens a text has: a quarter for each letter, half for each digit and sign, one for each character beyond ASCII."""
    data = text.encode("utf-8", "surrogatepass")
    letters, numbers, blanks, leads, trails = (
        len(data) - len(data.translate(None, kind)) for kind in (_LETTERS, _DIGITS, _BLANKS, _LEADS, _TRAILS)
    )
    signs = len(data) - letters - numbers - blanks - leads - trails
    return -(-(letters * 5 + (numbers + signs) * 10 + blanks * 2 + leads * 20) // 20)


def counted(count: Count, text: str) -> int:
    """The host's count; where it fails, the bytes, which no tokenizer exceeds."""
    try:
        found = count(text)
    except Exception:  # noqa: BLE001 - a foreign function may raise anything, and the result must still fit
        return size(text)
    return found if type(found) is int and found >= 0 else size(text)


# -- one content -----------------------------------------------------------------------------------------------------------


def fit(content: Content, room: Room, count: Count) -> Content:
    """`content` within `room`; the same object where it fits. Below the size of its notes and marks it cannot get."""
    inside = opened(content)
    if inside is not None:
        inner, closed = inside
        frame = closed("")
        shown = fit(inner, Room(bytes=_less(room.bytes, frame, None), tokens=_less(room.tokens, frame, count)), count)
        return content if shown is inner else closed(shown)
    if room.bytes is not None:
        content = _within(content, room.bytes, size, shortened, by_bytes=True)
    if room.tokens is not None:
        measure = lambda text: counted(count, text)  # noqa: E731 - one of two measures
        content = _within(content, room.tokens, measure, lambda text, most: _to_tokens(text, most, measure), by_bytes=False)
    return content


def narrowed(text: str, most: int, measure: Count) -> str:
    """`text`, marks and all, cut until `measure` says at most `most`; the smallest that there is where it never does."""
    found, room = text, size(text)
    for _ in range(_TRIES):
        weighs = measure(found)
        if weighs <= most:
            return found
        room = min(room - 1, room * most // max(1, weighs)) * 31 // 32
        found = str(fit(text, Room(bytes=max(0, room)), approximate))
    return found if measure(found) <= most else str(fit(text, Room(bytes=0), approximate))


def _less(most: int | None, frame: Content, count: Count | None) -> int | None:
    return None if most is None else max(0, most - weight(frame, count))


def is_notice(content: Content) -> bool:
    """Whether a content is the guard's own word that a call did not simply succeed: held, refused, failed or unknown."""
    if not isinstance(content, str) or not content.startswith(_NOTICE):
        return False
    value = parsed(content)
    error = value.get("error") if isinstance(value, dict) else None
    return isinstance(error, dict) and error.get("code") in frozenset(Reason)


def weight(content: Content, count: Count | None) -> int:
    """Bytes of a content's texts, or all its tokens where there is a count."""
    blocks = (content,) if isinstance(content, str) else content
    return sum(_weight(block, size if count is None else lambda text: counted(count, text), count is None) for block in blocks)


def _weight(block: Block, measure: Count, by_bytes: bool) -> int:  # noqa: FBT001 - which of two measures
    if isinstance(block, Image):
        return 0 if by_bytes else PICTURE_TOKENS
    return measure(block)


def _within(content: Content, most: int, measure: Count, shorten: Callable[[str, int], str], *, by_bytes: bool) -> Content:
    if isinstance(content, str):
        return content if measure(content) <= most else shorten(content, most)
    weights = [_weight(block, measure, by_bytes) for block in content]
    height = level(weights, most)
    if height is None:
        return content
    pairs = zip(content, weights, strict=True)
    return tuple(block if one <= height else _smaller(block, height, shorten) for block, one in pairs)


def _smaller(block: Block, most: int, shorten: Callable[[str, int], str]) -> Block:
    return f"[a picture was left out: {block.media_type}]" if isinstance(block, Image) else shorten(block, most)


def _to_tokens(text: str, most: int, measure: Count) -> str:
    """The text in at most `most` tokens: cut to fewer bytes, until they are few enough."""
    found, room = text, size(text)
    for _ in range(_TRIES):
        tokens = measure(found)
        if tokens <= most:
            return found
        room = min(room - 1, room * most // max(1, tokens)) * 31 // 32
        found = shortened(text, room)
    return found if measure(found) <= most else shortened(text, min(room, most))


# -- the results of a message ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the results of one earlier turn came to, as they were recorded."""

    turn: int
    bytes: int
    tokens: int


USED_UP: tuple[Spent, ...] = (Spent(turn=-1, bytes=2**62, tokens=2**62),)
"""What cannot be measured counts as used up."""


def spent_by(rows: Iterable[CallRow], count: Count) -> tuple[Spent, ...]:
    """What the recorded results of each turn came to."""
    turns: dict[int, list[Content]] = {}
    for row in rows:
        if row.outcome is not None:
            turns.setdefault(row.key.turn, []).append(row.outcome.content)
    return tuple(
        Spent(turn=turn, bytes=sum(weight(one, None) for one in told), tokens=sum(weight(one, count) for one in told))
        for turn, told in sorted(turns.items())
    )


def fit_all(outcomes: Sequence[Outcome], room: Room, count: Count) -> tuple[Outcome, ...]:
    """The outcomes of one message within `room`, the largest cut first. Notices of the guard stay as they are."""
    found = tuple(outcomes)
    if room.bytes is not None:
        found = _leveled(found, room.bytes, None, lambda height: Room(bytes=height), count)
    if room.tokens is not None:
        found = _leveled(found, room.tokens, count, lambda height: Room(tokens=height), count)
    return found


def _leveled(
    outcomes: tuple[Outcome, ...], most: int, by: Count | None, room: Callable[[int], Room], count: Count
) -> tuple[Outcome, ...]:
    own = [outcome.status in _RAN and not is_notice(outcome.content) for outcome in outcomes]
    weights = [weight(outcome.content, by) for outcome in outcomes]
    notices = sum(one for one, mine in zip(weights, own, strict=True) if not mine)
    height = level([one for one, mine in zip(weights, own, strict=True) if mine], most - notices)
    if height is None:
        return outcomes
    return tuple(
        replace(outcome, content=fit(outcome.content, room(height), count)) if mine and one > height else outcome
        for outcome, one, mine in zip(outcomes, weights, own, strict=True)
    )


def left(turn: Room, conversation: Room, spent: Sequence[Spent]) -> Room:
    """What one more turn has: its own room, or what its conversation has left. Of earlier turns counts what their own room let through."""
    return Room(
        bytes=_left(turn.bytes, conversation.bytes, [one.bytes for one in spent]),
        tokens=_left(turn.tokens, conversation.tokens, [one.tokens for one in spent]),
    )


def _left(turn: int | None, conversation: int | None, spent: Sequence[int]) -> int | None:
    if conversation is None:
        return turn
    remaining = conversation
    for one in spent:
        remaining -= min(one, remaining, *(() if turn is None else (turn,)))
    return remaining if turn is None else min(turn, remaining)
