"""Alike: names that a reader takes for one another: tools, roles, and facts of the session.

Names are only compared, never changed: a call is matched code point by code point. Linear in the number of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from guard.core.paths import Path
from guard.errors import Problem
from guard.policy.problems import squash
from guard.policy.rule_files import ANY, PERSON
from guard.policy.source import Item
from guard.review.view import View, finding

_LOOKS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb\u04cf"  # cyrillic
    "\u0578\u057d\u0585\u0581"  # armenian
    "\u03b1\u03bf\u03c1\u03c5\u03bd\u03b9\u03ba\u03c4\u03b5\u03b2"  # greek
    "01|\u0131\u2113\u0261",  # others
    "aeopcyxijsdqwhlnuogaopuviktebolliig",
)
"""Letters of other scripts, and digits, as the small Latin letters that they look like."""

_TOKEN = re.compile(r"[a-z]+|[A-Z][a-z]*|\d+")


def skeleton(name: str) -> str:
    """What a name looks like to a reader, without case and separators."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_LOOKS)
    bare = "".join(char for char in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(char))
    return squash(re.sub(r"[\s.:/]", "", bare))


def scripts(name: str) -> frozenset[str]:
    """The alphabets that a name is written in, of those whose letters are taken for one another."""
    known = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
    told = (unicodedata.name(char, "") for char in name if char.isalpha())
    return frozenset(script for text in told for script in known if text.startswith(script))


def names_alike(view: View) -> Iterator[Problem]:
    """Two tools with one look, and a name written in two alphabets."""
    first: dict[str, str] = {}
    for name, spot in view.entries.items():
        other = first.setdefault(skeleton(name), name)
        if other != name:
            at = view.entries[other]
            message = f"{name} looks like {other} ({at.file}:{at.line}): a reader and a model take one for the other"
            yield finding(spot, "name-alike", message, "rename one of them")
        if len(scripts(name)) > 1:
            message = f"{name} mixes letters of several alphabets: {', '.join(sorted(map(str.lower, scripts(name))))}"
            yield finding(spot, "name-mixed", message, "write the name in one alphabet")


def roles_alike(view: View) -> Iterator[Problem]:
    """A role that differs from a more frequent one by one letter."""
    spots = [(rule.sub, spot) for rule, spot in (*view.rules.items(), *view.survey.book.trial.items())]
    spots += [(name, spot) for grant, spot in view.survey.book.grants.items() for name in (grant.sub, grant.role)]
    spots += [(role, _place(view, user)) for user, one in view.survey.people.items() for role in one.roles]
    named = [(name, spot) for name, spot in spots if name != ANY and not name.startswith(PERSON)]
    yield from _misspelt(named, "role-alike", "the role {} is named once, and {} elsewhere")


def facts_alike(view: View) -> Iterator[Problem]:
    """A fact of the session that differs from a more frequent one by one letter."""
    named = [(f"session.{name}", view.entries[tool]) for tool, one in view.tools.items() for name in _facts(one)]
    attributes = ((f"session.{name}", _place(view, user)) for user, one in view.survey.people.items() for name in one.attributes)
    yield from _misspelt([*named, *attributes], "fact-alike", "{} is used once, and {} elsewhere")


def _facts(tool: object) -> set[str]:
    return {path.steps[0] for path in _paths(tool) if path.root == "session"}


def _paths(value: object) -> Iterator[Path]:
    """Every path in a compiled tool, wherever it stands."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _paths(one)
    elif hasattr(value, "__slots__") and not isinstance(value, Mapping):
        for field in value.__slots__:
            if field not in {"schema", "visible"}:
                yield from _paths(getattr(value, field, None))


def _place(view: View, user: str) -> Item:
    return view.survey.places.get(user, Item("people", None))


def _misspelt(named: Iterable[tuple[str, Item]], code: str, message: str) -> Iterator[Problem]:
    """Where a name stands once and a near one more often, or before it."""
    listed = list(named)
    first = {name: index for index, (name, _) in reversed(list(enumerate(listed)))}
    often = Counter(name for name, _ in listed)
    near: dict[str, set[str]] = {}
    for name in often:
        for cut in _cuts(name):
            near.setdefault(cut, set()).add(name)
    for name, spot in listed:
        if often[name] > 1:
            continue
        rank = (1, -first[name])
        others = {
            other for cut in _cuts(name) for other in near[cut] if name.casefold() != other.casefold() and _one_slip(name, other)
        }
        other = max(others, key=lambda one: (often[one], -first[one]), default=name)
        if (often[other], -first[other]) > rank:
            yield finding(spot, code, message.format(name, other), f"did you mean {other}?")


def _cuts(name: str) -> set[str]:
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))} if len(name) >= 5 else {name}


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter is wrong, missing, doubled or exchanged inside a word of some length: `staff_eu` is not `staff_us`."""
    left, right = _TOKEN.findall(one), _TOKEN.findall(other)
    if len(left) != len(right):
        return False
    differing = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    return len(differing) == 1 and all(len(part) >= 5 and not part.isdigit() for part in differing[0])
