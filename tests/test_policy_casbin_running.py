"""The authorizer at work: errors go up, its memory is bounded, the host's logging is left alone, and threads agree."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from policy_casbin_kit import MODEL, judging, loaded, who

from guard.core.model import Session
from guard.policy.casbin_rules import MAX_MEMO
from guard.policy.rule_files import Grant, Rule


def test_an_error_allows_nothing_and_hides_no_deny() -> None:
    """What a matcher raises counts as no match in an allow and as a match in a deny, each time anew."""
    model = MODEL.replace("act\n\n[policy", "act, ctx\n\n[policy").replace(
        "r.act == p.act &&", "r.act == p.act && r.ctx.session.level > 2 &&"
    )
    allow, deny = Rule("a", "*", "t", "call", "allow"), Rule("b", "*", "t", "call", "deny")
    judge = judging([allow, deny], model=model, roles=("a", "b"))
    senior = {"level": 3}

    for _ in range(2):
        assert not judge.decide(who("E1", "a"), "t", "call").allowed
        assert judge.decide(Session(principal="E1", roles=("a",), attributes=senior, tenant="x"), "t", "call").allowed
        assert judge.decide(who("E1", "b"), "t", "call").denied
    assert judge._memo == {}


def test_only_texts_are_judged() -> None:
    """`1 == True` must never meet in a memo."""
    judge = judging([Rule("a", "*", "t", "call", "allow")], [], roles=("a",))

    with pytest.raises(ValueError, match="each a text"):
        who("E1", 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        judge.decide(who("E1"), 1, "call")  # type: ignore[arg-type]


def test_the_memo_is_bounded() -> None:
    """Names from outside cannot make the policy grow without end."""
    judge = judging([Rule("a", "*", "t", "call", "allow")], [Grant("x", "a", "*")], roles=("a",))
    for number in range(MAX_MEMO + 10):
        judge._memo[(frozenset(), str(number), "", "")] = judge.decide(who("E1"), "t", "call")
    for number in range(20):
        judge.decide(who(f"E{number}"), "t", "call")

    assert len(judge._memo) <= MAX_MEMO + 11
    assert len(judge._graph._known) == 2  # the grant's name, as a role and as a person


def test_logging_of_the_host_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Building a policy changes no logger, and no decision is ever logged: it would say who asked for what."""
    logger = logging.getLogger("casbin.enforcer")
    before = logger.disabled
    with caplog.at_level(logging.DEBUG):
        loaded(tmp_path).decide(who("E-private", "stranger"), "pay", "call")

    assert logger.disabled == before
    assert "E-private" not in caplog.text


def test_threads_get_the_answers_that_one_gets() -> None:
    """Many threads with unseen people at once: no error, no wrong answer."""
    rules = [Rule("employee", "*", "t", "call", "allow"), Rule("bad", "*", "t", "call", "deny")]
    judge = judging(rules, [Grant("intern", "bad", "*")], roles=("employee",))
    wrong: list[object] = []

    def ask(thread: int) -> None:
        for number in range(50):
            session = who(f"{thread}-{number}", "employee", *(["intern"] if number % 2 else []))
            verdict = judge.decide(session, "t", "call")
            if verdict.allowed == bool(number % 2):
                wrong.append(session)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
