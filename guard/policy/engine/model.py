"""Model: a Casbin model.conf, read strictly, with the line of everything that is wrong in it.

Casbin's own reader passes over unknown sections and keys and takes a comment behind a definition as part of it; here the first is a mistake
and the second is a comment. May not know which names a request must have: whoever uses the engine says. Comes before syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guard.policy.problems import Problems, Spot, meant
from guard.policy.source import Item

ALLOW = "some(where (p.eft == allow))"
NO_DENY = "!some(where (p.eft == deny))"
BOTH = f"{ALLOW} && {NO_DENY}"
PRIORITY = "priority(p.eft) || deny"
SUBJECT = "subjectPriority(p.eft) || deny"
_EFFECTS = {"".join(text.split()): text for text in (ALLOW, NO_DENY, BOTH, PRIORITY, SUBJECT)}
_SECTIONS = {
    "request_definition": "r",
    "policy_definition": "p",
    "role_definition": "g",
    "policy_effect": "e",
    "matchers": "m",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_ROLE = re.compile(r"g([2-9]|[1-9][0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a model says: names of the request's and the rules' columns, places of each role definition, effect and matcher.

    `effect` is one of the texts above; `lines` tells where each key stands.
    """

    file: str
    request: tuple[str, ...]
    columns: tuple[str, ...]
    roles: Mapping[str, int]
    effect: str
    matcher: str
    lines: Mapping[str, int]

    @property
    def eft(self) -> int | None:
        """The rules' column that holds the effect; None where every rule allows."""
        return self.columns.index("eft") if "eft" in self.columns else None

    @property
    def ranked(self) -> bool:
        """Whether the order of the rules decides."""
        return self.effect in {PRIORITY, SUBJECT}

    def at(self, key: str) -> Spot:
        """The place of `r`, `p`, `g`, `e` or `m`."""
        return Item(self.file, self.lines.get(key, 1))

    def text(self) -> str:
        """The model as Casbin itself reads it."""
        parts = [f"[request_definition]\nr = {', '.join(self.request)}\n[policy_definition]\np = {', '.join(self.columns)}\n"]
        if self.roles:
            parts.append("[role_definition]\n")
            parts += [f"{name} = {', '.join('_' * places)}\n" for name, places in self.roles.items()]
        return "".join([*parts, f"[policy_effect]\ne = {self.effect}\n[matchers]\nm = {self.matcher}\n"])


def read_model(text: str, file: str, problems: Problems) -> Model | None:
    """The model, or None where `problems` says what is wrong with it."""
    before = len(problems.errors)
    found = dict(_definitions(text, file, problems))
    for section, key in _SECTIONS.items():
        if key not in found and key != "g":
            problems.error(Item(file, 1), f"[{section}] must hold {key}", "compare with the shipped model.conf")
    if len(problems.errors) > before:
        return None
    lines = {key: line for key, (_, line) in found.items()}
    model = Model(
        file=file,
        request=_names("r", found, file, problems),
        columns=_names("p", found, file, problems),
        roles={key: _places(key, value, line, file, problems) for key, (value, line) in found.items() if key[0] == "g"},
        effect=_effect(*found["e"], file, problems),
        matcher=found["m"][0],
        lines=lines,
    )
    return model if len(problems.errors) == before else None


def _names(key: str, found: Mapping[str, tuple[str, int]], file: str, problems: Problems) -> tuple[str, ...]:
    value, line = found[key]
    names = tuple(name.strip() for name in value.split(","))
    odd = next((name for name in names if not _NAME.fullmatch(name)), None)
    if odd is not None:
        problems.error(Item(file, line), f"{odd or 'nothing'} is no name of a column", "write letters, digits and _")
    if len(set(names)) < len(names):
        problems.error(Item(file, line), "the same column twice", "write each once")
    return names


def _places(key: str, value: str, line: int, file: str, problems: Problems) -> int:
    places = [place.strip() for place in value.split(",")]
    if len(places) not in {2, 3} or set(places) != {"_"}:
        problems.error(Item(file, line), f"[role_definition] must be {key} = _, _ or {key} = _, _, _", "conditions are not read")
    return len(places)


def _effect(value: str, line: int, file: str, problems: Problems) -> str:
    known = _EFFECTS.get("".join(value.split()).replace("p_eft", "p.eft"), "")
    if not known:
        problems.error(Item(file, line), f"[policy_effect] unknown effect {value}", f"write e = {BOTH}")
    return known


def _definitions(text: str, file: str, problems: Problems) -> Iterator[tuple[str, tuple[str, int]]]:
    """Each key with its value and line."""
    section = ""
    seen: set[str] = set()
    for line, written in _joined(text):
        spot = Item(file, line)
        if written.startswith("[") and written.endswith("]"):
            section = written[1:-1].strip()
            if section not in _SECTIONS:
                problems.error(spot, f"unknown section [{section}]", meant(section, _SECTIONS))
            continue
        key, equals, value = (part.strip() for part in written.partition("="))
        wanted = _SECTIONS.get(section)
        if not equals or not value:
            problems.error(spot, f"not a Casbin model: {written}", "write key = value below a [section]")
        elif wanted is not None and not (_ROLE.fullmatch(key) if wanted == "g" else key == wanted):
            problems.error(spot, f"[{section}] must hold {wanted} and nothing else, not {key}", "remove the line")
        elif key in seen:
            problems.error(spot, f"{key} is written twice", "keep one")
        elif wanted is not None:
            seen.add(key)
            yield key, (value, line)


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, a backslash at the end joining the next one."""
    begun, parts = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        bare = uncommented(line).strip()
        begun = begun if parts else number
        parts += bare.removesuffix("\\")
        if bare.endswith("\\"):
            parts += " "
        elif parts.strip():
            yield begun, parts.strip()
            parts = ""
        else:
            parts = ""
    if parts.strip():
        yield begun, parts.strip()


def uncommented(line: str) -> str:
    """The line up to a # or ; that stands outside of quotes, at the start or behind a blank."""
    quote = ""
    for place, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "#;" and (place == 0 or line[place - 1] in " \t"):
            return line[:place]
    return line
