"""Limits over windows, as a policy says them and a model meets them: whose calls count together, what counts, what the refusal tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from reports import U1, U2, Desk, codes, error, outcome, start, states

from guard import PolicyError
from guard.policy import load_policy

REFUND = """
    tools:
      refund:
        kind: action
        allow: [staff]
        approve: {approve}
        limits:
          {limits}
"""


def refund(amount: float, account: str = "a", order: str = "o") -> str:
    return "paid"


def desk_of(tmp_path: Path, limits: str, approve: str = "never", **given: Any) -> Desk:
    text = dedent(REFUND).format(limits=limits, approve=approve)
    return start(tmp_path, "openai-chat", text, {"refund": refund}, **given)


def pay(desk: Desk, name: str, amount: float = 1, chat: Any = None, **more: str) -> str:
    return states(desk.propose((name, "refund", {"amount": amount, **more}), chat=chat))[0]


def other(desk: Desk, session: Any = U1, conversation: str = "conv-2") -> Any:
    chat = desk.guard.open(session, wire=desk.wire, conversation=conversation)
    chat.user("Please help.")
    return chat


@pytest.mark.parametrize(
    ("of", "same_person", "other_person", "other_tenant", "same_account"),
    [
        ("", "refused", "done", "done", "refused"),
        (", of: principal", "refused", "done", "done", "refused"),
        (", of: conversation", "done", "done", "done", "refused"),
        (", of: tenant", "refused", "refused", "done", "refused"),
        (", of: account", "done", "done", "done", "refused"),
        (", of: [principal, account]", "done", "done", "done", "refused"),
    ],
)
def test_whose_calls_count_together(
    tmp_path: Path, of: str, same_person: str, other_person: str, other_tenant: str, same_account: str
) -> None:
    """A person's (the default), a conversation's, a tenant's, or those with the same argument; never those of another tenant."""
    desk = desk_of(tmp_path, f"- {{calls: 1, per: 24h{of}}}")
    assert pay(desk, "c1", account="x") == "done"
    assert pay(desk, "c2", 2, chat=other(desk), account="y") == same_person
    assert pay(desk, "c3", 3, chat=other(desk, U2, "conv-3"), account="z") == other_person
    assert pay(desk, "c4", 4, chat=other(desk, replace(U1, tenant="other")), account="x") == other_tenant
    assert pay(desk, "c5", 5, account="x") == same_account
    desk.closed()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_window_survives_conversations_and_restarts(tmp_path: Path, store: str) -> None:
    """The sum is what the person drew everywhere; on a file also before the process began."""
    desk = desk_of(tmp_path, "- {sum: amount, at_most: 500, per: 24h}", store=store)
    assert [pay(desk, "c1", 300), pay(desk, "c2", 201), pay(desk, "c3", 200)] == ["done", "refused", "done"]
    if store == "sqlite":
        desk.restart()
    assert pay(desk, "c4", 0.01, chat=other(desk)) == "refused"
    desk.clock.now += 86_400
    assert pay(desk, "c5", 500, chat=other(desk)) == "done"
    desk.closed()


def test_the_refusal_says_which_limit_and_when(tmp_path: Path) -> None:
    """A stable code; the time only of what is the person's own."""
    desk = desk_of(tmp_path, "- {calls: 1, per: 24h}")
    pay(desk, "c1")
    turn = desk.propose(("c2", "refund", {"amount": 2}))
    told = error(outcome(turn, "c2"))
    assert codes(turn) == ["limit_reached"]
    assert "calls of this tool within 1 day" in told["message"]
    assert told["not_before"] == "2027-01-16T08:00:00Z"
    assert told["not_before"] in told["message"]
    assert desk.decision("c2")["decision"]["rules"] == ["limit refund.calls per 1d"]
    desk.closed()


def test_a_window_of_others_does_not_say_when(tmp_path: Path) -> None:
    """When a tenant's budget is free again would tell when somebody else used it."""
    desk = desk_of(tmp_path, "- {sum: amount, at_most: 5, per: 1h, of: tenant}")
    pay(desk, "c1", 5, chat=other(desk, U2))
    told = error(outcome(desk.propose(("c2", "refund", {"amount": 2})), "c2"))
    assert "not_before" not in told
    assert "from" not in told["message"].partition("limit on the sum")[2]
    desk.closed()


def test_held_calls_count_and_what_was_declined_does_not(tmp_path: Path) -> None:
    """A model cannot have three questions open where two may run; a no gives the place back, a yes and a replay draw nothing more."""
    desk = desk_of(tmp_path, "- {calls: 2, per: 1h}", "{by: [boss], expires: 5d}")
    turns = [desk.propose((f"c{n}", "refund", {"amount": n})) for n in (1, 2, 3)]
    assert [states(turn) for turn in turns] == [["held"], ["held"], ["refused"]]
    desk.clock.now += 86_400  # the window is long over
    assert pay(desk, "c4", 4) == "refused"
    desk.reject(turns[1], "c2")
    desk.approve(turns[0], "c1")
    desk.settle()
    assert desk.times("refund") == 1
    assert pay(desk, "c5", 1) == "done"  # the same call again is a replay
    assert desk.times("refund") == 1
    assert [pay(desk, "c6", 6), pay(desk, "c7", 7)] == ["held", "refused"]
    desk.closed()


