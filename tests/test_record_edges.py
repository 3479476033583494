"""What records say of the edges: from where a vote came over HTTP, in which trace a call was asked for, under which key raw values lie, and who acted by which way."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, in_process
from record_kit import fitting
from record_walk_kit import TRACE, Walk
from stores_kit import records
from web_kit import Web, web

from guard.core.actors import address_tag
from guard.core.tags import tenant_key
from guard.core.validate import fingerprint
from guard.core.values import canonical, keyed, sha
from guard.runner import tracing
from guard.web.settings import Proxy, Settings

CLAIMED = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}
FAR = "198.51.100.7"
PUBLIC = "https://guard.example.com"


def bodies(store: Any, kind: str) -> list[dict[str, Any]]:
    return [body for one in records(store) if (body := fitting(one.body))["kind"] == kind]


def voted(running: Web, client: Any) -> dict[str, Any]:
    approval = running.hold()
    assert running.vote(client, approval).status_code == 200
    return bodies(running.guard.store, "approval.resolved")[-1]["actor"]


def tag_of(running: Web, address: str) -> str:
    return address_tag(tenant_key(running.guard.store.secret, "default"), address)


def test_a_votes_address_is_the_connections_own(tmp_path: Path) -> None:
    """What a header claims counts for nothing where nobody trusted sent it; the address itself stands nowhere."""
    with web(tmp_path) as running:
        actor = voted(running, running.client(running.token("b1", "vote"), **CLAIMED))
        assert actor["addr"] == tag_of(running, "127.0.0.1")
        assert (actor["assurance"], actor["via"]) == ("token", "api")
        text = json.dumps([one.body for one in records(running.guard.store)])
        assert "127.0.0.1" not in text
        assert FAR not in text


def test_a_listed_proxy_says_where_a_vote_came_from(tmp_path: Path) -> None:
    """The last address that it names: those before it were written by whoever sent the request."""
    proxy = Proxy(
        principal="X-Forwarded-User", addresses=(ip_network("127.0.0.0/8"),), groups="X-Groups", roles={"bosses": ("boss",)}
    )
    with web(tmp_path, settings=Settings(public_url=PUBLIC, proxy=proxy)) as running:
        named = {"X-Forwarded-User": "p_1", "X-Groups": "bosses", **CLAIMED}
        token = running.client(**named).get("/api/v1/me").json()["form_token"]
        actor = voted(running, running.client(**named, Origin=PUBLIC, **{"X-Form-Token": token}))
        assert actor == {"type": "human", "ref": "p_1", "assurance": "proxy", "via": "console", "addr": tag_of(running, FAR)}


def test_the_sidecar_takes_the_trace_of_its_caller(tmp_path: Path) -> None:
    """The header of the request that asked, in the records of that call alone, and what is no `traceparent` stands nowhere."""
    with web(tmp_path) as running:
        asker = running.client(running.token("loop", "propose"))
        for number, header in enumerate((TRACE, "00-secret", "")):
            body = {
                "session": {"principal": "E1", "roles": ["clerk"]},
                "conversation": f"c{number}",
                "call": {"id": "x", "tool": "pay", "arguments": '{"amount": 5, "payee": "bob"}'},
            }
            assert asker.post("/api/v1/decide", json=body, headers={"traceparent": header} if header else {}).status_code == 200
        told = [(one["conversation"], one.get("trace")) for one in bodies(running.guard.store, "call.decided")]
        assert sorted(told) == [("c0", TRACE), ("c1", None), ("c2", None)]


def test_the_active_span_is_the_callers_trace(tmp_path: Path) -> None:
    """Where the program has loaded OpenTelemetry and is within a span; what a server said of its request comes before it."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    with TracerProvider(shutdown_on_exit=False).get_tracer("test").start_as_current_span("loop") as span:
        found = span.get_span_context()
        assert tracing.current() == f"00-{found.trace_id:032x}-{found.span_id:016x}-01"
        with tracing.within(TRACE):
            assert tracing.current() == TRACE
        with trace.use_span(trace.INVALID_SPAN):
            assert tracing.current() == ""


@pytest.mark.parametrize(
    "given",
    ["", None, 5, TRACE.upper(), f"{TRACE}\n", f"{TRACE}-x", "ff" + TRACE[2:], TRACE.replace("b7ad6b7169203331", "0" * 16)],
)
def test_what_is_no_trace_says_nothing(given: object) -> None:
    """Only the form that W3C gives it, so that nobody can write a text of their own into the log."""
    assert tracing.sound(given) == ""


def test_the_key_of_raw_values_is_named(tmp_path: Path) -> None:
    """By its id, in each record beside which raw values are written; a store without a key says nothing."""
    pytest.importorskip("cryptography")
    key = tmp_path / "payload.key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    walk = Walk.begin(tmp_path, f"sqlite:///{tmp_path}/guard.db", payload_key=key)
    walk.propose("look", 1)
    walk.propose("pay", 1)
    walk.propose("book", 1)
    own = walk.guard.store.payload_key
    assert len(own) == 12
    for kind in ("user.said", "call.decided", "call.begin", "call.end", "approval.requested"):
        found = walk.bodies(kind)
        assert found
        assert all(one["priv"] == {"key": own} for one in found), kind
    walk.guard.close()


def test_an_address_is_looked_for_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`guard audit hash --field addr` prints what stands in the records."""
    with web(tmp_path) as running:
        voted(running, running.client(running.token("b1", "vote")))
        wanted = tag_of(running, "127.0.0.1")
    run: Run = in_process(tmp_path, monkeypatch, capfd)
    found = run("audit", "hash", "--field", "addr", "127.0.0.1")
    assert (found.code, found.out.strip()) == (0, wanted)


def test_a_fingerprint_cannot_be_tried_with_the_log_alone(tmp_path: Path) -> None:
    """What the log holds of a held call does not let anybody try its short arguments, erased or not; whoever has the store's secret can."""
    walk = Walk.begin(tmp_path, "memory://")
    walk.propose("pay", 7)
    [asked] = walk.bodies("approval.requested")
    tool, texts = walk.guard.policy.tools["pay"], [canonical({"n": n}) for n in range(10)]
    tried = [fingerprint(tool, sha(text), walk.chat.ref) for text in texts]
    known = [fingerprint(tool, keyed(walk.guard.store.secret, text), walk.chat.ref) for text in texts]
    assert asked["fingerprint"] not in tried
    assert known.index(asked["fingerprint"]) == 7
    assert not {asked["args"]["digest"]} & {*map(sha, texts), *(keyed(walk.guard.store.secret, text) for text in texts)}
    walk.guard.close()
