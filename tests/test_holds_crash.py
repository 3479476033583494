"""The crash points around the one transaction that writes what was decided of an approved call and takes it: a process killed by SIGKILL there, then a new one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from crash import places, scene
from crash.point import chat_of
from crash_points_kit import Point, kinds

from guard import Guard

pytestmark = pytest.mark.slow
stores = pytest.mark.parametrize("store", places.NAMES)


def approved(point: Point) -> None:
    """The call is held by a process that is gone, and a person has said yes."""
    point.die("before the messages are saved")
    with point.after() as guard:
        [asked] = guard.approvals.list()
        guard.approvals.approve(asked, approver=scene.BOSS)


def told(point: Point, guard: Guard) -> list[str]:
    """How the call ended, as the model is told."""
    said = str([message["content"] for message in chat_of(guard, point.wire).settled()])
    return re.findall(rf"{point.tool} \(call c1, approval ap_[0-9a-f]+\): (\w+)", said)


@stores
@pytest.mark.parametrize("where", ["decided, not recorded", "before the commit of claim"])
def test_c5_killed_before_it_was_taken(tmp_path: Path, store: str, where: str) -> None:
    """Nothing begins and the yes is not spent: whoever comes next runs it once. What was decided stands only with the claim, where they are one."""
    point = Point(tmp_path, store, "openai-chat", "once_asked")
    approved(point)
    point.die(where, "settle")
    with point.after() as guard:
        apart = not getattr(guard.store, "at_once", False)
        decided = 2 if apart and where == "before the commit of claim" else 1
        assert (kinds(guard).count("call.decided"), kinds(guard).count("call.begin")) == (decided, 0)
        assert (point.status(guard), guard.approvals.list(status=None)[0].status) == ("held", "approved")
        assert told(point, guard) == ["done"]
        assert (point.effects(), kinds(guard).count("call.begin"), point.status(guard)) == (1, 1, "done")


@stores
@pytest.mark.parametrize("tool", ["once_asked", "same_asked"])
@pytest.mark.parametrize("where", ["claimed", "in the tool, after the effect"])
def test_c6_killed_behind_the_claim(tmp_path: Path, store: str, tool: str, where: str) -> None:
    """It was taken and its yes spent, with the decision on record before: its class decides what becomes of it, and it acts once at most."""
    point = Point(tmp_path, store, "openai-chat", tool)
    approved(point)
    point.die(where, "settle")
    with point.after() as guard:
        found = [kind for kind in kinds(guard) if kind in ("call.decided", "call.begin")]
        assert found == ["call.decided", "call.decided", "call.begin"]
        assert (point.status(guard), guard.approvals.list(status=None)[0].status) == ("started", "consumed")
        once = tool == "once_asked"
        assert told(point, guard) == ["unknown" if once else "done"]
        assert (point.status(guard), point.effects()) == (("unknown", int(where != "claimed")) if once else ("done", 1))
        assert kinds(guard).count("call.begin") == (1 if once else 2)
