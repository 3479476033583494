"""A loop on the Anthropic Messages API, guarded: the travel-expense assistant.

    ANTHROPIC_API_KEY=… python examples/anthropic_loop.py

`ANTHROPIC_BASE_URL` points it at another server. The loop is the one that everybody writes; three lines of it are the guard's.
"""

from __future__ import annotations

import os

import anthropic
from travel_expense import POLICIES, calc_amount_over, create_expense_supplement, query_expense, query_travel_policy

from guard import Guard, Session

MODEL = os.environ.get("MODEL", "claude-sonnet-5")
TOOLS = [query_expense, query_travel_policy, calc_amount_over, create_expense_supplement]
QUESTION = "Was my travel expense of last week over the standard? If so, file a supplement and tell me the ticket number."


def main() -> str:
    """Run the loop until the model answers, a call is held or a limit is reached; give the last text."""
    guard = Guard.load(POLICIES, tools=TOOLS, store="memory://")
    employee = Session(
        principal="E10238", tenant="hengxin", roles=("employee",), attributes={"job_level": "P6", "city_tier": "2"}
    )
    chat = guard.open(employee, wire="anthropic", conversation="example")
    messages = [chat.user(QUESTION)]
    with anthropic.Anthropic() as client:
        while True:
            reply = client.messages.create(model=MODEL, max_tokens=1024, messages=messages, tools=chat.tools)
            turn = chat.handle(reply, history=messages)
            messages += turn.append
            for outcome in turn.outcomes:
                print(f"{outcome.tool}: {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else ""))
            if turn.stop:
                break
    answer = "".join(block.text for block in reply.content if block.type == "text")
    print(answer)
    return answer


if __name__ == "__main__":
    main()
