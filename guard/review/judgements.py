"""Judgements: which calls `require`, `refuse` and `approve` of a tool treat differently under two policies.

Both sides are asked about the same combinations (see regions), as authorize asks about a call. What both sides say in the same words is left
out: it can only refuse alike. Comes after regions; used by tool_changes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from guard.core.rules import ApprovalRule, ArgumentRule
from guard.review.changes import Direction, Fact, demands, matched, most, permits, words
from guard.review.grant_changes import grant_facts
from guard.review.regions import Fits, World, same, worlds

TOO_MANY = "too many combinations to compare them all"


def rule_facts(old: Sequence[ArgumentRule], new: Sequence[ArgumentRule], fits: Fits) -> Iterator[Fact]:
    """How `require` and `refuse` differ."""
    gone, come = matched(old, new, lambda rule: (rule.effect, same(rule.when), rule.shadow))
    if gone or come:
        yield from _rule_facts(gone, come, fits)
    elif [rule.say for rule in old] != [rule.say for rule in new]:
        yield Fact(Direction.CHANGES, "what a refusal says", words([rule.say for rule in old]), words([rule.say for rule in new]))


def _rule_facts(gone: Sequence[ArgumentRule], come: Sequence[ArgumentRule], fits: Fits) -> Iterator[Fact]:
    before, after = words([_spelled(rule) for rule in gone]), words([_spelled(rule) for rule in come])
    what = "require and refuse"
    live = [rule for rule in (*gone, *come) if not rule.shadow]
    found = worlds((rule.when for rule in live), fits)
    if found is None:
        yield Fact(Direction.MAYBE if any(not rule.shadow for rule in gone) else Direction.NARROWS, what, before, after, TOO_MANY)
        return
    told: dict[Direction, str] = {}
    for world in found:
        one, other = _refused(gone, world), _refused(come, world)
        if one != other:
            told.setdefault(Direction.WIDENS if one else Direction.NARROWS, world.example)
    for direction, example in told.items():
        verb = "no longer refused" if direction is Direction.WIDENS else "refused now"
        yield Fact(direction, what, before, after, f"{verb}: {example}")
    if not told:
        yield Fact(Direction.CHANGES, what, before, after, "the same calls are refused")


def _refused(rules: Sequence[ArgumentRule], world: World) -> bool:
    return any(not rule.shadow and _breaks(rule, world) for rule in rules)


def _breaks(rule: ArgumentRule, world: World) -> bool:
    return not world.surely(rule.when) if rule.effect == "require" else world.maybe(rule.when)


def _spelled(rule: ArgumentRule) -> str:
    return f"{'shadow ' if rule.shadow else ''}{rule.effect} {rule.when.text}"


# -- approvals ---------------------------------------------------------------------------------------------------------------


def approval_facts(old: Sequence[ApprovalRule], new: Sequence[ApprovalRule], fits: Fits) -> Iterator[Fact]:
    """How `approve` differs."""
    if [_identity(rule) for rule in old] == [_identity(rule) for rule in new]:
        return
    before, after = _alternatives(old), _alternatives(new)
    found = worlds((rule.when for rule in (*old, *new) if rule.when is not None), fits)
    if found is None:
        yield Fact(Direction.MAYBE, "approve", before, after, TOO_MANY)
        return
    told: dict[tuple[str, Direction, str, str], str] = {}
    for world in found:
        for one in _compared(_asks(old, world), _asks(new, world)):
            told.setdefault((one.what, one.direction, one.old, one.new), world.example)
    for (what, direction, left, right), example in told.items():
        yield Fact(direction, what, left, right, f"for example: {example}" if example else "")
    if not told:
        yield Fact(Direction.CHANGES, "approve", before, after, "the same people are asked about the same calls")


def _identity(rule: ApprovalRule) -> object:
    return replace(rule, when=None), same(rule.when)


def _alternatives(rules: Sequence[ApprovalRule]) -> str:
    told = [f"{_deciders(rule)}{f' when {rule.when.text}' if rule.when else ''}" for rule in rules]
    return "; ".join(told) or _deciders(None)


def _asks(rules: Sequence[ApprovalRule], world: World) -> ApprovalRule | None:
    """As authorize chooses: the first that surely applies, or the strictest of those before it that may."""
    candidates: list[ApprovalRule] = []
    for rule in rules:
        if rule.when is None or world.surely(rule.when):
            candidates.append(rule)
            break
        if world.maybe(rule.when):
            candidates.append(rule)
    if not candidates:
        return rules[-1] if rules else None
    chosen = max(candidates, key=lambda rule: rule.strictness)
    return chosen if chosen.strictness else None


def _compared(old: ApprovalRule | None, new: ApprovalRule | None) -> Iterator[Fact]:
    if old is None or new is None:
        if (old is None) != (new is None):
            yield Fact(Direction.WIDENS if new is None else Direction.NARROWS, "approve", _deciders(old), _deciders(new))
        return
    who = permits(_people(old), _people(new))
    if who is Direction.MAYBE and old.strictness != new.strictness:
        who = Direction.WIDENS if new.strictness < old.strictness else Direction.NARROWS
    if who is not None:
        yield Fact(who, "who approves", _deciders(old), _deciders(new))
    if old.strictness != new.strictness:
        return  # another alternative: its own times and views belong to it
    expiry = most(old.expires, new.expires)
    if expiry is not None:
        yield Fact(expiry, "approve.expires", f"{old.expires:g}s", f"{new.expires:g}s")
    yield from _clicked(old, new)
    yield from _voted(old, new)
    yield from grant_facts(old.grants, new.grants)
    if old.show != new.show:
        yield _shown(old, new)


def _clicked(old: ApprovalRule, new: ApprovalRule) -> Iterator[Fact]:
    """Whose word counts for who answered: that of the program in front of the requester is less than the host's."""
    if old.assurance != new.assurance:
        wider = Direction.WIDENS if new.assurance == "client" else Direction.NARROWS
        yield Fact(wider, "approve.assurance", old.assurance, new.assurance)


