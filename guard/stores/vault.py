"""The vault: the values behind the handles of a conversation, kept with its payloads and nowhere else.

Bounded: the newest so many of a conversation, and none older than a month; a handle that is used up so is unknown again. Two values that came to
the same handle make it void. Shared by every store; may only ask the tables. Comes after `owners`
and before `claims`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.acting import LoadHandles, Vaulted
from guard.core.model import ConversationRef
from guard.stores.owners import home_of, own, visible
from guard.stores.tables import Tables

MOST = 10_000
"""Handles of one conversation that are kept."""
AGE = 2_592_000.0
"""Seconds for which a handle is kept after it was last given out."""


def keep(tables: Tables, handles: Sequence[Vaulted], ref: ConversationRef) -> None:
    """Keep what went back as handles, and forget what is too old or too much."""
    home = own(tables, ref)
    for one in handles:
        tables.seal_away(home, one)
    over = tables.given_out(home, MOST)
    tables.forget_handles(home, max(tables.now - AGE, over or 0.0))


def look(tables: Tables, command: LoadHandles) -> Mapping[str, Vaulted]:
    """What stands behind these handles of the conversation."""
    if not visible(tables, command.ref):
        return {}
    home, since = home_of(command.ref), tables.now - AGE
    found = ((handle, tables.behind(home, handle, since)) for handle in command.handles)
    return {handle: one for handle, one in found if one is not None}
