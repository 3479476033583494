"""Assigned: values that a text gives to the name right before them: `name: value`, `name = "value"`, `("name", "value")`, `--name value`, `NAME value`.

Settings, headers, cookies, queries, code in any language, what programs print of their objects, commands, and sentences. A value in quotes goes to
its quote, one that is all of its line to the end of that, another one to the next sign that parts values. Pure; part of `secret`.
"""

from __future__ import annotations

import re

from guard.redactors.edges import resource
from guard.redactors.given import REFERENCE, called, fits, named, strong

_CLOSE = re.compile(r"(?:[\\\"'`\])}*_?]|\[\]){0,6}")
_JOINT = re.compile(
    r"(?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z][A-Za-z0-9_.|\[\]]{0,30}\??[ \t]{1,4}=[ \t]|[ \t]{0,20}(?::{1,2}=?|={1,3}>?|!==?|->|"
    "\u2192|\uff1a|\uff1d"
    r"|\?=|\+=|\|\|?=|\|[ \t]))[*_`]{0,3}[ \t]{0,20}(?:\r?\n[ \t]{0,20}string\([0-9]{1,6}\)[ ])?"
)
_TOLD = re.compile(r"[ \t]?(?:是|为|為|は)[ \t]?(?P<value>[!-~]{6,100})")
_ARROW = re.compile(r"[ \t]{0,4}(?:to|=>)[ \t]{1,4}")
_NEXT = re.compile(r"[ \t]{0,4},[ \t]{0,4}")
_SPACE = re.compile(r"[ \t]{1,8}(?:\\\r?\n[ \t]{0,40})?")
_SAID = re.compile(
    r"[ \t]{1,3}(?:(?:for|of|on)[ \t][^ \t\n]{1,60}[ \t])?(?:(?:has been|have been|was|is|are|will be|now)[ \t:]{1,3})?"
    r"(?:(?:changed|reset|set|updated|rotated)[ \t])?(?:(?:now|to|as|be|by|equals|=|:)[ \t:]{1,3}){0,2}"
)
_FALLBACK = re.compile(r"\)?[ \t]{0,4}(?:\|\||\?\?|or|,|:-|,[ ]?default=)[ \t]{0,4}")
_OPENS = re.compile(
    r"(?:Some\(|Optional\(|Just[ ]\(?|new[ ]String\(|[bBrRfFuUN@$])?(?P<back>\\{0,7})(?P<quote>'''|\"\"\"|[\"'`])[\r\n]{0,2}"
)
_BODY = {
    '"': re.compile(r"(?:[^\"\\\n]|\\[^\n]|\"\"[^\", \t\r\n)\]};])*"),
    "'": re.compile(r"(?:[^'\\\n]|\\[^\n]|''[^', \t\r\n)\]};])*"),
    "`": re.compile(r"[^`\n]*"),
}
_LINE = re.compile(r"[^ \t\r\n]{4,1000}")
_REST = re.compile(r"[ \t]{0,40}(?P<end>\r?\n)?")
_TOKEN = re.compile(r"[^ \t\r\n\"'`,;&|<>(){}\[\]\\]{4,1000}")
_WORD = re.compile(r"[^ \t\r\n\"'`<>(){}\[\]|]{4,1000}")
_BEGUN = re.compile(r"[ \t>+*-]{0,100}(?:[0-9]{1,4}[.)][ \t]+)?(?:(?i:export|set|env)[ \t]+)?[A-Za-z0-9_.:/$\"'*`@\[(-]*")
_SETS = re.compile(
    r"\b(?i:set[a-z_]{0,20}|put[a-z_]{0,20}|append|add[a-z_]{0,20}|header|define|insert|store|environ[a-z_]{0,10})[ ]?\([ ]?[\"']"
)
_VARS = re.compile(r"(?:\b(?i:env|setenv|setx|arg|export|define)|\bset[ ]-[A-Za-z]{1,4})[ \t]{1,4}")
_LOGIN = re.compile(r"\b(?i:login|user|username|machine)[ \t]+[^ \t\n]{1,100}[ \t\r\n]{1,40}")
_MORE = re.compile(r"[,;|][^ \t\r\n\"'`=:&<>(){}\[\]]{1,400}")
_BEHIND = frozenset(" \t\r\n\"'`<>)}]")
_LONGEST = 4000  # characters of a value in quotes
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]{1,30}[ ]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{16,1000})")
_FRAMES = {";": ";\n", "'": "'\n", '"': '"\n\\'}
"""What a name stands behind, and what its value ends with: a part of a connection, or a header in quotes."""
_PARTS = frozenset("?&#;-")
_COMPARES = frozenset("=!<>")
_TRAILING = ",;)}]\"'\\"  # behind a value without quotes: what closes the text around it, with its escapes, stays
_CALL = re.compile(r"\([ \t]{0,4}")


