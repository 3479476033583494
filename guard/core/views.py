"""Views: which rules about a result hold for whom, put together from the rules for everybody and those of the roles that somebody holds.

Whoever holds no named role sees what the rules for everybody leave. A role's entry keeps these rules and may add to them; it shows more only
where it says so: a `keep` of its own, and under `show` the very paths of rules that do not hold for it. Whoever holds several named roles,
or is a child of another session, sees only what each of them may see. Also what a policy says about the way
back: where a handle stands for its value. And how much room there is. Comes after fields and before rules; pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from guard.core.blocks import KNOWN, PDF, type_of
from guard.core.keytree import FieldRule, Tree
from guard.core.paths import Path

Levels: TypeAlias = tuple[frozenset[str], ...]
"""The roles of a session, then those of the session that it is within, and so on."""

_MOST = 256  # combinations of roles that are remembered


@dataclass(frozen=True, slots=True)
class Revealed:
    """A value that was put back in the place of a handle: its text, the handle, and in which argument."""

    text: str
    handle: str
    argument: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """Where values of these types are put back in the place of their handles."""

    argument: Path
    types: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Which kinds of content are shown. `images` None: every picture; else only these types. Data that do not begin like their type are not shown.

    A PDF is shown where its type is named: it is text that nobody has looked at.
    """

    text: bool = True
    structured: bool = True
    resources: bool = True
    images: frozenset[str] | None = None

    def shows(self, media_type: str, data: str) -> bool:
        """Whether a picture (base64 text) is shown."""
        if media_type in KNOWN and type_of(data) != media_type:
            return False
        return media_type != PDF if self.images is None else media_type in self.images

    def within(self, other: Blocks) -> Blocks:
        """What both show."""
        images = other.images if self.images is None else self.images if other.images is None else self.images & other.images
        return Blocks(
            text=self.text and other.text,
            structured=self.structured and other.structured,
            resources=self.resources and other.resources,
            images=images,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of everybody, or of one role. `keep` None: nothing is said. `show` names rules for everybody that do not hold for the role."""

    keep: tuple[Path, ...] | None = None
    hide: tuple[FieldRule, ...] = ()
    show: tuple[Path, ...] = ()
    blocks: Blocks = Blocks()


@dataclass(frozen=True, slots=True)
class View:
    """What somebody may see of a result: the trees are applied one after the other."""

    trees: tuple[Tree, ...] = ()
    blocks: Blocks = Blocks()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Views:
    """Every view of one tool's results."""

    everybody: Rules = Rules()
    roles: Mapping[str, Rules] = field(default_factory=dict)
    _made: dict[tuple[tuple[str, ...], ...], View] = field(default_factory=dict)

    def of(self, levels: Levels) -> View:
        """The view of a session."""
        held = tuple(tuple(name for name in self.roles if name in level) for level in levels)
        view = self._made.get(held)
        if view is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            view = self._made[held] = _view([found for names in held or ((),) for found in self._found(names)])
        return view

    def _found(self, names: Sequence[str]) -> list[Rules]:
        """The rules that hold on one level."""
        base = self.everybody
        if not names:
            return [base]
        found = []
        for name in names:
            own = self.roles[name]
            lifted = {path.steps for path in own.show}
            hide = (*(rule for rule in base.hide if rule.path.steps not in lifted), *own.hide)
            keep = base.keep if own.keep is None else own.keep
            found.append(Rules(keep=keep, hide=hide, blocks=base.blocks.within(own.blocks)))
        return found


def _view(all_rules: Sequence[Rules]) -> View:
    """What everything that is said leaves together."""
    hide = tuple(dict.fromkeys(rule for rules in all_rules for rule in rules.hide))
    keeps = list(dict.fromkeys(rules.keep for rules in all_rules if rules.keep is not None))
    blocks = Blocks()
    for rules in all_rules:
        blocks = blocks.within(rules.blocks)
    kept = [tuple(FieldRule("keep", path) for path in keep) for keep in keeps]
    first = (*(kept[0] if kept else ()), *hide)
    trees = [Tree(first), *map(Tree, kept[1:])] if first else []
    return View(tuple(trees), blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of what tools return may go to the model: bytes of UTF-8, tokens as the host counts them; None is no bound."""

    bytes: int | None = None
    tokens: int | None = None
