"""Records held against the schema that ships: what tests read of an audit passes through here."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator

from guard.proof.schema import record_schema


@cache
def validator() -> Any:
    return Draft202012Validator(record_schema())


@lru_cache(maxsize=20_000)
def _faults(body: str) -> tuple[str, ...]:
    found = validator().iter_errors(json.loads(body, parse_float=Decimal))
    return tuple(f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found)


def fitting(body: str) -> dict[str, Any]:
    """A body as JSON; it must fit the schema."""
    assert _faults(body) == (), body
    made: dict[str, Any] = json.loads(body)
    return made