def assigned_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the values that a text gives to names which say secret."""
    found: list[tuple[int, int]] = []
    done = 0
    for start, end in named(text):
        span = _span(text, start, end) if start >= done and not resource(text, start) else None
        if span is not None:
            found.append(span)
            done = span[1]
    return found


def _span(text: str, start: int, end: int) -> tuple[int, int] | None:
    name = called(text, start, end)
    close = _CLOSE.match(text, end)
    behind = close.end() if close is not None else end
    joint = _JOINT.match(text, behind)
    if joint is None and behind > end:
        joint = _JOINT.match(text, end)
    if joint is not None or text[start:end].lower() == "pw":  # says so little by itself that a sign must follow
        return _right(name, text, start, joint.end()) if joint is not None else None
    before = text[max(0, start - 60) : start]
    told = _TOLD.match(text, end)
    if told is not None:
        return told.span("value") if fits(name, told["value"], firm=False) else None
    dashed = before[-1:] == "-" and before.rstrip("-")[-1:] in {"", " ", "\t", "\n", "'", '"', "[", ","}
    if behind > end and (one := _listed(name, text, behind, before)) is not None:
        return one
    if dashed or _after(_VARS, before) or (behind == end and _after(_LOGIN, before)):
        return _spaced(name, text, behind, dashed=dashed)
    fallback = _FALLBACK.match(text, behind)
    if fallback is not None:
        return _quoted(name, text, fallback.end(), firm=False)
    own = name.rsplit(".", 1)[-1]
    if own[:3].lower() == "set" and (call := _CALL.match(text, end)) is not None:
        return _quoted(own[3:], text, call.end(), firm=True)
    return _sentence(name, text, behind)


def _right(name: str, text: str, start: int, at: int) -> tuple[int, int] | None:
    """A value behind a sign of an assignment."""
    if _OPENS.match(text, at) is not None:
        return _quoted(name, text, at, firm=True)
    if (around := text[start - 1 : start]) in _FRAMES and around:
        span = _framed(text, at, _FRAMES[around])
        if span is not None and fits(name, text[slice(*span)], firm=True):
            return span
    if name.lower().endswith("authorization") and (scheme := _SCHEME.match(text, at)) is not None:
        return scheme.span("value") if fits(name, scheme["value"], firm=True) else None
    close = text[at - 1] == "=" and text[at - 2 : at - 1] not in _COMPARES
    line = _LINE.match(text, at)
    if line is not None and _ends(text, line.end()) and _begins(text, start):
        return _bare(name, text, at, at + len(line.group().rstrip(_TRAILING)), firm=close)
    token = _TOKEN.match(text, at)
    if token is None or text[token.end() : token.end() + 1] in {"(", "["}:
        return None
    more = _MORE.match(text, token.end())
    whole = more is not None and text[more.end() : more.end() + 1] in {"", *_BEHIND}
    return _bare(name, text, at, more.end() if more is not None and whole else token.end(), firm=close and around in _PARTS)


def _ends(text: str, at: int) -> bool:
    """Whether a line ends here."""
    rest = _REST.match(text, at)
    return rest is not None and (rest["end"] is not None or rest.end() == len(text))


def _after(pattern: re.Pattern[str], before: str) -> bool:
    """Whether what stands before a name ends with such words."""
    return any(match.end() == len(before) for match in pattern.finditer(before))


def _framed(text: str, at: int, closes: str) -> tuple[int, int] | None:
    """What stands up to the sign that parts it from the next, where that comes in this line."""
    end = at
    while end < len(text) and end - at < 400 and text[end] not in closes:
        end += 1
    return (at, end) if end < len(text) and text[end] == closes[0] and text[end - 1 : end] != " " else None


def _bare(name: str, text: str, start: int, end: int, *, firm: bool) -> tuple[int, int] | None:
    value = text[start:end]
    if _code(text, start, end) or REFERENCE.fullmatch(value) is not None:
        return None
    return (start, end) if fits(name, value, firm=firm) else None


def _code(text: str, start: int, end: int) -> bool:
    """Whether a value is an expression: something is called or looked up in it."""
    value = text[start:end]
    return ("(" in value and value[:1].isalpha()) or ("[" in value and text[end : end + 1] == "]")


def _begins(text: str, start: int) -> bool:
    """Whether a name is the first of its line."""
    first = max(0, start - 100)
    head = text[max(text.rfind("\n", first, start) + 1, first) : start]
    return _BEGUN.fullmatch(head) is not None


def _quoted(name: str, text: str, at: int, *, firm: bool) -> tuple[int, int] | None:
    """A value in quotes, as it is written."""
    opens = _OPENS.match(text, at)
    if opens is None:
        return None
    start, back, quote = opens.end(), opens["back"], opens["quote"]
    if len(quote) > 1 or back:
        close = text.find(back + quote, start, start + _LONGEST)
        end = close if close >= 0 else _line_end(text, start)
    else:
        body = _BODY[quote].match(text, start, start + _LONGEST)
        end = body.end() if body is not None else start
    closed = text.startswith(back + quote, end)  # else words may follow, which are no value
    return (start, end) if fits(name, text[start:end], firm=firm and (closed or " " not in text[start:end])) else None


def _line_end(text: str, start: int) -> int:
    at = text.find("\n", start, start + _LONGEST)
    return at if at >= 0 else min(len(text), start + _LONGEST)


def _listed(name: str, text: str, behind: int, before: str) -> tuple[int, int] | None:
    """A value behind the name in a call, a pair or a list, both in quotes."""
    joint = _NEXT.match(text, behind) or _ARROW.match(text, behind)
    if joint is None:
        return None
    firm = _after(_SETS, before) or joint.group().strip() != ","
    return _quoted(name, text, joint.end(), firm=firm)


def _spaced(name: str, text: str, at: int, *, dashed: bool) -> tuple[int, int] | None:
    """A value that stands behind a flag or a variable."""
    space = _SPACE.match(text, at)
    if space is None:
        return None
    if _OPENS.match(text, space.end()) is not None:
        return _quoted(name, text, space.end(), firm=True)
    value = _WORD.match(text, space.end())
    if value is None or value.group()[:1] in "-=" or (dashed and value.group()[0] == "/"):
        return None
    return value.span() if fits(name, value.group(), firm=False) else None


def _sentence(name: str, text: str, at: int) -> tuple[int, int] | None:
    """A value that a sentence tells."""
    said = _SAID.match(text, at)
    if said is None or not said.group().strip():
        return _quoted(name, text, said.end(), firm=False) if said is not None and strong(name) else None
    if _OPENS.match(text, said.end()) is not None:
        return _quoted(name, text, said.end(), firm=False)
    word = _WORD.match(text, said.end())
    if word is None:
        return None
    value = word.group().rstrip(".,;:!?")
    return (word.start(), word.start() + len(value)) if fits(name, value, firm=False) else None
