"""README's table of the ways is that of a run. In a file of its own: it opens every way anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conformance_scenarios import APART, SCENARIOS
from conformance_table import README, table, written

from guard import Reason


def test_every_reason_has_a_scenario_or_a_test_of_its_own() -> None:
    """A new reason is played on every way, or stands among those that no call brings about, with the test that has it, and in README."""
    played = {reason for one in SCENARIOS.values() for _, reason in (*one.then, *one.after) if reason}
    assert {str(reason) for reason in Reason} == played | APART.keys()
    assert not played & APART.keys()
    for reason, name in APART.items():
        text = (Path(__file__).parent / name).read_text("utf-8")
        assert f"Reason.{reason.upper()}" in text or f'"{reason}"' in text
    said = README.read_text("utf-8").partition("No call brings about by itself: ")[2].partition("; these have")[0]
    assert set(re.findall(r"`(\w+)`", said)) == APART.keys()


@pytest.mark.slow
def test_the_table_of_the_readme_is_that_of_a_run() -> None:
    """Every way is played; the table says where a scenario is the same, and what a way cannot bring."""
    made = table()
    assert made == written(), "run python tests/conformance_table.py --write"
    assert "OTHER" not in made
