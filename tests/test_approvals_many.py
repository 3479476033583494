"""Two hundred held calls, decided in random order by eight clients: each runs as it was decided, none twice."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest
from votes_kit import BOSS, STORES, code, office
from wire_helpers import message

from guard.runner import Guard
from guard.stores import open_store


@pytest.mark.slow
@pytest.mark.parametrize("store", [one for one in STORES if one != "memory"])
def test_two_hundred_calls_and_eight_clients(tmp_path: Path, store: str) -> None:
    """Each client has a store and a guard of its own; every client tries every vote, and while they vote the calls are carried out."""
    with office(tmp_path, store) as desk:
        desk.policy((desk.folder / "tools.yaml").read_text() + "ceilings: {open_approvals: 500}\n")
        desk.restart()
        names: dict[str, int] = {}
        for turn in range(10):
            calls = [(f"c{turn}-{at}", "pay", f'{{"amount": {turn * 20 + at + 1}, "to": "Bob"}}') for at in range(20)]
            for one in desk.chat.handle(message("openai-chat", *calls)).outcomes:
                names[one.approval] = len(names) + 1
        chosen = random.Random(7)
        wanted = {name: chosen.choice(["approve", "reject"]) for name in names}
        lost: Counter[str] = Counter()
        barrier = threading.Barrier(8)

        def client(number: int) -> None:
            mine = open_store(desk.url, clock=desk.clock)
            guard = Guard(policy=desk.guard.policy, store=mine, tools={}, redactor=desk.guard.redactor)
            order = list(names)
            random.Random(number).shuffle(order)
            barrier.wait()
            for name in order:
                lost[code(getattr(guard.approvals, wanted[name]), name, approver=BOSS)] += 1
            guard.close()

        threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            desk.settle()
        for thread in threads:
            thread.join()
        desk.settle()
        ran = Counter(one["amount"] for one in desk.ran)
        assert set(ran.values()) == {1}
        assert set(ran) == {amount for name, amount in names.items() if wanted[name] == "approve"}
        assert lost == {"": 200, "already_decided": 1400}
        assert Counter(one.status for one in desk.approvals.list(status=None)) == {
            "consumed": len(ran),
            "rejected": 200 - len(ran),
        }
