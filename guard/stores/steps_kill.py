"""The step of the schema that keeps kills. What somebody wrote as the reason stands in a payload. Comes before `schema`.

Whoever takes a call looks at those that are in force, which are few: an index holds them alone. PostgreSQL's function for plain claims is made anew under
another name, since a published step is never changed; a program of the version before goes on with the old one, and knows no kill.
"""

from __future__ import annotations

from typing import Final

STEP: Final = (
    """CREATE TABLE kills (
        id TEXT PRIMARY KEY, tenant TEXT, conversation TEXT, tool TEXT, at DOUBLE PRECISION NOT NULL, cleared DOUBLE PRECISION,
        detail TEXT NOT NULL, payload TEXT NOT NULL)""",
    """CREATE INDEX kills_live ON kills (at, id) WHERE cleared IS NULL""",
)
