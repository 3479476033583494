"""README's table of the ways is that of a run. In a file of its own: it opens every way anew."""

from __future__ import annotations

import pytest
from conformance_table import table, written


@pytest.mark.slow
def test_the_table_of_the_readme_is_that_of_a_run() -> None:
    """Every way is played; the table says where a scenario is the same, and what a way cannot bring."""
    made = table()
    assert made == written(), "run python tests/conformance_table.py --write"
    assert "OTHER" not in made
