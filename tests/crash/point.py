"""Processes for the crash points: `[FOLDER, URL, WIRE, TOOL, WHERE, VERB, HOW]` on a line each. The tests start them and read what they left.

Does VERB (`handle` a reply with one call of TOOL, `vote` for what is held, or `settle`) with a guard that dies at the seam WHERE (HOW is `die`)
or finds the disk full from there on (HOW is `full`). Answers with the exit
code, the statuses and reasons of the outcomes, and what went to stderr.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from wire_helpers import message, spelled

from crash import fleet, scene
from crash.cast import Stage
from crash.seams import Dice, Fatal, Full
from guard import Guard

GO = {"role": "user", "content": "go"}


def guard_on(folder: Path, url: str, dice: Dice | None = None) -> Guard:
    """A guard of this process on the store, that never dies unless the dice say so."""
    return Stage(folder).equip(url, dice or Dice(folder, "calm", kill=0.0, sleep=0.0), naive=False)


def chat_of(guard: Guard, wire: str) -> Any:
    """The conversation."""
    return guard.open(scene.EMPLOYEE, wire=wire, conversation="c")


def reply(wire: str, tool: str, *, call_id: str = "c1") -> dict[str, Any]:
    """One message with one call."""
    return message(wire, (call_id, tool, spelled(wire, {"n": 1})))


def main(folder: str, url: str, wire: str, tool: str, where: str, verb: str, how: str) -> str:
    """Do the verb, and die on the way; else what was found, as JSON."""
    logging.disable()
    dice = (Full if how == "full" else Fatal)(Path(folder), where)
    guard = guard_on(Path(folder), url, dice)
    chat = chat_of(guard, wire)
    found: list[Any] = []
    if verb == "vote":
        guard.approvals.approve(guard.approvals.list()[0], approver=scene.BOSS)
    elif verb == "settle":
        found = chat.settled()
    else:
        history = [chat.user("go")]
        found = [(outcome.status, outcome.reason) for outcome in chat.handle(reply(wire, tool), history=history).outcomes]
    dice.seam("before the messages are saved")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return json.dumps(found)


def serve() -> None:
    """Fork a process for each line of arguments, wait for it, and say how it ended: spares every one of them the imports."""
    with tempfile.TemporaryDirectory() as made:
        Stage(Path(made))  # what is imported with the first policy
    for line in sys.stdin:
        given = json.loads(line)
        folder = Path(given[0])
        _, status = os.waitpid(fleet.forked(folder, "point", lambda given=given: _whole(given)), 0)
        said = folder / "said"
        answer = [os.waitstatus_to_exitcode(status), said.read_text() if said.exists() else "", fleet.said(folder, "point")]
        print(json.dumps(answer), flush=True)


def _whole(given: list[str]) -> None:
    said = os.open(Path(given[0]) / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(said, main(*given).encode())


if __name__ == "__main__":
    serve()
