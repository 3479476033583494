"""Logins: the passwords that commands are given, by the way in which each program takes them: `curl -u name:password`, `mysql -ppassword`.

Pure; part of `secret`. What else names its value, as `--password` does, is found by that name. Source: the manual pages of the programs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from guard.redactors.edges import matches
from guard.redactors.secret_keys import PLACEHOLDER

_LINE = 405  # characters in which a command and its flag stand
_LEAST = 4  # characters of a password by itself
_APART = ("\n", "| ", "; ", "& ")  # stands between a command and the next
_VARIABLE = re.compile(r"\$\{|\{\{|(?:\A|[:%,])\$|\A%[A-Za-z_]{1,40}%|\[secret\]")
"""Stands for a login that is not told, or that is hidden already."""
_SPOKEN = frozenset(
    ["password", "passwd", "pass", "secret", "flag", "option", "switch", "argument", "parameter", "then", "with", "instead"]
)
"""What stands behind a flag that somebody speaks of."""


class _Way(NamedTuple):
    """The flag of some programs with the login behind it, and what stands somewhere before it; nothing where the flag says it."""

    programs: re.Pattern[str] | None
    login: re.Pattern[str]
    word: bool = True  # whether the login is nothing but a password


def _way(programs: str, flag: str, name: str = "") -> _Way:
    """`name`: what a login begins with that is no password."""
    least = 0 if name else _LEAST - 1
    plain = rf"""[^ \t\n\r\f\v"'|;&<-][^ \t\n\r\f\v"'|;&]{{{least},200}}"""
    value = rf"""(?:"{name}(?P<double>[^"\n]{{1,200}})"|'{name}(?P<single>[^'\n]{{1,200}})'|{name}(?P<plain>{plain}))"""
    return _Way(re.compile(f"(?:{programs}) ") if programs else None, re.compile(f"(?:{flag}){value}"), not name)


_CURL = re.compile(
    r"""(?:-u|--user)[ =]?"""
    r"""(?:"(?P<double>[^"\n]{1,100}:[^"\n]{0,200})|'(?P<single>[^'\n]{1,100}:[^'\n]{0,200})|(?P<plain>[^ \t\n\r\f\v"':]{1,100}:[^ \t\n\r\f\v"']{1,200}))"""
)
_MYSQL, _MONGO, _LDAP = "mysql[a-z]{0,10}|mariadb(?:-[a-z]{1,10})?", "mongo[a-z]{0,10}", "ldap[a-z]{1,10}"
_REGISTRY, _SAMBA, _OPENSSL = "(?:docker|podman|registry) login", "smbclient|rpcclient", "openssl [a-z0-9]{1,10}"
_WAYS = (
    _Way(re.compile("curl "), _CURL, word=False),
    _way("", "sshpass (?:-v )?-p ?"),
    _way(_MYSQL, " -p"),
    _way("redis-cli", " -a "),
    _way(f"{_MONGO}|{_REGISTRY}", " -p "),
    _way(_LDAP, " -w "),
    _way("sqlcmd", " -P ?"),
    _way(_SAMBA, " (?:-U|--user)[ =]?", r"""[^ \t\n\r\f\v"'%]{1,100}%"""),
    _way("lftp", " -u ?", r"""[^ \t\n\r\f\v"',]{1,100},"""),
    _way(_OPENSSL, " -pass(?:in|out)? ", "pass:"),
)
PROGRAMS = f"sshpass|{_MYSQL}|redis-cli|{_MONGO}|{_REGISTRY}|{_LDAP}|sqlcmd|{_SAMBA}|lftp|{_OPENSSL}"
"""The programs; each stands before a blank, as `curl` does."""
WORDS = ("sshpass", "mysql", "mariadb", "mongo", "ldap", "sqlcmd", "smbclient", "rpcclient", "lftp", "openssl")
ENDS = ("curl", "cli", "login")
"""What one run of letters in each of them holds, or how it ends."""
_PROGRAM = re.compile(f"(?:{PROGRAMS}) ")


def commands(text: str) -> bool:
    """Whether a program that may be given a password stands in a text."""
    return "curl " in text or (" -" in text and _PROGRAM.search(text) is not None)


def login_spans(text: str) -> list[tuple[int, int]]:
    """The logins of commands: behind the command in its line, and behind another one of them, since what hides one may hide the next command as well."""
    return [span for way in _WAYS for match in matches(way.login, text, _Called(way, text)) for span in _login(match, way)]


class _Called:
    """Whether what is found belongs to one of the programs of a way. Asked from left to right."""

    def __init__(self, way: _Way, text: str) -> None:
        self._programs, self._text, self._last = way.programs, text, -_LINE

    def __call__(self, match: re.Match[str]) -> bool:
        text, start = self._text, match.start()
        if self._programs is None:
            return _begins(match)
        least = max(0, start - _LINE)
        least = max(least, *(text.rfind(sign, least, start) + 1 for sign in _APART))
        good = self._last >= least or any(map(_begins, self._programs.finditer(text, least, start + 1)))
        self._last = match.end() if good else self._last
        return good


def _begins(match: re.Match[str]) -> bool:
    """Whether a program's name is no end of another word."""
    before = match.string[match.start() - 1 : match.start()]
    return not (before.isascii() and before.isalpha())


def _login(match: re.Match[str], way: _Way) -> list[tuple[int, int]]:
    """The password of a command, with the name before it for `curl`, unless a variable or a word that speaks of it stands there."""
    name = match.lastgroup or "plain"
    said = match[name]
    if _VARIABLE.search(said) is not None or (way.word and (said.lower() in _SPOKEN or PLACEHOLDER.fullmatch(said) is not None)):
        return []
    return [match.span(name)]
