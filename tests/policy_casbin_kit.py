"""What the tests of Casbin share: a small policy, its authorizer under given rules, and short ways to write a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from guard.core.model import Session
from guard.core.ports import Authorizer
from guard.policy import load_policy
from guard.policy.casbin_rules import CasbinAuthorizer
from guard.policy.problems import Problems
from guard.policy.rule_files import Grant, Rule
from guard.policy.rule_shape import shape_of, shipped
from guard.policy.source import File

TOOLS = """
tools:
  read_it: {kind: read, allow: [employee]}
  pay: {kind: action, allow: [employee], approve: {by: [supervisor]}}
  mcp__tts__say: {kind: read}
  mcp__tts_evil__say: {kind: read}
"""
MODEL = shipped()


def loaded(tmp_path: Path, csv: str = "", model: str | None = None) -> Authorizer:
    """The authorizer of a small policy with these rules."""
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "rules.csv").write_text(csv)
    if model is not None:
        (tmp_path / "model.conf").write_text(model)
    return load_policy(tmp_path).policy.authorizer


def judging(
    rules: Sequence[Rule], grants: Sequence[Grant] = (), *, model: str = MODEL, roles: Iterable[str] = ()
) -> CasbinAuthorizer:
    """An authorizer of these rules."""
    problems = Problems()
    shape = shape_of([File("model.conf", model.encode())], problems)
    assert shape is not None, problems.errors
    return CasbinAuthorizer(shape, rules, grants, roles=roles)


def who(principal: str = "E1", *roles: str, tenant: str = "acme", within: Session | None = None) -> Session:
    """A session."""
    return Session(principal=principal, roles=roles, tenant=tenant, within=within)
