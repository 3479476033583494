"""Asking: `approve` of two layers. A narrower layer may ask where nobody was asked, ask fewer people, and give them less time.

Where both ask, whoever may decide by the narrower layer must be one who may decide by the wider one, in every case that it tells apart.
Comes after both; before keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from guard.core.rules import ApprovalRule
from guard.core.values import canonical, equal
from guard.policy import language
from guard.policy.approvals import NEVER, SELF
from guard.policy.grants import offer
from guard.policy.layers.both import Both, listed, mapping, parts, seconds, words
from guard.policy.problems import Problems
from guard.policy.rule_files import ROLE
from guard.policy.source import Item

COMPARED = frozenset({"by", "when", "expires", "show", "need", "use_within", "edit", "on_message", "grants"})
_MOST = 10  # alternatives whose cases are gone through one by one
_SAME = "name only roles that stand there, or the same alternatives under the same when"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One alternative: who may decide (`self` for the requester; nobody: nobody is asked)."""

    item: Item
    who: frozenset[str]

    @property
    def when(self) -> str:
        """The condition, to be compared."""
        found = self.item.fields.get("when")
        return "" if found is None else canonical(found.value)

    @property
    def told(self) -> str:
        """Who is asked, in words."""
        return " or ".join(sorted(self.who)) or "nobody is asked"


def approve(both: Both) -> Item:
    """The narrower layer's alternatives, each no looser than those of the wider one that it may stand for."""
    wide = alternatives(both.wide)
    narrow = alternatives(both.narrow)
    if wide is None or (both.wide is not None and both.same):
        return both.wide or both.narrow  # unreadable: whoever compiles it says so
    if narrow is not None and both.wide is None and _unsaid(both) and not all(one.who for one in narrow):
        both.loosens("the action does not say who approves it", "write approve: there; a narrower layer may only ask more")
    if narrow is None or not any(one.who for one in wide):
        return both.narrow
    before = len(both.problems.errors)
    found = [_tightened(both, one, among) for one, among in zip(narrow, _facing(wide, narrow), strict=True)]
    if len(both.problems.errors) > before:
        return both.narrow
    return listed(both.narrow, found) if isinstance(both.narrow.value, list) else found[0]


def _unsaid(both: Both) -> bool:
    """Whether a wider layer knows the tool as an action without saying who approves it, which is a mistake there and no permission here."""
    kind = both.entry.fields.get("kind")
    return kind is not None and kind.value == "action"


def alternatives(item: Item | None) -> list[_Asked] | None:
    """The alternatives of `approve:`; None where one cannot be read. Without `approve:` nobody is asked."""
    if item is None:
        return []
    found = []
    for one in item.items if isinstance(item.value, list) and item.items else [item]:
        if one.value != NEVER and not one.fields.get("by"):
            return None
        found.append(_Asked(one, deciders(one)))
    return found


def deciders(one: Item) -> frozenset[str]:
    """Who may decide by one alternative: roles without `role:`, and `self`. A role of that name keeps its mark."""
    named = [] if one.value == NEVER else words(one.fields.get("by"))
    plain = {name: name.removeprefix(ROLE) for name in named if name != NEVER}
    return frozenset(name if short in {SELF, NEVER} else short for name, short in plain.items())


def roles(item: Item | None) -> tuple[str, ...]:
    """Every role that may decide about some call."""
    found = [name.removeprefix(ROLE) for one in alternatives(item) or () for name in sorted(one.who) if name != SELF]
    return tuple(dict.fromkeys(found))


def _facing(wide: Sequence[_Asked], narrow: Sequence[_Asked]) -> list[Sequence[_Asked]]:
    """For each narrower alternative, the wider ones that it may stand for: all, or where the conditions are the same those of the same calls.

    Which of several alternatives a call meets may be uncertain; then the strictest counts, on either side: every such case is gone through.
    """
    if [one.when for one in wide] != [one.when for one in narrow] or len(wide) > _MOST:
        return [wide for _ in narrow]
    pairs: set[tuple[int, int]] = set()
    for last in range(len(wide)):
        for count in range(last + 1):
            for before in combinations(range(last), count):
                met = (*before, last)
                pairs.add((_strictest(narrow, met), _strictest(wide, met)))
    return [[other for at, other in enumerate(wide) if (own, at) in pairs] for own in range(len(narrow))]


def _strictest(asked: Sequence[_Asked], met: Sequence[int]) -> int:
    """Which alternative counts, as the authorizing room chooses: somebody else before the requester before nobody, the first of equals."""
    return max(met, key=lambda at: 2 if asked[at].who - {SELF} else len(asked[at].who))


def _tightened(both: Both, one: _Asked, among: Sequence[_Asked]) -> Item:
    asking = [other for other in among if other.who]
    for other in asking:
        if not one.who:
            both.loosens(f"nobody is asked where {other.told} decides", _SAME, wide=other.item, narrow=one.item)
        elif not one.who <= other.who:
            both.loosens(f"{one.told} decides where {other.told} does", _SAME, wide=other.item, narrow=one.item)
    fields = dict(one.item.fields)
    for other in asking if one.who else ():
        _carry(both, other, one, fields)
    if one.who and asking:
        _shorten(both, asking, fields)
        _show(both, asking, fields)
        _vote(both, [other.item for other in asking], fields)
        _granted(both, asking, fields)
    return mapping(one.item, fields) if fields else one.item


