"""Saying: words that may make more of what stands beside them: names of secrets, of ids and of phones.

Most texts have none, which one look at all their words together tells. Else each word is judged once and remembered; one that says something is then
looked at where it stands: as the name of a field, before a sign of an assignment, or before digits. Sound as `quiet` is, which this is a part of: true too often, never wrongly false.
Pure, but for what it remembers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from operator import or_
from string import ascii_letters, ascii_lowercase, ascii_uppercase

from guard.core.objects import LEFT, REST
from guard.core.roles import NAMING, ROLES
from guard.redactors.given import STEMS, reaches, stands
from guard.redactors.keys import tokens
from guard.redactors.languages import PASSWORDS, PASSWORDS_SPELLED
from guard.redactors.logins import ENDS, WORDS, commands
from guard.redactors.national import IDS, SSN
from guard.redactors.phone import HOLDS as PHONE_WORDS
from guard.redactors.phone import OTHER as PHONE_OTHER
from guard.redactors.phone import SPELLED
from guard.redactors.shapes import BLANK
from guard.redactors.tables import Tables
from guard.redactors.telling import WORDS as KEY_WORDS

NAMES, TELLS, TOLD, PAIR, DIALS, CARRY, RUNS, GIVEN = 1, 2, 4, 8, 16, 32, 64, 128
_MOST = 8192
_LONGEST = 40  # letters of a word that is remembered as one that says something
_BRIEF = 600  # letters of words that are remembered as those that say nothing: more come from a text like none before
_KEY = 300  # characters in which the name of a field has to end
_NEAR = 80  # characters behind a word in which an id that it tells of ends
_HEADED = 60  # characters behind a word over a column in which its name ends
_DIGITS = 4  # of an id, at least
_FEW = 8  # words that are looked for one by one
_STEM = re.compile(STEMS)
_RUN_OF_LETTERS = re.compile("[A-Za-z]+")
_LETTERS = bytes(code if chr(code) in ascii_letters else 32 for code in range(256))
_SECRET = ("password", "passwd", "passphrase", "pwd", "secret", "secrete", "credential", "credentials", "token", "key", "oauth")
"""How a word ends, in lower case, that a sign of an assignment may follow."""
_PHRASES = [word for row in (*SSN, *IDS) for word in row.words]
_ALONE = frozenset(word for word in _PHRASES if " " not in word)
_PAIRED = frozenset(word.split()[0] for word in _PHRASES) - _ALONE
_TELLING = KEY_WORDS | _ALONE | _PAIRED | {"pw", "pass", "identified"}
_OTHER = (
    *(word for word in _TELLING | {part for word in _PHRASES for part in word.split()} if not word.isascii()),
    *(word for word in _PHRASES if not word.isascii()),
    *PHONE_OTHER,
    *("密码", "口令", *PASSWORDS_SPELLED),
)
_ASSIGNS = re.compile(r"""s?(?:_?[0-9]+)?[\\"'\])]{0,4}[ \t]{0,12}(?::|\|{1,3}:|\?=|!?=)""", re.ASCII)
_SET = re.compile("""[A-Za-z0-9_./-]{0,110}(?:=|["']?[ ]?,[ ]{0,40}["']?(?i:val))""")
_PAIRS = re.compile(
    f"(?i:{'|'.join('[^A-Za-z0-9]*'.join(map(re.escape, word.split())) for word in _PHRASES if word.isascii() and ' ' in word)})"
)
_NAMED = re.compile(r'(?:[^"]{0,300}")?[ \t\r\n]*:')
_BEFORE = re.compile(rf'[^{REST}]{{0,{LEFT}}}(?:"[ \t]{{0,{LEFT}}})?[:=][ \t\r\n]{{0,{LEFT}}}[{{\[]')
_CARRIES = re.compile("[ ]{1,3}[A-Za-z0-9._~+/=-]{8}")
_WITHIN = ((GIVEN, _STEM), (CARRY, re.compile(f"(?i:bearer|basic){_CARRIES.pattern}")))
"""Kinds of words that say nothing without what stands in the same piece of a text."""
_PHONES = tuple(word for word in PHONE_WORDS if word.isascii())
_DIALLED = re.compile("|".join(_PHONES))


