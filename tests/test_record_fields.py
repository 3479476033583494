"""Which fields each kind of record holds, by the table of the record's schema: on every store, and on wires that spell calls differently."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from record_walk_kit import TRACE, WAY, Walk, everything
from stores_kit import STORES, url_of

from guard.auditing.kinds import KINDS
from guard.core.actors import address_tag
from guard.core.tags import tenant_key
from guard.core.values import sha
from guard.stores.chain import verify_store

ALL = "v id ts chain seq kind actor.type"
PLACE = "tenant conversation principal turn position tool.name"
HUMAN = "actor.ref actor.assurance"
STATE = f"{PLACE} tool.definition tool.kind approval approval_state.status approval_state.revision"
COUNTED = "approval_state.need approval_state.have"
FIELDS = {
    "policy.loaded": "policy.version policy.how policy.parts writer.pid writer.version writer.epoch",
    "user.said": f"tenant conversation principal {HUMAN} args.digest args.size",
    "call.proposed": f"{PLACE} call_id args.digest args.size trace",
    "call.decided": f"{PLACE} call_id decision.verdict decision.policy decision.rules decision.ms session.roles",
    "call.begin": f"{PLACE} call_id tool.definition tool.kind args.digest decision.policy exec.class exec.attempt exec.fence exec.idem exec.lease",
    "call.end": f"{PLACE} call_id exec.status exec.ms result.digest result.size",
    "call.unknown": f"{PLACE} call_id exec.status exec.ms exec.attempt exec.fence result.digest",
    "call.reconciled": f"{PLACE} call_id {HUMAN} exec.status exec.attempt effect.observed reason",
    "result.delivered": f"{PLACE} call_id exec.status exec.replayed",
    "approval.requested": f"{STATE} {COUNTED} call_id fingerprint args.digest args.shown approval_state.decide_by approval_state.by",
    "approval.viewed": f"{PLACE} approval approval_state.revision {HUMAN} actor.addr fingerprint approval_state.presented",
    "approval.vote": f"{STATE} {HUMAN} {COUNTED} actor.addr actor.via fingerprint approval_state.decision approval_state.presented approval_state.reason",
    "approval.resolved": f"{STATE} {HUMAN} {COUNTED} actor.addr actor.via fingerprint approval_state.decision",
    "approval.edited": f"{STATE} {HUMAN} actor.addr actor.via fingerprint approval_state.need",
    "approval.escalated": f"{STATE} {COUNTED} approval_state.by approval_state.decide_by",
    "approval.expired": f"{STATE} {COUNTED} approval_state.was approval_state.decide_by",
    "approval.cancelled": f"{STATE} {HUMAN} actor.addr actor.via approval_state.reason",
    "approval.revoked": f"{STATE} {HUMAN} actor.addr actor.via approval_state.reason",
    "approval.revalidation_failed": f"{STATE} {COUNTED} fingerprint revalidation.policy_then revalidation.policy_now revalidation.changed",
    "grant.created": f"tenant principal {HUMAN} actor.addr actor.via approval tool.name grant.id grant.scope grant.terms decision.policy",
    "grant.used": f"{PLACE} approval grant.id grant.used grant.left decision.policy",
    "grant.revoked": f"tenant principal {HUMAN} actor.addr actor.via approval tool.name grant.id grant.status",
    "role.changed": "policy.version changed",
    "config.changed": "policy.version changed.tools",
    "payload.erased": f"tenant conversation principal {HUMAN} actor.via reason erased.calls priv.erased",
    "audit.gap": "gap.cause gap.since gap.until gap.refused",
    "audit.export": f"{HUMAN} actor.via export.step export.to export.form export.name export.sha256",
    "audit.verify": f"{HUMAN} actor.via verify.verdict verify.proved verify.records verify.heads",
    "audit.segment_closed": f"{HUMAN} actor.via segment.number segment.month segment.until segment.records segment.first segment.last segment.sha256 segment.bytes",
    "audit.segment_dropped": f"{HUMAN} actor.via segment.number segment.month segment.last segment.sha256",
    "audit.checkpoint": "checkpoint.number checkpoint.records checkpoint.root checkpoint.previous checkpoint.key checkpoint.note",
    "kill.set": f"tool.name {HUMAN} actor.via actor.addr kill.id kill.status kill.cancelled kill.revoked kill.reason",
    "kill.cleared": f"tool.name {HUMAN} actor.via actor.addr kill.id kill.status kill.reason",
    "approval.cancelled by a kill": f"{STATE} {HUMAN} actor.via actor.addr fingerprint kill.id",
    "approval.revoked by a kill": f"{STATE} {HUMAN} actor.via actor.addr fingerprint kill.id",
    "call.decided by a kill": f"{PLACE} tool.definition tool.kind call_id approval fingerprint args.digest args.size decision.verdict decision.code decision.policy decision.rules kill.id",
    "tool.refused": "tenant conversation principal tool.name drift.server drift.why",
    "store.restored": f"{HUMAN} actor.via reason",
    "sink.spooled": "actor.ref sink.name sink.why sink.count sink.records",
    "sink.dropped": "actor.ref sink.name sink.why sink.count sink.records",
    "sink.failed": "actor.ref sink.name sink.why",
}
"""Fields that every record of a kind holds, whatever was decided."""
ELSEWHERE = {"approval.superseded": "test_approvals_changed"}
"""Kinds that the walk does not come to, and the test that holds them."""
WHERE: dict[str, tuple[str, Any, str]] = {
    "a refusal": ("call.decided", lambda one: one["decision"]["verdict"] == "refuse", "decision.code"),
    "a hold": ("call.decided", lambda one: one["decision"]["verdict"] == "hold", "approval args.shown args.labels tool.kind"),
    "an allowed call": ("call.decided", lambda one: one["decision"]["verdict"] == "allow", "args.shown args.labels args.digest"),
    "the yes that is enough": ("approval.resolved", lambda one: one["approval_state"]["decision"] == "approved", "approval_state.use_by"),
    "a no with a note": ("approval.resolved", lambda one: one["approval_state"]["decision"] == "rejected", "approval_state.note approval_state.reason"),
    "a run that was approved": ("call.begin", lambda one: "approval" in one, "revalidation.policy_then revalidation.policy_now revalidation.changed"),
    "the end of an action": ("call.end", lambda one: "attempt" in one["exec"], "exec.fence result.shown"),
    "a run under a grant": ("call.begin", lambda one: "grant" in one, "grant.id"),
}  # fmt: skip
"""Fields that hold where something was so: the records that are meant, and what each of them says besides."""


def row(body: Any) -> str:
    """The row of the table that a record belongs to: what ended by a kill was judged by no walk, and no person gave a reason for it alone."""
    kind: str = body["kind"]
    return f"{kind} by a kill" if "kill" in body and not kind.startswith("kill.") else kind


def held(body: Any, path: str) -> bool:
    """Whether a body has something at a path."""
    for step in path.split("."):
        if not isinstance(body, dict) or step not in body:
            return False
        body = body[step]
    return body is not None


def missing(body: Any, paths: str) -> list[str]:
    return [path for path in paths.split() if not held(body, path)]


@pytest.fixture(scope="module", params=[(store, "openai-chat") for store in STORES] + [("memory", "anthropic")], ids="-".join)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    kind, wire = request.param
    folder = tmp_path_factory.mktemp("walk")
    with url_of(kind, folder) as url:
        made = Walk.begin(folder, url, wire)
        everything(made)
        yield made
        assert verify_store(made.guard.store).ok
        made.guard.close()


def test_each_kind_says_what_its_table_says(walk: Walk) -> None:
    """Every kind of the table is written, and each record of it holds every field of its row, as each record holds those of all kinds."""
    bodies = walk.bodies()
    lacking = [(one["kind"], found) for one in bodies if (found := missing(one, f"{ALL} {FIELDS.get(row(one), '')}"))]
    assert lacking == []
    assert {row(one) for one in bodies} == set(FIELDS)
    assert {one.partition(" ")[0] for one in FIELDS} | {*ELSEWHERE} == {*KINDS}


def test_what_a_kill_refused_is_what_people_were_asked_about(walk: Walk) -> None:
    """The refusal of a call that waited names the digest of the question, whose record shows the arguments."""
    [asked] = [one for one in walk.bodies("approval.requested") if one["turn"] == walk.bodies("approval.cancelled")[-1]["turn"]]
    [refused] = [one for one in walk.bodies("call.decided", turn=asked["turn"]) if "kill" in one]
    assert (refused["args"]["digest"], refused["args"]["size"]) == (asked["args"]["digest"], asked["args"]["size"])
    assert refused["fingerprint"] == asked["fingerprint"]


def test_what_a_record_says_of_its_own_case(walk: Walk) -> None:
    """Why a call was refused, what was shown of one that waits, until when a yes counts, what was judged again before a run."""
    for name, (kind, meant, paths) in WHERE.items():
        found = [one for one in walk.bodies(kind) if meant(one)]
        assert found, name
        assert [(name, lack) for one in found if (lack := missing(one, paths))] == []


def test_a_policy_that_changed_is_named_where_a_yes_does_not_hold_any_more(walk: Walk) -> None:
    """The record says that the policy is another one, and which it was."""
    [failed] = walk.bodies("approval.revalidation_failed")
    told = failed["revalidation"]
    assert "policy" in told["changed"]
    assert told["policy_then"] != told["policy_now"]


def test_from_where_a_person_came_is_a_keyed_hash(walk: Walk) -> None:
    """The same for everything from there, found by whoever has the store and the address, and nowhere the address itself."""
    tag = address_tag(tenant_key(walk.guard.store.secret, "default"), WAY.addr)
    bodies = walk.bodies()
    assert {one["actor"]["addr"] for one in bodies if "addr" in one["actor"]} == {tag}
    assert WAY.addr not in str(bodies)
    assert (
        address_tag(b"k" * 32, f" ::ffff:{WAY.addr} ") == address_tag(b"k" * 32, WAY.addr) != address_tag(b"k" * 32, "192.0.27.0")
    )


def test_a_key_in_a_providers_log_finds_the_record(walk: Walk) -> None:
    """The record of a beginning holds a digest of the key that the tool was given, and not the key."""
    begun = [one for one in walk.bodies("call.begin") if one["tool"]["name"] == "book"]
    rows = [row for row in walk.guard.store.rows(walk.chat.ref) if row.call.tool == "book"]
    keys = [walk.guard.hands.key(row.idem) for row in rows]
    assert sorted(one["exec"]["idem"] for one in begun) == sorted(sha(key)[:32] for key in keys)
    assert not [key for key in keys if key in str(walk.bodies())]
    assert {one["exec"]["lease"] for one in begun} == {25}


def test_the_callers_trace_stands_where_the_call_does(walk: Walk) -> None:
    """In the proposal, the decision and the start of what was asked for in it; a later run is not of that trace."""
    told = [one for one in walk.bodies() if one["kind"] in ("call.proposed", "call.decided", "call.begin")]
    assert {one["trace"] for one in told if "trace" in one} == {TRACE}
    assert [one["tool"]["name"] for one in walk.bodies("call.begin") if "trace" not in one] == ["both", "pay"]


def test_one_process_writes_and_its_clock_never_goes_back(walk: Walk) -> None:
    """In each chain the first record of those written together names the process that the record of its policy describes, and its seconds never fall."""
    bodies = walk.bodies()
    assert {one["writer"]["process"] for one in bodies if "writer" in one} == {walk.guard.store.writer["process"]}
    for chain in {one["chain"] for one in bodies}:
        here = sorted((one for one in bodies if one["chain"] == chain), key=lambda one: one["seq"])
        times = [one["mono"] for one in here if "mono" in one]
        assert times == sorted(times)
        assert all(before["ts"] == one["ts"] for before, one in pairwise(here) if "mono" not in one)
        assert all(("mono" in one) == ("writer" in one) for one in here if one["kind"] != "policy.loaded")
        assert {"mono", "writer"} <= here[0].keys()
