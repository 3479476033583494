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


def test_a_yes_with_a_grant_that_was_read(tmp_path: Path) -> None:
    """The offers say what would stand, in words; a vote carries it and gives exactly that, or counts for nothing: in one request, once."""
    with web(tmp_path, policy=OFFERS) as running:
        boss = running.client(running.token("boss"))
        first, second = running.hold(100, conversation="c"), running.hold(90, conversation="d")
        [here, amount] = boss.get(f"/api/v1/approvals/{first}/offers").json()["offers"]
        read = {"scope": "amount", **{name: amount["grant"][name] for name in ("until", "presented")}}
        place = f"/api/v1/approvals/{first}/votes"
        wrong = [
            ({**read, "until": "2099-01-01T00:00:00Z"}, 409),
            ({**read, "until": None, "presented": here["grant"]["presented"]}, 409),
            ({**read, "scope": "everything"}, 400),
            ({**read, "sum": 10_000}, 400),
            ({**read, "until": "2099-01-01"}, 400),
            ({"scope": "amount"}, 400),
            ("amount", 400),
        ]
        for grant, status in wrong:
            lost = running.vote(boss, first, grant=grant)
            assert (lost.status_code, running.status(first)) == (status, "pending"), lost.text
        assert running.vote(boss, first, "rejected", reason="no", grant=read).status_code == 400
        assert running.vote(boss, second, grant=read).json()["code"] == "stale"
        ballots = {"votes": [{"approval": second, **running.ballot(boss, second), "grant": read}]}
        assert boss.post("/api/v1/approvals/votes", json=ballots).status_code == 400
        program = running.client(running.token("p", "propose"))
        assert program.post(place, json=running.ballot(boss, first, grant=read)).status_code == 403
        reader = running.client(running.token("boss2", "read"))
        assert reader.post(place, json=running.ballot(boss, first, grant=read)).status_code == 403
        assert running.guard.grants.list(status=None) == ()

        body = running.ballot(boss, first, grant=read)
        given = [boss.post(place, json=body, headers={"Idempotency-Key": "k"}).json() for _ in range(2)]
        assert given[0] == given[1]
        assert given[0]["grant"]["words"] == amount["grant"]["words"]
        assert (given[0]["grant"]["until"], given[0]["approval"]["status"]) == (read["until"], "approved")
        assert len(running.guard.grants.list(status=None)) == 1
        again = running.vote(boss, first, grant=read)
        assert (again.status_code, again.json()["code"]) == (409, "already_decided")
        assert pay(running, 200, "other") == "done"


def test_a_grant_is_given_as_it_was_read_or_not(tmp_path: Path) -> None:
    """`presented` at the route of grants: only what was read; an offer that this call cannot meet says why."""
    with web(
        tmp_path, policy=OFFERS.replace("same: [payee]", "same: [note]").replace("{payee: {", "{note: {type: string}, payee: {")
    ) as running:
        boss, approval = running.client(running.token("boss")), running.hold(100, conversation="c")
        [here, amount] = boss.get(f"/api/v1/approvals/{approval}/offers").json()["offers"]
        assert (amount["grant"], "no single value for each of note" in amount["why_not"]) == (None, True)
        running.vote(boss, approval)
        body = {"approval": approval, "scope": "tool_here", "presented": here["grant"]["presented"]}
        assert boss.post("/api/v1/grants", json={**body, "uses": 2}).json()["code"] == "stale"
        assert boss.post("/api/v1/grants", json=body).json()["words"] == here["grant"]["words"]