_SPELLED = frozenset(spelled.encode() for word in _TELLING for spelled in (word, word.upper(), word.capitalize()))
"""Words that say something as they are."""
_CASES = bytes(
    ord("A") if chr(code) in ascii_uppercase else ord("a") if chr(code) in ascii_lowercase else 32 for code in range(256)
)
_STEMMED = (
    "pass",
    "pwd",
    "secret",
    "credential",
    "token",
    "key",
    "kennwort",
    "auth",
    *(word for word in PASSWORDS if word.isascii() and "pass" not in word),
)
"""What each run of letters holds that is a part of a word of `given`, or the last part of one, in lower case."""
_ENDS = ("identified", "cookie", "cookies", "pw")
"""How others end."""
_PARTS = (
    *(stem.encode() for stem in _STEMMED),
    *(f"{word} ".encode() for word in (*_ENDS, *_SECRET, "bearer", "basic", *ENDS) if not any(map(word.__contains__, _STEMMED))),
    *(f" {word}".encode() for word in _PHONES),
    *(word.encode() for word in WORDS),
)
"""What every other word holds that says something, in lower case, with a blank for its beginning or its end."""
_INNER = (b"aA", b"AAa")
"""Capitals inside words."""


def _holding(view: bytes, parts: Iterable[bytes]) -> Iterator[slice]:
    """Where the words stand that hold one of these, in a row of words with a blank before, behind and between them."""
    for part in parts:
        at = view.find(part)
        while at >= 0:
            end = view.find(b" ", at + len(part) - 1)
            yield slice(view.rfind(b" ", 0, at + 1) + 1, end)
            at = view.find(part, end)


def _some(words: set[bytes]) -> set[bytes]:
    """Those that may be like one that says something: most are like none."""
    view = b" %b " % b" ".join(words)
    found = {view[at] for at in _holding(view.lower(), _PARTS)}
    found.update(view[at] for at in _holding(view.translate(_CASES), _INNER))
    return found | (_SPELLED & words)


class Saying:
    """What words say. `phone` is the gate of phone numbers that a word tells of, `column` that of words over a column of them."""

    def __init__(self, phone: str, column: str) -> None:
        self._phone, self._column = re.compile(phone, re.ASCII), re.compile(column, re.ASCII)
        self._mute: set[bytes] = set()
        self._loud: dict[bytes, int] = {}

    def other(self, text: str) -> bool:
        """Whether a word in another script tells of something."""
        return any(map(text.__contains__, _OTHER))

    def of(self, joined: bytes) -> list[bytes]:
        """The words of a text that say something wherever they stand so."""
        words = set(joined.translate(_LETTERS).split()).difference(self._mute)
        if not words:
            return []
        some = _some(words)
        if sum(map(len, words)) <= _BRIEF:
            self._hush(words.difference(some))
        return [word for word in some if self._says(word)]

    def alone(self, piece: bytes) -> bool:
        """Whether a word of a piece of a text may say something whatever stands beside that piece; `BLANK` stands for its blanks."""
        kinds = reduce(or_, map(self._says, self.of(piece)), 0)
        text = piece.replace(bytes([BLANK]), b" ").decode("utf-8", "surrogatepass")
        return bool(kinds & ~(GIVEN | CARRY)) or any(bool(kinds & kind) and form.search(text) for kind, form in _WITHIN)

    def _hush(self, words: Iterable[bytes]) -> None:
        """Remember words that say nothing."""
        self._mute = self._mute if len(self._mute) < _MOST else set()
        self._mute.update(words)

    def _says(self, word: bytes) -> int:
        found = self._loud.get(word)
        if found is None:
            found = judged(word.decode())
            if len(self._loud) >= _MOST:
                self._loud = {}  # a new one: somebody else may be reading the old
            if len(word) <= _LONGEST:
                self._loud[word] = found
        return found

    def meant(self, words: list[bytes], text: str) -> bool:
        """Whether one of these words says something where it stands in this text."""
        said = {word.decode(): self._says(word) for word in words}
        every = reduce(or_, said.values())
        if (every & RUNS and commands(text)) or (every & NAMES and "PRIVATE KEY" in text):
            return True
        placed = {word: kinds for word, kinds in said.items() if kinds & ~RUNS}
        tables = Tables(text)
        return any(self._at(placed[word], text, at, at + len(word), tables) for word, at in _standing(placed, text))

    def _names(self, text: str, start: int, end: int, tables: Tables) -> bool:
        """Whether a word is a part of the name of a field, of a variable, of what stands beside it, or in a list."""
        if (
            _NAMED.match(text, end) is not None
            or _open(text, end)
            or _SET.match(text, end) is not None
            or _BEFORE.match(text, end) is not None
            or stands(text, start, end)
        ):
            return True
        return _beside(text, start, tables)

    def _at(self, kinds: int, text: str, start: int, end: int, tables: Tables) -> bool:
        """Whether a word of these kinds says something at this place."""
        if (kinds & NAMES and _ASSIGNS.match(text, end) is not None) or (kinds & GIVEN and reaches(text, start, end)):
            return True
        if kinds & (NAMES | TELLS) and self._names(text, start, end, tables):
            return True
        if kinds & TOLD and sum(map(str.isdigit, text[end : end + _NEAR])) >= _DIGITS:
            return True
        if kinds & PAIR and any(_PAIRS.match(text, at) is not None for at in range(start, end)):
            return True
        if kinds & CARRY and _CARRIES.match(text, end) is not None:
            return True
        if not kinds & DIALS:
            return False
        begins = [start + match.start() for match in _DIALLED.finditer(text[start:end].lower())]
        if any(self._phone.match(text, at) is not None for at in begins):
            return True
        return tables.lines and self._column.search(text, max(0, start - 1), end + _HEADED) is not None


