"""Visible: how many tools each role shows to the model, and about how many tokens they cost in every request.

The tokens are an estimate: bytes of name, description and visible schema, divided by four. Knows the matcher that ships and no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from guard.core.rules import Tool
from guard.core.telling import told
from guard.core.values import encode
from guard.errors import Problem
from guard.policy.rule_files import ANY
from guard.review.view import NOWHERE, View, finding

MOST = 10
"""Tools; with more a model chooses worse, and every request pays for all of them."""

BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one role shows to the model. `tokens` is an estimate, for every request."""

    role: str
    tenant: str  # empty: any
    tools: int
    tokens: int


def shown(view: View) -> list[Shown]:
    """The most that each role shows, in whichever tenant that is; persons are left out."""
    cost = {name: tokens(tool) for name, tool in view.tools.items()}
    total = lru_cache(maxsize=4096)(lambda names: sum(cost[name] for name in names))
    roles = view.roles
    most: dict[str, Shown] = {}
    for name, dom in view.callers:
        names = view.may(name, dom)
        known = most.get(name)
        if name in roles and names and (known is None or len(names) > known.tools):
            tenant = "" if dom == NOWHERE else dom
            most[name] = Shown(role="everybody" if name == ANY else name, tenant=tenant, tools=len(names), tokens=total(names))
    return [most[name] for name in sorted(most)]


def tokens(tool: Tool) -> int:
    """About how many tokens the definition takes in a request."""
    text = encode({"name": tool.name, "description": told(tool).description, "parameters": dict(tool.visible)})
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def too_many(view: View) -> Iterator[Problem]:
    """A role that shows the model more tools than it chooses well among."""
    for one in shown(view):
        if one.tools > MOST:
            spot = next((spot for rule, spot in view.rules.items() if rule.sub in {one.role, ANY} and rule.act == "call"), None)
            where = f" in {one.tenant}" if one.tenant else ""
            message = f"{one.role} shows the model {one.tools} tools{where}, about {one.tokens} tokens in every request"
            if spot is not None:
                cure = f"split the role, or offer fewer in a conversation (at most {MOST} are chosen well)"
                yield finding(spot, "tools-many", message, cure)
