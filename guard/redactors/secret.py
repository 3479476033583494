"""Secrets: values under keys that name a secret, and keys of services that are known by a prefix of their own.

A detector of the table in `guard.redactors`; pure. No entropy is measured: random order ids would look like secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from guard.core.redaction import LABEL
from guard.redactors.edges import matches, opens, resource
from guard.redactors.given import given_gate
from guard.redactors.keys import tokens
from guard.redactors.logins import commands, login_spans
from guard.redactors.prefixes import INSIDE, PREFIXES
from guard.redactors.secret_keys import KEPT, PLACEHOLDER, SECRET_KEYS, folder, hides, talks
from guard.redactors.views import assigns, bears, long_name
from guard.redactors.written import written_spans

_START = re.compile("|".join(["eyJ", *(re.escape(sign) for sign, _ in PREFIXES)]))
SIGNS_INSIDE = tuple(sign for sign, _ in INSIDE)
_EDGE = r"(?:^|[^A-Za-z0-9_]|\\[nrt]|%3[dD])"
"""What `_edged` says, ahead of a key: one that is none for what stands before it is not read to its end, however many begin in it."""
_OWN = re.compile(
    f"{_EDGE}(?P<own>{'|'.join([*(f'{re.escape(sign)}(?:{rest})' for sign, rest in PREFIXES), *(whole for _, whole in INSIDE)])})",
    re.ASCII,
)
_WEB_HEAD = re.compile("eyJ[A-Za-z0-9_-]{10}")
_NAME_RUN = re.compile("[A-Za-z0-9_-]*")
_PART = 4000  # characters of a part of a token; the second may be twice as long
_PEM = re.compile("-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile("-----END [A-Z0-9 ]{0,40}-----")
_PEM_MOST = 20_000  # characters of a private key
_WORDS = frozenset({"monkey", "turkey", "donkey", "hockey", "jockey", "whiskey"})
_INDEX = frozenset(
    {
        "primary",
        "foreign",
        "partition",
        "sort",
        "cache",
        "issue",
        "object",
        "group",
        "row",
        "index",
        "message",
        "routing",
        "dedup",
    }
    | {
        "hash",
        "lookup",
        "join",
        "unique",
        "translation",
        "registry",
        "project",
        "range",
        "map",
        "sorting",
        "answer",
        "s3",
        "order",
    }
)
"""Words that make a key one of a table, a file or a ticket."""
_APART = (";", "&", "\n")
"""Signs between one assignment and the next: what stands before them says nothing about the name behind."""
_LEAST = 6  # different characters in a key: what has fewer is a row of x

_NAME = (
    r"(?P<name>(?P<strong>passw(?:or)?d|passphrase|pwd|secrete?|credentials?|(?:api|access|private|secret)[ _.-]?key|(?:auth|access|refresh|session)[ _.-]?token)"
    r"|token|key|[_-]pw|[_-]pass|oauth)(?:_?[0-9]{1,4})?"
)
_SIGNS = r"""[\\"'\])]{0,4}[ \t]{0,12}(?::{1,3}=?|\|{1,3}:|\?=|=>|!?={1,3})[ \t]{0,12}"""
_ASSIGNED = re.compile(
    _NAME + _SIGNS + r"""(?:[\\"']{1,4}(?P<quoted>[^\\"'\n]{6,400})|(?P<bare>[^ \t\n\r\f\v"'\\,;&\[{<]{8,400}))""",
    re.ASCII | re.IGNORECASE,
)
_VARIABLES = re.compile(r"(?:\A|\n)(?:export )?(?P<name>[A-Z][A-Z0-9_]{0,100})=(?P<value>[^\n\r$(\"'`&;|]{4,})")
_ALONE = re.compile(r"(?:--?)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,100})=(?P<value>[^ \t\n\r\f\v&$(]{4,})")
"""Variables of an environment, one a line; and one assignment that is all of a text."""
_BESIDE = re.compile(
    r"""(?:name|key|header|field|variable|parameter)["']?[ ]?:[ ]?["']?(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,100})["']?[ ]?(?:,|\r?\n)[ ]{0,40}["']?val(?:ue)?["']?[ ]?:[ ]?"""
    r"""(?:"(?P<double>[^"\n]{4,400})|'(?P<single>[^'\n]{4,400})|(?P<plain>[^ "',}\r\n][^"',}\r\n]{3,400}))""",
    re.ASCII | re.IGNORECASE,
)
"""A name and its value beside each other in a text that is no JSON: YAML, a log, a text that was cut off."""
_ENV_WORD = re.compile("passw(?:or)?d|passphrase|pwd|secret|credential|token|key", re.IGNORECASE)
_DIGIT_SOON = re.compile(r"""[^ \t\n\r\f\v"']{0,60}[0-9]""", re.ASCII)
_CALL = re.compile(r"[A-Za-z_$][A-Za-z_$.:]*[0-9]{0,4}\([^\n]{0,200}\)")
_ANY_DIGIT, _ANY_LETTER = re.compile("[0-9]"), re.compile("[A-Za-z]")
_LONG_NUMBER = re.compile("[0-9]{24,400}")
_MIXED = re.compile(r"[^ \t\n\r\f\v(){}<>$%]{10,400}", re.ASCII)
_LOGIN = re.compile(r"://(?P<value>[^ \t\n\r\f\v/@:]{0,200}:[^ \t\n\r\f\v/@]{1,400})@")
_BARE_BEARER = re.compile(r"(?i:bearer)[ ]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{16,})")
_CAPITAL_INSIDE = re.compile("[a-z][A-Z]")
_HEADWAY = 200
"""Without a colon before it, what follows is a secret only if no word is written like it: with digits, or capitals inside."""
_BEARER = re.compile(r"(?:bearer|basic)[ ]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{16,})", re.ASCII | re.IGNORECASE)


def secret_gate(text: str) -> bool:
    """Whether a known prefix stands in a text with a run of characters long enough for a key, a word announces a secret, or a URL holds one."""
    return (
        "PRIVATE KEY" in text
        or commands(text)
        or assigns(text)
        or bears(text)
        or given_gate(text)
        or ("://" in text and "@" in text)
        or _signed(text)
    )


def secret_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all keys known by their prefix, and of values that a text assigns to a word that names a secret."""
    found: list[tuple[int, int]] = []
    if _signed(text):
        found += [match.span("own") for match in _owned(text) if len(set(match["own"])) >= _LEAST]
        found += _web_tokens(text) if ".ey" in text else []
    if "PRIVATE KEY" in text:
        found += [(match.start(), _pem_end(text, match.end())) for match in _PEM.finditer(text)]
    if commands(text):
        found += login_spans(text)
    if "://" in text:
        found += [match.span("value") for match in _LOGIN.finditer(text)]
    if assigns(text):
        found += _given(text)
    elif bears(text):
        found += [match.span("value") for match in matches(_BARE_BEARER, text, _borne)]
    return _merged(found + written_spans(text)) if given_gate(text) else found


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping spans as one: several rules may know the same place."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _given(text: str) -> list[tuple[int, int]]:
    """The values that a text gives to names that say secret: assigned, borne, beside them, or as variables."""
    found = [match.span(_value(match)) for match in _ASSIGNED.finditer(text) if _assigned(text, match)]
    found += [match.span("value") for match in _BEARER.finditer(text)]
    if ":" in text:
        found += [match.span(match.lastgroup or "plain") for match in _BESIDE.finditer(text) if _told_beside(match)]
    if "=" in text:
        lines = (match for match in _VARIABLES.finditer(text) if text[match.end() : match.end() + 1] in {"", "\n", "\r"})
        alone = _ALONE.fullmatch(text)
        found += [one.span("value") for one in (*lines, *((alone,) if alone is not None else ())) if _variable(one)]
    return found


def _told_beside(match: re.Match[str]) -> bool:
    """Whether a name says secret of the value beside it."""
    key = LABEL + match["name"]
    return _ENV_WORD.search(key) is not None and SECRET_KEYS[key] and hides(key, match[match.lastgroup or "plain"])


def _variable(match: re.Match[str]) -> bool:
    """Whether the name of a variable says that its value is a secret, and the value is one and no line of several."""
    name, value = match["name"], match["value"]
    return _ENV_WORD.search(name) is not None and SECRET_KEYS[name] and "=" not in value.strip("=") and hides(name, value)


def _edged(match: re.Match[str]) -> bool:
    """Whether a key of a service begins a word, or stands after an escape or an encoded equals sign."""
    text, start = match.string, match.start()
    return opens(text, start) or text[start - 3 : start].lower() == "%3d"


def _owned(text: str) -> Iterator[re.Match[str]]:
    """Where keys of services stand, from left to right; the last sign of one may be the edge of the next."""
    match = _OWN.search(text)
    while match is not None:
        yield match
        match = _OWN.search(text, match.end() - 1)


def _web_tokens(text: str) -> list[tuple[int, int]]:
    """Tokens of two or three parts of which two begin with an encoded brace. A run that is none is passed once, however many may begin in it."""
    found = []
    match = _WEB_HEAD.search(text)
    while match is not None:
        first = _end_of(text, match.start(), _PART)
        last = _end_of(text, first + 1, 2 * _PART) if text.startswith(".ey", first) else first
        if last - first > 10 and _edged(match):
            third = _end_of(text, last + 1, _PART) if text[last : last + 1] == "." else last
            found.append((match.start(), third))
            match = _WEB_HEAD.search(text, third)
        else:
            match = _WEB_HEAD.search(text, match.end() if text.startswith(".ey", first) else max(first, match.end()))
    return [(start, end) for start, end in found if len(set(text[start:end])) >= _LEAST]


def _end_of(text: str, start: int, most: int) -> int:
    """Where the run of characters of a token that begins here ends."""
    run = _NAME_RUN.match(text, start, start + most)
    return start if run is None else run.end()


def _pem_end(text: str, start: int) -> int:
    """Where a private key ends whose head ends here: with its last line, or where none can be that long."""
    at = text.find("-----END", start, start + _PEM_MOST)
    end = _PEM_END.match(text, at) if at >= 0 else None
    return end.end() if end is not None else at if at >= 0 else min(len(text), start + _PEM_MOST)


def _command(match: re.Match[str]) -> bool:
    before = match.string[match.start() - 1 : match.start()]
    return not (before.isascii() and before.isalpha())


def _borne(match: re.Match[str]) -> bool:
    """Whether what follows a bearer is no word: it has a digit, or a capital inside, before any of its parts could be a sentence."""
    head = match["value"][:_HEADWAY]
    return _command(match) and (any(map(str.isdigit, head)) or _CAPITAL_INSIDE.search(head) is not None)


def _value(match: re.Match[str]) -> str:
    return "quoted" if match["quoted"] is not None else "bare"


def _whole(text: str, match: re.Match[str]) -> bool:
    """Whether a quoted value is closed, or is one word that its line cuts off, or one without quotes has a digit not far inside."""
    if match["quoted"] is not None:
        behind = text[match.end("quoted") : match.end("quoted") + 1]
        return behind in {"", "\\", '"', "'"} or (behind == "\n" and not any(map(str.isspace, match["quoted"])))
    start = match.start("bare")
    return _DIGIT_SOON.match(text, start) is not None and not _called(text, start)


def _called(text: str, start: int) -> bool:
    """Whether a value is what some function gives: a name, and brackets that are closed before the value ends."""
    call = _CALL.match(text, start)
    return call is not None and text[call.end() : call.end() + 1] in {"", " ", "\t", "\r", "\n", ";"}


def _assigned(text: str, match: re.Match[str]) -> bool:
    """Whether a value that a word announces is a secret: after a weak word it has letters and digits and no blanks."""
    start, end = match.span(_value(match))
    if not _whole(text, match) or PLACEHOLDER.fullmatch(text, start, end) is not None or talks(text[start:end]):
        return False
    if resource(text, match.start()) or folder(match["name"], text[start:end]):
        return False
    if match["strong"] is not None:
        return True
    before = text[max(0, match.start() - 24) : match.start()]
    words = tokens(before[max(map(before.rfind, _APART)) + 1 :] + match["name"])
    if words and words[-1].isdigit():
        words = words[:-1]
    if not words or set(words[-4:]) & KEPT or words[-1] in _WORDS:
        return False
    if words[-1] == "key" and (
        set(words[-4:]) & _INDEX or not (text[match.start("name") - 1].isalnum() or text[match.start("name") - 1] in "_-.")
    ):
        return False
    return _LONG_NUMBER.fullmatch(text, start, end) is not None or _mixed(text[start:end])


def _mixed(value: str) -> bool:
    """Whether a value has letters and digits and no blanks or brackets."""
    return _MIXED.fullmatch(value) is not None and _ANY_DIGIT.search(value) is not None and _ANY_LETTER.search(value) is not None


def _signed(text: str) -> bool:
    """Whether a sign of a service stands in a text with a run of characters long enough for a key."""
    return long_name(text) and (_START.search(text) is not None or any(sign in text for sign in SIGNS_INSIDE))
