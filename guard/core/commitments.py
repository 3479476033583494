"""Commitments: the digests in records that stand for raw values, each made with a salt of its own call.

The salt is kept with the raw values and is erased with them: then the digest says nothing any more, however short the value was, not even to whoever
holds the store's key. Comes before `audit`; pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.core.commands import ERASED
from guard.core.model import ValidCall
from guard.core.ports import Redactor
from guard.core.values import keyed


@dataclass(frozen=True, slots=True)
class More:
    """What a decision's record says besides: `shadowed` are shadow rules that would have refused the call, besides those that its proof names.

    `ms` is how long the walk took up to here, in milliseconds; `beside` are members that are the same for all records of a walk (see `Context`).
    """

    shadowed: tuple[str, ...] = ()
    salt: str = ""
    ms: float | None = None
    beside: str = ""


def commitment(salt: str, text: str) -> str:
    """The digest of a text under a call's own salt: whoever has neither text nor salt can guess no value from it, however short it is."""
    return keyed(salt.encode(), text)


def mark(text: str, redactor: Redactor, salt: str) -> str:
    """What stands for a text: under the call's salt where it has one, so that it says nothing once the salt is erased."""
    return commitment(salt, text) if salt and salt != ERASED else redactor.tag(text)


def of_arguments(valid: ValidCall, salt: str) -> str:
    """The digest of the final arguments, the same in every record of the call."""
    return commitment(salt, valid.canonical) if salt and salt != ERASED else valid.digest
