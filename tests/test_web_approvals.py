"""The API of approvals: what a person may see, how a vote counts, and what whoever comes too late is told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from web_kit import Web, web

from guard import Session, ToolCall
from guard.web.description import described

NEED = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema:
          type: object
          properties: {payee: {type: string}, amount: {type: integer}}
          required: [payee, amount]
        approve: {by: [boss], need: 2}
    limits: {run: {steps: 2000, calls: 2000}}
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="module")
def boss(shared: Web) -> httpx.Client:
    return shared.client(shared.token("boss"))


def described_as(answer: httpx.Response, name: str) -> None:
    """The answer is what the description says it is."""
    told = described()
    schema = {"$ref": f"#/components/schemas/{name}", "components": told["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())


def test_a_person_sees_the_bytes_that_will_run_and_decides_about_them(shared: Web, boss: httpx.Client) -> None:
    """What is shown has the digest that the vote carries, and the vote says who, how and by which way."""
    approval = shared.hold(41)
    shown = boss.get(f"/api/v1/approvals/{approval}")
    answer = shared.vote(boss, approval, reason="fine")
    found = shared.guard.approvals.show(approval)

    described_as(shown, "Shown")
    described_as(answer, "Shown")
    assert [(one["name"], one["value"]) for one in shown.json()["document"]["arguments"]] == [("payee", "bob"), ("amount", 41)]
    assert answer.json()["approval"]["status"] == "approved"
    [vote] = found.votes
    assert (vote.by, vote.via, vote.assurance, vote.presented) == ("boss", "api", "token", shown.json()["presented"])
    assert vote.reason == "fine"


def test_a_rejection_says_why_and_keeps_its_note(shared: Web, boss: httpx.Client) -> None:
    """The reason is for the model, the note for nobody who asks here."""
    approval = shared.hold(42)
    bare = shared.vote(boss, approval, "rejected", reason="   ")
    noted = shared.vote(boss, approval, "approved", note="x")
    answer = shared.vote(boss, approval, "rejected", reason="wrong month", note="fraud?")

    assert [bare.status_code, noted.status_code, answer.status_code] == [400, 400, 200]
    assert "fraud?" not in answer.text
    assert shared.guard.approvals.show(approval).votes[0].note == "fraud?"
    assert shared.status(approval) == "rejected"


def test_of_64_votes_at_once_one_counts(shared: Web) -> None:
    """By eight people: one 200, the rest 409, each told who decided and when."""
    approval = shared.hold(43)
    clients = [shared.client(shared.token(f"many-{number}")) for number in range(8)]
    body = shared.ballot(clients[0], approval)
    with ThreadPoolExecutor(64) as pool:
        answers = [*pool.map(lambda i: clients[i % 8].post(f"/api/v1/approvals/{approval}/votes", json=body), range(64))]
    [won] = [one.json()["approval"] for one in answers if one.status_code == 200]

    assert Counter(one.status_code for one in answers) == {200: 1, 409: 63}
    for one in answers:
        if one.status_code == 409:
            described_as(one, "Conflict")
            now = one.json()["now"]
            assert (now["status"], now["decided_by"], now["decided_at"]) == ("approved", won["decided_by"], won["decided_at"])


def test_the_same_key_is_the_same_vote(shared: Web, boss: httpx.Client) -> None:
    """Sent again, even at once, it gets the same answer and counts once; another body or way under the key does not pass."""
    approval, other = shared.hold(44), shared.hold(45)
    body, key = shared.ballot(boss, approval), {"Idempotency-Key": "k-44"}
    place = f"/api/v1/approvals/{approval}/votes"
    with ThreadPoolExecutor(16) as pool:
        answers = [*pool.map(lambda _: boss.post(place, json=body, headers=key), range(16))]
    elsewhere = boss.post(f"/api/v1/approvals/{other}/votes", json=shared.ballot(boss, other), headers=key)
    changed = boss.post(place, json={**body, "reason": "x"}, headers=key)
    stranger = shared.client(shared.token("stranger-44")).post(place, json=body, headers=key)

    assert {one.status_code for one in answers} == {200}
    assert len({one.content for one in answers}) == 1
    assert Counter("idempotency-replayed" in one.headers for one in answers) == {False: 1, True: 15}
    assert [elsewhere.status_code, changed.status_code, stranger.status_code] == [422, 422, 409]
    assert len(shared.guard.approvals.show(approval).votes) == 1
    assert boss.post(place, json=body, headers={"Idempotency-Key": "x" * 201}).status_code == 400


def test_a_batch_decides_each_by_itself(shared: Web, boss: httpx.Client) -> None:
    """What does not count says so beside its name; the others count; what is written wrongly stops all of it before anything counts."""
    names = [shared.hold(50 + number) for number in range(4)]
    votes = [{"approval": name, **shared.ballot(boss, name)} for name in names]
    votes[1]["revision"] = 2
    votes[3]["approval"] = "ap_00000000000000000000"
    wrong = boss.post("/api/v1/approvals/votes", json={"votes": [*votes, {"approval": names[3], "decision": "approved"}]})
    twice = boss.post("/api/v1/approvals/votes", json={"votes": [votes[0], votes[0]]})
    assert [wrong.status_code, twice.status_code, shared.status(names[0])] == [400, 400, "pending"]

    answer = boss.post("/api/v1/approvals/votes", json={"votes": votes})
    described_as(answer, "Results")
    assert [one["status"] for one in answer.json()["results"]] == [200, 409, 200, 404]
    assert [shared.status(name) for name in names] == ["approved", "pending", "approved", "pending"]


def test_a_list_in_pages(tmp_path: Path) -> None:
    """Each once, oldest first, however it is paged; a filter leaves out the rest, and one that means nothing is refused."""
    with web(tmp_path) as running:
        names = [running.hold(number, conversation=f"k{number % 3}-{number}") for number in range(15)]
        client, found, after = running.client(running.token("a")), [], {}
        while True:
            answer = client.get("/api/v1/approvals", params={"limit": 4, **after})
            described_as(answer, "Approvals")
            found += [one["id"] for one in answer.json()["approvals"]]
            if answer.json()["next"] is None:
                break
            after = {"after": answer.json()["next"]}
        assert found == names
        running.vote(client, names[0])
        queries: list[dict[str, Any]] = [{"status": "approved"}, {"conversation": "k1-1"}, {"tool": "x"}, {"requester": "ann0"}]
        counts = [len(client.get("/api/v1/approvals", params=query).json()["approvals"]) for query in queries]
        assert counts == [1, 1, 0, 13]
        for query in (
            {"state": "x"},
            {"status": "open"},
            {"limit": 0},
            {"limit": 201},
            {"limit": "1e1"},
            {"after": "x"},
            {"after": "nan~x"},
        ):
            assert client.get("/api/v1/approvals", params=query).status_code == 400, query


def test_what_is_not_somebodys_is_not_there(shared: Web, boss: httpx.Client) -> None:
    """A stranger, another tenant's boss and a name that does not exist: the same answer to every question about it."""
    approval = shared.hold(60)
    body = {**shared.ballot(boss, approval)}
    strangers = [shared.client(shared.token("no-role", roles=())), shared.client(shared.token("elsewhere", tenant="acme"))]
    for client in strangers:
        for way, given in (("votes", body), ("cancel", {"reason": "x"}), ("revoke", {"reason": "x"})):
            told = client.post(f"/api/v1/approvals/{approval}/{way}", json=given)
            nothing = client.post(f"/api/v1/approvals/ap_00000000000000000000/{way}", json=given)
            assert told.status_code == nothing.status_code == 404
            assert told.text.replace(approval, "X") == nothing.text.replace("ap_00000000000000000000", "X")
        assert client.get(f"/api/v1/approvals/{approval}").status_code == 404
        assert client.get("/api/v1/approvals", params={"status": "all"}).json()["approvals"] == []
    assert shared.status(approval) == "pending"


