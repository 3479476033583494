"""Sealing: what stands in a result in the place of a value that the policy hides: a mask, a keyed hash, or a handle.

Hashes and handles are made with the store's secret, for one conversation: the same value gives the same there and another elsewhere. What was
handed out as a handle is kept aside, for the vault. Also the other way round: where a call was given a value that stood behind a handle, a
redactor that hides this value again in whatever comes of the call. Comes after handles and ports; used by endings and board; pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from guard.core.acting import Vaulted
from guard.core.echoes import echoless, secrets, veiling
from guard.core.fields import HIDDEN
from guard.core.handles import HASH, Token, handle, normal
from guard.core.hiding import echoing
from guard.core.keytree import FieldRule
from guard.core.model import ConversationRef
from guard.core.ports import Execute, Redactor
from guard.core.values import Json, canonical, digest
from guard.core.views import Revealed

_FEWEST = (
    10  # letters and digits of a value of which the last four may be shown: of a social security number they would tell too much
)
_YEAR = re.compile(r"(?<![0-9])(1[89][0-9]{2}|20[0-9]{2})(?![0-9])")
MOST = 2_000
"""How many handles one result may give out; further values are hidden whole."""
_TRIES = 16
_RULED = 32  # hidden values that are remembered for their tags


class Sealer:
    """Makes what stands in the place of values of one call. `issued` gathers the handles that were made."""

    def __init__(self, redactor: Redactor, ref: ConversationRef, tool: str = "") -> None:
        self._redactor, self._ref, self._tool = redactor, ref, tool
        self.issued: dict[str, Vaulted] = {}
        self._made = {HIDDEN}  # what stands in this result by the guard's own hand: met again where text was read twice
        self.kinds: set[str] = set()
        self.ruled: list[tuple[str, Json]] = []  # what the rules hid: where, and the value
        self.pairs: tuple[tuple[Json, Json], ...] = ()  # what detectors hid

    def change(self, rule: FieldRule, value: Json) -> Json:
        """What stands in the place of a text or number; everything else is hidden whole."""
        self.kinds.add(rule.does if rule.does != "mask" else f"mask {rule.kind}")
        if type(value) is Token:
            return value
        if isinstance(value, dict | list | bool):
            return Token(HIDDEN)
        text = value if isinstance(value, str) else str(value)
        if text in self._made:
            return Token(text)
        if len(self.ruled) < _RULED:
            self.ruled.append((str(rule.path), value))
        made = self._sealed(rule, value, text)
        self._made.add(made)
        return made

    def _sealed(self, rule: FieldRule, value: Json, text: str) -> Token:
        """A value that merely looks like a mask or a handle is hidden like any other: only what was made here is known to tell nothing."""
        if rule.does == "mask":
            return Token(masked(rule.kind, text))
        if rule.does == "hash":
            return Token(self._token(HASH, canonical(value)))
        return self._handle(rule, value)

    def named(self, kind: str, value: Json) -> str:
        """The handle that a value of this type has in this conversation, whether or not it was ever given out."""
        return self._token(kind, normal(kind, value))

    def _handle(self, rule: FieldRule, value: Json) -> Token:
        same = normal(rule.kind, value)
        name = self._token(rule.kind, same)
        if name not in self.issued and len(self.issued) >= MOST:
            return Token(HIDDEN)
        mark = self._tag("guard-vault-v1", rule.kind, same)
        self.issued[name] = Vaulted(handle=name, kind=rule.kind, digest=mark, value=value, tool=self._tool, path=str(rule.path))
        return Token(name)

    def _token(self, kind: str, text: str) -> str:
        """A token that no detector would take for something to hide."""
        for number in range(_TRIES):
            made = handle(kind, self._tag("guard-handle-v1", kind, text, str(number) if number else ""))
            if self._redactor.detect(None, made)[0] == made:
                return made
        return HIDDEN

    def _tag(self, *parts: str) -> str:
        return self._redactor.derive(digest(*parts, self._ref.tenant, self._ref.conversation))


def masked(kind: str, text: str) -> str:
    """The mask of a text; what does not have the form that the kind is for is hidden whole."""
    return _MASKS[kind](text.strip()) or HIDDEN


def _last4(text: str) -> str:
    if _LAST4.fullmatch(text):
        return text  # no more can be shown of it, and no less than was
    signs = [char for char in text if char.isalnum()]
    return "****" + "".join(signs[-4:]) if len(signs) >= _FEWEST and "".join(signs[-4:]).isascii() else ""


def _initials(text: str) -> str:
    found = [next((char for char in word if char.isalpha()), "") for word in text.split()]
    return " ".join(f"{letter}***" for letter in found if letter)


def _domain(text: str) -> str:
    name = text.rpartition("@")[2]
    return f"***@{name}" if "@" in text and name and len(name) <= 253 and not any(char.isspace() for char in name) else ""


def _year(text: str) -> str:
    found = _YEAR.findall(text)
    return f"{found[0]}-**-**" if len(found) == 1 else ""


def _fixed(text: str) -> str:  # noqa: ARG001 - it tells nothing of it
    return ""


_LAST4 = re.compile(r"\*{4}[0-9A-Za-z]{4}")
_MASKS = {"last4": _last4, "initials": _initials, "domain": _domain, "year": _year, "fixed": _fixed}


# -- values that were put back ---------------------------------------------------------------------------------------------


def veiled(redactor: Redactor, revealed: Iterable[Revealed]) -> Redactor:
    """The redactor for everything that comes of a call which was given these values: each is shown as its handle again."""
    found = tuple(dict.fromkeys(revealed))
    return _veiled(redactor, found) if found else redactor


def answering(redactor: Redactor, command: Execute) -> Redactor:
    """The redactor for what a tool raises: neither these values nor a secret of the call's arguments is told."""
    hidden = echoless(echoing(redactor, command.arguments), secrets(command.tool, command.arguments))
    return veiled(hidden, command.revealed)


@lru_cache(maxsize=64)
def _veiled(redactor: Redactor, revealed: tuple[Revealed, ...]) -> Redactor:
    return veiling(redactor, {one.text: one.handle for one in revealed}, "handle")
