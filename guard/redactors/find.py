"""Find: one table of detectors at work on one text: what is found, what stands in its place, and again until nothing more is found.

Comes after the detectors and the texts inside texts (`nested`), before the look at a whole value (`gates`). Raises TimeoutError where a text takes
longer than a result is worth: then nothing of it is shown.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from guard.core.beside import below
from guard.core.objects import name_before, objects, opens
from guard.core.redaction import CUT, CUT_NOTE, SECONDS, cut_tail, unmasking
from guard.redactors.cookies import cookies_under
from guard.redactors.escapes import back, escaped, readings
from guard.redactors.fitting import Change, replaced
from guard.redactors.fold import plain
from guard.redactors.masks import MASKS
from guard.redactors.nested import DEPTH, First, decoded, inside, is_json
from guard.redactors.secret_keys import SECRET_KEYS, hides
from guard.redactors.telling import Telling
from guard.redactors.views import still

Span: TypeAlias = tuple[int, int]
"""Where a finding stands in the text: start, end (exclusive), in characters."""

_ROUNDS = 32
"""How often a text is looked at anew: what is hidden may have stood at the edge of something. A text that goes on after that is withheld."""
_NAME = 64  # characters of the longest name of a field that is remembered
SHORT = 2000
"""Characters of a text for which nobody looks at the clock: asking it costs more than a rule of the table takes."""
_TELLING = Telling().__getitem__
_BARE = frozenset({"card", "id"})  # kinds that digits alone may be
_WHOLE = re.compile(r"([0-9]{1,40})\.0{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One kind of thing to hide: a row of the table.

    `gate` must be true of every text in which `rule` finds something; `rule` takes the key (None in a list or at the top) and the text, and gives
    the spans to hide. `shape` is a pattern of the dialect that matches wherever the gate is true, for google-re2; None: the gate is asked.
    `words` are those by which the key of a value alone may make it something to hide, in lower case.
    """

    name: str
    gate: Callable[[str], bool]
    rule: Callable[[str | None, str], list[Span]]
    replacement: str
    shape: str | None = None
    words: tuple[str, ...] = ()


class _Names(set[str]):
    """The last few thousand names of fields in which nothing was found."""

    def put(self, name: str) -> None:
        if len(self) >= 4096:
            self.clear()
        self.add(name)