def test_who_asked_sees_and_withdraws_but_does_not_decide(shared: Web) -> None:
    """403 with a reason for a vote on one's own call; cancelling it is one's right."""
    me = Session(principal="own", roles=("staff", "boss"))
    approval = shared.hold(61, session=me)
    client = shared.client(shared.token("own", roles=("staff", "boss")))
    shown = client.get(f"/api/v1/approvals/{approval}").json()
    answer = shared.vote(client, approval)
    gone = client.post(f"/api/v1/approvals/{approval}/cancel", json={"reason": "changed my mind"})

    assert (shown["you"]["asked"], shown["you"]["may_decide"], shown["you"]["may_cancel"]) == (True, False, True)
    assert (answer.status_code, answer.json()["code"]) == (403, "own")
    assert (gone.status_code, gone.json()["approval"]["status"], gone.json()["approval"]["ended_by"]) == (200, "cancelled", "own")


def test_two_people_decide_where_two_must(tmp_path: Path) -> None:
    """The first yes is not enough, the same person's second does not count, and either may be taken back before it is used."""
    with web(tmp_path, policy=NEED) as running:
        approval = running.hold()
        first, second = running.client(running.token("a")), running.client(running.token("b"))
        one = running.vote(first, approval)
        again = running.vote(first, approval)
        two = running.vote(second, approval)
        assert (one.json()["approval"]["status"], one.json()["needs"], again.status_code, again.json()["code"]) == (
            "pending",
            1,
            409,
            "voted",
        )
        assert (two.json()["approval"]["status"], two.json()["you"]["may_revoke"]) == ("approved", True)
        back = first.post(f"/api/v1/approvals/{approval}/revoke", json={"reason": "no"})
        assert (back.status_code, running.status(approval)) == (200, "revoked")


