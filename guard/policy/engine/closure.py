"""Closure: who has which role in which domain, through a stated number of steps. `*` as a domain stands for every one.

Filled in linear time; asking about names that stand in no rule adds nothing. Circles and chains beyond the limit are found here for the
loader, which refuses them: nothing is ever cut silently. Comes before engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

MAX_CHAIN = 9
"""Steps from a name to its farthest role: as many as Casbin's own role manager follows."""
MAX_KNOWN = 20_000
"""Names whose roles are remembered; then all are forgotten."""
ANYWHERE = "*"

Link = tuple[str, str, str]
"""Name, role, domain."""


class Closure:
    """The roles of one definition. Casbin's `has_link` is answered from it."""

    def __init__(self, links: Iterable[Link]) -> None:
        self._links: dict[str, dict[str, list[str]]] = {}
        for sub, role, dom in links:
            self._links.setdefault(dom, {}).setdefault(sub, []).append(role)
        self._everywhere = self._links.get(ANYWHERE, {})
        self._known: dict[tuple[str, str], frozenset[str]] = {}
        if sum(map(len, self._links.values())) <= MAX_KNOWN:  # while loading, so that the first decision finds it done
            for dom, here in self._links.items():
                for name in here:
                    self.of(name, dom)

    @property
    def links(self) -> dict[str, dict[str, list[str]]]:
        """Every link: by domain and name, the roles. Not to be changed."""
        return self._links

    def of(self, name: str, dom: str = ANYWHERE) -> frozenset[str]:
        """`name` itself and every role that it has in the domain."""
        here = self._links.get(dom)
        if here is None:
            here, dom = self._everywhere, ANYWHERE
        if name not in here and name not in self._everywhere:
            return frozenset((name,))
        key = (name, dom)
        known = self._known.get(key)
        if known is None:
            known = frozenset(self._walk(name, here))
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

    def _walk(self, name: str, here: dict[str, list[str]]) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += here.get(one, ())
                waiting += self._everywhere.get(one, ())
        return found

    def has_link(self, name: str, role: str, *domain: str) -> bool:
        """Casbin's question to its role manager."""
        return role in self.of(name, str(domain[0]) if domain else ANYWHERE)

    def path(self, name: str, role: str, dom: str) -> tuple[Link, ...]:
        """The links of one shortest way; none where there is no way or none is needed."""
        came: dict[str, Link | None] = {name: None}
        waiting = deque([name])
        while waiting and role not in came:
            one = waiting.popleft()
            for where in dict.fromkeys((dom, ANYWHERE)):
                for other in self._links.get(where, {}).get(one, ()):
                    if other not in came:
                        came[other] = (one, other, where)
                        waiting.append(other)
        way: list[Link] = []
        step = came.get(role)
        while step is not None:
            way.append(step)
            step = came[step[0]]
        return tuple(reversed(way))


def tangles(links: Iterable[Link]) -> Iterator[tuple[Link, bool]]:
    """Links that lie on a circle (True), and the last link of each chain that is too long (False)."""
    by_domain: dict[str, list[Link]] = {}
    for link in links:
        by_domain.setdefault(link[2], []).append(link)
    common = by_domain.pop(ANYWHERE, [])
    down, up = _sides(common)
    seen: set[tuple[Link, bool]] = set()
    for region in [common, *(own + _touched(own, down, up) for own in by_domain.values())]:
        for found in _tangled(region):
            if found not in seen:
                seen.add(found)
                yield found


def _sides(links: Iterable[Link]) -> tuple[dict[str, list[Link]], dict[str, list[Link]]]:
    down: dict[str, list[Link]] = {}
    up: dict[str, list[Link]] = {}
    for link in links:
        down.setdefault(link[0], []).append(link)
        up.setdefault(link[1], []).append(link)
    return down, up


def _touched(own: list[Link], down: dict[str, list[Link]], up: dict[str, list[Link]]) -> list[Link]:
    """The links that hold everywhere and can be part of a chain with one of `own`."""
    found: dict[Link, None] = {}
    for table, begin, end in ((down, 1, 1), (up, 0, 0)):
        waiting = [link[begin] for link in own]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                found.update(dict.fromkeys(table.get(name, ())))
                waiting += [link[end] for link in table.get(name, ())]
    return list(found)


def _tangled(links: list[Link]) -> Iterator[tuple[Link, bool]]:
    left = set(_peeled(_peeled(links, 0)[0], 1)[0])
    yield from ((link, True) for link in links if link in left)
    if not left:
        depth = _peeled(links, 0)[1]
        yield from ((link, False) for link in links if depth.get(link[0], 0) == MAX_CHAIN)


def _peeled(links: list[Link], side: int) -> tuple[list[Link], dict[str, int]]:
    """The links left when every loose end on one side is taken away, and each name's longest way from such an end."""
    pending: dict[str, int] = {}
    out: dict[str, list[Link]] = {}
    for link in links:
        pending[link[1 - side]] = pending.get(link[1 - side], 0) + 1
        out.setdefault(link[side], []).append(link)
    depth = {name: 0 for name in out if name not in pending}
    waiting = deque(depth)
    gone: set[Link] = set()
    while waiting:
        name = waiting.popleft()
        for link in out.get(name, ()):
            gone.add(link)
            other = link[1 - side]
            depth[other] = max(depth.get(other, 0), depth[name] + 1)
            pending[other] -= 1
            if not pending[other]:
                waiting.append(other)
    return [link for link in links if link not in gone], depth
