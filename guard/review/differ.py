"""Differ: everything in which two policies differ by meaning, each difference with its direction.

Who may do what is asked cell by cell of both policies; all else is compared fact by fact. Text that means the same is no difference. Comes after
cells, tool_changes and whole; used by the command and by CI. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from guard.policy import Loaded
from guard.policy.rule_files import ACTS
from guard.review.cells import NONE, RANK, Cell, Grid, axes, both, place, rule_places, tenant_label
from guard.review.changes import Change, Direction, words
from guard.review.samples import Samples, fitting
from guard.review.tool_changes import tool_changes
from guard.review.whole import whole_changes

Pair = tuple[Loaded, Loaded]
Told = Callable[[int, int], None]
"""How many of how many tools were compared."""
_VERBS = {"call": "call", "approve": "approve calls of"}
_STANDINGS = {"allow": "allowed", "none": "no rule allows", "deny": "denied", "error": "the policy fails"}


@dataclass(frozen=True, slots=True)
class Moved:
    """One cell that differs: who, where, which tool and act, and both answers."""

    subject: str
    tenant: str
    tool: str
    act: str
    old: Cell
    new: Cell
    direction: Direction
    note: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """What `compare` found. `changes` is for people, with equal cells told once; `moved` holds every cell."""

    changes: tuple[Change, ...]
    moved: tuple[Moved, ...]

    @property
    def widens(self) -> bool:
        """Whether anything widens, or may."""
        return any(change.widens for change in self.changes)


def compare(old: Loaded, new: Loaded, *, models: tuple[str, str] = ("", ""), told: Told = lambda _done, _all: None) -> Difference:
    """Every difference, the gravest first. `models` are the texts of both matchers, where they are known."""
    pair = (old, new)
    names = sorted({*old.policy.tools, *new.policy.tools})
    grids = [Grid(loaded, side) for loaded, side in zip(pair, both(axes(old), axes(new)), strict=True)]
    samples = Samples(pair)
    moved: list[Moved] = []
    found: list[Change] = []
    for index, name in enumerate(names):
        moved += _moved(pair, grids, name, samples)
        if name in old.policy.tools and name in new.policy.tools:
            found += tool_changes(pair, name)
        told(index + 1, len(names))
    found += _came_and_went(pair, moved)
    found += _grouped(pair, moved)
    found += whole_changes(pair)
    if models[0] != models[1]:
        found.append(_model(samples, moved))
    order = list(Direction)
    found.sort(key=lambda change: (order.index(change.direction), change.subject, change.what))
    return Difference(tuple(found), tuple(moved))


def _moved(pair: Pair, grids: list[Grid], name: str, samples: Samples) -> Iterator[Moved]:
    sides = [grid.cells(name) if name in loaded.policy.tools else {} for loaded, grid in zip(pair, grids, strict=True)]
    fits = fitting([loaded.policy.tools[name] for loaded in pair if name in loaded.policy.tools])
    for number, act in sorted({*sides[0], *sides[1]}, key=lambda at: (at[0], ACTS.index(at[1]))):
        one, other = (side.get((number, act), NONE) for side in sides)
        before, after = RANK[one.standing], RANK[other.standing]
        at = (*grids[0].places[number], name, act)
        if before != after:
            yield Moved(*at, one, other, Direction.WIDENS if after > before else Direction.NARROWS)
            continue
        tried = samples.compare(grids[1].sessions[number], name, act, fits) if samples.able or one != other else None
        if tried is not None:
            yield Moved(*at, Cell(one.standing, tried.old), Cell(other.standing, tried.new), tried.direction, tried.note)
        elif one != other:
            yield Moved(*at, one, other, Direction.CHANGES)


_Alike = tuple[str, str, Cell, Cell, Direction, str, tuple[str, ...]]


def _grouped(pair: Pair, moved: list[Moved]) -> Iterator[Change]:
    """Cells that moved alike, told together: first the subjects of one tenant, then the tenants."""
    people: dict[tuple[str, str, Cell, Cell, Direction, str, str], list[str]] = {}
    for one in moved:
        people.setdefault((one.tool, one.act, one.old, one.new, one.direction, one.note, one.tenant), []).append(one.subject)
    alike: dict[_Alike, list[str]] = {}
    for (tool, act, old, new, direction, note, tenant), who in people.items():
        alike.setdefault((tool, act, old, new, direction, note, tuple(who)), []).append(tenant)
    places = [rule_places(loaded) for loaded in pair]
    everywhere = {tenant for loaded in pair for tenant in axes(loaded).tenants}
    for key, tenants in alike.items():
        where = "" if set(tenants) == everywhere else f" in {words([tenant_label(tenant) for tenant in tenants])}"
        yield _told(key, where, places)


def _told(key: _Alike, where: str, places: list[dict[str, str]]) -> Change:
    tool, act, old, new, direction, note, who = key
    return Change(
        direction=direction,
        subject=f"tool {tool}",
        what=f"{words(list(who))} may {_VERBS[act]} it{where}",
        old=_standing(old),
        new=_standing(new),
        old_place=words(_places(old, places[0])) if old.rules else "",
        new_place=words(_places(new, places[1])) if new.rules else "",
        note=note,
    )


def _standing(cell: Cell) -> str:
    rules = f" ({'; '.join(cell.rules)})" if cell.rules else ""
    return _STANDINGS[cell.standing] + rules


def _places(cell: Cell, places: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(places[rule] for rule in cell.rules if rule in places))


def _came_and_went(pair: Pair, moved: list[Moved]) -> Iterator[Change]:
    """Tools that only one policy has."""
    old, new = pair
    for name in sorted(old.policy.tools.keys() - new.policy.tools.keys()):
        at = place(old.entries[name])
        yield Change(direction=Direction.NARROWS, subject=f"tool {name}", what="entry", old="known", new="removed", old_place=at)
    opened = {one.tool for one in moved if one.act == "call" and one.new.standing == "allow"}
    for name in sorted(new.policy.tools.keys() - old.policy.tools.keys()):
        direction = Direction.WIDENS if name in opened else Direction.CHANGES
        at = place(new.entries[name])
        note = "" if name in opened else "nobody may call it"
        yield Change(direction=direction, subject=f"tool {name}", what="entry", old="-", new="new", new_place=at, note=note)


def _model(samples: Samples, moved: list[Moved]) -> Change:
    """Another matcher. Cells are what names decide, and what samples of calls tell apart; beyond them nothing is certain."""
    direction = Direction.MAYBE if samples.unsure or not moved else Direction.CHANGES
    if not moved:
        note = "no cell moves, but a matcher may tell apart what the names here do not show"
    else:
        note = "it reads more than can be tried" if samples.unsure else "what it moves stands cell by cell"
    return Change(
        direction=direction, subject="model.conf", what="matcher", old_place="model.conf", new_place="model.conf", note=note
    )
