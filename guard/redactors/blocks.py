"""Blocks: secrets that stand below their names, or beside them with something between: YAML, form data, tables of programs, JSON that was cut off.

`name: |` and the lines below; `name:` and a value in the next line; a field that names and another one that holds, in either order. Pure; part of `secret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from guard.redactors.given import STEMS, fits
from guard.redactors.secret_keys import SECRET_KEYS

Span: TypeAlias = tuple[int, int]
_LINE = re.compile("[^\r\n]+")
_HEAD = re.compile(
    r"(?P<indent>[ \t]{0,60}(?:-[ ]{1,4})?)[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,100})[\"']?[ ]{0,4}:[ \t]{0,8}"
    r"(?P<sign>(?:[|>][0-9+-]{0,2}|&[A-Za-z0-9_-]{1,40}|!{1,2}[A-Za-z]{1,20})?)[ \t]{0,8}(?P<rest>[^\r\n]*)"
)
_BELOW = re.compile(r"\r?\n(?P<indent>[ \t]*)(?P<item>-[ ]+)?(?P<text>[^\r\n]*)")
_CHILD = re.compile(r"(?:value|val|default|data|plain|plaintext|current)[ ]?:[ ]?")
_GROUPS = frozenset({"secret", "secrets", "credentials", "tokens"})
_CALLED = re.compile(r"[a-z][a-z0-9]*(?:[_.-][a-z0-9]+)+:?")
"""Below these stand names of secrets as well as secrets: `- db_password1`, `tls_cert2024:`."""
_FORM = re.compile(
    r"name=\\?\"(?P<name>[^\"\\\r\n]{1,100})\\?\"[^\r\n]{0,200}(?:\r?\n[A-Za-z-]{1,40}:[^\r\n]{0,200}){0,4}\r?\n\r?\n(?P<value>[^\r\n]+)"
)
_TITLE = re.compile(r"[ \t]{0,20}(?:#{1,6}[ ])?[*_]{0,2}(?P<name>[A-Za-z][A-Za-z0-9_. -]{0,60}):[*_]{0,2}[ \t]{0,20}")
_ALONE = re.compile(r"[ \t]*(?P<value>[^ \t\r\n]{4,400})[ \t]*")
_NAMING = re.compile(
    rf"(?i:name|key|header|field|variable|parameter|param|property|setting|option|label|env|id)\\?[\"']?[ ]?(?::|=>?)[ ]?\\?[\"']?"
    rf"(?P<name>[A-Za-z0-9_./-]{{0,60}}(?:{STEMS})[A-Za-z0-9_./-]{{0,60}})"
)
_HOLDS = re.compile(
    r"(?i:val|value|v|default|secretvalue|plaintext)(?:[A-Z_][A-Za-z]{1,10})?\\?[\"']?[ ]?(?::|=>?)[ ]?"
    r"(?:[|>][0-9+-]{0,2}[ ]*\r?\n[ \t]+)?"
    r"(?:\\?\"(?P<double>(?:[^\"\\\n]|\\[^\"\n])+)|\\?'(?P<single>(?:[^'\n]|''[^', \t\r\n)\]};])+)|(?P<plain>[^ \"',}\r\n\\|>][^\"',}\r\n]*))"
)
_BREAK = re.compile(r"[}{]|\r?\n[ \t]*(?:\r?\n|-[ ]|---)|\][ ]?,|\)[ ]?,")
_STEM = re.compile(STEMS)
_NEAR = 300  # characters between a name and its value


def block_spans(text: str) -> list[Span]:
    """The spans of the secrets that stand below or near their names."""
    found = list(_near(text)) if ":" in text or "=" in text else []
    if "\n" not in text:
        return found
    lines = [line.span() for line in _LINE.finditer(text)]
    for at, line in enumerate(lines):
        if _STEM.search(text, *line) is not None:
            found += _headed(text, line, lines[at + 1] if at + 1 < len(lines) else None)
    found += [one.span("value") for one in _FORM.finditer(text) if fits(one["name"], one["value"], firm=True)]
    return found


def _headed(text: str, line: Span, after: Span | None) -> Iterator[Span]:
    """What stands below a line that is a name with a colon."""
    head = _HEAD.fullmatch(text, *line)
    if head is not None and SECRET_KEYS[head["name"]]:
        yield from _value(text, head)
    title = _TITLE.fullmatch(text, *line) if after is not None else None
    alone = _ALONE.fullmatch(text, *after) if after is not None and title is not None else None
    if title is None or alone is None or _called(title["name"], alone["value"]):
        return
    if fits(title["name"], alone["value"], firm=False):
        yield alone.span("value")


def _called(name: str, value: str) -> bool:
    """Whether what stands below a name is the name of a secret and none itself."""
    return name.lower() in _GROUPS and _CALLED.fullmatch(value) is not None


def _value(text: str, match: re.Match[str]) -> Iterator[Span]:
    """What a name with a colon holds: in its line, or in those below it."""
    name, sign, rest = match["name"], match["sign"], match["rest"].strip()
    if sign[:1] in {"&", "!"} and rest:
        if fits(name, rest.strip("\"'"), firm=False):
            at = text.index(rest, match.start("rest"))
            yield at, at + len(rest)
        return
    if rest and not rest.startswith("#"):
        return
    indent = len(match["indent"].expandtabs().replace("-", " "))
    for line in _lines(text, match.end(), indent):
        said = line.start("text")
        child = _CHILD.match(text, said) if not sign else None
        start = child.end() if child is not None else said
        value = text[start : line.end()].strip(" \t\"'")
        colon = ":" in value.rstrip(":") and " " in value and not sign
        if value and not colon and (sign or not _called(name, value)) and fits(name, value, firm=bool(sign)):
            at = text.index(value, start)
            yield at, at + len(value)


def _lines(text: str, at: int, indent: int) -> Iterator[re.Match[str]]:
    """The lines below that belong to a name at this indent: deeper ones, and items of a list beside it."""
    for _ in range(40):
        line = _BELOW.match(text, at)
        if line is None:
            return
        deep = len(line["indent"].expandtabs())
        if line["text"].strip() and not (deep > indent or (deep == indent and line["item"])):
            return
        yield line
        at = line.end()


def _near(text: str) -> Iterator[Span]:
    """The values of fields beside a field that names them, in either order."""
    done = 0
    for match in _NAMING.finditer(text):
        if match.start() < done or _inner(text, match.start()) or not SECRET_KEYS[match["name"]]:
            continue
        start, end = _part(text, *match.span())
        done = match.end()
        for one in _HOLDS.finditer(text, start, end):
            group = one.lastgroup or "plain"
            value = one[group].strip()
            if (
                not _inner(text, one.start())
                and not match.start("name") <= one.start(group) < match.end("name")
                and fits(match["name"], value, firm=group != "plain")
            ):
                at = text.index(value, one.start(group))
                yield at, at + len(value)
                done = max(done, at + len(value))
                break


def _inner(text: str, at: int) -> bool:
    """Whether a letter or digit stands before a place."""
    before = text[at - 1 : at]
    return before.isascii() and before.isalnum()


def _part(text: str, start: int, end: int) -> Span:
    """The part of a text that a name speaks of: what no bracket and no item of a list parts from it, within some hundred characters."""
    first = max(0, start - _NEAR)
    for mark in _BREAK.finditer(text, first, start):
        first = mark.end()
    mark_ = _BREAK.search(text, end, min(len(text), end + _NEAR))
    return first, mark_.start() if mark_ is not None else min(len(text), end + _NEAR)
