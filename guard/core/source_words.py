"""Source words: where a value must come from, in words for people: `amount at most order_status.total of the newest call with the same order_id`.

Says what the policy demands and nothing of a call. Comes after rules; used by the review and by refusals. Pure.
"""

from __future__ import annotations

from guard.core.rules import After, Ground, Source

_RELATIONS = {"equals": "from", "at_most": "at most", "at_least": "at least"}


def ground(rule: Ground) -> str:
    """What one ground asks of its argument."""
    return f"{rule.argument} {' or '.join(map(source, rule.sources))}"


def source(one: Source) -> str:
    """One source, with the record that counts."""
    if one.origin == "user":
        return "from the user's words"
    if one.origin == "session":
        return f"held by session.{one.path}"
    which = " of the newest call" if one.latest else " of a call" if one.same or one.once else ""
    return f"{_RELATIONS[one.relation]} {one.tool}.{one.path}{which}{same(one)}{' that was not used before' if one.once else ''}"


def after(rule: After) -> str:
    """One prerequisite, with the record that counts."""
    return f"{rule.text}{same(rule)}"


def same(one: Source | After) -> str:
    """The arguments that must agree between the earlier record and this call; nothing where none must."""
    return f" with the same {' and '.join(map(str, one.same))}" if one.same else ""


__all__ = ["after", "ground", "same", "source"]