class Finder:
    """A table of detectors, in order of rank: where two findings overlap, the longer one names the replacement, then the earlier row.

    `own`: whether rows were added to those that are always there, so that the quick look, which knows only these, says nothing. `seconds`: of this
    thread, for one text; the rules take a tenth of what they have for the longest that is looked at.
    """

    def __init__(self, detectors: tuple[Detector, ...], *, own: bool = False, seconds: float = SECONDS / 2) -> None:
        self.detectors = detectors
        self.names = _Names()
        self.first: First | None = None  # set by whoever has one for these rows
        self._own = own
        self._unmasked = unmasking(detector.replacement for detector in detectors)
        self._seconds = seconds
        self._bare = tuple(one for one in detectors if one.name in _BARE) if not own else detectors

    def detect(self, key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        """Hide what is personal or secret in `text`, which stands under `key` (None in a list or at the top).

        Returns the text to show and the kinds hidden, in the order of the table; the same object and `()` where nothing was found. Applying it
        to its own answer changes nothing. Takes time linear in the text. A number under a telling key is passed as its text; the names of fields
        are passed as texts without a key, and those that hide nothing are remembered.
        """
        return self._detect(self._read(key), text, DEPTH)

    def _detect(self, key: str | None, text: str, depth: int) -> tuple[str, tuple[str, ...]]:
        if key is not None and key.endswith(CUT) and CUT_NOTE.fullmatch(text) is not None:
            return text, ()
        if key is not None and SECRET_KEYS[key] and hides(key, text):
            return MASKS["secret"], ("secret",)
        if key is not None and (cookies := cookies_under(key, text)):
            for start, end in reversed(cookies):
                text = f"{text[:start]}{MASKS['secret']}{text[end:]}"
            shown, more = self._detect(key, text, depth)
            return shown, self._kinds({"secret", *more})
        named = key is None and len(text) <= _NAME
        if named and text in self.names:
            return text, ()
        holds = is_json(text)
        mute = not self._own and not holds and text.isascii() and still(text) and not escaped(text)
        if mute and not opens(text):
            return text, ()
        found = self._within(key, text, depth, holds=holds)
        shown, hidden = self._written(key, text, depth, mute=mute) if found is None else found
        if named and not hidden and text.isidentifier() and (depth == DEPTH or decoded(text) is None):
            self.names.put(text)  # further inside an encoded run is not read, which says nothing of it elsewhere
        return shown, self._kinds({*hidden}) if len(hidden) > 1 else hidden

    def _kinds(self, hidden: set[str]) -> tuple[str, ...]:
        """In the order of the table."""
        return tuple(dict.fromkeys(one.name for one in self.detectors if one.name in hidden))

    def _within(self, key: str | None, text: str, depth: int, *, holds: bool) -> tuple[str, tuple[str, ...]] | None:
        """What is hidden inside a text that holds another one; None where the text itself is to be looked at."""
        if not depth:
            return None
        if holds:
            return self._json(key, text, depth)
        said = decoded(text)
        if said is None:
            return None
        kinds = self._detect(key, said, depth - 1)[1]
        return (self._mask(kinds[0]), kinds) if kinds else None

    def _json(self, key: str | None, text: str, depth: int) -> tuple[str, tuple[str, ...]] | None:
        return inside(key, text, lambda above, said: self._detect(self._read(above), said, depth - 1), self.first)

    def _written(self, key: str | None, text: str, depth: int, *, mute: bool) -> tuple[str, tuple[str, ...]]:
        """What is hidden in a text of words: in the JSON in it, and by all rules, in turns. `mute`: no rule can find anything in it as it is.

        Raises TimeoutError where that does not end.
        """
        text, inner = self._objects(key, text, depth)
        if mute and not inner:
            return text, ()
        hidden = {*inner}
        for _ in range(_ROUNDS):
            text, more = self._hidden(key, text, looked=depth > 0)
            hidden.update(more)
            text, inner = self._objects(key, text, depth) if more else (text, ())
            if not inner:
                return text, self._kinds(hidden) if hidden else ()
            hidden.update(inner)
        raise TimeoutError("there is always more to hide in a text, so nothing of it may be shown")

    def _objects(self, key: str | None, text: str, depth: int) -> tuple[str, tuple[str, ...]]:
        """What is hidden in objects and lists of JSON that stand in the middle of a text."""
        if not depth or not opens(text):
            return text, ()
        kinds: dict[str, None] = {}
        pieces: list[str] = []
        done = 0
        for start, end in objects(text):
            shown, found = self._object(key, name_before(text, start), text[start:end], depth)
            if found:
                kinds |= dict.fromkeys(found)
                pieces += (text[done:start], shown)
                done = end
        return ("".join([*pieces, text[done:]]), tuple(kinds)) if kinds else (text, ())

    def _object(self, key: str | None, name: str | None, text: str, depth: int) -> tuple[str, tuple[str, ...]]:
        """What is hidden in one of them by itself, and under the name right before it."""
        shown, found = self._json(key, text, depth) or (text, ())
        if name is None or not (_TELLING if self.first is None else self.first.tells)(name):
            return shown, found
        shown, more = self._json(below(key, name), shown, depth) or (shown, ())
        return shown, (*found, *more)

    def _mask(self, kind: str) -> str:
        return next(detector.replacement for detector in self.detectors if detector.name == kind)

    def _hidden(self, key: str | None, text: str, *, looked: bool = False) -> tuple[str, tuple[str, ...]]:
        """What all rules find, again and again until they find nothing more. Raises TimeoutError where that does not end.

        `looked`: the objects in the text were looked into already, each value under its own key.
        """
        whole = _WHOLE.fullmatch(text)
        if whole is not None and text != whole[1]:  # a decimal or float that is an integer: 4111111111111111.0
            shown, kinds = self._hidden(key, whole[1])
            return (shown, kinds) if kinds else (text, ())
        hidden: set[str] = set()
        until = time.thread_time() + self._seconds if self._own or len(text) > SHORT else float("inf")
        for _ in range(_ROUNDS):
            found = self.found(key, text, until)
            found = _unlooked(text, found) if looked and found and opens(text) else found
            shown = replaced(text, _groups(found)) if found else text
            if shown == text:
                break
            hidden |= {detector.name for *_, detector in found}
            text = shown
        else:
            raise TimeoutError("there is always more to hide in a text, so nothing of it may be shown")
        return text, self._kinds(hidden) if hidden else ()

    def _read(self, key: str | None) -> str | None:
        """What a key says: with plain characters for those that look like them, and without what is hidden in it."""
        return key if key is None else self._unmasked(key if key.isascii() else plain(key))

    def spot(self, key: str | None, text: str) -> list[str] | None:
        """The personal values in a text, as they stand in it; None where nothing but secrets is hidden of it."""
        key = self._read(key)
        if key is not None and ((SECRET_KEYS[key] and hides(key, text)) or cookies_under(key, text)):
            return None
        found = self.found(key, text, time.thread_time() + self._seconds)
        pieces = [text[start:end] for start, end, detector in found if detector.name != "secret"]
        return None if found and not pieces else pieces

    def found(self, key: str | None, text: str, until: float = float("inf")) -> list[tuple[int, int, Detector]]:
        """Every finding, with offsets into `text` itself; detectors look at copies without escapes, in which look-alike characters are plain ones."""
        found: dict[tuple[int, int, str], tuple[int, int, Detector]] = {}
        for flat, ways in readings(text):
            for detector in self._bare if key is None and flat.isdigit() else self.detectors:
                if not detector.gate(flat):
                    continue
                for start, end in detector.rule(key, flat):
                    span = back(ways, start, end) if ways else (start, end)
                    found[(*span, detector.name)] = (*span, detector)
                if until < float("inf") and time.thread_time() > until:
                    raise TimeoutError("a text took too long to look through, so nothing of it may be shown")
        return _before_note(text, [*found.values()])


def _unlooked(text: str, found: list[tuple[int, int, Detector]]) -> list[tuple[int, int, Detector]]:
    """What was found, without what stands in a single value of an object, unless it is a secret: its key may say that it is none, an order's number."""
    whole = objects(text)
    starts = [start for start, _ in whole]
    kept = []
    for one in found:
        at = bisect_right(starts, one[0]) - 1
        if one[2].name == "secret" or at < 0 or one[1] > whole[at][1] or '"' in text[one[0] : one[1]]:
            kept.append(one)
    return kept


def _before_note(text: str, found: list[tuple[int, int, Detector]]) -> list[tuple[int, int, Detector]]:
    """What was found, as far as it stands before the note at the end of a text that was cut."""
    note = cut_tail(text) if found else None
    if note is None:
        return found
    return [(start, min(end, note.start()), one) for start, end, one in found if start < note.start()]


def _groups(found: list[tuple[int, int, Detector]]) -> list[Change]:
    """Each group of overlapping findings as one change, by the name of its longest."""
    found.sort(key=lambda item: (item[0], -item[1]))
    groups: list[Change] = []
    index = 0
    while index < len(found):
        start, end, best = found[index]
        longest = end - start
        index += 1
        while index < len(found) and found[index][0] < end:
            length = found[index][1] - found[index][0]
            if length > longest:
                best, longest = found[index][2], length
            end = max(end, found[index][1])
            index += 1
        groups.append(Change(start, end, best.replacement))
    return groups
