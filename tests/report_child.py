"""Processes for the tests of reported failures: real ones, that act on one folder, meet there, and may be killed with SIGKILL.

`python report_child.py` reads jobs from its input, a list of them on each line, and forks one process for each: so that a test does not pay for
importing everything anew. The processes of one line begin their steps at the same instant. A job is a dict: `folder` (with `policies/` and
`guard.db`), `wire`, `now` (what the clock says), `steps`, and which `tool` kills its process `before` or `after` its effect (`dies`), or
is at it for some `seconds`. An effect is a line in the folder's file `effects`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wire_helpers import message

from guard import ApprovalError, Guard, Session

USER = Session(principal="u1", roles=("staff",), attributes={"job_level": 3})
Hook = Callable[[str, str], None]


def effect(folder: Path, name: str, hook: Hook = lambda name, when: None, *, keyed: bool = False) -> Callable[..., Any]:
    """A tool whose effect can be counted whatever becomes of its process."""

    def act(key: str, arguments: dict[str, Any]) -> dict[str, Any]:
        hook(name, "before")
        with (folder / "effects").open("a") as file:
            file.write(json.dumps([name, arguments, key]) + "\n")
        hook(name, "after")
        return {"did": name}

    def plain(**arguments: Any) -> dict[str, Any]:
        return act("", arguments)

    def with_key(idempotency_key: str, **arguments: Any) -> dict[str, Any]:
        return act(idempotency_key, arguments)

    return with_key if keyed else plain


def effects(folder: Path) -> list[list[Any]]:
    """Every effect so far: tool, arguments, key."""
    path = folder / "effects"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _hook(job: dict[str, Any]) -> Hook:
    def hook(name: str, when: str) -> None:
        if [name, when] == job.get("dies"):
            os.kill(os.getpid(), signal.SIGKILL)
        if when == "after":
            time.sleep(job.get("seconds", 0))

    return hook


def _step(guard: Guard, chat: Any, step: list[Any]) -> Any:
    verb, *given = step
    if verb == "handle":
        calls, history = given
        turn = chat.handle(message(chat.wire.name, *calls), history=history)
        return [[one.call_id, one.status, one.content] for one in turn.outcomes]
    if verb in {"approve", "reject"}:
        approver = Session(principal=given[1], roles=("boss",))
        try:
            return getattr(guard.approvals, verb)(given[0], approver=approver).status
        except ApprovalError as error:
            return error.code
    return chat.resume(given[0]) if verb == "resume" else chat.settled()


def _work(job: dict[str, Any], meet: Callable[[], None]) -> list[Any]:
    folder, hook = Path(job["folder"]), _hook(job)
    tools = {name: effect(folder, name, hook, keyed=keyed) for name, keyed in job["tools"].items()}
    probes = {name: lambda key: None for name in job.get("probes", ())}
    guard = Guard.load(
        folder / "policies", tools=tools, store=f"sqlite:///{folder}/guard.db", probes=probes, clock=lambda: job["now"]
    )
    chat = guard.open(USER, wire=job["wire"], conversation="conv-1", held=job.get("held", "answer"))
    meet()
    found = [_step(guard, chat, step) for step in job["steps"]]
    guard.close()
    return found


def _child(job: dict[str, Any], number: int, ready: int, go: int) -> None:
    def meet() -> None:
        os.write(ready, b".")
        os.read(go, 1)

    try:
        found: Any = _work(job, meet)
    except BaseException:
        found = traceback.format_exc()
        os.write(ready, b".")  # nobody shall wait for this one
    Path(job["folder"], f"out-{number}").write_text(json.dumps(found))
    os._exit(0)


def _warm() -> None:
    """Import everything that a guard needs, so that the processes find it there."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tools.yaml").write_text(
            "tools: {look: {kind: read, allow: [staff], schema: {type: object, properties: {}}}}"
        )
        Guard.load(folder, tools={"look": lambda: None}, store=f"sqlite:///{folder}/guard.db").close()


def serve() -> None:
    """Fork the processes of each line, let them begin together, and answer when all have ended."""
    _warm()
    for line in sys.stdin:
        jobs = json.loads(line)
        (ready_out, ready), (go, go_in) = os.pipe(), os.pipe()
        children = []
        for number, job in enumerate(jobs):
            Path(job["folder"], f"out-{number}").unlink(missing_ok=True)
            child = os.fork()
            if child == 0:
                _child(job, number, ready, go)
            children.append(child)
        os.close(ready)
        met = b""
        while len(met) < len(jobs) and (more := os.read(ready_out, 9)):
            met += more
        os.write(go_in, b"." * len(jobs))
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        for one in (ready_out, go, go_in):
            os.close(one)
        print(json.dumps(codes), flush=True)


if __name__ == "__main__":
    serve()
