"""Results that tell of a failure: they count as failed, and their words are kept."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel
from results_kit import text_block

from guard.tools import normalise


class Part(BaseModel):
    type: str
    text: str


class Reply(BaseModel):
    content: list[Part]
    isError: bool = False  # noqa: N815 - MCP's own spelling
    structuredContent: dict[str, Any] | None = None  # noqa: N815 - MCP's own spelling


@pytest.mark.parametrize(
    ("value", "told", "failed"),
    [
        pytest.param({"content": [text_block("no")], "isError": True}, "no", True, id="a dict that failed"),
        pytest.param(Reply(content=[Part(type="text", text="no")], isError=True), "no", True, id="an object that failed"),
        pytest.param(Reply(content=[Part(type="text", text="yes")]), "yes", False, id="an object that did not"),
        pytest.param(
            {"content": [text_block("{}")], "structuredContent": {"a": 1}}, {"a": 1}, False, id="structure wins over its text"
        ),
        pytest.param(
            {"content": [text_block("card declined")], "structuredContent": {}, "isError": True},
            "card declined",
            True,
            id="empty structure",
        ),
        pytest.param({"content": [], "isError": True}, "", True, id="failed without a word"),
        pytest.param({"content": [], "structuredContent": {"a": float("nan")}}, {"a": None}, False, id="structure is made JSON"),
        pytest.param({"ok": False, "x": 1}, {"ok": False, "x": 1}, True, id="ok is false"),
        pytest.param({"ok": 0}, {"ok": 0}, False, id="zero is not false"),
        pytest.param({"ok": True}, {"ok": True}, False, id="ok is true"),
        pytest.param(
            {"ok": False, "at": date(2024, 1, 1)}, {"ok": False, "at": "2024-01-01"}, True, id="ok is false beside a date"
        ),
        pytest.param([{"ok": False}], [{"ok": False}], False, id="only the top says so"),
        pytest.param([Part(type="text", text="a")], "a", False, id="a list of block objects"),
    ],
)
def test_failure_in_band(value: object, told: Any, failed: bool) -> None:
    """A tool that says in its result that it failed has failed, and its words are kept."""
    normal = normalise(value)

    assert normal.value == told
    assert normal.failed is failed


def test_an_exception_that_is_returned_is_a_failure() -> None:
    """A tool that returns what it should raise has failed, and the exception's text stays inside."""
    normal = normalise(ValueError("db://svc:pw@host"))

    assert normal.failed is True
    assert "svc" not in str(normal.value)
