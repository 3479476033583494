"""Behind: the values behind handles among the arguments of one call, kept out of what a person writes about it.

Whoever decides about a call, or finds out what became of it, has seen its arguments in full; their words go to the model and into the audit.
May not decide anything. Used by approvals, doubts and compose.
"""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from guard.core.context import salt_of
from guard.core.handles import Signs, leaves
from guard.core.model import CallKey
from guard.core.ports import CallRow, LoadHandles, Redactor
from guard.core.sealing import Sealer, veiled
from guard.core.values import Json
from guard.core.views import Revealed

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


def hiding(guard: GuardBase, key: CallKey, arguments: Json) -> Redactor:
    """The guard's redactor, which hides those values too: those that the model wrote as handles, and whole texts that stand behind one."""
    types = guard.policy.types
    if not types:
        return guard.redactor
    sealer = Sealer(guard.redactor, key.ref)
    texts = [leaf for _, leaf, named, _ in leaves(arguments) if not named]
    handles = {sealer.named(kind, text): text for kind in types for text in texts}
    written = _written(guard.store.call(key), Signs(types=types))
    known = guard.store.handles(LoadHandles(ref=key.ref, handles=tuple(dict.fromkeys((*handles, *written)))))
    return veiled(guard.redactor, [Revealed(handles.get(name, str(one.value)), name, "") for name, one in known.items()])


def without(redactor: Redactor, arguments: Json) -> Redactor:
    """What keeps every text of the arguments out of the log: some of them may stand behind handles, and no log needs any."""
    texts = {leaf for _, leaf, named, _ in leaves(arguments) if not named and leaf.strip()}
    return veiled(redactor, [Revealed(leaf, "[argument]", "") for leaf in sorted(texts)])


def _written(row: CallRow | None, signs: Signs) -> list[str]:
    """The handles in what the model proposed."""
    raw = None if row is None else row.call.arguments
    texts = leaves(raw if raw is None or isinstance(raw, str) else dict(raw))
    return [sign.handle for _, text, _, _ in texts for sign in signs.find(text) if sign.handle]


def salted(guard: GuardBase, key: CallKey, note: str | None) -> str:
    """The salt for the digest of a private note about a call: the call's own, which is erased with the note; one that nobody keeps where it has none any more."""
    return "" if not note else salt_of(guard.store.call(key), token_hex(16))
