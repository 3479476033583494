"""Given: whether a name in a text says that what the text gives it is a secret, and whether what is given is one.

What the shapes of texts share (`assigned`, `markup`, `grids`, `blocks`, `statements`): the words that begin every such name, and one judgement. A value that only
speaks of secrets stays: a type, a state, a placeholder, a variable, a sentence. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from guard.redactors.keys import word_list
from guard.redactors.languages import PASSWORDS, PASSWORDS_SPELLED
from guard.redactors.masks import MASKS
from guard.redactors.secret_keys import PLACEHOLDER, SECRET_KEYS, STRONG, behind, folder, kind_of_secret, talks
from guard.redactors.secret_words import ABOUT_IT

_ABROAD = "|".join(word for word in PASSWORDS if word.isascii())
_OTHER = "|".join(PASSWORDS_SPELLED)
STEMS = (
    f"(?i:passw(?:or)?d|passwort|passphrase|passcode|masterauth|pwd|secret|credential|authorization|token|kennwort"
    f"|(?:api|access|private|secret)[ _.-]?key|[_.-]pass|[a-z]{{2}}pass|identified[ ]|mots?[ _-]?de[ _-]?passe|{_ABROAD}|cookies?(?::[ ]|[\"'\\\\]))|\\b(?:pw|Pw|PW)\\b|密码|口令|{_OTHER}"
)
"""What every name holds that says secret, in the dialect of both engines."""
GATE = f"(?:{STEMS})[^\\x00]"
"""What every text holds in which a name is given something."""
_OVER = 9  # characters of such a word that stand before or behind one of its runs of letters: `private key`
_STEM = re.compile(STEMS)
_GATE = re.compile(GATE)
_CLOSES = re.compile(r'"[ \t\r\n]*([,\]}:]?)')
_RIGHT = re.compile("[A-Za-z0-9_.-]{0,60}")
_FIRM = STRONG - {"secret", "secrets", "credential", "credentials", "authorization"}
_VARIABLE = re.compile(
    r"\$[({]?[A-Za-z_(].*|%[A-Za-z_]+%|%\([A-Za-z_]+\)[a-z]|\{\{.*|\{[A-Za-z_.]+\}|<[^<>]*>|!(?:Ref|Sub|GetAtt|secret|vault|env)\b.*|@[A-Za-z_.]+|\.\.\.|…",
    re.DOTALL,
)
_SYMBOL = re.compile(r"[!@#^*~+$%&?=]")
_SIGN = re.compile(r"[0-9!@#^*~+$%&?=]")
_NUMBER = re.compile("[0-9]{6,}")
_NUMBERED = re.compile(
    "(?:(?:[A-Z]{1,8}[-_/.]?){1,2}|(?:[A-Za-z]{1,12}[-_/.]){1,3})[0-9]{1,12}(?:[-_/.][0-9]{1,12}){0,5}|0x[0-9A-Fa-f]{40}"
)
_DIGIT, _LETTER, _BLANK = re.compile("[0-9]"), re.compile(r"[^\W\d_]"), re.compile("[ \t\r\n\f\v\u00a0]")
REFERENCE = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]*)+")
LONGEST = 4000


def given_gate(text: str) -> bool:
    """Whether a word that says secret stands in a text, with something behind it."""
    return _GATE.search(text) is not None


def stands(text: str, start: int, end: int) -> bool:
    """Whether a run of letters holds or begins such a word, and the text that it stands in goes on behind it; the text may only look like JSON."""
    if end == len(text) or _STEM.search(text, max(0, start - 1), end + 5) is None:
        return False
    return text[end] != '"' or not _said(text, start, end)


def reaches(text: str, start: int, end: int) -> bool:
    """Whether a word that says secret holds a part of a run of letters, and the text that it stands in goes on behind it."""
    first, last = max(0, start - _OVER), end + _OVER
    match = _STEM.search(text, first, last)
    while match is not None:
        if match.end() > start and match.end() < len(text) and stands(text, match.start(), match.end()):
            return True
        match = _STEM.search(text, match.start() + 1, last)
    return False


def _said(text: str, start: int, end: int) -> bool:
    """Whether a word before a quote ends a text or a name of JSON."""
    closes = _CLOSES.match(text, end)
    opens = text.rfind('"', 0, start)
    before = text[max(0, opens - 40) : max(0, opens)].rstrip() or ","
    ends = closes is not None and (closes[1] or closes.end() == len(text))
    return bool(ends) and before[-1:] in ("{[,:" if closes is not None and closes[1] == ":" else "[,:")


def meant(text: str) -> bool:
    """Whether such a word stands in a text of JSON so that what it stands in goes on behind it."""
    match = _STEM.search(text)
    while match is not None:
        if stands(text, match.start(), match.end()):
            return True
        match = _STEM.search(text, match.end())
    return False


def named(text: str) -> Iterator[tuple[int, int]]:
    """Where names stand that may say secret, from left to right: letters, digits and `_.-`, up to sixty on each side of the word."""
    match = _STEM.search(text)
    while match is not None:
        start, end = _around(text, match)
        if SECRET_KEYS[called(text, start, end)] and not _masked(text, start, end):
            yield start, end
        match = _STEM.search(text, max(end, match.end()))


def called(text: str, start: int, end: int) -> str:
    """The name that stands there, and `password` for what is short for it: `pw` alone, and `--pass` as the flag of a command."""
    name = text[start:end]
    low = name.lower() if end - start <= 5 else ""
    flag = low == "-pass" and text[max(0, start - 1) : start] == "-" and text[max(0, start - 2) : start - 1].isspace()
    return "password" if low == "pw" or flag else name


def _masked(text: str, start: int, end: int) -> bool:
    """Whether a name is all of a mask, which names nothing; `config[secret]` is none."""
    if start == 0 or text[start - 1 : end + 1] != MASKS["secret"]:
        return False
    return start == 1 or not (text[start - 2].isalnum() or text[start - 2] in "_)]$")


def _around(text: str, match: re.Match[str]) -> tuple[int, int]:
    at, least = match.start(), max(0, match.start() - 60)
    while at > least and (text[at - 1] in "_.-" or (text[at - 1].isascii() and text[at - 1].isalnum())):
        at -= 1
    right = _RIGHT.match(text, match.end())
    end = right.end() if right is not None else match.end()
    while at < match.start() and text[at] in ".-":
        at += 1
    while end > match.end() and text[end - 1] in ".-":
        end -= 1
    return at, end


def strong(name: str) -> bool:
    """Whether a name can hold nothing but a secret: a password or a key, or the secret of something."""
    words = word_list(name)
    whole = "".join(words).rstrip("0123456789")
    return any(map(whole.endswith, _FIRM)) or (len(words) > 1 and whole.endswith("secret"))


def fits(name: str, value: str, *, firm: bool) -> bool:
    """Whether a value that a text gives to this name is a secret. `firm`: whether it stands where nothing but a value can."""
    value = value.strip()
    if not 4 <= len(value) <= LONGEST or not SECRET_KEYS[name] or not ABOUT_IT.isdisjoint(behind(name)):
        return False
    if _SIGN.search(value) is None and not (firm and strong(name)):
        return False  # letters alone: what follows reads a long value again and again
    if PLACEHOLDER.fullmatch(value[:200]) or _VARIABLE.fullmatch(value) or talks(value) or folder(name, value):
        return False
    if strong(name):
        return (firm and len(value) >= 6) or looks(value, least=6)
    return dense(value)


def dense(value: str) -> bool:
    """Whether a value is a secret under a name that may also stand for something else: the number of an order or a payment, a coin, an address is none."""
    return looks(value, least=8) and _LETTER.search(value) is not None and _NUMBERED.fullmatch(value) is None


def looks(value: str, least: int = 6) -> bool:
    """Whether a value looks like a secret by itself: letters with digits, many digits, or signs that no word has."""
    if len(value) < least or _BLANK.search(value) is not None or kind_of_secret(value) or REFERENCE.fullmatch(value) is not None:
        return False
    lettered = _LETTER.search(value) is not None
    if _DIGIT.search(value) is not None:
        return lettered or _NUMBER.search(value) is not None
    return _SYMBOL.search(value[:-1]) is not None and lettered
