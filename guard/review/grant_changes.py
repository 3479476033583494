"""Grant changes: what may be given from an approval under one policy and not under another.

An offer that no older one covers widens; one that no newer one covers narrows. Comes after changes; used by judgements. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guard.core.lasting import lasting
from guard.core.offers import Offer
from guard.review.changes import Direction, Fact

WHAT = "approve.grants"


def grant_facts(old: Sequence[Offer], new: Sequence[Offer]) -> Iterator[Fact]:
    """How the offers differ."""
    if list(map(spelled, old)) == list(map(spelled, new)):
        return
    before, after = words(old), words(new)
    wider = [one for one in new if not any(other.covers(one) for other in old)]
    narrower = [one for one in old if not any(other.covers(one) for other in new)]
    if wider:
        yield Fact(Direction.WIDENS, WHAT, before, after, f"may be given now: {words(wider)}")
    if narrower:
        yield Fact(Direction.NARROWS, WHAT, before, after, f"may no longer be given: {words(narrower)}")
    if not wider and not narrower:
        yield Fact(Direction.CHANGES, WHAT, before, after, "the same grants may be given")


def words(offers: Sequence[Offer]) -> str:
    """Offers in words."""
    return "; ".join(map(spelled, offers)) or "none"


def spelled(offer: Offer) -> str:
    """One offer in words."""
    bounds = [
        f"{offer.field} at most {offer.at_most}" if offer.field else "",
        f"sum {offer.sum}" if offer.sum is not None else "",
        f"same {', '.join(map(str, offer.same))}" if offer.same else "",
        f"{offer.uses} uses" if offer.uses is not None else "",
        f"for {lasting(offer.until)}" if offer.until is not None else "",
    ]
    return ", ".join([offer.scope, *filter(None, bounds)])
