"""Decisions that Casbin's own examples state, by the engine; and those of a folder's own model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from corpora import CASES, needed
from engine_kit import read_rules_text

from guard.policy.engine.engine import Engine
from guard.policy.engine.model import read_model
from guard.policy.problems import Problems


def rows() -> Iterator[Any]:
    where = CASES / "casbin" / "decisions.jsonl"
    for line in where.read_text("utf-8").splitlines() if where.exists() else ():
        row = json.loads(line)
        yield pytest.param(row, id=row["id"])


@needed("casbin")
@pytest.mark.parametrize("row", list(rows()))
def test_every_stated_decision(row: dict[str, Any]) -> None:
    """As stated upstream, an error counted as a deny, whatever pycasbin itself answers there."""
    problems = Problems()
    model = read_model(row["model"], "model.conf", problems)
    assert model is not None, problems.errors
    engine = Engine(model, *read_rules_text(row["policy"]))
    for one in row["decisions"]:
        try:
            allowed = engine.decide(one["request"]).allowed
        except (TypeError, ValueError):
            allowed = False
        assert allowed == one["allow"], one
