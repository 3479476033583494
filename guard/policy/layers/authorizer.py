"""Authorizer: who may call or approve, asked of every layer by itself: all that speak about a tool must allow it, and none may deny it.

A layer knows its own roles and those of wider layers, so that no narrower one can give a role that a wider one rewards. Comes after
casbin_rules; before load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.core.model import Session
from guard.core.ports import Authorizer, Verdict
from guard.core.values import Json
from guard.policy.casbin_rules import CasbinAuthorizer
from guard.policy.engine.explain import Explained
from guard.policy.rule_files import RuleBook


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer's own rules. `calls` are the tools that it must allow for a call to be allowed, `approves` those that it names approvers for."""

    name: str
    book: RuleBook
    judge: CasbinAuthorizer
    calls: frozenset[str]
    approves: frozenset[str]
    own_model: bool = False

    def speaks(self, tool: str, act: str) -> bool:
        """Whether nothing is allowed without this layer."""
        return tool in (self.calls if act == "call" else self.approves)


class LayeredAuthorizer:
    """Implements the core's `Authorizer` over layers, the widest first."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = tuple(layers)

    @property
    def scoped(self) -> bool:
        """Whether some rule of some layer reads more than names."""
        return any(layer.judge.scoped for layer in self.layers)

    def decide(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Verdict:
        """Judge `act` on `tool`. Where nobody allows it although nobody denies it, `rules` name the layers that do not."""
        rules: list[str] = []
        silent: list[str] = []
        spoken = denied = False
        for layer in self.layers:
            verdict = layer.judge.decide(session, tool, act, scope)
            if verdict.denied:
                rules = [*(rules if denied else ()), *verdict.rules]
                denied = True
            elif not denied and layer.speaks(tool, act):
                spoken = True
                rules += verdict.rules
                silent += () if verdict.allowed else (f"layer {layer.name}: no rule allows it",)
        if denied or silent or not spoken:
            return Verdict(allowed=False, denied=denied, rules=tuple(dict.fromkeys(rules if denied else silent)))
        return Verdict(allowed=True, rules=tuple(dict.fromkeys(rules)))

    def explain(self, session: Session, tool: str, act: str, scope: Mapping[str, Json] | None = None) -> Explained:
        """The verdict with the rules of every layer about this tool and act, and the ways to the session's roles."""
        told = [layer.judge.explain(session, tool, act, scope) for layer in self.layers]
        outer = None if session.within is None else self.explain(session.within, tool, act, scope)
        return Explained(
            verdict=self.decide(session, tool, act, scope),
            candidates=tuple(dict.fromkeys(candidate for one in told for candidate in one.candidates)),
            paths=tuple(dict.fromkeys(path for one in told for path in one.paths)),
            outer=outer,
        )

    def would_deny(self, session: Session, tool: str, scope: Mapping[str, Json] | None = None) -> tuple[str, ...]:
        """Denials on trial in any layer that would have refused the call."""
        return tuple(dict.fromkeys(text for layer in self.layers for text in layer.judge.would_deny(session, tool, scope)))

    def roles(self, session: Session) -> frozenset[str]:
        """Every role that the session holds: its own and those that the rules of some layer derive."""
        return frozenset(role for layer in self.layers for role in layer.judge.roles(session))


def judges_of(authorizer: Authorizer) -> tuple[CasbinAuthorizer, ...]:
    """What an authorizer asks: itself, or that of each layer; nothing where it is of another kind."""
    if isinstance(authorizer, LayeredAuthorizer):
        return tuple(layer.judge for layer in authorizer.layers)
    return (authorizer,) if isinstance(authorizer, CasbinAuthorizer) else ()
