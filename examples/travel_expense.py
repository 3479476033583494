"""The travel-expense assistant with the real `openai` package: a plain tool loop, and the few lines that guard it.

    OPENAI_API_KEY=… python examples/travel_expense.py
    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 MODEL=travel python examples/travel_expense.py   # any compatible server

The ticket needs a supervisor: `guard approvals list --policy policies` shows the waiting call, `guard approvals approve ID` answers it.
Run the example again afterwards, with the same CONVERSATION, and the outcome is told.
"""

import os
from decimal import Decimal
from pathlib import Path
from typing import Literal

from openai import OpenAI  # reads OPENAI_API_KEY and OPENAI_BASE_URL

from guard import Guard, Session

POLICIES = Path(__file__).parents[1] / "policies"
SYSTEM = "You help with travel expenses. Amounts come from the tools, never from your own arithmetic."
QUESTION = "Did my trip last week cost more than the standard allows? If so, file a supplement and give me the ticket number."


def query_expense(user_id: str, status: Literal["submitted", "approved", "paid"] | None = None) -> dict | None:
    """The newest expense report of the signed-in employee."""
    report = {"expense_id": "BX-20261015-0932", "amount": Decimal("3860.00"), "status": "submitted", "submit_date": "2026-10-15"}
    return report if user_id == "E10238" and status in (None, "submitted") else None


def query_travel_policy(job_level: str, city_tier: str) -> dict:
    """What a trip may cost for a job level and a tier of city, in yuan."""
    return {"job_level": job_level, "city_tier": city_tier, "total_limit": Decimal("3800.00")}


def calc_amount_over(actual_amount: Decimal, limit_amount: Decimal) -> dict:
    """How far an amount lies over a limit, in yuan."""
    over = max(actual_amount - limit_amount, Decimal("0.00"))
    return {"over_amount": over, "is_over": over > 0}


def create_expense_supplement(expense_id: str, over_amount: Decimal, reason: str) -> dict:
    """File a supplement for a report that is over its limit; gives the ticket number."""
    print(f"filing {over_amount} yuan for {expense_id}: {reason}")
    return {"supplement_id": "BC-20261020-0417", "status": "submitted"}


def main() -> None:
    tools = [query_expense, query_travel_policy, calc_amount_over, create_expense_supplement]
    guard = Guard.load(POLICIES, tools=tools)
    session = Session(
        principal="E10238",
        tenant="hengxin",
        roles=("employee",),
        attributes={"job_level": "P6", "city_tier": "2"},
    )
    chat = guard.open(session, wire="openai-chat", conversation=os.environ.get("CONVERSATION", "conv-1"))
    messages = [{"role": "system", "content": SYSTEM}]
    told = chat.settled()  # outcomes of calls that somebody decided about since the last run
    messages += told or [chat.user(QUESTION)]
    with OpenAI() as client:
        while True:
            reply = client.chat.completions.create(
                model=os.environ.get("MODEL", "gpt-4o-mini"), messages=messages, tools=chat.tools
            )
            turn = chat.handle(reply, history=messages)
            messages += turn.append  # the assistant message, then one result for each call
            for outcome in turn.outcomes:
                print(f"{outcome.tool}: {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else ""))
            if turn.stop:
                break
    print(turn.append[0]["content"] if turn.stop == "done" else f"stopped: {turn.stop}")
    guard.close()


if __name__ == "__main__":
    main()