def test_children_share_the_window(tmp_path: Path) -> None:
    """A sub-agent cannot double what its parent may do."""
    desk = desk_of(tmp_path, "- {calls: 1, per: 24h}")
    child = desk.chat.child(roles=("staff",), tools=("refund",))
    assert pay(desk, "c1", 1, chat=child) == "done"
    assert pay(desk, "c2", 2) == "refused"
    desk.closed()


def test_windows_over_all_tools(tmp_path: Path) -> None:
    """`limits.windows` counts calls of every tool together."""
    policy = """
        tools: {a: {kind: read, allow: [staff]}, b: {kind: read, allow: [staff]}}
        limits: {windows: [{calls: 2, per: 1h}, {calls: 3, per: 1h, of: tenant}]}
    """
    desk = start(tmp_path, "anthropic", policy, {"a": lambda: "A", "b": lambda: "B"})
    assert states(desk.propose(("c1", "a", {}), ("c2", "b", {}), ("c3", "a", {}))) == ["done", "done", "refused"]
    chat = other(desk, U2)
    assert states(desk.propose(("d1", "a", {}), ("d2", "b", {}), chat=chat)) == ["done", "refused"]
    desk.closed()


def test_equal_calls_over_a_window(tmp_path: Path) -> None:
    """The same arguments once an hour, by this person, in whatever conversation."""
    desk = desk_of(tmp_path, "- {equal: 1, per: 1h}")
    assert [pay(desk, "c1", 1), pay(desk, "c2", 2)] == ["done", "done"]
    assert [pay(desk, "c3", 1.0, chat=other(desk)), pay(desk, "c4", 3, chat=other(desk))] == ["refused", "done"]
    desk.closed()


@pytest.mark.parametrize("amounts", [["1e3999", "1e-3999"], ["-1"], ["1e300"]])
def test_amounts_that_cannot_be_summed_refuse(tmp_path: Path, amounts: list[str]) -> None:
    """Too far apart to be exact, below zero, or simply too much: one refusal, and the siblings go on."""
    policy = """
        tools:
          pay:
            kind: action
            allow: [staff]
            approve: never
            schema: {type: object, properties: {amounts: {type: array, items: {type: number}}}}
            limits: {sum: 'amounts[*]', at_most: 9, per: 1h}
    """

    def pay_all(**_: Any) -> str:
        return "paid"

    desk = start(tmp_path, "openai-chat", policy, {"pay": pay_all})
    turn = desk.propose(("c1", "pay", f'{{"amounts": [{",".join(amounts)}]}}'), ("c2", "pay", '{"amounts": [9]}'))
    assert states(turn) == ["refused", "done"]
    assert codes(turn)[0] in {"limit_unknown", "limit_reached"}
    desk.closed()


MISTAKES = {
    "no unit": ("{calls: 3, per: 24}", "per: 24 has no unit", "write per: 24h or per: 24s"),
    "zero": ("{calls: 3, per: 0s}", "not a duration above 0", "24h"),
    "too long": ("{calls: 3, per: 1000000d}", "per: 1000000d is not between 1s and 366d", "write for example per: 24h"),
    "too short": ("{calls: 3, per: 10ms}", "per: 10ms is not between 1s and 366d", "write for example"),
    "words": ("{calls: 3, per: 24 hours}", "neither a duration nor an argument", "write for example per: 24h"),
    "mixture": ("{sum: amount, at_most: 5, per: [24h, account]}", "a duration stands alone", "write per: 24h, of: account"),
    "of without a window": (
        "{sum: amount, at_most: 5, of: account}",
        "of without a window",
        "per: 24h beside it, or per: account",
    ),
    "both": ("{calls: 3, per: 1h, of: [tenant, principal]}", "at once", "write two limits"),
    "unknown argument": ("{calls: 3, per: 1h, of: acount}", "has no argument acount", ""),
    "nothing counted": ("{per: 1h}", "per without calls, equal or sum", "write {calls: 3, per: 24h}"),
    "arguments without a sum": ("{calls: 3, per: account}", "per without sum", "per: 24h"),
    "twice": ("[{calls: 3, per: 1h}, {calls: 4, per: 60m}]", "written twice", "keep the tighter one"),
    "sum without a limit": ("{sum: amount, per: 1h}", "sum without at_most", "add at_most"),
}


@pytest.mark.parametrize(("limits", "message", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_with_a_cure(tmp_path: Path, limits: str, message: str, cure: str) -> None:
    """A limit that would not do what it seems to say does not load."""
    schema = "{type: object, properties: {amount: {type: number}, account: {type: string}}}"
    text = (
        f"tools: {{refund: {{kind: read, allow: [staff], schema: {schema}, limits: {limits}}}}}\nlimits: {{run: {{calls: 9}}}}\n"
    )
    (tmp_path / "tools.yaml").write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policy(tmp_path)
    assert [message in found.message for found in caught.value.problems] == [True], caught.value.problems
    assert cure in caught.value.problems[0].cure
