"""Kinds: whether a tool reads, computes or acts, guessed from its name, its HTTP method, its description and a server's own claims.

A guess may err in one direction only: what is not plainly a look-up is an action, which a person must approve. Any sign of an act outweighs
every sign of a look-up, and a server's claim about itself counts against it alone. Comes after words and found, before draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from guard.core.rules import Kind
from guard.core.values import JsonObject
from guard.review.init.found import Found
from guard.review.init.words import (
    ABOUT,
    ACTS,
    COMMANDS,
    COMPUTES,
    JOINS,
    LOOKUPS,
    MAYBE_ACTS,
    PLAIN_READS,
    READS,
    RECORDS,
    TELLS,
    own_tokens,
    stem,
    tokens,
)

_CLAIMED = (
    "the server claims that it only reads, which proves nothing, and its name does not say so; if you know that it does: "
    "kind: read, and no approve"
)


class KindGuess(NamedTuple):
    """A kind and the sign that it was guessed from, to stand after `# guess:`."""

    kind: Kind
    why: str


def guess_kind(tool: Found) -> KindGuess:
    """The kind of a tool; `action` where nothing tells."""
    act = _act(tokens(tool.name), own_tokens(tool.name))
    if act:
        return KindGuess("action", f"the name says {act}")
    if tool.method:
        return _by_method(tool)
    if _claims_change(tool):
        return KindGuess("action", "the server says that it may change something")
    program = _program(tool.schema)
    if program:
        return KindGuess("action", f"its argument {program} may hold any command")
    verb, kind = _look_up(own_tokens(tool.name))
    told = _act_told(tool.description)
    if verb and told:
        return KindGuess("action", f"the name says {verb}, but the description says {told}")
    if verb:
        return KindGuess(kind, f"the name says {verb}")
    return _by_description(tool, told)


def _by_method(tool: Found) -> KindGuess:
    told = _act_told(tool.description)
    if tool.method in ("GET", "HEAD") and told:
        return KindGuess("action", f"{tool.method}, but the description says {told}")
    return KindGuess("read" if tool.method in ("GET", "HEAD") else "action", f"the HTTP method is {tool.method}")


def _claims_change(tool: Found) -> bool:
    return tool.claims.get("destructiveHint") is True or tool.claims.get("readOnlyHint") is False


def _by_description(tool: Found, told: str) -> KindGuess:
    if told:
        return KindGuess("action", f"the description says {told}")
    if tool.claims.get("readOnlyHint") is True:
        return KindGuess("action", _CLAIMED)
    first = stem(next(iter(tokens(_sentence(tool.description))), ""))
    if first in READS | TELLS and not tool.foreign:
        return KindGuess("read", f"the description begins with {first}")
    return KindGuess("action", "nothing tells that it only looks something up")


# -- words -----------------------------------------------------------------------------------------------------------


def _act(words: list[str], own: list[str]) -> str:
    """The word of a name that says that it acts. A word that may be a noun as well counts where a verb stands: first, or after `and`."""
    if own[:2] in (["check", "in"], ["check", "out"]):
        return " ".join(own[:2])
    found = next((word for word in words if word in ACTS), "")
    if not found and _is_about(own):
        return ""
    verbs = (words[:1], own[:1], *([word] for before, word in pairwise(words) if before in JOINS))
    return found or next((word for spot in verbs for word in spot if word in MAYBE_ACTS), "")


def _program(schema: JsonObject | None) -> str:
    fields = (schema or {}).get("properties")
    return next((name for name in fields if "_".join(tokens(name)) in COMMANDS), "") if isinstance(fields, Mapping) else ""


def _look_up(words: list[str]) -> tuple[str, Kind]:
    """The word of a name that says that it looks something up or computes something: the first, a plain verb behind a noun, or a noun."""
    second = [word for word in words[1:2] if word in PLAIN_READS]
    last = [word for word in words[-1:] if word in LOOKUPS or _is_about(words)]
    for word in (*words[:1], *second, *last):
        if word in READS | ABOUT:
            return word, "read"
        if word in COMPUTES:
            return word, "compute"
    return "", "action"


def _is_about(words: list[str]) -> bool:
    """Whether a name is two nouns that name what there is to know about a record: `order_status`."""
    return len(words) == 2 and words[0] in RECORDS and words[1] in ABOUT


def _act_told(description: str) -> str:
    """The verb of the description's first sentence that says that it acts: its first word, or one after `and`, `then`, `or`."""
    words = tokens(_sentence(description))
    for index, word in enumerate(words):
        verb = stem(word)
        if (index == 0 or words[index - 1] in JOINS) and (verb in ACTS or verb in MAYBE_ACTS) and verb not in TELLS:
            return verb
    return ""


def _sentence(text: str) -> str:
    return text.strip().split(". ", 1)[0].split("\n", 1)[0][:400]
