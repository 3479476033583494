"""Logins: the name and password that a command is given: `curl -u name:password`. Pure; part of `secret`."""

from __future__ import annotations

import re

from guard.redactors.edges import matches

_CURL = re.compile(
    r"""(?:-u|--user)[ =]?"""
    r"""(?:"(?P<double>[^"\n]{1,100}:[^"\n]{0,200})|'(?P<single>[^'\n]{1,100}:[^'\n]{0,200})|(?P<plain>[^ \t\n\r\f\v"':]{1,100}:[^ \t\n\r\f\v"']{1,200}))"""
)
_LINE = 405  # characters in which a command and its flag stand
_VARIABLE = re.compile(r"\$\{|\{\{|(?:\A|:)\$|\[secret\]")  # stands for a login that is not told, or that is hidden already


def login_spans(text: str) -> list[tuple[int, int]]:
    """The logins of commands: behind the command in its line, and behind another one of them, since what hides one may hide the next command as well."""
    last = -_LINE

    def called(match: re.Match[str]) -> bool:
        nonlocal last
        start = match.start()
        least = max(0, start - _LINE, text.rfind("\n", max(0, start - _LINE), start) + 1)
        at = text.rfind("curl ", least, start)
        while at > 0 and text[at - 1].isascii() and text[at - 1].isalpha():
            at = text.rfind("curl ", least, at)
        good = at >= 0 or last >= least
        last = match.end() if good else last
        return good

    return [span for match in matches(_CURL, text, called) for span in _login(match)]


def _login(match: re.Match[str]) -> list[tuple[int, int]]:
    """The name and password of a command, unless a variable stands for it."""
    name = match.lastgroup or "plain"
    return [] if _VARIABLE.search(match[name]) is not None else [match.span(name)]
