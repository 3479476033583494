"""Ceilings: how large may be what comes from outside, when a policy says nothing else. Comes before rules, which a policy fills."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """How large may be what comes from outside. The first three count for the arguments of one call, and a tool may have its own."""

    arguments_bytes: int = 262_144  # of their text; the largest recorded real call is a tenth of it
    arguments_depth: int = 64
    arguments_items: int = 20_000
    message_calls: int = 1_000  # of one assistant message; those beyond are refused
    user_words: int = 100_000  # characters of the user's text that are searched; more is no evidence
    result_bytes: int = 200_000  # of one result, where the tool has no `max_bytes`
    result_depth: int = 100  # of what a tool returned; what lies deeper is left out
    result_items: int = 1_000_000  # values of what a tool returned; what comes behind them is left out
    result_text: int = 32_000_000  # characters of a result in which something may have to be hidden; one with more is withheld
    open_approvals: int = 20  # questions about calls of one person, in one tenant, that wait for a decision
    approval_seconds: float = 2_592_000.0  # for which a question may stand
    message_bytes: int = 16_777_216  # of one message of a program over HTTP or MCP; a longer one is refused
    listed_tools: int = 10_000  # of one MCP server; with more of them it is not used


CEILINGS = Ceilings()
