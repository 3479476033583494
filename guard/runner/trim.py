"""Trim: a history made shorter for the next request: large old results first, each with a note in its place.

No message is removed, so that no call loses its result and every turn is still recognised. What a later call may need stays in the reduced
result: the fields that grounds, `after` and bounds of the policy read from it; so do notices of the guard, open approvals among them. Grounds themselves
read the ledger, which knows nothing of this. Pure; what stands where in a message is the wire's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from guard.core.budget import PICTURE_TOKENS, Count, counted, is_notice, narrowed
from guard.core.clipping import parsed
from guard.core.cutting import cut, level, shortened, size
from guard.core.paths import ANY, Path
from guard.core.redaction import CUT
from guard.core.rules import Source, Tool
from guard.core.untrusted import opened
from guard.core.values import Json, JsonObject, encode, quote
from guard.core.views import Room
from guard.wires import Wire
from guard.wires.trim import Place, Trimmer, trimmer

_SMALL = 200
"""Bytes of a result that is left as it is: it costs hardly more than a note would, and may say that something was done."""
_NOTICE = 1_500
"""Bytes of a notice of the guard that is left as it is. What a failed tool said makes some of them longer."""
_PICTURE = re.compile(r"(?:data:[^,]{1,200},)?[A-Za-z0-9+/_-]{1000,}={0,2}")
_DEEPEST = 40
_ROUNDS = 4
"""How often what is over is taken away: parts of a text do not add up to its tokens exactly."""


def trimmed(
    wire: Wire,
    messages: Sequence[object],
    tools: Iterable[Tool],
    room: Room,
    count: Count,
    own: Callable[[str], str] = str,
) -> list[JsonObject]:
    """The messages, each a dict as the wire sends it, within `room`, or as near to it as results can be shortened. Raises WireError for what is no history.

    `own` gives a tool's own name for the one that the wire knows it by.
    """
    history = History(wire, messages, room, count)
    if history.fits():
        return history.sent()
    needed = needs(tools)
    for place in sorted(history.places(fresh=False), key=lambda one: (-_weight(one), one.index, one.part)):
        history.put(place, reduced(place, needed.get(own(place.tool), ())))
        if history.fits():
            return history.sent()
    history.level()
    return history.sent()


def _weight(place: Place) -> int:
    return size(place.text) + place.pictures * PICTURE_TOKENS * 4


class History:
    """The messages on their way, and what each of them weighs."""

    def __init__(self, wire: Wire, messages: Sequence[object], room: Room, count: Count) -> None:
        self.messages = wire.dump(messages)
        self._way: Trimmer = trimmer(wire.name)
        self._room = room
        self._measures: list[tuple[int, Callable[[JsonObject], int]]] = []
        if room.bytes is not None:
            self._measures.append((room.bytes, lambda message: size(encode(message))))
        if room.tokens is not None:
            self._measures.append((room.tokens, lambda message: tokens(message, count)))
        self._count = count
        self._weights = [[measure(message) for message in self.messages] for _, measure in self._measures]
        self._totals = [sum(weights) for weights in self._weights]

    def sent(self) -> list[JsonObject]:
        """The messages as the provider's own package takes them."""
        return [self._way.sent(message) for message in self.messages]

    def fits(self) -> bool:
        """Whether everything is within its room."""
        return not any(self._over(number) for number in range(len(self._measures)))

    def _over(self, number: int) -> int:
        return max(0, self._totals[number] - self._measures[number][0])

    def places(self, *, fresh: bool) -> list[Place]:
        """The results as they stand now: those that the model has not seen yet, or the others."""
        return [place for place in self._way.places(self.messages) if place.fresh is fresh]

    def put(self, place: Place, text: str | None) -> None:
        """Replace one result, where that makes its message smaller."""
        if text is None:
            return
        message = self._way.reworded(self.messages[place.index], {place.part: text})
        weights = [measure(message) for _, measure in self._measures]
        if all(new >= known[place.index] for new, known in zip(weights, self._weights, strict=True)):
            return
        self.messages[place.index] = message
        for number, new in enumerate(weights):
            self._totals[number] += new - self._weights[number][place.index]
            self._weights[number][place.index] = new

    def level(self) -> None:
        """Cut the results that the model has not seen yet, the largest first, each by its structure; pictures go last."""
        self._lower_all()
        for place in self.places(fresh=True):
            if place.pictures and not self.fits():
                self.put(place, reduced(place, ()) if not place.tool else f"{place.text}{_left_out(place)}")
        self._lower_all()

    def _lower_all(self) -> None:
        for number in range(len(self._measures)):
            for _ in range(_ROUNDS):
                if self._over(number):
                    self._lower(number, self._over(number))
            if self._over(number):
                self._lower(number, self._totals[number])

    def _lower(self, number: int, over: int) -> None:
        """Take so much from the results together. They are weighed as they stand in their messages: as JSON text."""
        by_bytes = number == 0 and self._room.bytes is not None
        measure: Count = (lambda text: size(quote(text))) if by_bytes else (lambda text: counted(self._count, quote(text)))
        fresh = [one for one in self.places(fresh=True) if one.tool and not _stays(one.text)]
        own = [measure(place.text) for place in fresh]
        height = level(own, max(0, sum(own) - over))
        for place, one in zip(fresh, own, strict=True):
            if height is not None and one > height:
                least = _NOTICE if is_notice(place.text) else 0
                self.put(place, narrowed(place.text, max(least, height), measure) + _left_out(place))


