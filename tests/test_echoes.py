"""What the policy shows to nobody is in no answer of its tool either: not for the model, not in a record, not in a log, however it is written there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from reports import BOSS, start
from test_outlets import heard

from guard import ToolError

POLICY = """
    tools:
      unlock:
        kind: action
        allow: [staff]
        approve: {by: [boss], secret: [token, pin]}
"""
TOKEN, PIN = "open sesame, ÿ & Zöe", "4711"


def _raised(error: Exception) -> Any:
    raise error


WAYS: dict[str, Callable[[str], Any]] = {
    "text": lambda given: f"unlocked with {given}",
    "fields": lambda given: {"used": given, "deep": [{"of": [f"<{given}>"]}]},
    "key": lambda given: {given: True},
    "json in a text": lambda given: json.dumps({"used": given}),
    "base64": lambda given: {"blob": base64.b64encode(f"a{given}b".encode()).decode()},
    "safe base64": lambda given: base64.urlsafe_b64encode(given.encode()).decode(),
    "hexadecimal": lambda given: given.encode().hex(),
    "url": lambda given: f"https://example.com/?token={quote(given)}",
    "declared error": lambda given: _raised(ToolError(f"{given} does not fit")),
    "error": lambda given: _raised(ValueError(f"{given} does not fit")),
    "blocks": lambda given: {"content": [{"type": "text", "text": f"no {given}"}], "isError": True},
}


def spellings(value: str) -> set[str]:
    """A value as it may stand somewhere."""
    raw = value.encode()
    coded = {base64.b64encode(b"a" * shift + raw).decode()[4 if shift else 0 : -4] for shift in range(3)}
    return {value, json.dumps(value)[1:-1], quote(value), raw.hex(), *coded}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_argument_does_not_come_back(tmp_path: Path, way: str) -> None:
    """Neither the model nor a record nor the log has it; that the call ended, and how, is said."""
    with heard() as log:
        desk = start(tmp_path, "openai-chat", POLICY, {"unlock": lambda token, pin: WAYS[way](token)})
        turn = desk.propose(("u", "unlock", {"token": TOKEN, "pin": PIN}))
        desk.approve(turn, "u", BOSS)
        told = desk.settle()
        [ended] = desk.audit("call.end")
        kept = json.dumps(desk.audit())
        desk.closed()
    assert ended["exec"]["status"] in {"ok", "error"}
    for where in (told, kept, log.getvalue()):
        assert [one for one in spellings(TOKEN) if one in where] == [], way


def test_a_short_one_only_where_it_stands_alone(tmp_path: Path) -> None:
    """Four digits are hidden as a word; a number that holds them, and a field that is a number, stay as they are."""
    desk = start(
        tmp_path,
        "openai-chat",
        POLICY,
        {"unlock": lambda token, pin: {"said": f"pin {pin} fits", "order": "A4711B", "count": 4711}},
    )
    turn = desk.propose(("u", "unlock", {"token": TOKEN, "pin": PIN}))
    desk.approve(turn, "u", BOSS)
    told = desk.settle()
    assert "pin 4711 fits" not in told
    assert "A4711B" in told
    assert "4711" not in json.dumps(desk.audit("call.proposed"))
    desk.closed()


def test_a_mask_tells_nothing_without_the_stores_key(tmp_path: Path) -> None:
    """Two stores mask the same value in two ways, and so do two questions of one store: no mask can be compared with another person's."""
    masks = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        desk = start(folder, "openai-chat", POLICY, {"unlock": lambda token, pin: "ok"}, store="sqlite")
        for name in ("a", "b"):
            desk.propose((name, "unlock", {"token": name * 8, "pin": PIN}))
        views = [desk.guard.approvals.view(one, BOSS) for one in desk.pending()]
        masks.append([view.approval.arguments["pin"] for view in views])
        assert len({view.presented for view in views}) == 2
        desk.closed()
    assert [len(set(each)) for each in masks] == [2, 2]
    assert not set(masks[0]) & set(masks[1])
    assert all("4 characters, digest" in one for each in masks for one in each)