def _voted(old: ApprovalRule, new: ApprovalRule) -> Iterator[Fact]:
    """How many must say yes, until when it must be used, what they may change, and who else may decide later."""
    if old.need != new.need:
        wider = Direction.WIDENS if new.need < old.need else Direction.NARROWS
        yield Fact(wider, "approve.need", str(old.need), str(new.need))
    if old.use_within != new.use_within:
        within = most(old.use_within, new.use_within) or Direction.CHANGES
        yield Fact(within, "approve.use_within", _seconds(old.use_within), _seconds(new.use_within))
    for what, before, after in (("edit", old.edit, new.edit), ("escalate", _later(old), _later(new))):
        if before != after:
            left, right = list(map(str, before)), list(map(str, after))
            yield Fact(permits(set(left), set(right)) or Direction.CHANGES, f"approve.{what}", words(left), words(right))
    if old.on_message != new.on_message:
        wider = Direction.WIDENS if new.on_message == "keep" else Direction.NARROWS
        yield Fact(wider, "approve.on_message", old.on_message, new.on_message)
    if old.secret != new.secret:
        yield Fact(Direction.CHANGES, "approve.secret", words(list(map(str, old.secret))), words(list(map(str, new.secret))))
    if old.effect != new.effect:
        yield Fact(Direction.CHANGES, "approve.effect", _line(old), _line(new))


def _line(rule: ApprovalRule) -> str:
    return "".join(part if isinstance(part, str) else f"{{{part}}}" for part in rule.effect) or "-"


def _later(rule: ApprovalRule) -> tuple[str, ...]:
    return tuple(f"{role} after {rule.escalate_after:g}s" for role in rule.escalate_to)


def _seconds(value: float | None) -> str:
    return "until it expires" if value is None else f"{value:g}s"


def _shown(old: ApprovalRule, new: ApprovalRule) -> Fact:
    """What the approver is shown first; none named is all of it."""
    before, after = [list(map(str, rule.show)) for rule in (old, new)]
    if before and after:
        direction = demands(before, after) or Direction.CHANGES
    else:
        direction = Direction.WIDENS if after else Direction.NARROWS
    return Fact(direction, "approve.show", words(before) if before else "all", words(after) if after else "all")


def _people(rule: ApprovalRule) -> set[str]:
    return {*rule.by, *(["\0self"] if rule.self_ else [])}


def _deciders(rule: ApprovalRule | None) -> str:
    if rule is None or not rule.strictness:
        return "nobody is asked"
    return " or ".join([*(["the requester"] if rule.self_ else []), *rule.by])
