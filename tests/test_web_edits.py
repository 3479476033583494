"""Other arguments over HTTP: a new revision that somebody else decides about."""

from __future__ import annotations

from pathlib import Path

from web_kit import web

EDITABLE = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema:
          type: object
          properties: {payee: {type: string}, amount: {type: integer, maximum: 1000}}
          required: [payee, amount]
          additionalProperties: false
        approve: {by: [boss], edit: [amount]}
    limits: {run: {steps: 2000, calls: 2000}}
"""


def test_an_edit_is_a_new_revision_that_another_person_decides_about(tmp_path: Path) -> None:
    """What may not be changed and what the policy refuses is 422; a vote over the old revision is 409; the editor's own is 403."""
    with web(tmp_path, policy=EDITABLE) as running:
        approval = running.hold(500)
        editor, other = running.client(running.token("a")), running.client(running.token("b"))
        seen = {name: running.ballot(editor, approval)[name] for name in ("revision", "fingerprint", "presented")}
        old = running.ballot(other, approval)
        place = f"/api/v1/approvals/{approval}/edits"
        shown = editor.get(f"/api/v1/approvals/{approval}").json()
        codes = [
            editor.post(place, json={**seen, "changes": changes, "reason": "typo"}).status_code
            for changes in ({"/payee": "eve"}, {"/amount": 5000}, {"": {}}, {"amount": 1})
        ]
        assert (shown["you"]["may_edit"], codes) == (True, [422, 422, 400, 422])
        assert editor.post(place, json={**seen, "changes": {}, "reason": "x"}).status_code == 400

        made = editor.post(place, json={**seen, "changes": {"/amount": 50}, "reason": "typo"}, headers={"Idempotency-Key": "e"})
        again = editor.post(place, json={**seen, "changes": {"/amount": 50}, "reason": "typo"}, headers={"Idempotency-Key": "e"})
        new = made.json()["approval"]
        assert (made.status_code, new["revision"], new["supersedes"], made.json()["you"]["may_decide"]) == (
            200,
            2,
            approval,
            False,
        )
        assert made.json()["document"]["difference"] == [{"path": "/amount", "before": 500, "after": 50}]
        assert again.json() == made.json()
        late = other.post(f"/api/v1/approvals/{approval}/votes", json=old)
        assert (late.status_code, late.json()["now"]["superseded_by"]) == (409, new["id"])
        assert running.vote(editor, new["id"]).status_code == 403
        assert running.vote(other, new["id"]).json()["approval"]["status"] == "approved"
