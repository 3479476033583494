"""Standing grants over HTTP: offered by the policy, given by who may, said in words, and taken back."""

from __future__ import annotations

from pathlib import Path

from web_kit import Web, web

from guard import Session, ToolCall

OFFERS = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema:
          type: object
          properties: {payee: {type: string}, amount: {type: integer, minimum: 1}}
          required: [payee, amount]
          additionalProperties: false
        approve: {by: [boss], grants: [{scope: tool_here, uses: 3}, {amount: amount, at_most: 500, sum: 600, same: [payee], until: 7d}]}
    limits: {run: {steps: 2000, calls: 2000}}
"""
ASKER = Session(principal="ann0", roles=("staff",))


def pay(running: Web, amount: int, conversation: str) -> str:
    call = ToolCall("y", "pay", {"payee": "bob", "amount": amount})
    return running.guard.call(call, ASKER, conversation=conversation).status


def test_a_grant_over_http(tmp_path: Path) -> None:
    """Only after a yes, only within the offer, only by who may decide; counted, seen by whom it concerns, and dead once taken back."""
    with web(tmp_path, policy=OFFERS) as running:
        approval = running.hold(100, conversation="c")
        boss, stranger = running.client(running.token("boss")), running.client(running.token("no", roles=()))
        asker = running.client(running.token("asker", person="ann0", roles=()))
        offers = boss.get(f"/api/v1/approvals/{approval}/offers").json()["offers"]
        assert [one["scope"] for one in offers] == ["tool_here", "amount"]
        body = {"approval": approval, "scope": "amount", "sum": 300, "reason": "monthly"}
        assert boss.post("/api/v1/grants", json=body).json()["code"] == "not_approved"
        running.vote(boss, approval)
        codes = [
            stranger.post("/api/v1/grants", json=body).status_code,
            asker.post("/api/v1/grants", json=body).status_code,
            boss.post("/api/v1/grants", json={**body, "sum": 601}).status_code,
            boss.post("/api/v1/grants", json={**body, "scope": "everything"}).status_code,
            boss.post("/api/v1/grants", json={**body, "uses": 1.5}).status_code,
            boss.post("/api/v1/grants", json={**body, "until": "2026-12-04"}).status_code,
        ]
        assert codes == [404, 403, 422, 400, 400, 400]

        given = boss.post("/api/v1/grants", json=body, headers={"Idempotency-Key": "g"})
        again = boss.post("/api/v1/grants", json=body, headers={"Idempotency-Key": "g"})
        assert (given.status_code, again.json()) == (200, given.json())
        grant = given.json()
        assert (grant["scope"], grant["status"], grant["sum"], grant["givers"][0]["by"]) == ("amount", "live", 300, "boss")
        assert grant["words"]
        assert [pay(running, 200, "other"), pay(running, 201, "other")] == ["done", "held"]
        seen = [len(one.get("/api/v1/grants").json()["grants"]) for one in (boss, asker, stranger)]
        assert seen == [1, 1, 0]
        place = f"/api/v1/grants/{grant['id']}/revoke"
        assert stranger.post(place, json={"reason": "x"}).status_code == 404
        back = boss.post(place, json={"reason": "enough"})
        assert (back.status_code, back.json()["status"], back.json()["revoked_by"]) == (200, "revoked", "boss")
        assert pay(running, 10, "other") == "held"
        assert boss.get("/api/v1/grants", params={"status": "revoked"}).json()["grants"][0]["used"] == 1
