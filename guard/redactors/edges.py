"""Edges: what may stand beside a finding. Patterns look at nothing but what they match, so that both engines can run them; this looks around.

Pure; used by all rules. Each question is about a few characters, so that looking at every match of a text stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_RESOURCE = re.compile("[A-Za-z0-9:_-]{4,80}")


def wordy(char: str) -> bool:
    """Whether a character belongs to a word: an ASCII letter, digit or underscore. Nothing at all does not."""
    return char == "_" or (char.isascii() and char.isalnum())


def escaped(text: str, start: int) -> bool:
    r"""Whether the letter before belongs to an escape that was written out: `\n`, `\r` or `\t`."""
    return start > 1 and text[start - 2] == "\\" and text[start - 1] in "nrt"


def opens(text: str, start: int, more: str = "") -> bool:
    """Whether something may begin here: no word before it and none of the signs in `more`, or an escape."""
    return start == 0 or not (wordy(text[start - 1]) or text[start - 1] in more) or escaped(text, start)


def resource(text: str, start: int) -> bool:
    """Whether what stands here belongs to the name of a resource (`arn:…:secret:…`): it names a secret and holds none."""
    at = text.rfind("arn:", max(0, start - 80), start)
    return at >= 0 and text[start - 1] == ":" and opens(text, at) and _RESOURCE.fullmatch(text, at, start) is not None


def closes(text: str, end: int, joints: str = "") -> bool:
    """Whether something may end here: no word after it, nor a word behind one of the `joints`."""
    after = text[end : end + 2]
    if after and wordy(after[0]):
        return False
    return len(after) < 2 or after[0] not in joints or not wordy(after[1])


def matches(pattern: re.Pattern[str], text: str, fits: Callable[[re.Match[str]], bool]) -> Iterator[re.Match[str]]:
    """The matches that fit, from left to right, none inside another; where one does not fit, another may begin one character later."""
    match = pattern.search(text)
    while match is not None:
        good = fits(match)
        if good:
            yield match
        match = pattern.search(text, match.end() if good else match.start() + 1)


def same(template: str, signs: str, *, bare: bool = False) -> str:
    """A pattern in which one of the signs stands at each `~`, everywhere the same; with `bare`, none at all as well."""
    found = [template.replace("~", re.escape(sign)) for sign in signs] + ([template.replace("~", "")] if bare else [])
    return f"(?:{'|'.join(found)})"