def test_scopes_bound_what_a_credential_may_do(shared: Web) -> None:
    """Read sees and no more; admin alone does not vote; a program's token does neither, whatever it asks."""
    approval = shared.hold(62)
    reader, admin = shared.client(shared.token("r", "read")), shared.client(shared.token("adm", "admin"))
    program = shared.client(shared.token("prog", "propose"))
    shown = reader.get(f"/api/v1/approvals/{approval}").json()
    body = {name: shown[name] for name in ("revision", "fingerprint", "presented")} | {"decision": "approved"}
    place = f"/api/v1/approvals/{approval}"

    assert not any(value for name, value in shown["you"].items() if name.startswith("may_"))
    assert [one.post(f"{place}/votes", json=body).status_code for one in (reader, admin, program)] == [403] * 3
    for way in ("/api/v1/approvals", place, "/api/v1/me", "/api/v1/unknown", "/api/v1/events"):
        assert program.get(way).status_code == 403
    assert reader.post("/api/v1/decide", json={}).status_code == 403
    assert shared.status(approval) == "pending"


@pytest.mark.slow
def test_200_held_calls_decided_by_8_people_run_as_decided(tmp_path: Path) -> None:
    """In random order, many at once: each runs as it was decided, none twice, and none that was rejected."""
    with web(tmp_path) as running:
        calls = {number: running.hold(number) for number in range(200)}
        clients = [running.client(running.token(f"p{number}")) for number in range(8)]
        order = [*calls.items(), *calls.items()]
        random.Random(7).shuffle(order)

        def one(job: tuple[int, tuple[int, str]]) -> tuple[int, int]:
            place, (number, name) = job
            decision = "approved" if number % 2 else "rejected"
            answer = running.vote(clients[place % 8], name, decision, **({} if number % 2 else {"reason": "even"}))
            return number, answer.status_code

        with ThreadPoolExecutor(8) as pool:
            codes = [*pool.map(one, enumerate(order))]
        assert Counter(code for _, code in codes) == {200: 200, 409: 200}
        statuses = {number: running.status(name) for number, name in calls.items()}
        assert all(status == ("approved" if number % 2 else "rejected") for number, status in statuses.items())
        for place, number in enumerate(sorted(calls), start=1):
            session = Session(principal=f"ann{place // 15}", roles=("staff",))
            for _ in range(2):
                call = ToolCall("y", "pay", {"payee": "bob", "amount": number})
                running.guard.call(call, session, conversation=f"c{place}")
        ran = Counter(one["amount"] for one in running.ran)
        assert ran == {number: 1 for number in calls if number % 2}
