"""Reported failures of Casbin set-ups: a model or a rule that says something else than it seems to, and stale or half-loaded rules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from policy_casbin_kit import MODEL
from reports import BOTH, U1, codes, start, write

from guard import Guard, PolicyError, Session
from guard.policy import load_policy

POLICY = "tools: {refund: {kind: action, approve: never}, look: {kind: read, allow: [staff]}}"
TOOLS: dict[str, Callable[..., str]] = {"refund": lambda: "paid", "look": lambda: "seen"}
EASY = """[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = MATCHER
"""
PLAIN = "g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act"


def fresh(tmp_path: Path) -> Path:
    """Another place for a folder."""
    (tmp_path / "other").mkdir()
    return tmp_path / "other"


def refused(tmp_path: Path, files: dict[str, str]) -> str:
    """The mistakes that stop the load."""
    with pytest.raises(PolicyError) as caught:
        Guard.load(write(tmp_path, POLICY, files), tools=TOOLS, store="memory://")
    assert all(problem.file in files and problem.line for problem in caught.value.problems), caught.value.problems
    return str(caught.value)


@pytest.mark.parametrize(
    "matcher",
    [
        "g(r.sub, p.sub) && keyMatch2(r.obj == p.obj)",
        "g(r.sub, p.sub) && keymatch2(r.obj, p.obj)",
        "g(r.sub, p.sub) && r.object == p.obj",
        "g(r.sub, p.sub) && r.obj == p.obj &&",
        "g(r.sub) && r.obj == p.obj && r.act == p.act",
        "r.sub == p.sub and (r.obj == p.obj",
    ],
)
def test_a_mistyped_matcher_br_152(tmp_path: Path, matcher: str) -> None:
    """A matcher that cannot be evaluated is named with its line, before anything is served."""
    assert "model.conf:10" in refused(
        tmp_path, {"model.conf": EASY.replace("MATCHER", matcher), "r.csv": "p, staff, refund, call\n"}
    )


@pytest.mark.parametrize("matcher", ["25", "r.obj", "r.obj == p.obj && 1", "r.sub || r.obj == p.obj", '"yes"', "1.0"])
def test_a_matcher_without_a_truth_br_153(tmp_path: Path, matcher: str) -> None:
    """What yields a number or a text is no yes; here such a matcher is not even served."""
    refused(tmp_path, {"model.conf": EASY.replace("MATCHER", matcher), "r.csv": "p, staff, refund, call\n"})


@BOTH
@pytest.mark.parametrize(
    "line", ["p,staff,refund,call", "p, staff ,refund,  call", "\tp,staff,refund,call\r", "p,u,look,call\np,staff,refund,call"]
)
def test_rules_without_blanks_br_155(tmp_path: Path, wire: str, line: str) -> None:
    """Blanks around columns mean nothing, and every line counts."""
    files = {"model.conf": EASY.replace("MATCHER", PLAIN), "r.csv": line + "\n"}
    desk = start(tmp_path, wire, POLICY, TOOLS, files=files)
    assert codes(desk.propose(("c1", "refund", {}))) == [None]
    desk.closed()


@pytest.mark.parametrize(
    "line",
    [
        'p, staff, *, refund, r.act in ("get", "post"), deny',
        'p, staff, *, "refund, look", call, deny',
        "p, staff, *, refund, call",
        "p, staff, *, refund, call, deny, # why",
        "p; staff; *; refund; call; deny",
    ],
)
def test_a_line_that_cannot_be_read_br_156(tmp_path: Path, line: str) -> None:
    """The broad allow beside it is not served without the deny."""
    assert "r.csv:2" in refused(tmp_path, {"r.csv": f"p, staff, *, refund, call, allow\n{line}\n"})


@BOTH
@pytest.mark.parametrize(
    "deny", ["p, staff, *, refund, call, deny", "p, user:u1, *, ref*, call, deny", "p, *, *, refund, call, deny"]
)
def test_a_new_deny_is_seen_br_157(tmp_path: Path, wire: str, deny: str) -> None:
    """What was allowed and remembered under one policy is judged anew under the next."""
    allow = "p, staff, *, refund, call, allow\n"
    folder = write(tmp_path, POLICY, {"r.csv": allow})
    before = load_policy(folder).policy
    for _ in range(3):
        assert before.authorizer.decide(U1, "refund", "call").allowed
    (folder / "r.csv").write_text(allow + deny + "\n")
    after = load_policy(folder).policy
    assert after.authorizer.decide(U1, "refund", "call").denied
    assert before.authorizer.decide(U1, "refund", "call").allowed  # one call is judged against one snapshot
    assert before.version != after.version
    desk = start(fresh(tmp_path), wire, POLICY, TOOLS, files={"r.csv": allow + deny + "\n"})
    assert codes(desk.propose(("c1", "refund", {}))) == ["not_authorized"]
    desk.closed()


def test_no_half_loaded_policy_br_159(tmp_path: Path) -> None:
    """While policies are loaded again and again, whoever holds one gets its answers, and an effect that allows by itself is refused."""
    folder = write(
        tmp_path, POLICY, {"r.csv": "p, staff, *, refund, call, allow\ng, u1, barred, *\np, barred, *, refund, call, deny\n"}
    )
    held = [load_policy(folder).policy]
    wrong: list[object] = []
    over = threading.Event()

    def ask(number: int) -> None:
        while not over.is_set():
            for one in (U1, Session(principal=f"u1-{number}", roles=("staff",))):
                verdict = held[0].authorizer.decide(one, "refund", "call")
                if verdict.allowed == (one is U1):
                    wrong.append(verdict)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        held[0] = load_policy(folder).policy
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    model = MODEL.replace("some(where (p.eft == allow)) && ", "")
    assert "allows when nothing matches" in refused(
        fresh(tmp_path), {"model.conf": model, "r.csv": "p, staff, *, refund, call, deny\n"}
    )


@pytest.mark.parametrize(
    "lines",
    ["g, u1, *, *\ng, *, admin, *", "g, a, b, *\ng, b, a, *", "g, a, a, x", "g, a, b, x\ng, b, c, *\ng, c, a, x", "g, *, *, *"],
)
def test_a_circle_of_roles_br_161(tmp_path: Path, lines: str) -> None:
    """A circle, and a pattern that would make one, is named at load."""
    assert "r.csv:1" in refused(tmp_path, {"r.csv": lines + "\np, staff, *, refund, call, allow\n"})


@pytest.mark.parametrize("text", ["a.p.p.l.e", "x&&y", "hello!", "r.sub", "#1", "a||b", "p2.x"])
def test_text_that_looks_like_code_br_163(tmp_path: Path, text: str) -> None:
    """A literal that Casbin would rewrite stops the load; the same text as a rule's name is compared as it is."""
    model = MODEL.replace("r.act == p.act &&", f'r.act == p.act && r.sub != "{text}" &&')
    assert "Casbin reads it as code" in refused(tmp_path, {"model.conf": model, "r.csv": "p, staff, *, refund, call, allow\n"})
    if "#" not in text:
        judge = load_policy(write(fresh(tmp_path), POLICY, {"r.csv": f"p, {text}, *, refund, call, allow\n"})).policy.authorizer
        assert judge.decide(Session(principal="u1", roles=(text,)), "refund", "call").allowed
        assert not judge.decide(Session(principal="u1", roles=(text + "x",)), "refund", "call").allowed
