"""Names that are short for password: `pw` before a sign, `--pass` of a command; and what only looks like them."""

from __future__ import annotations

import pytest

from guard.core.hiding import hide
from guard.core.redactor import Redactor
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
HIDDEN = {
    "pw: hunter2x": "pw: [secret]",
    "login anna, PW=Gehe1m!x": "login anna, PW=[secret]",
    "users:\n- name: anna\n  pw: hunter2x": "users:\n- name: anna\n  pw: [secret]",
    "tool --pass=hunter2x run": "tool --pass=[secret] run",
    "tool --pass hunter2x run": "tool --pass [secret] run",
}
KEPT = [
    "pw: 0.92, pw = 12.5 W",
    "the pw file is /etc/passwd2, pw 12345a",
    "pass: 128, tests pass v1.2.3-rc1",
    "gcc --pass-exit-codes2 --pass 3 a--pass=hunter2x",
    "npw: hunter2x and pwm: channel2x",
]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
@pytest.mark.parametrize("text", HIDDEN)
def test_a_short_name_says_password(text: str, one: Redactor) -> None:
    """What stands behind it is hidden; once more changes nothing."""
    assert hide([text], one, set()) == [HIDDEN[text]]
    assert hide([HIDDEN[text]], one, set()) == [HIDDEN[text]]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_it_stays(text: str, one: Redactor) -> None:
    """Powers, counts, files, other flags and longer names."""
    assert hide([text], one, set()) == [text]
