"""Erasing: raw values go when they are too old, or when a person says so: of a conversation, of single calls, of everything of one person.

    Payloads(store, redactor).sweep(keep=30 * 86_400)
    Payloads(store, redactor).erase(home, who="E1", reason="request of 3 May")
    Payloads(store, redactor).erase_kills(theirs, who="E1", reason="request of 3 May")

The records stay, and say that it was done. Decides nothing about calls; what may not be erased yet is left and named. Used by the guard, which sweeps by
itself, and the command line.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from math import inf
from sys import maxsize
from typing import Any, cast

from guard.core import erasing
from guard.core.answer import erased as erased_row
from guard.core.erasing import Erase, Erased, EraseKills, Erasing, kill_without, tells
from guard.core.kills import Kill
from guard.core.names import is_reference, real
from guard.core.persons import kept_as, opaque, reference
from guard.core.ports import Redactor, Sought, Store
from guard.core.tags import tag, tenant_key
from guard.core.values import Json, JsonObject
from guard.errors import StoreError

KEEP = 2_592_000.0
"""Seconds for which raw values are kept after a call's end: 30 days."""
EVERY = 3600.0  # seconds between two sweeps of a guard
_PAGE = 5000  # records of one look
_TAGGED = '"hmac":{'
_BATCH = 500  # calls of one look
_BRIEF = 200  # calls that a guard sweeps on its way
Theirs = Callable[[Kill, str], bool]
"""Whether a name that stands in a kill is somebody's."""


