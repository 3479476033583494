"""Matchers: typed questions about texts that name files, mailboxes, web places and shell commands.

A judge says True or False only where it is certain; a text that cannot be read with certainty gets None, which never allows and always
holds or refuses. Pure: nothing is opened or looked up at call time. To add a matcher, write its judge and add one row to `MATCHERS`.
Comes before conditions.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from guard.core.conditions import Judge
from guard.core.values import Json

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_UNSURE_URL = re.compile(r"[\x00-\x20\x7f-\U0010ffff\\]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")
# Anything else (expansion, substitution, redirection, groups, escapes, comments, unbalanced quotes) matches nothing here.
_SHELL = re.compile(
    r"(?P<split>&&|\|\||[;|&\n])"
    r"|(?P<space>[ \t]+)"
    r"|(?P<word>(?!\#)(?:'[^'\0]*'|\"[^\"`$\\\0]*\"|[^\s'\"`$<>(){}\\;|&\0])+)"
)


@dataclass(frozen=True, slots=True)
class Matcher:
    """One typed matcher: the name of its single option, what that option holds, and how it becomes a judge.

    `build` takes the option's texts and raises ValueError, with a sentence, for one that makes no sense. `resolve` says that the
    value is a file path, to be judged as spelled and as it really is.
    """

    option: str
    example: str
    build: Callable[[tuple[str, ...]], Judge]
    resolve: bool = False


def inside(directories: tuple[str, ...]) -> Judge:
    """Whether an absolute path is one of `directories` or below one, each as spelled and as it really is when the policy loads."""
    roots = {root for spelled in directories for root in (_directory(spelled), os.path.realpath(spelled))}

    def judge(value: Json) -> bool | None:
        if not isinstance(value, str) or "\0" in value or not value.startswith("/"):
            return None
        clean = _clean(value)
        return any(clean == root or clean.startswith(root.rstrip("/") + "/") for root in roots)

    return judge


def _directory(spelled: str) -> str:
    if not spelled.startswith("/") or "\0" in spelled:
        raise ValueError(f"{spelled} is not an absolute path")
    return _clean(spelled)


def _clean(spelled: str) -> str:
    return "/" + posixpath.normpath(spelled).lstrip("/")


def domain(domains: tuple[str, ...]) -> Judge:
    """Whether a text is exactly one mail address whose whole domain is one of `domains`, whatever its case."""
    known = frozenset(_host(spelled) for spelled in domains)

    def judge(value: Json) -> bool | None:
        if not isinstance(value, str) or len(value) > 254:
            return None
        local, _, host = value.rpartition("@")
        if not _LOCAL.fullmatch(local) or not _HOST.fullmatch(host):
            return None
        return host.lower() in known

    return judge


def _host(spelled: str) -> str:
    if not _HOST.fullmatch(spelled):
        raise ValueError(f"{spelled} is not a whole host name (no wildcard, scheme, port or @)")
    return spelled.lower()


def host(hosts: tuple[str, ...]) -> Judge:
    """Whether a text is an http or https URL without user info whose whole host is one of `hosts`, whatever its case."""
    known = frozenset(_host(spelled) for spelled in hosts)

    def judge(value: Json) -> bool | None:
        found = _url_host(value) if isinstance(value, str) else None
        return None if found is None else found in known

    return judge


def _url_host(value: str) -> str | None:
    if _UNSURE_URL.search(value):  # readers differ about spaces, backslashes, control and non-ASCII characters
        return None
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not parts.hostname:
        return None
    return parts.hostname if _HOST.fullmatch(parts.hostname) else None


def programs(names: tuple[str, ...]) -> Judge:
    """Whether every part of a shell command starts a program of `names`; None when some do, or it cannot be split with certainty."""
    known = frozenset(names)
    if any(re.search(r"[\s;|&<>(){}`$\\'\"]", name) for name in names):
        raise ValueError("a program is one word without shell characters")

    def judge(value: Json) -> bool | None:
        found = list(_programs(value)) if isinstance(value, str) else [None]
        if None in found:
            return None
        if all(name in known for name in found):
            return True
        return None if any(_hides(name or "", known) for name in found) else False

    return judge


def _hides(name: str, known: frozenset[str]) -> bool:
    return name in known or name.rpartition("/")[2] in known


def _programs(command: str) -> Iterator[str | None]:
    """The program of each part of a compound command; None for what is not certain."""
    for part in _parts(command.strip()):
        word = part[0] if part else ""
        certain = word and not _ASSIGNMENT.match(word) and not set(word) & set("*?[]~!")
        yield word if certain else None


def _parts(command: str) -> list[list[str]]:
    """The words of each part; an empty part where the text cannot be split with certainty."""
    parts: list[list[str]] = [[]]
    position = 0
    while position < len(command):
        token = _SHELL.match(command, position)
        if token is None:
            return [[]]
        if token.lastgroup == "split":
            parts.append([])
        elif token.lastgroup == "word":
            parts[-1].append(_unquote(token.group()))
        position = token.end()
    return parts


def _unquote(word: str) -> str:
    return re.sub(r"'([^']*)'|\"([^\"]*)\"", lambda quoted: quoted[1] or quoted[2] or "", word)


MATCHERS: Mapping[str, Matcher] = {
    "path": Matcher("inside", "path: {inside: /srv/reports}", inside, resolve=True),
    "email": Matcher("domain", "email: {domain: example.com}", domain),
    "url": Matcher("host", "url: {host: api.example.com}", host),
    "command": Matcher("programs", "command: {programs: [ls, cat]}", programs),
}
