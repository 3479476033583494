"""Skipping a room is a type error: each line that tries to is marked, and mypy says when a mark is not needed."""

from __future__ import annotations

from guard.core.approve import approve
from guard.core.authorize import authorize
from guard.core.bind import bind
from guard.core.ground import ground
from guard.core.limit import charges
from guard.core.model import (
    Allow,
    Approval,
    AuthorizedCall,
    BoundCall,
    GroundedCall,
    Hold,
    ParsedCall,
    Session,
    ToolCall,
    ValidCall,
)
from guard.core.model import ConversationRef as Ref
from guard.core.ports import Authorizer, Execute, Facts, Ledger
from guard.core.rules import ApprovalRule, Limits
from guard.core.validate import validate
from guard.core.values import sha


def in_order(parsed: ParsedCall, bound: BoundCall, valid: ValidCall, session: Session, ref: Ref, ledger: Ledger) -> None:
    """What fits."""
    bind(parsed, session)
    validate(bound, ref, sha)
    ground(valid, session, ledger, sha)


def skipping_bind(call: ToolCall, parsed: ParsedCall, session: Session, ref: Ref) -> None:
    """A proposal is neither bound nor validated before it is parsed, nor validated before it is bound."""
    bind(call, session)  # type: ignore[arg-type]
    validate(call, ref, sha)  # type: ignore[arg-type]
    validate(parsed, ref, sha)  # type: ignore[arg-type]


def skipping_validate(parsed: ParsedCall, bound: BoundCall, session: Session, ledger: Ledger) -> None:
    """Only a valid call is grounded."""
    ground(parsed, session, ledger, sha)  # type: ignore[arg-type]
    ground(bound, session, ledger, sha)  # type: ignore[arg-type]


def skipping_ground(bound: BoundCall, valid: ValidCall, session: Session, judge: Authorizer, facts: Facts) -> None:
    """Only a grounded call is authorized."""
    authorize(valid, session, judge, facts)  # type: ignore[arg-type]
    authorize(bound, session, judge, facts)  # type: ignore[arg-type]


def skipping_authorize(valid: ValidCall, grounded: GroundedCall, rule: ApprovalRule, asked: Approval, judge: Authorizer) -> None:
    """Only an authorized call draws on budgets, is shown to a person, or is allowed."""
    charges(grounded, Limits(), 0, 0, Ledger())  # type: ignore[arg-type]
    approve(valid, rule, asked, judge)  # type: ignore[arg-type]
    approve(grounded, rule, asked, judge)  # type: ignore[arg-type]
    Allow(call=grounded)  # type: ignore[arg-type]
    Allow(call=valid)  # type: ignore[arg-type]


def going_back(authorized: AuthorizedCall, hold: Hold, session: Session, ref: Ref) -> None:
    """A proof is no earlier proof, and a hold is no permission."""
    validate(authorized, ref, sha)  # type: ignore[arg-type]
    Allow(call=hold)  # type: ignore[arg-type]
    bind(hold, session)  # type: ignore[arg-type]


def changing(valid: ValidCall, command: Execute) -> None:
    """Proofs and commands are frozen."""
    valid.arguments = {}  # type: ignore[misc]
    command.arguments = {}  # type: ignore[misc]
