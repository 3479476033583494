"""Policy log: records about which policy is in force in this process, written with the process's next records, or at once when it is replaced.

A record that cannot be written now is written with the next ones. Decides nothing. Comes after `force`; used by the guard and by `reload`.
"""

from __future__ import annotations

from guard.core import audit_policy
from guard.errors import StoreError
from guard.runner.force import InForce


def began(now: InForce) -> None:
    """The first policy of this process: on record before the first thing that it decides."""
    store = now.hands.store
    store.announce((audit_policy.loaded(now.policy.version, now.parts, store.writer, "start"),))


def replaced(before: InForce, now: InForce, how: str) -> None:
    """Another policy is in force now: on record at once, with what it changes."""
    store = now.hands.store
    told = audit_policy.loaded(now.policy.version, now.parts, store.writer, how, before.policy.version)
    events = (told, *audit_policy.changed(now.policy.version, before.parts, now.parts, now.hands.redactor))
    try:
        store.record((), events)
    except StoreError:
        store.announce(events)
