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
    (re.compile(r"CREATE TRIGGER (\w+) BEFORE [A-Z ]+ ON (\w+) FOR EACH"), "DROP TRIGGER {0} ON {1}"),
    (re.compile(r"CREATE TRIGGER (?:IF NOT EXISTS )?(\w+)\b(?! BEFORE [A-Z ]+ ON \w+ FOR EACH)"), "DROP TRIGGER {0}"),
    (re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+)"), "ALTER TABLE {0} DROP COLUMN {1}"),
    (re.compile(r"ALTER TABLE claims DROP CONSTRAINT (\w+)"), "ALTER TABLE claims ADD CONSTRAINT {0} UNIQUE (approval)"),
)


_DROPPED = re.compile(r"DROP (VIEW|TRIGGER|FUNCTION) (\w+)")


def as_of(version: int, kind: str = "sqlite") -> list[str]:
    """The statements that take a database of today back to `version`; what fills a table is lost with the table."""
    more = postgres_sql.EXTRAS if kind == "postgres" else schema.FILES
    done = [[one.strip() for one in (*schema.STEPS[number], *more.get(number, ()))] for number in range(schema.VERSION)]
    before = [one for step in done[:version] for one in step]
    later = [one for step in done[version:] for one in step]
    found: list[str] = []
    for number, one in reversed(list(enumerate(later))):
        dropped = _DROPPED.match(one)
        if dropped is not None:
            made = re.compile(rf"CREATE (?:OR REPLACE )?{dropped[1]} (?:IF NOT EXISTS )?{dropped[2]}\b")
            found.append(next(each for each in reversed([*before, *later[:number]]) if made.match(each)))
        found += [undo.format(*match.groups()) for pattern, undo in _UNDO if (match := pattern.match(one)) is not None]
    return [*found, f"DELETE FROM schema_version WHERE version > {version}"]  # noqa: S608 - a number
