"""A held call becomes a message in Slack; its link opens the approval's page, and deciding happens there.

    SLACK_URL=https://hooks.slack.com/services/… python examples/slack/slack.py

The message holds what the audit shows of the call: redacted copies, nothing of what will run. Nothing waits for Slack: the message is sent by a thread
of its own, tried again while Slack is down, and set aside where Slack refuses it (`relay` also takes files, webhooks and traces).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from guard import Guard, Session, ToolCall
from guard.sinks import NOTICES, Planned, Relay
from guard.sinks.notice import Links
from guard.sinks.post import Post
from guard.sinks.slack import Slack

FOLDER = Path(__file__).parent / "policies"
PAGE = Links(page="https://guard.example/approvals/{approval}")


def refund(order_id: str, amount: float, note: str) -> dict[str, object]:
    """Pay money back for an order."""
    return {"order_id": order_id, "refunded": amount, "note": note}


def main() -> None:
    """Propose one refund, and wait until somebody was told."""
    guard = Guard.load(FOLDER, tools=[refund], store="memory://")
    slack = Slack("support", Post(os.environ["SLACK_URL"]), PAGE)
    outbox = guard.store.outbox
    with Relay(outbox, [Planned(sink=slack, bounds=NOTICES)]):
        call = ToolCall("c1", "refund", '{"order_id": "A17", "amount": 120, "note": "card 4111 1111 1111 1111, kim@example.com"}')
        held = guard.call(call, Session(principal="agent-7", roles=("agent",)), conversation="c-1")
        print(f"{held.tool}: {held.status}")
        for _ in range(100):
            if outbox.standing("support").sent:
                break
            time.sleep(0.1)
    print(f"told in Slack: {outbox.standing('support').sent}")
    guard.close()


if __name__ == "__main__":
    main()
