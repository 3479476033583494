"""A guard over layered folders: reload and watch of each, whose roles and words count, and where evidence comes from."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest
from layers_kit import Files, folders, guard, pay, verdict, write
from reload_kit import until

from guard import AsyncGuard, Guard, GuardError, PolicyError, PolicyWarning, Session, ToolCall
from guard.errors import ApprovalError

TOP = """tools:
  look:
    kind: read
    allow: [staff]
    schema: {type: object, properties: {order_id: {type: string}, amount: {type: number}}, required: [order_id]}
  pay:
    kind: action
    allow: [staff]
    schema: {type: object, properties: {order_id: {type: string}, amount: {type: number}}, required: [order_id, amount]}
    approve: never
limits: {run: {calls: 1000}}
"""
LEADS = TOP.replace("approve: never", "approve: {by: [lead]}")


def look_up(order_id: str, amount: float = 0) -> dict[str, Any]:
    return {"order_id": order_id, "amount": amount, "stock": 3}


def pay_back(order_id: str, amount: float) -> dict[str, Any]:
    return {"paid": amount}


TOOLS = {"look": look_up, "pay": pay_back}
PAY = {"order_id": "A1", "amount": 5}


def _layers(tmp_path: Path, *texts: Files) -> list[Path]:
    return folders(tmp_path, *texts)


CLOSING = {
    "the widest": (
        0,
        TOP.replace(
            "    allow: [staff]\n    schema: {type: object, properties: {order_id: {type: string}, amount: {type: number}}, required: [order_id, amount]}",
            "    allow: [boss]",
        ),
    ),
    "the one between": (1, pay("allow: [boss]")),
    "the narrowest": (2, pay("refuse: {when: {amount: {minimum: 1}}}")),
}


@pytest.mark.parametrize("where", CLOSING)
def test_a_reload_takes_a_change_of_any_folder(tmp_path: Path, where: str) -> None:
    """Whichever folder changes, `reload` puts all of them into force at once, under another version."""
    places = _layers(tmp_path, TOP, "limits: {run: {calls: 900}}\n", "limits: {run: {calls: 800}}\n")
    with guard(places, TOOLS) as one:
        before = one.policy_state.version
        assert verdict(one, "pay", PAY) == "allow"
        index, text = CLOSING[where]
        write(places[index], text)

        assert one.reload().changed
        assert verdict(one, "pay", {**PAY, "order_id": "A2"}) == "refuse"
        assert one.policy_state.version != before


def test_a_reload_that_would_loosen_leaves_the_old_policy_in_force(tmp_path: Path) -> None:
    """The problem names both places, and calls are judged as before."""
    places = _layers(tmp_path, LEADS, pay("timeout: 5s"))
    with guard(places, TOOLS) as one:
        version = one.policy_state.version
        write(places[1], pay("approve: never"))

        with pytest.raises(PolicyError, match=r"team/tools\.yaml:3: pay\.approve: .*org/tools\.yaml:10"):
            one.reload()
        assert one.policy_state.version == version
        assert "org/tools.yaml:10" in str(one.policy_state.failure)
        assert verdict(one, "pay", PAY) == "hold"


@pytest.mark.parametrize("where", [0, 1])
def test_a_watched_folder_of_several_comes_into_force_by_itself(tmp_path: Path, where: int) -> None:
    """The thread looks at all of them."""
    places = _layers(tmp_path, TOP, pay("timeout: 5s"))
    with guard(places, TOOLS, watch=0.02) as one:
        (places[where] / "rules.csv").write_text("p, role:staff, *, pay, call, deny\n")

        until(lambda: one.policy_state.loads == 2)
        assert verdict(one, "pay", PAY) == "refuse"


def test_an_async_guard_takes_layers_too(tmp_path: Path) -> None:
    """`AsyncGuard.load([...])` holds what each folder says."""
    places = _layers(tmp_path, TOP, pay("require: {amount: {maximum: 3}}"))

    async def scenario() -> tuple[str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            one = await AsyncGuard.load(places, tools=TOOLS, store="memory://")
        who = Session(principal="E1", roles=("staff",))
        asked = [await one.call(ToolCall("1", "pay", {"order_id": "A", "amount": n}), who, conversation=str(n)) for n in (2, 5)]
        one.close()
        return asked[0].status, asked[1].status

    assert asyncio.run(scenario()) == ("done", "refused")


def test_no_folder_is_misuse(tmp_path: Path) -> None:
    """An empty list names nothing, and what is no path is no folder."""
    with pytest.raises(GuardError, match="no policy folder"):
        Guard.load([], tools=TOOLS, store="memory://")
    with pytest.raises(TypeError):
        Guard.load([tmp_path, 3], tools=TOOLS, store="memory://")  # type: ignore[list-item]


def test_only_whoever_every_layer_names_may_approve(tmp_path: Path) -> None:
    """A role that the narrower layer gives is one of its own: the wider layer's lead is asked, not the narrower one's."""
    text = {"tools.yaml": pay("approve: {by: [lead]}"), "rules.csv": "g, role:clerk, desk_lead, *\n"}
    places = _layers(tmp_path, LEADS, text)
    with guard(places, TOOLS) as one:
        assert verdict(one, "pay", PAY) == "hold"
        (held,) = one.approvals.list(status="pending")

        with pytest.raises(ApprovalError):
            one.approvals.approve(held.id, approver=Session(principal="E2", roles=("clerk",)))
        assert one.approvals.approve(held.id, approver=Session(principal="E2", roles=("lead",))).status == "approved"


def test_an_approval_under_the_wider_folder_alone_does_not_outlive_a_tighter_one(tmp_path: Path) -> None:
    """A question that two roles could answer is asked anew once a narrower folder leaves one of them."""
    places = _layers(tmp_path, LEADS.replace("[lead]", "[lead, boss]"), "limits: {run: {calls: 5}}\n")
    with guard(places, TOOLS) as one:
        assert verdict(one, "pay", PAY) == "hold"
        (held,) = one.approvals.list(status="pending")
        one.approvals.approve(held.id, approver=Session(principal="E2", roles=("boss",)))
        write(places[1], pay("approve: {by: [lead]}"))
        one.reload()

        assert verdict(one, "pay", PAY) == "refuse"


ECHO = TOP.replace("    approve: never", "    approve: never\n    ground: {amount: {returned_by: look.amount}}")
VOUCHING = {
    "a bound field": "tools: {look: {bind: {amount: session.amount}}}\n",
    "a grounded field": "tools: {look: {ground: {amount: {written_by: user}}}}\n",
}


@pytest.mark.parametrize("row", VOUCHING)
def test_what_a_narrower_layer_vouches_for_is_no_evidence_for_a_wider_one(tmp_path: Path, row: str) -> None:
    """A result that only repeats an argument stays no evidence when a narrower folder binds or grounds that argument."""
    told: list[str] = []
    for name, layers in (("alone", [ECHO]), ("both", [ECHO, VOUCHING[row]])):
        with guard(_layers(tmp_path / name, *layers), TOOLS) as one:
            who = Session(principal="E1", roles=("staff",), attributes={"amount": 5})
            one.open(who, wire="openai-chat", conversation="c").user("Pay 5 for A1")
            first = one.call(ToolCall("1", "look", PAY), who, conversation="c")
            told += [first.status, one.call(ToolCall("2", "pay", PAY), who, conversation="c").status]

    assert told == ["done", "refused", "done", "refused"]


def test_a_refusal_names_the_layer_that_does_not_allow(tmp_path: Path) -> None:
    """Where nobody denies and not every layer allows, the rules of the verdict say which does not."""
    with guard(_layers(tmp_path, TOP, pay("allow: [cashier]")), TOOLS) as one:
        assert verdict(one, "pay", PAY) == "refuse"
        judged = one.policy.authorizer.decide(Session(principal="E9", roles=("staff",)), "pay", "call")

    assert judged.rules == ("layer team: no rule allows it",)


CASES = """sessions:
  ann: {principal: E1, roles: [staff]}
