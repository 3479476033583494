"""A database as an earlier version left it: what the later steps of the schema added is taken out again, whatever number of steps there are."""

from __future__ import annotations

import re

from guard.stores import postgres_sql, schema

_UNDO = (
    (re.compile(r"CREATE TABLE (\w+)"), "DROP TABLE {0}"),
    (re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+)"), "DROP INDEX {0}"),
    (re.compile(r"CREATE FUNCTION (\w+)"), "DROP FUNCTION {0}"),
    (re.compile(r"CREATE VIEW (\w+)"), "DROP VIEW {0}"),
    (re.compile(r"CREATE OR REPLACE TRIGGER (\w+) AFTER INSERT ON (\w+)"), "DROP TRIGGER {0} ON {1}"),
    (re.compile(r"CREATE TRIGGER (\w+)"), "DROP TRIGGER {0}"),
    (re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+)"), "ALTER TABLE {0} DROP COLUMN {1}"),
    (re.compile(r"ALTER TABLE claims DROP CONSTRAINT (\w+)"), "ALTER TABLE claims ADD CONSTRAINT {0} UNIQUE (approval)"),
)


def as_of(version: int, kind: str = "sqlite") -> list[str]:
    """The statements that take a database of today back to `version`; what fills a table is lost with the table."""
    done: list[str] = []
    for number in range(version, schema.VERSION):
        done += [*schema.STEPS[number], *(postgres_sql.EXTRAS.get(number, ()) if kind == "postgres" else ())]
    found = [(pattern.match(one.strip()), undo) for one in reversed(done) for pattern, undo in _UNDO]
    return [
        *(undo.format(*match.groups()) for match, undo in found if match is not None),
        f"DELETE FROM schema_version WHERE version > {version}",  # noqa: S608 - a number
    ]
