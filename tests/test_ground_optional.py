"""A grounded argument that is optional: left out it needs no source, given it needs one."""

from __future__ import annotations

from pathlib import Path

import pytest

from guard import Guard, Session, ToolCall

POLICY = """tools:
  src: {kind: read, allow: [u]}
  look: {kind: read, allow: [u], ground: {x: {returned_by: src.v}}}
limits: {run: {steps: 9}}
"""


def src() -> dict[str, str]:
    """A record."""
    return {"v": "k-17"}


def look(x: str | None = None) -> str:
    """What was asked for."""
    return f"looked for {x}"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [({}, None), ({"x": "k-17"}, None), ({"x": "k-18"}, "not_grounded"), ({"x": None}, "not_grounded")],
    ids=["left out", "from the record", "invented", "null by the model"],
)
def test_an_optional_argument_needs_a_source_only_when_it_is_given(
    tmp_path: Path, arguments: dict[str, object], reason: str | None
) -> None:
    """Its default of nothing is no value to be grounded; whatever the model sends is."""
    (tmp_path / "tools.yaml").write_text(POLICY, "utf-8")
    session = Session(principal="p", roles=("u",))
    with Guard.load(tmp_path, tools=[src, look], store="memory://") as guard:
        guard.call(ToolCall("1", "src", {}), session, conversation="c")

        outcome = guard.call(ToolCall("2", "look", arguments), session, conversation="c")

    assert outcome.reason == reason