def _carry(both: Both, other: _Asked, one: _Asked, fields: dict[str, Item]) -> None:
    """What else a wider alternative demands stays as it is."""
    for key in (other.item.fields.keys() | one.item.fields.keys()) - COMPARED:
        first, own = other.item.fields.get(key), one.item.fields.get(key)
        if first is not None and own is None:
            fields[key] = first
        elif first is None or own is None or not equal(first.value, own.value):
            both.loosens(f"{key} is not what stands", "leave it out, or write the same", wide=first or other.item, narrow=own)


def _shorten(both: Both, asking: Sequence[_Asked], fields: dict[str, Item]) -> None:
    """The shortest time of those that it stands for, or less."""
    usual = min(ApprovalRule().expires, both.ceilings.get("approval_expires", ApprovalRule().expires))
    written = [(seconds(other.item.fields.get("expires")), other) for other in asking]
    most, tightest = min(((found or usual, other) for found, other in written), key=lambda pair: pair[0])
    own = seconds(fields.get("expires"))
    if own is not None and own > most:
        why = f"expires {fields['expires'].value} is more than {language.spelled(most)}"
        cure = f"write at most {language.spelled(most)}"
        both.loosens(why, cure, wide=tightest.item.fields.get("expires", tightest.item), narrow=fields["expires"])
    elif "expires" not in fields and "expires" in tightest.item.fields:
        fields["expires"] = tightest.item.fields["expires"]


def _show(both: Both, asking: Sequence[_Asked], fields: dict[str, Item]) -> None:
    """The approver sees no less than before; without `show` everything is shown."""
    own = fields.get("show")
    if own is None:
        if len(asking) == 1 and "show" in asking[0].item.fields:
            fields["show"] = asking[0].item.fields["show"]
        return
    for other in asking:
        shown = other.item.fields.get("show")
        if shown is None or not set(words(shown)) <= set(words(own)):
            what = "everything" if shown is None else ", ".join(words(shown))
            both.loosens(f"the approver is shown {what}", "leave show out", wide=shown or other.item, narrow=own)


def _vote(both: Both, asking: Sequence[Item], fields: dict[str, Item]) -> None:
    """No fewer people than before must say yes, no later may it be used, and nothing more be changed; withdrawn it stays."""
    for wide in asking:
        _need(both, wide, fields)
        _within(both, wide, fields)
        own, theirs = fields.get("edit"), wide.fields.get("edit")
        if own is not None and not set(words(own)) <= set(words(theirs)):
            what = ", ".join(words(theirs)) or "nothing"
            both.loosens(
                f"an approver may change {what}", "leave edit out, or name some of these", wide=theirs or wide, narrow=own
            )
        kept, before = fields.get("on_message"), wide.fields.get("on_message")
        if before is not None and before.value == "cancel" and (kept is None or kept.value != "cancel"):
            if kept is not None:
                both.loosens("the question is withdrawn when the user goes on", "leave it out", wide=before, narrow=kept)
            fields["on_message"] = before


def _need(both: Both, wide: Item, fields: dict[str, Item]) -> None:
    own, theirs = fields.get("need"), wide.fields.get("need")
    if theirs is None or not isinstance(theirs.value, int):
        return
    if own is None:
        fields["need"] = theirs
    elif isinstance(own.value, int) and own.value < theirs.value:
        both.loosens(f"{theirs.value} people must say yes", "write no less", wide=theirs, narrow=own)


def _within(both: Both, wide: Item, fields: dict[str, Item]) -> None:
    """A yes is used no later than it was: within the wider layer's time, or within its question's where it has none."""
    own, theirs = fields.get("use_within"), wide.fields.get("use_within")
    if own is None and theirs is not None:
        fields["use_within"] = theirs
    if own is None:
        return
    asked, lasts = seconds(wide.fields.get("expires")) or ApprovalRule().expires, seconds(fields.get("expires"))
    most = seconds(theirs) if theirs is not None else asked - (lasts or asked)
    if most is not None and (seconds(own) or 0.0) > most:
        when = f"within {language.spelled(most)}" if theirs is not None else "until expires is over"
        both.loosens(f"it is used {when}", "write no more, or leave use_within out", wide=theirs or wide, narrow=own)


def _granted(both: Both, asking: Sequence[_Asked], fields: dict[str, Item]) -> None:
    """Which standing grants may be given: none unless it is written here too, and each within what every wider alternative offers."""
    for spot in parts(fields.get("grants")):
        own = offer(spot, Problems())
        for other in asking:
            offers = [offer(one, Problems()) for one in parts(other.item.fields.get("grants"))]
            if own is not None and not any(one is not None and one.covers(own) for one in offers):
                both.loosens(
                    f"grants: {own.scope} is more than may be given",
                    "leave it out, or bound it as there",
                    wide=other.item,
                    narrow=spot,
                )
