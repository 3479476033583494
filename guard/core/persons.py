"""Persons: the name under which somebody stands in everything that is kept: the name itself, or an opaque reference to it.

A name in which the detectors find something (an address, a number, a secret) never leaves the payloads: a reference stands in its place, made with the
store's secret for one tenant, the same in every role, so that whoever compares two persons compares references. The policy, bound fields and loaders are
given the real name. Comes after the model and `tags`; used by rights and the runner; pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from guard.core.model import Session
from guard.core.names import Name, is_reference, real
from guard.core.ports import Redactor
from guard.core.replacing import replace
from guard.core.values import keyed

_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
NUL = "\0"
_LONGEST = 10_000  # characters of a name that the detectors look at; a longer one is never kept as it is


def reference(key: bytes, principal: str) -> str:
    """What stands for a person of a tenant; `key` is the tenant's, see `tenant_key`. Letters alone, which no detector takes for anything."""
    return f"person_{letters(keyed(key, f'guard-person-v1{NUL}{principal}'))}"


def letters(digest: str) -> str:
    """A digest in letters."""
    return digest[:40].translate(_LETTERS)


def kept_as(secret: bytes, kind: str, text: str) -> str:
    """The reference to something that the host named, such as a conversation; `secret` is the store's."""
    return f"{kind}_{letters(keyed(secret, f'guard-{kind}-v1{NUL}{text}'))}"


@lru_cache(maxsize=4096)
def opaque(redactor: Redactor, kind: str, text: str) -> str:
    """A name that the host gave to something, as it is kept: itself, or a reference where the detectors find something in it."""
    return f"{kind}_{letters(redactor.derive(f'guard-{kind}-v1{NUL}{text}'))}" if _tells(redactor, text) else text


@lru_cache(maxsize=4096)
def names(redactor: Redactor, tenant: str, principal: str) -> tuple[str, ...]:
    """The name under which a person is kept, then what else may stand for them: written by a program with other detectors, or an older one.

    A name that has the form of a reference stands for nobody as it is: else somebody could be called what another person's reference is.
    """
    made = Name(reference(bytes.fromhex(redactor.derive(f"guard-tags-v1\0{tenant}")), principal), principal)
    if is_reference(principal):
        return (made,)
    return (made, principal) if _tells(redactor, principal) else (principal, made)


def _tells(redactor: Redactor, principal: str) -> bool:
    """Whether a name is more than a name. What the detectors cannot look at is taken for that."""
    try:
        return len(principal) > _LONGEST or redactor.detect(None, principal)[0] != principal
    except Exception:  # noqa: BLE001 - a detector is foreign code
        return True


def known(redactor: Redactor, session: Session) -> Session:
    """The session with what stands for its person in this store."""
    found = names(redactor, session.tenant, session.principal)
    return session if session.names == found else replace(session, names=found)


def called(session: Session, present: Iterable[str]) -> str:
    """Under which name this person is kept where these names are already: the same one, if theirs is among them."""
    return next((name for name in present if session.means(name)), session.who)


def named(name: str) -> str | None:
    """The real name of whoever is kept under a name; None where it was erased."""
    found = real(name)
    return None if found == name and is_reference(name) else found