class Payloads:
    """The raw values of a store."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store, self._records = cast("Erasing", store), store
        self._now = store.now
        self._redactor = redactor

    @property
    def able(self) -> bool:
        """Whether the store can erase: one that a host brings need not."""
        return callable(getattr(self._store, "aged", None))

    def sweep(self, keep: float, *, most: int | None = None) -> tuple[Erased, ...]:
        """Erase what ended more than `keep` seconds ago, the oldest `most` calls of it. Raises StoreError."""
        before, found, left = self._now() - keep, list[Erased](), most
        while left is None or left > 0:
            aged = self._store.aged(before, _BATCH if left is None else min(left, _BATCH))
            done = [
                self._erase(home, places, (before, before), {"type": "clock"}, "kept long enough", over=before)
                for home, places in aged.items()
            ]
            count = sum(len(one.calls) for one in done)
            found += [one for one in done if one.anything]
            left = None if left is None else left - count
            if not count:
                break
        return (*found, *self._sweep_grants(before), *self._sweep_kills(before))

    def _sweep_grants(self, before: float) -> Iterator[Erased]:
        """What is left of grants that were over by then; one that is in force keeps what it needs."""
        for home in self._store.aged_grants(before, _BATCH):
            done = self._erase(home, (), (-inf, -inf), {"type": "clock"}, "kept long enough", over=before)
            if done.anything:
                yield done

    def _sweep_kills(self, before: float) -> Iterator[Erased]:
        """Names and reasons of kills that were cleared by then."""
        command = EraseKills(before=before, event=partial(erasing.erased, actor={"type": "clock"}, reason="kept long enough"))
        while done := self._store.erase_kills(command, _BATCH):
            yield from done

    def erase(self, home: tuple[str, str], *, who: str, reason: str, calls: Collection[tuple[int, int]] | None = None) -> Erased:
        """Erase a conversation (tenant, name), or only these calls of it, by turn and position. Raises StoreError."""
        return self._erase(home, calls, (-inf if calls is not None else inf, inf), *self._said(who, reason))

    def _said(self, who: str, reason: str) -> tuple[Mapping[str, Json], str]:
        """Who erases, and why, as the record has it."""
        actor = {"type": "human", "ref": opaque(self._redactor, "person", who), "assurance": "os-user", "via": "cli"}
        return actor, self._redactor.detect(None, reason)[0]

    def theirs(self, person: str | None, reference: str | None, tenant: str | None = None) -> Theirs:
        """Which names in kills are this person's, or whoever's this reference is. With a tenant: those in kills of it, and its references."""
        kept = {reference} if reference else {one for one in self._called(person or "", tenant) if is_reference(one)}
        plain = None if not person or is_reference(person) else person
        return lambda kill, name: str(name) in kept or (real(name) == plain and tenant in (None, kill.stop.tenant))

    def kills(self, theirs: Theirs) -> tuple[str, ...]:
        """The kills of which `erase_kills` would take something. Raises StoreError."""
        found = self._records.kills(live=False)
        return tuple(one.id for one in found if tells(kill_without(one, theirs)) != tells(one))

    def erase_kills(self, theirs: Theirs, *, who: str, reason: str) -> tuple[Erased, ...]:
        """Erase what somebody is called and wrote in kills; one in force goes on stopping calls, and keeps its reason. Raises StoreError."""
        actor, why = self._said(who, reason)
        event = partial(erasing.erased, actor=actor, reason=why)
        return self._store.erase_kills(EraseKills(whose=theirs, event=event), maxsize)

    def left(self, home: tuple[str, str], calls: Collection[tuple[int, int]] | None = None) -> Erased:
        """What `erase` would leave, since it is not over. Raises StoreError."""
        return self._store.unerasable(home, calls)

    def of(self, person: str, tenant: str | None = None) -> tuple[tuple[str, str], ...]:
        """The conversations in which this person was signed in. A text like a reference is the name of whoever is called so, and nobody else's."""
        return self._under(self._called(person, tenant), tenant)

    def _called(self, person: str, tenant: str | None) -> tuple[str, ...]:
        """The names under which this person may be kept."""
        tenants = (tenant,) if tenant else [str(name) for (name,), _ in self._records.tally(Sought(), ("tenant",)) if name]
        names = () if is_reference(person) else (person,)
        return (*names, *(reference(tenant_key(self._records.secret, one), person) for one in tenants))

    def under(self, reference: str, tenant: str | None = None) -> tuple[tuple[str, str], ...]:
        """The conversations of the person for whom this reference stands in the records."""
        return self._under((reference,), tenant)

    def _under(self, names: Collection[str], tenant: str | None) -> tuple[tuple[str, str], ...]:
        found = dict.fromkeys(home for name in names for home in self._store.homes(name, None))
        return tuple(home for home in found if tenant in (None, home[0]))

    def whose(self, home: tuple[str, str]) -> tuple[str, ...]:
        """The names under which the records of a conversation stand for its person: none where there is no record of it."""
        sought = Sought(tenant=home[0], conversation=home[1])
        return tuple(str(name) for (name,), _ in self._records.tally(sought, ("principal",)) if name)

    def naming(self, person: str, tenant: str | None = None) -> dict[tuple[str, str], frozenset[tuple[int, int]]]:
        """The calls whose records hold a tag of this value, by conversation: an address, a number, a name in arguments or results."""
        found: dict[tuple[str, str], set[tuple[int, int]]] = {}
        for body in self._bodies():
            if _TAGGED in body and tenant in (None, (fields := json.loads(body)).get("tenant")) and self._names(fields, person):
                found.setdefault((fields["tenant"], fields["conversation"]), set()).add((fields["turn"], fields["position"]))
        return {home: frozenset(places) for home, places in found.items()}

    def _names(self, fields: JsonObject, person: str) -> bool:
        wanted = tag(tenant_key(self._records.secret, fields["tenant"]), person)
        return any(wanted in fields.get(part, {}).get("hmac", {}).values() for part in ("args", "result"))

    def _bodies(self) -> Iterator[str]:
        for chain in range(self._records.chains):
            after = 0
            while page := self._records.audit(chain=chain, after=after, limit=_PAGE):
                yield from (record.body for record in page)
                after = page[-1].seq

    def named(self, conversation: str) -> tuple[tuple[str, str], ...]:
        """The conversations of this name, of all tenants."""
        names = (conversation, kept_as(self._records.secret, "conversation", conversation))
        return tuple(home for name in names for home in self._store.homes(None, name))

    def _erase(
        self,
        home: tuple[str, str],
        only: Collection[tuple[int, int]] | None,
        before: tuple[float, float],
        actor: Mapping[str, Json],
        reason: str,
        over: float | None = None,
    ) -> Erased:
        def event(found: Erased) -> Any:
            return erasing.erased(found, actor, reason)

        return self._store.erase(
            Erase(
                home=home,
                row=erased_row,
                event=event,
                only=only,
                words_before=before[0],
                grants_over=over,
                handles_before=before[1],
            )
        )


class Sweeper:
    """Sweeps a little now and then, on the way of whoever opens a conversation."""

    def __init__(self, payloads: Payloads, keep: float | None, clock: Callable[[], float]) -> None:
        self._payloads, self._keep, self._clock = payloads, keep if payloads.able else None, clock
        self._next = 0.0

    def look(self) -> None:
        """Sweep, if it was not done for a while. A store that is down is no reason to fail."""
        if self._keep is None or self._clock() < self._next:
            return
        self._next = self._clock() + EVERY
        try:
            self._payloads.sweep(self._keep, most=_BRIEF)
        except StoreError as error:
            logging.getLogger("guard").warning("old payloads could not be erased: %s", error)
