"""Nested: texts that hold another text: JSON written into a string, and runs of base64 or hexadecimal digits.

JSON is taken apart where it stands: only the pieces that are hidden are replaced, so that everything else keeps its spelling, and what was JSON
stays JSON. Of an encoded run only the beginning is decoded, and it is hidden as a whole. Pure; used by `find` before any rule looks.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from guard.core.beside import Frame, Pairs, parts
from guard.core.objects import MOST
from guard.redactors.telling import Telling

_TELLING = Telling()
Detect: TypeAlias = Callable[[str | None, str], tuple[str, tuple[str, ...]]]
"""Hides what is in one text under one key."""

_Leaf: TypeAlias = "tuple[re.Match[str], str | None, str]"
"""Where a piece stands, the key that it stands under, and what it says."""


class First(NamedTuple):
    """A first look: which of some texts may hold something under an ordinary key, and whether a key is none."""

    loud: Callable[[Sequence[str]], Collection[str]]
    tells: Callable[[str], bool]


DEPTH = 3
_ROUNDS = 4  # looks at a text because names in it were hidden
_FEW = 4  # pieces that are looked at one by one
_DECODED = 65_536  # characters of a run that are decoded
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|-?[0-9][0-9.eE+-]*', re.DOTALL)
"""The signs, texts and numbers of JSON."""
_SIGNS = frozenset("{}[],:")
_BASE64 = re.compile(r"(?:data:[^,\n]{0,100};base64,)?(?P<run>[A-Za-z0-9+/]{14,}|[A-Za-z0-9_-]{14,})={0,2}")
PLAIN_PARTS = ("[A-Za-f]", "[ABEFIJMNQRUVYZcdghklopstwx014589]")
PLAIN = f"{PLAIN_PARTS[0]}[A-Za-z0-9+/_-]{PLAIN_PARTS[1]}[A-Za-z0-9+/_-]"
"""Three characters of ASCII in base64."""
SAYS_BASE64, SAYS_HEX = re.compile(f"(?:{PLAIN}){{4}}"), re.compile("(?:[2-7][0-9A-Fa-f]){12}")
"""What a run holds that says twelve characters of ASCII in a row, or more: nearly no random id looks like that. Shorter runs are not decoded."""
_HEX = re.compile("(?:0[xX])?(?P<run>(?:[0-9a-f]{2}){12,}|(?:[0-9A-F]{2}){12,})")


def is_json(text: str) -> bool:
    """Whether a text may be a JSON object or array."""
    return text[:1] in {"{", "["} or (text[:1].isspace() and text.lstrip()[:1] in {"{", "["})


def inside(key: str | None, text: str, detect: Detect, first: First | None = None) -> tuple[str, tuple[str, ...]] | None:
    """A JSON text with everything hidden in it; None where it is no JSON object or array, or more than is taken apart.

    `first` looks at all pieces together and picks those that are passed to `detect`. A name of which something was hidden tells something else than it
    did, above a value and beside it: so all is looked at once more.
    """
    kinds: dict[str, None] = {}
    for _ in range(_ROUNDS):
        value = _read(text) if is_json(text) and len(text) <= MOST else None
        if value is None:
            return None
        text, found = _once(key, text, value, detect, first)
        if not found:
            break
        kinds |= dict.fromkeys(found)
    return text, tuple(kinds)


def _once(key: str | None, text: str, value: Any, detect: Detect, first: First | None) -> tuple[str, tuple[str, ...]]:
    """The same for one look."""
    kinds: dict[str, None] = {}
    pieces: list[str] = []
    done = 0
    tells = _TELLING.__getitem__ if first is None else first.tells
    leaves = [(match, above, _said(match.group())) for match, above in _leaves(text, value, key, tells)]
    for match, above, old in leaves if first is None or len(leaves) < _FEW else _picked(leaves, first):
        shown, found = detect(above, old)
        if found:
            kinds |= dict.fromkeys(found)
            pieces += (text[done : match.start()], json.dumps(shown, ensure_ascii=False))
            done = match.end()
    return "".join([*pieces, text[done:]]) if kinds else text, tuple(kinds)


def _said(piece: str) -> str:
    """What a text says, or a number as it stands."""
    if piece[0] != '"':
        return piece
    return json.loads(piece, strict=False) if "\\" in piece else piece[1:-1]


def _picked(leaves: list[_Leaf], first: First) -> list[_Leaf]:
    """The pieces in which something may be hidden: by what they say, by their key, or as fractions that are whole numbers."""
    loud = first.loud([said for *_, said in leaves])
    return [leaf for leaf in leaves if leaf[2] in loud or (leaf[1] is not None and first.tells(leaf[1])) or _fraction(leaf)]


def _fraction(leaf: _Leaf) -> bool:
    return leaf[0].group()[0] != '"' and not leaf[2].isdigit()


def _read(text: str) -> Any:
    """What a JSON text says, its objects as pairs; None where it is no JSON. Programs write line breaks into texts, and numbers that are none."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=_nothing, object_pairs_hook=Pairs, strict=False)
    except (ValueError, RecursionError):
        return None


def _nothing(_name: str) -> None:
    """What a number that is none says: it is not looked at."""


def _leaves(text: str, value: Any, key: str | None, tells: Callable[[str], bool]) -> Iterator[tuple[re.Match[str], str | None]]:
    """Every text, name and number of a JSON text that says `value`, in order, with the key that it stands under; None for a name."""
    tokens = (match for match in TOKEN.finditer(text) if match.group() not in _SIGNS)
    return zip(tokens, _keys(value, key, tells), strict=True)


def _keys(value: Any, key: str | None, tells: Callable[[str], bool]) -> Iterator[str | None]:
    """The key of every text, name and number in the order in which they are written. Not recursive: a text may be nested deeply."""
    todo: list[tuple[Any, str | None, Frame | None]] = [(value, key, None)]
    while todo:
        item, above, frame = todo.pop()
        if isinstance(item, str):
            yield above
        elif isinstance(item, list | Pairs):
            for name, inner, under, note in reversed(parts(item, above, frame, tells)):
                todo.append((inner, under, note.frame))
                if name is not None:
                    todo.append((name, None, None))


def decoded(text: str) -> str | None:
    """What a text that is one encoded run says; None where it is none, or says nothing that can be read."""
    if len(text) < 16 or " " in text[:16]:
        return None
    raw = _bytes(text)
    if raw is None:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw[: error.start].decode("utf-8") if error.start > len(raw) - 4 > 8 else None


def _bytes(text: str) -> bytes | None:
    """The bytes of a run that may say something."""
    if SAYS_HEX.search(text) is not None and (match := _HEX.fullmatch(text)) is not None:
        return binascii.unhexlify(match["run"][: _DECODED & ~1])
    if SAYS_BASE64.search(text) is not None and (match := _BASE64.fullmatch(text)) is not None:
        return _base64(match["run"][:_DECODED])
    return None


def _base64(run: str) -> bytes:
    """The bytes of a run, whichever of the two alphabets it is written in, without what does not fill a byte."""
    whole = run[: len(run) - (len(run) % 4 == 1)]
    return base64.b64decode(whole.replace("-", "+").replace("_", "/") + "=" * (-len(whole) % 4))
