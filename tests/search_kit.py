"""What the tests of searching share: a small log with one record of every kind that matters, and hostile texts."""

from __future__ import annotations

from typing import Any

HOSTILE = {
    "newline": "a\nb",
    "return": "a\rb",
    "tab": "\tb",
    "escape": "a\x1b[31mred\x1b[0m",
    "title": "a\x1b]0;owned\x07b",
    "backspace": "safe\b\b\b\bevil",
    "delete": "a\x7fb",
    "c1": "a\x9b2Jb",
    "bidi": "a\u202egnp.exe",
    "isolate": "a\u2066b\u2069",
    "zero-width": "a\u200bb\u200d",
    "filler": "a\u3164b",
    "tags": "a\U000e0041b",
    "separator": "a\u2028b\u2029",
    "nul": "a\x00b",
    "half": "a\ud800b",
    "html": "<script>alert(1)</script>",
    "attribute": '"onmouseover="alert(1)',
    "entity": "&lt;b&gt;&#x27;",
    "equals": '=HYPERLINK("http://x","y")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3",
    "at": "@SUM(1+1)",
    "full-width": "\uff1d1+1",
    "space-equals": " =1+1",
    "quote": "a\"b'c",
    "comma": "a,b;c|d",
    "template": "{{ 7*7 }}{% raw %}",
    "long": "x" * 3000,
}
"""Texts that a terminal, a page, a spreadsheet or a database might take for more than text."""


def record(kind: str, **fields: Any) -> dict[str, Any]:
    """An event of this kind in a conversation."""
    return {"kind": kind, "tenant": "acme", "conversation": "c1", "principal": "E1", "turn": 1, "position": 0, **fields}


def log() -> list[dict[str, Any]]:
    """A held call that was approved and ran, a refused one with a spoof, one that stays unknown, and one of another tenant."""
    pay, read = {"name": "pay", "definition": "d1", "kind": "action"}, {"name": "look", "definition": "d2", "kind": "read"}
    boss = {"type": "human", "ref": "boss", "assurance": "host"}
    held = {"turn": 1, "call_id": "call_1", "tool": pay, "approval": "ap_1"}
    bad = {"turn": 2, "call_id": "call_2", "tool": read}
    lost = {"turn": 1, "conversation": "c2", "principal": "E2", "call_id": "call_1", "tool": pay}
    return [
        record("user.said", actor={"type": "human", "ref": "E1"}, turn=None),
        record("call.proposed", **{**held, "approval": None}, args={"size": 3, "digest": "x"}),
        record(
            "call.decided",
            **held,
            args={"digest": "y", "hmac": {"/to": "tag-ann"}},
            decision={"verdict": "hold", "policy": "p1", "rules": ["r"]},
        ),
        record("approval.requested", **held, approval_state={"status": "pending", "need": 1}),
        record("approval.vote", **held, actor=boss, approval_state={"decision": "approved", "status": "pending"}),
        record("approval.resolved", **held, actor=boss, approval_state={"status": "approved"}),
        record("call.begin", **held, exec={"class": "pay", "attempt": 1}),
        record(
            "call.end",
            **held,
            exec={"status": "ok", "ms": 5.2},
            result={"size": 2, "digest": "z", "hmac": {"/a": "tag-bob", "/b": "tag-ann"}},
        ),
        record(
            "call.decided",
            **bad,
            spoof=["user_id"],
            decision={"verdict": "refuse", "code": "not_grounded", "policy": "p1", "rules": []},
        ),
        record(
            "call.decided", **bad, position=1, decision={"verdict": "allow", "policy": "p1", "shadow": ["trial"], "rules": ["r"]}
        ),
        record("call.unknown", **lost, exec={"status": "unknown", "error": "timeout"}),
        record("call.reconciled", **lost, actor=boss, exec={"status": "ok"}, effect={"observed": True}),
        record("tool.refused", tool={"name": "drifted"}, drift={"server": "s", "why": "changed"}, turn=None),
        {"kind": "policy.loaded", "actor": {"type": "service"}, "decision": {"policy": "p2"}},
        record(
            "call.decided",
            tenant="other",
            conversation="c1",
            principal="E1",
            tool=pay,
            decision={"verdict": "refuse", "code": "not_authorized"},
        ),
    ]
