"""Dialect: the regular expressions that a policy may hold: those that RE2 reads as well, and reads alike.

RE2 never goes back, so no text can make such a pattern run away. Where only the standard library is at hand, `runaway` says whether a pattern is
plain enough for it all the same. Pure; knows nothing of detectors. Comes before rules.
"""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any, TypeAlias

MOST = 1000
"""The most that one repeat may count to, as in RE2, and the most characters that a pattern without RE2 may look at."""

_Line: TypeAlias = "list[tuple[frozenset[int], int, int]]"
"""Characters, fewest and most of them, one after the other."""

_ALTERNATIVES = 256
_EVERY = frozenset(range(257))  # 256 stands for all characters beyond Latin-1
_LETTERS = frozenset(map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
_FORBIDDEN = {
    "ASSERT": ("looks ahead or behind", "match what must be there, or name a word in words:"),
    "ASSERT_NOT": ("looks ahead or behind", "match what must be there, or name a word in words:"),
    "GROUPREF": ("refers back to a group", "write the alternatives out"),
    "GROUPREF_EXISTS": ("asks whether a group matched", "write the alternatives out"),
    "ATOMIC_GROUP": ("has an atomic group", "write (?:…)"),
    "AT_END": ("has a $, which is not the same to both engines", "leave it out, or match what follows"),
    "POSSESSIVE_REPEAT": ("has a possessive repeat", "leave the second + out"),
}
_ESCAPES = {
    "Z": ("\\Z is read by one engine only", "leave it out"),
    "s": ("\\s is not the same to both engines", "write [ \\t\\r\\n]"),
    "S": ("\\S is not the same to both engines", "write [^ \\t\\r\\n]"),
    "u": ("\\u is read by one engine only", "write the character itself"),
    "U": ("\\U is read by one engine only", "write the character itself"),
    "N": ("\\N is read by one engine only", "write the character itself"),
}
_SPELLED = re.compile(r"\\(?P<escape>.)|\(\?(?P<flags>[a-zA-Z-]+)[:)]|(?P<comment>\(\?#)|(?P<least>\{,)|\[\[:", re.DOTALL)


def fault(pattern: str) -> tuple[str, str] | None:
    """What keeps a pattern from being read by both engines alike, and the cure; None where nothing does."""
    spelled = next(filter(None, map(_spelling, _SPELLED.finditer(pattern))), None)
    if spelled is not None:
        return spelled
    try:
        tree = _parsed(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression: {error}", "see the syntax of RE2"
    if _times(tree) > MOST:
        return f"repeats more than {MOST} times", f"repeat at most {MOST} times, repeats of repeats multiplied"
    return next((_FORBIDDEN[name] for name in map(_name, _nodes(tree)) if name in _FORBIDDEN), None)


def least(pattern: str) -> int:
    """The fewest characters that a pattern without a fault matches."""
    return int(_parsed(pattern).getwidth()[0])


def runaway(pattern: str) -> str | None:
    """Why a pattern without a fault may take more than linear time in the standard library's engine; None where it surely does not."""
    try:
        lines = _lines(_parsed(pattern))
    except ValueError as error:
        return str(error)
    for line in lines:
        if sum(most for _, _, most in line) > MOST:
            return f"it may look at more than {MOST} characters"
        for at, (chars, fewest, most) in enumerate(line):
            if fewest != most and chars & _next(line[at + 1 :]):
                return "a repeat is followed by something that it could match itself"
    return None


def _next(line: _Line) -> frozenset[int]:
    """The characters with which the rest of a sequence may begin."""
    found = frozenset[int]()
    for chars, fewest, _ in line:
        found |= chars
        if fewest:
            break
    return found


def _parsed(pattern: str) -> Any:
    parser: Any = importlib.import_module("re._parser")  # the standard library's own reading
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(pattern)


def _spelling(match: re.Match[str]) -> tuple[str, str] | None:
    """A fault that can be seen in the spelling."""
    if match["escape"] is not None:
        return _ESCAPES.get(match["escape"])
    if match["flags"] is not None:
        return None if set(match["flags"]) <= {*"is-"} else ("sets a flag that both engines do not share", "use (?i:…) alone")
    if match["comment"] is not None:
        return "has a comment", "leave it out"
    if match["least"] is not None:
        return "{, is not the same to both engines", "write {0,"
    return "[[: is not the same to both engines", "write the characters out"


def _nodes(tree: Any) -> list[tuple[str, Any]]:
    """Every element of a parsed pattern, wherever it stands."""
    found: list[tuple[str, Any]] = []
    for name, value in tree:
        found.append((str(name), value))
        for part in _parts(value):
            found += _nodes(part)
    return found


def _parts(value: Any) -> list[Any]:
    """The patterns inside the operand of one element."""
    if hasattr(value, "getwidth"):
        return [value]
    return [part for inner in value for part in _parts(inner)] if isinstance(value, tuple | list) else []


def _name(item: tuple[str, Any]) -> str:
    """The name of an element; that of an anchor is its kind."""
    return str(item[1]) if item[0] == "AT" else item[0]


def _times(tree: Any) -> int:
    """The largest count of a pattern, those of repeats inside repeats multiplied."""
    most = 1
    for name, value in tree:
        inner = max(map(_times, _parts(value)), default=1)
        if str(name) in {"MAX_REPEAT", "MIN_REPEAT"}:
            inner *= max(1, value[0] if str(value[1]) == "MAXREPEAT" else value[1])
        most = max(most, inner)
    return most


def _lines(tree: Any) -> list[_Line]:
    """The pattern as plain sequences of repeated characters, one for each choice of alternatives. Raises ValueError for what is none."""
    found: list[_Line] = [[]]
    for name, value in tree:
        ways = _ways(str(name), value)
        found = [[*line, *way] for line in found for way in ways]
        if len(found) > _ALTERNATIVES:
            raise ValueError("it has too many alternatives")
    return found


def _ways(name: str, value: Any) -> list[_Line]:
    if name == "AT":
        return [[]]
    if name == "SUBPATTERN":
        return _lines(value[-1])
    if name == "BRANCH":
        return [line for part in value[1] for line in _lines(part)]
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        return [[_repeat(*value)]]
    return [[(_chars(name, value), 1, 1)]]


def _repeat(fewest: Any, most: Any, body: Any) -> tuple[frozenset[int], int, int]:
    if str(most) == "MAXREPEAT":
        raise ValueError("it repeats without a bound")
    if len(body) != 1:
        raise ValueError("it repeats more than a single character")
    name, value = body[0]
    return _chars(str(name), value), int(fewest), int(most)


def _chars(name: str, value: Any) -> frozenset[int]:
    """The characters that one element matches, in either case."""
    if name == "IN":
        found = frozenset[int]().union(*(_chars(str(kind), inner) for kind, inner in value if str(kind) != "NEGATE"))
        return _EVERY - found if any(str(kind) == "NEGATE" for kind, _ in value) else found
    if name == "LITERAL":
        return _cased({min(value, 256)})
    if name == "RANGE":
        return _cased(set(range(min(value[0], 256), min(value[1], 256) + 1)))
    if name == "NOT_LITERAL":
        return _EVERY - {value} if value < 256 else _EVERY
    if name in {"ANY", "CATEGORY"}:
        return _EVERY if name == "ANY" or "NOT" in str(value) else _category(str(value))
    raise ValueError("it repeats more than a single character")


def _category(name: str) -> frozenset[int]:
    """What a class of the language may match, rather too much than too little."""
    if "DIGIT" in name:
        return frozenset(range(ord("0"), ord("9") + 1)) | {256}
    return frozenset(range(ord("0"), ord("9") + 1)) | _LETTERS | {ord("_")} | frozenset(range(128, 257))


def _cased(codes: set[int]) -> frozenset[int]:
    return frozenset(codes) | {code ^ 32 for code in codes & _LETTERS}
