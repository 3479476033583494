"""What stands behind the values of a call: an approver read it, so a yes is for that much and not for less."""

from __future__ import annotations

from pathlib import Path

import pytest
from votes_kit import ANN, BOSS
from wire_helpers import message

from guard import Guard

pytestmark = pytest.mark.filterwarnings("ignore::guard.PolicyWarning")

POLICY = """
tools:
  look: {kind: read, allow: [staff]}
  pay: {kind: action, allow: [staff], ground: {GROUND}, approve: {by: [boss]}}
limits: {run: {calls: 100}}
"""


@pytest.mark.parametrize(
    ("ground", "ran"),
    [
        ("amount: {returned_by: look.owed}, to: {written_by: user}", [100]),
        ("amount: {at_most: look.owed}", []),
        ("to: {written_by: user}", []),
    ],
    ids=["more-behind-it", "a-bound-alone", "nothing-behind-it"],
)
def test_what_stands_behind_a_value_is_less_by_now(tmp_path: Path, ground: str, ran: list[int]) -> None:
    """The approver read that the amount is what a look-up returned: where today's policy no longer sees to that, somebody is asked anew."""
    done: list[int] = []

    def look() -> dict[str, int]:
        """What is owed."""
        return {"owed": 100}

    def pay(amount: int, to: str) -> None:
        """Pay."""
        done.append(amount)

    for text, act in (("amount: {returned_by: look.owed}", _asked), (ground, _settled)):
        (tmp_path / "tools.yaml").write_text(POLICY.replace("GROUND", text))
        with Guard.load(tmp_path, tools=[look, pay], store=f"sqlite:///{tmp_path}/guard.db") as guard:
            told = act(guard)
    assert done == ran
    assert ("approval_invalid" in told) is not bool(ran)


def _asked(guard: Guard) -> str:
    chat = guard.open(ANN, wire="openai-chat", conversation="c")
    chat.user("Please pay Bob.")
    chat.handle(message("openai-chat", ("c1", "look", "{}")))
    turn = chat.handle(message("openai-chat", ("c2", "pay", '{"amount": 100, "to": "Bob"}')))
    assert turn.pending[0].origins["amount"] == "result"
    return str(guard.approvals.approve(turn.pending[0].id, approver=BOSS))


def _settled(guard: Guard) -> str:
    chat, [asked] = guard.open(ANN, wire="openai-chat", conversation="c"), guard.approvals.list(status=None)
    told = str(chat.settled())
    if guard.approvals.show(asked).status == "superseded":
        turn = chat.handle(message("openai-chat", ("c3", "pay", '{"amount": 100, "to": "Bob"}')))
        assert [one.id != asked.id for one in turn.pending] == [True]
    return told
