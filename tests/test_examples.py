"""Every example runs as it stands, against a local server that speaks the provider's protocol."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from http_service_kit import Service, says
from provider import Provider

from guard import ApprovalError, Session, ToolCall

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
CUSTOMER = Session(principal="c_123", roles=("customer",))
SUPPORT = Session(principal="s_9", roles=("support",))


def _run(name: str, **env: str) -> subprocess.CompletedProcess[str]:
    full = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none", **env}
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    return subprocess.run(command, env=full, capture_output=True, text=True, check=False, timeout=120)


def _shop() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shop", EXAMPLES / "shop" / "shop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shop"] = module
    spec.loader.exec_module(module)
    return module


PLAN = [
    [("queryExpense", {"status": "submitted"}), ("queryTravelPolicy", {})],
    [("calcAmountOver", {"actual_amount": 3860.00, "limit_amount": 3800.00})],
    [("createExpenseSupplement", {"expense_id": "BX-20261015-0932", "over_amount": 60.00, "reason": "hotel"})],
]


def _turns(wire: str) -> list[dict[str, Any]]:
    import json

    turns: list[dict[str, Any]] = []
    for step, calls in enumerate(PLAN):
        if wire == "anthropic":
            blocks = [{"type": "tool_use", "id": f"t{step}_{i}", "name": n, "input": a} for i, (n, a) in enumerate(calls)]
            turns.append({"role": "assistant", "content": blocks})
        else:
            listed = [
                {"id": f"c{step}_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
                for i, (n, a) in enumerate(calls)
            ]
            turns.append({"role": "assistant", "content": None, "tool_calls": listed})
    last = "The supplement waits for a supervisor."
    content = [{"type": "text", "text": last}] if wire == "anthropic" else last
    return [*turns, {"role": "assistant", "content": content}]


@pytest.mark.parametrize(("wire", "name"), [("openai-chat", "travel_expense.py"), ("anthropic", "anthropic_loop.py")])
def test_the_travel_loops_end_with_a_held_ticket(wire: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both loops reach the model's last word with the ticket held, and the provider rejected nothing on the way."""
    monkeypatch.chdir(tmp_path)
    with Provider(_turns(wire)) as provider:
        done = _run(name, MODEL="scripted", OPENAI_BASE_URL=provider.url + "/v1", ANTHROPIC_BASE_URL=provider.url)

    assert provider.rejections == []
    assert done.returncode == 0, done.stderr
    assert "createExpenseSupplement: held (held_for_approval)" in done.stdout
    assert "waits for a supervisor" in done.stdout


def test_a_held_call_becomes_a_message_in_slack() -> None:
    """One message, with a link that opens the page and a summary without the card and the address."""
    with Service(says(200, "ok", "text/plain")) as service:
        done = _run("slack/slack.py", SLACK_URL=f"http://127.0.0.1:{service.port}/services/T0/B0/secret")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["refund: held", "told in Slack: 1"]
    [message] = service.asked
    assert b"|Open the approval>" in message.body
    assert b"order_id: A17" in message.body
    assert not any(secret in message.body for secret in (b"4111", b"kim@"))


def test_the_shop_plays_its_afternoon() -> None:
    """The script shows each decision that its comments announce."""
    done = _run("shop/shop.py")

    assert done.returncode == 0, done.stderr
    assert [line.rpartition(": ")[2] for line in done.stdout.splitlines()] == [
        "refused, not_owner",
        "refused, not_grounded",
        "done",
        "refused, not_grounded",
        "held, held_for_approval",
        "refused, limit_reached",
        "done",
    ]


def test_a_customer_cancels_only_after_looking_and_by_their_own_yes() -> None:
    """Cancelling needs the order's status from an earlier turn and the customer's own approval outside the conversation."""
    shop, guard = _shop().open_shop()
    cancel = ToolCall("1", "cancel_order", {"order_id": "A17"})

    early = guard.call(cancel, CUSTOMER, conversation="c")
    looked = guard.call(ToolCall("2", "order_status", {"order_id": "A17"}), CUSTOMER, conversation="c")
    held = guard.call(cancel, CUSTOMER, conversation="c")
    with pytest.raises(ApprovalError):
        guard.approvals.approve(held.approval, approver=SUPPORT)
    guard.approvals.approve(held.approval, approver=CUSTOMER)
    done = guard.call(cancel, CUSTOMER, conversation="c")
    again = guard.call(cancel, CUSTOMER, conversation="c")

    assert (early.reason, looked.status, held.status) == ("prerequisite_missing", "done", "held")
    assert (done.status, again.status, again.replayed) == ("done", "done", True)
    assert shop.orders["A17"].status == "cancelled"


def test_a_delivered_order_cannot_be_cancelled() -> None:
    """The status that counts is the one that the look-up returned."""
    _, guard = _shop().open_shop()
    guard.call(ToolCall("1", "order_status", {"order_id": "A18"}), CUSTOMER, conversation="c")

    outcome = guard.call(ToolCall("2", "cancel_order", {"order_id": "A18"}), CUSTOMER, conversation="c")

    assert outcome.reason == "prerequisite_missing"


@pytest.mark.parametrize(("amount", "who"), [(50, CUSTOMER), (51, SUPPORT)], ids=["small-by-self", "large-by-support"])
def test_who_decides_about_a_refund_depends_on_the_amount(amount: int, who: Session) -> None:
    """Up to 50 the customer says yes, above it somebody of support; the other one's yes does not count."""
    shop, guard = _shop().open_shop()
    guard.call(ToolCall("1", "order_status", {"order_id": "A18"}), CUSTOMER, conversation="c")
    refund = ToolCall("2", "refund", {"order_id": "A18", "amount": amount})
    held = guard.call(refund, CUSTOMER, conversation="c")
    other = SUPPORT if who is CUSTOMER else CUSTOMER

    with pytest.raises(ApprovalError):
        guard.approvals.approve(held.approval, approver=other)
    guard.approvals.approve(held.approval, approver=who)
    done = guard.call(refund, CUSTOMER, conversation="c")

    assert done.status == "done"
    assert shop.refunds == [("A18", amount)]


def test_refunds_of_one_order_never_sum_up_to_more_than_its_total() -> None:
    """The sum counts over all conversations of the tenant; another order has a budget of its own."""
    shop, guard = _shop().open_shop()
    for conversation in ("one", "two"):
        guard.call(ToolCall("1", "order_status", {"order_id": "A18"}), CUSTOMER, conversation=conversation)
        outcome = guard.call(ToolCall("2", "refund", {"order_id": "A18", "amount": 40}), CUSTOMER, conversation=conversation)
        if outcome.status == "held":
            guard.approvals.approve(outcome.approval, approver=CUSTOMER)
            outcome = guard.call(ToolCall("2", "refund", {"order_id": "A18", "amount": 40}), CUSTOMER, conversation=conversation)

    assert outcome.reason == "limit_reached"
    assert len(shop.refunds) == 1