def _stays(text: str) -> bool:
    return size(text) <= _NOTICE and is_notice(text)


def _left_out(place: Place) -> str:
    return f"\n[{place.pictures} pictures left out]" if place.pictures else ""


def tokens(message: JsonObject, count: Count) -> int:
    """About how many tokens a message has; a picture counts for what providers take at most."""
    pictures: list[str] = []
    text = encode(_bare(message, pictures, _DEEPEST))
    return counted(count, text) + len(pictures) * PICTURE_TOKENS


def _bare(value: Json, pictures: list[str], left: int) -> Json:
    """A message without the data of its pictures."""
    if isinstance(value, str):
        if len(value) < 1_000 or _PICTURE.fullmatch(value) is None:
            return value
        pictures.append(value[:20])
        return ""
    if isinstance(value, dict) and left:
        return {name: _bare(item, pictures, left - 1) for name, item in value.items()}
    return [_bare(item, pictures, left - 1) for item in value] if isinstance(value, list) and left else value


# -- what stands in the place of an old result -----------------------------------------------------------------------------


def reduced(place: Place, needed: Sequence[Path]) -> str | None:
    """An old result with nothing but what later calls may need of it; None where it stays as it is."""
    if place.pictures and not place.tool and place.text:
        return f"{place.text} [{place.pictures} left out]" if place.pictures > 0 else None
    if (size(place.text) <= _SMALL and not place.pictures) or _stays(place.text):
        return None
    if is_notice(place.text):
        return shortened(place.text, _NOTICE)
    if not place.text.strip():
        return _left_out(place).strip()  # no provider takes a blank text
    inside = opened(place.text)
    body, closed = (place.text, str) if inside is None else inside
    text = body if isinstance(body, str) else place.text
    return str(closed(_reduced(text, needed)))


def _reduced(text: str, needed: Sequence[Path]) -> str:
    value = parsed(text)
    if value is None:
        return shortened(text, 0)
    short = cut(value, 0)
    kept = _kept(_without_note(value), needed) if needed else None
    if not kept:
        return encode(short)
    if isinstance(kept, list):
        return encode([*kept, {CUT: _FIELDS}])
    there = short[CUT].partition(" of ")[2].partition(" ")[0] if isinstance(short, dict) else ""
    return encode({**kept, CUT: f"{len(kept)} of {there} shown"})


_FIELDS = "an older result: only the fields that later calls need are shown"


def _kept(value: Json, paths: Sequence[Path]) -> Json:
    """Only what the paths name. A list of records keeps the fields of each."""
    steps = [path.steps for path in paths]
    if isinstance(value, list) and not any(one[0] == ANY for one in steps):
        return [found for item in value if (found := _only(item, steps))]
    return _only(value, steps)


def _only(value: Json, steps: Sequence[tuple[str, ...]]) -> Json:
    if () in steps:
        return value
    if isinstance(value, list):
        below = [one[1:] for one in steps if one[0] == ANY]
        return [_only(item, below) for item in value] if below else []
    if not isinstance(value, dict):
        return None
    named = {name: [one[1:] for one in steps if one[0] == name] for name in value}
    return {name: _only(value[name], below) for name, below in named.items() if below}


def _without_note(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name != CUT}
    last = value[-1] if value else None
    return value[:-1] if isinstance(last, dict) and last.keys() == {CUT} else value


# -- what later calls may need -----------------------------------------------------------------------------------------------


def needs(tools: Iterable[Tool]) -> Mapping[str, tuple[Path, ...]]:
    """For each tool the fields of its results that the policy compares later calls with."""
    found: dict[str, dict[Path, None]] = {}
    for tool in tools:
        for name, path in _read_by(tool):
            found.setdefault(name, {})[path] = None
    return {name: tuple(paths) for name, paths in found.items()}


def _read_by(tool: Tool) -> Iterator[tuple[str, Path]]:
    sources = [source for ground in tool.grounds for source in ground.sources]
    bounds = [limit.at_most for limit in tool.limits.sums] + [limit.at_most for limit in tool.limits.windows]
    sources += [bound for bound in bounds if isinstance(bound, Source)]
    for source in sources:
        if source.origin == "tool" and source.path is not None:
            yield source.tool, source.path
            yield from ((source.tool, beside) for field in source.same for beside in _around(source.path, field.steps[-1]))
    for after in tool.after:
        tests = after.where.tests if after.where is not None else ()
        yield from ((after.tool, test.path) for test in tests if test.path.root == "result")
        yield from ((after.tool, Path("result", (field.steps[-1],))) for field in after.same)


def _around(path: Path, name: str) -> Iterator[Path]:
    """The field of this name in every object on the way to a path."""
    for index, step in enumerate(path.steps):
        if step != ANY:
            yield Path(path.root, (*path.steps[:index], name))