cases:
  - {name: paying, session: ann, call: {pay: {order_id: A1, amount: 5}}, returns: {}, expect: EXPECTED}
"""


@pytest.mark.parametrize(("expected", "good"), [("allow", True), ("hold", True), ("refuse", False)])
def test_cases_of_a_wider_folder_may_only_be_decided_more_strictly(tmp_path: Path, expected: str, *, good: bool) -> None:
    """They are played at load: a narrower folder may hold what they say is allowed; what would be looser stops the load."""
    wide = {"tools.yaml": LEADS, "cases.yaml": CASES.replace("EXPECTED", expected)}
    places = _layers(tmp_path, wide, pay("timeout: 5s"))
    if good:
        guard(places, TOOLS).close()
        return
    with pytest.raises(PolicyError, match=r"org/cases\.yaml:4: the case 'paying' of a wider layer: hold where it says refuse"):
        guard(places, TOOLS)


def test_cases_of_the_narrowest_folder_are_played_as_written(tmp_path: Path) -> None:
    """They say what all folders together decide."""
    cases = {"cases.yaml": CASES.replace("EXPECTED", "allow")}
    guard(_layers(tmp_path / "a", TOP, {"tools.yaml": pay("timeout: 5s"), **cases}), TOOLS).close()

    with pytest.raises(PolicyError, match=r"team/cases\.yaml"):
        guard(_layers(tmp_path / "b", LEADS, {"tools.yaml": pay("timeout: 5s"), **cases}), TOOLS)
