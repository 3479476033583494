"""Erasing kills: the names and reasons in them go when they are too old, or with a person. What each stopped stays, and one that is in force goes on stopping it.

Shared by every store; may only ask the tables. Comes after `kills` and before `batch_store`.
"""

from __future__ import annotations

from guard.core.erasing import Erased, EraseKills, bare_kill, kill_without, tells
from guard.core.kills import Kill
from guard.stores.tables import Tables


def erase(tables: Tables, command: EraseKills, limit: int) -> tuple[Erased, ...]:
    """Erase and put it on record, by the tenant whose calls each stopped; nothing where there is nothing to erase. See EraseKills."""
    tables.scrub()
    gone: dict[str, list[str]] = {}
    for name in _wanted(tables, command, limit):
        kill = tables.kill(name)  # from here on nobody else changes it
        if kill is not None and _wiped(tables, kill, command):
            gone.setdefault(kill.stop.tenant or "", []).append(name)
    found = tuple(Erased(tenant=tenant, conversation="", principal="", kills=tuple(ids)) for tenant, ids in sorted(gone.items()))
    for one in found:
        tables.append(command.event(one))
    return found


def _wanted(tables: Tables, command: EraseKills, limit: int) -> tuple[str, ...]:
    if command.whose is None:
        return tables.aged_kills(command.before, limit)
    whose = command.whose
    return tuple(one.id for one in tables.kills(live=False) if tells(kill_without(one, whose)) != tells(one))[:limit]


def _wiped(tables: Tables, kill: Kill, command: EraseKills) -> bool:
    """Erase what one kill holds; whether it held anything."""
    if command.whose is None:
        if kill.cleared_at is None:
            return False
        tables.wipe_kill(bare_kill(kill))
        return any(tells(kill))
    left = kill_without(kill, command.whose)
    if tells(left) == tells(kill):
        return False
    tables.keep_kill(left)
    return True
