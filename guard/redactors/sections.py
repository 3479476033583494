"""Sections: secrets in the fields of a block whose name says secret: maps of YAML, sections of INI and TOML, blocks in braces, a Secret of Kubernetes.

Each line is read once. A field that says who or where (`user`, `region`), what speaks of a secret, and values that look like none stay. Pure; part
of `secret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from guard.core.redaction import BELOW
from guard.redactors.given import STEMS, dense, fits
from guard.redactors.keys import words_of
from guard.redactors.masks import MASKS
from guard.redactors.secret_keys import PLACEHOLDER, SECRET_KEYS

Span: TypeAlias = tuple[int, int]
_LINE = re.compile("[^\r\n]+")
_STEM = re.compile(STEMS)
_WIDE = 1_200  # characters of a line
_MAP = re.compile(
    r"(?P<indent>[ \t]{0,60})(?:-[ ]{1,4})?[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,100})[\"']?[ ]{0,4}:[ \t]{0,8}(?:#[^\r\n]{0,400})?"
)
_HEADED = re.compile(
    r"[ \t]{0,20}\[{1,2}(?:[A-Za-z0-9_ \"'-]{1,60}[.:/]){0,6}[ \"']{0,2}(?P<name>[A-Za-z_][A-Za-z0-9_-]{0,80})[ \"']{0,2}\]{1,2}[ \t]{0,20}"
)
_BRACED = re.compile(
    r"(?P<indent>[ \t]{0,60})(?:[a-z_]{1,40}[ ]{1,4}){0,2}\"?(?P<name>[A-Za-z_][A-Za-z0-9_-]{0,100})\"?[ ]{0,4}=?[ ]{0,4}\{[ \t]{0,20}"
)
_FIELD = re.compile(
    r"(?P<indent>[ \t]{0,120})(?:-[ ]{1,4})?[\"']?(?P<name>[A-Za-z0-9_][A-Za-z0-9_./-]{0,100})[\"']?[ \t]{0,20}[:=][ \t]{1,20}"
    r"(?P<value>[^ \t\r\n#][^\r\n]{3,1000})|(?P<tight>[ \t]{0,120})(?P<given>[A-Za-z0-9_][A-Za-z0-9_.-]{0,100})=(?P<right>[^ \t\r\n#][^\r\n]{3,1000})"
)
_KIND = re.compile(r"(?:\A|\n)[\"']?kind[\"']?[ ]?:[ ]?[\"']?Secret\b[\"']?")
_APART = re.compile(r"\n---")
_MASKS = frozenset(MASKS.values())
"""On a line by itself one of these is what is left of a value, and no head."""
_DATA = frozenset({"data", "stringData"})
_WHERE = frozenset(
    [
        "value",
        "val",
        "default",
        "data",
        "plain",
        "plaintext",
        "current",
        "prod",
        "production",
        "dev",
        "development",
        "test",
        "testing",
        "qa",
        "uat",
        "staging",
        "stage",
        "live",
        "local",
        "sandbox",
        "preview",
        "demo",
        "primary",
        "secondary",
        "master",
        "main",
        "old",
        "new",
        "db",
        "database",
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "mongo",
        "mongodb",
        "redis",
        "rabbitmq",
        "kafka",
        "elastic",
        "smtp",
        "imap",
        "ftp",
        "sftp",
        "ssh",
        "ldap",
        "aws",
        "azure",
        "gcp",
        "stripe",
        "paypal",
        "twilio",
        "sendgrid",
        "mailgun",
        "github",
        "gitlab",
        "slack",
        "openai",
        "anthropic",
        "api",
        "app",
        "web",
        "backend",
        "frontend",
        "admin",
        "root",
        "service",
        "server",
        "pass",
        "pw",
        "wifi",
        "vpn",
    ]
)
"""What a field of such a block is called that holds the secret of some place. Others say who, where and how: a region, a model, a target."""
_OTHERS = frozenset(
    [
        "user",
        "users",
        "username",
        "login",
        "email",
        "mail",
        "region",
        "zone",
        "host",
        "hostname",
        "domain",
        "account",
        "project",
        "bucket",
        "url",
        "uri",
        "path",
        "file",
    ]
)


class _Block(NamedTuple):
    """A block that is open: its name, its sign, and how deep its head stands. `all`: whether every field of it is a secret."""

    name: str
    sign: str
    deep: int
    all: bool = False


def section_spans(text: str) -> list[Span]:
    """The spans of the secrets."""
    if "\n" not in text and "\r" not in text:
        return []
    found: list[Span] = []
    start = 0
    for end in (*(mark.start() for mark in _APART.finditer(text)), len(text)):
        if _STEM.search(text, start, end) is not None:
            found += _document(text, start, end)
        start = end
    return found


def _document(text: str, start: int, end: int) -> Iterator[Span]:
    """Those of one document."""
    sealed = _KIND.search(text, start, end) is not None
    block: _Block | None = None
    for line in _LINE.finditer(text, start, end):
        at, to = line.span()
        if to - at > _WIDE:
            continue
        if block is not None and _over(block, text, at, to):
            block = None
        head = _head(text, at, to, sealed=sealed)
        if head is not None and (block is None or not block.all):
            block = head
        elif block is not None:
            yield from _held(block, text, at, to)


def _head(text: str, at: int, to: int, *, sealed: bool) -> _Block | None:
    """The block that begins with a line. `sealed`: whether the document is a Secret, with its fields below `data`."""
    for sign, pattern in (("]", _HEADED), ("}", _BRACED), (":", _MAP)):
        match = pattern.fullmatch(text, at, to)
        if match is None or (sign == "]" and match.group().strip() in _MASKS):
            continue
        name, deep = match["name"], len(match["indent"].expandtabs()) if sign != "]" else 0
        if sealed and sign == ":" and name in _DATA and not deep:
            return _Block(name, sign, deep, all=True)
        return _Block(name, sign, deep) if SECRET_KEYS[name] else None
    return None


def _over(block: _Block, text: str, at: int, to: int) -> bool:
    """Whether a line stands behind a block."""
    line = text[at:to].expandtabs()
    bare = line.lstrip()
    deep = len(line) - len(bare)
    if block.sign == "]":
        return bare[:1] == "["
    if block.sign == "}":
        return bare[:1] == "}" and deep <= block.deep
    return deep < block.deep or (deep == block.deep and bare[:2] != "- " and bare[:1] != "#")


def _held(block: _Block, text: str, at: int, to: int) -> Iterator[Span]:
    """The secret in a line of a block."""
    match = _FIELD.fullmatch(text, at, to)
    if match is None:
        return
    group = "value" if match["value"] is not None else "right"
    name, said = match["name" if group == "value" else "given"], match[group]
    value = said.rstrip(" \t,;").strip("\"'")
    if len(value) < 4 or not (_sealed(value) if block.all else _secret(block.name, name, value)):
        return
    begin = text.index(value, match.start(group))
    yield begin, begin + len(value)


def _sealed(value: str) -> bool:
    return PLACEHOLDER.fullmatch(value[:200]) is None and value not in {"|", ">", "|-", ">-"}


def _secret(name: str, field: str, value: str) -> bool:
    """Whether a field below such a name is a secret."""
    words = words_of(field)
    if words.isdisjoint(_WHERE) or not words.isdisjoint(_OTHERS) or not SECRET_KEYS[f"{name}{BELOW}{field}"]:
        return False
    return "://" not in value and fits(name, value, firm=False) and dense(value)
