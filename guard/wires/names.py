"""Names: what a tool is called on a wire whose provider does not take its own name, and which tool such a name means.

A name that the provider takes stays as it is. Any other becomes readable text with a digest of the whole name, so that it is the same in every
process and after every restart, and no two tools share one. May not guess: a name means the tool that was offered under it, or itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from guard.core.values import digest

_LEGAL = re.compile(r"[a-zA-Z0-9_-]+")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_READABLE = 40  # characters of an illegal id or name that stay readable
_ROOM = 64
_DIGITS = (8, 22)  # hexadecimal digits of the digest: as a rule, and where another tool has that name


def legal(text: str, most: int | None = None) -> str:
    """`text` when it is a legal id or name (letters, digits, `_`, `-`; at most `most`), else a legal stand-in made from it."""
    if _LEGAL.fullmatch(text) and (most is None or len(text) <= most):
        return text
    return _made(text, _DIGITS[0])


def _made(text: str, digits: int, most: int = _ROOM) -> str:
    """Readable text and a digest, or of the digest alone what fits, where there is no room for both."""
    room = min(_READABLE, most - digits - 1)
    readable = (_ILLEGAL.sub("_", text)[:_READABLE] or "unnamed")[: max(room, 0)]
    return f"{readable}_{digest(text)[:digits]}" if readable else digest(text)[:most]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """What a provider takes as a tool's name: letters, digits, `_` and `-`, at most `most`; with `letter`, not led by a digit or `-`."""

    most: int
    letter: bool = False

    def takes(self, name: str) -> bool:
        """Whether the provider takes this name."""
        fits = _LEGAL.fullmatch(name) is not None and len(name) <= self.most
        return fits and not (self.letter and (name[0] == "-" or name[0].isdigit()))

    def legal(self, name: str, digits: int = _DIGITS[0]) -> str:
        """The name when the provider takes it, else a stand-in made from it."""
        if self.takes(name):
            return name
        made = _made(name, digits, self.most - self.letter)
        return made if self.takes(made) else f"_{made}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """The tools whose own name the provider does not take: what each is `shown` as, and what each such name `means`."""

    shown: Mapping[str, str] = field(default_factory=dict)
    means: Mapping[str, str] = field(default_factory=dict)

    def show(self, tool: str) -> str:
        """What this tool is called on the wire."""
        return self.shown.get(tool, tool)

    def tool(self, name: str) -> str:
        """The tool that a name on the wire means: the one that was offered under it, else the name itself."""
        return self.means.get(name, name)


def tool_names(names: Iterable[str], spelling: Spelling) -> ToolNames:
    """The names on the wire for all tools of a policy, whoever may see them. The same tools always get the same names.

    A made name that another tool bears gets a longer digest. Should even that one be taken, neither tool can be named or called by it.
    """
    known = frozenset(names)
    foreign = [name for name in known if not spelling.takes(name)]
    if not foreign:
        return ToolNames()
    taken = known - frozenset(foreign)
    short = {name: spelling.legal(name) for name in foreign}
    clash = _clash(short, taken)
    shown = {name: spelling.legal(name, _DIGITS[1]) if clash(name) else short[name] for name in foreign}
    lost = _clash(shown, taken)
    shown = {name: made for name, made in shown.items() if not lost(name)}
    return ToolNames(shown=shown, means={made: name for name, made in shown.items()})


def _clash(made: Mapping[str, str], taken: frozenset[str]) -> Callable[[str], bool]:
    counts = Counter(made.values())
    return lambda name: counts[made[name]] > 1 or made[name] in taken
