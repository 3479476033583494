"""What the tests of the PostgreSQL store share: short limits, how many writers, and short ways to name calls and records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stores_kit import REF, event, key

from guard.stores.postgres_pool import Limits

SHORT = Limits(statement=0.5, lock=0.2, connect=2.0, free=0.5)
WRITERS = 16


def there(turn: int, conversation: int = 0) -> Any:
    return key(turn, ref=replace(REF, conversation=f"conv-{conversation}"))


def told(conversation: int, kind: str = "call.begin") -> dict[str, Any]:
    return event(kind, conversation=f"conv-{conversation}")
