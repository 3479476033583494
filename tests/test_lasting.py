"""Lengths of time in words: as people say them, and never rounded."""

from __future__ import annotations

import pytest

from guard.core.lasting import lasting

SAID = {
    0: "0 seconds",
    0.5: "0.5 seconds",
    1: "1 second",
    60: "1 minute",
    90: "90 seconds",
    900: "15 minutes",
    3_600: "1 hour",
    5_400: "90 minutes",
    86_400: "1 day",
    129_600: "36 hours",
    604_800: "7 days",
    31_622_400: "366 days",
    100_000: "1 day 3 hours 46 minutes 40 seconds",
    3_601: "1 hour 1 second",
    604_799.9999: "7 days",
    90_000.25: "1 day 1 hour 0.25 seconds",
}


@pytest.mark.parametrize(("seconds", "said"), SAID.items(), ids=map(str, SAID))
def test_a_length_of_time_is_said_exactly(seconds: float, said: str) -> None:
    """In the largest unit that it is a whole number of, else in several."""
    assert lasting(seconds) == said