def _beside(text: str, start: int, tables: Tables) -> bool:
    """Whether the text that a word stands in is the item of a list, or the value of a field that may name what stands beside it."""
    opening = text.rfind('"', 0, start)
    before = text[max(0, opening - 240) : max(0, opening)].rstrip()
    if before[-1:] != ":":
        return before[-1:] in {"[", ","} and tables.listed()
    name, around = _named(before)
    naming = ROLES[name] == NAMING
    if not naming and around[-1:] == "{":  # the only field of what names
        naming = ROLES[_named(around[:-1].rstrip())[0]] == NAMING
    return naming and (tables.valued() or tables.headed())


def _named(before: str) -> tuple[str, str]:
    """The name of a field whose value begins behind a text, and what stands before it."""
    name = before[:-1].rstrip()[:-1]
    at = name.rfind('"')
    return name[at + 1 :], name[: max(0, at)].rstrip()


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no letter stands beside a run of letters."""
    beside = text[max(0, start - 1) : start] + text[end : end + 1]
    return not any(char.isascii() and char.isalpha() for char in beside)


def _open(text: str, end: int) -> bool:
    """Whether what a word stands in is too long to tell whether it is the name of a field."""
    return len(text) - end > _KEY and text.find('"', end, end + _KEY) < 0


def _standing(words: Collection[str], text: str) -> Iterator[tuple[str, int]]:
    """Each of these runs of letters where it stands alone in a text: a few are looked for one by one, of many each run of the text is one or none."""
    if len(words) > _FEW or any(len(word) > _LONGEST for word in words):
        yield from ((match.group(), match.start()) for match in _RUN_OF_LETTERS.finditer(text) if match.group() in words)
        return
    for word in words:
        at = text.find(word)
        while at >= 0:
            if _whole(text, at, at + len(word)):
                yield word, at
            at = text.find(word, at + 1)


def judged(word: str) -> int:
    """What a run of letters says, in bits."""
    low = word.lower()
    parts = (low,) if word in {low, word.upper(), word.capitalize()} else tokens(word)
    found = (NAMES if low.endswith(_SECRET) or low in {"pw", "pass"} else 0) | (0 if _TELLING.isdisjoint(parts) else TELLS)
    found |= (
        (0 if _ALONE.isdisjoint(parts) else TOLD)
        | (0 if _PAIRED.isdisjoint(parts) else PAIR)
        | (CARRY if low.endswith(("bearer", "basic")) else 0)
    )
    found |= DIALS if any(map(low.__contains__, _PHONES)) and SPELLED.search(word) is not None else 0
    found |= GIVEN if any(map(low.__contains__, _STEMMED)) or low.endswith(_ENDS) else 0
    return found | (RUNS if low.endswith(ENDS) or any(map(low.__contains__, WORDS)) else 0)
