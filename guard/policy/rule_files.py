"""Rule files: the CSV lines of Casbin, read loudly, and the role graph that they make.

Casbin itself drops lines that it does not understand and ignores effects that it does not know; here each such line is a mistake with its
file and line. May not decide anything. Comes after source and before casbin_rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from guard.policy.problems import Problems, is_invisible, is_line_break, meant
from guard.policy.source import File, Item, text_of

ACTS = ("call", "approve")
EFFECTS = ("allow", "deny")
ANY = "*"
PERSON = "user:"
"""Before a name in a rule: it is a person's own, not a role's. No role begins like this."""
ROLE = "role:"
_COLUMNS = {"p": 6, "g": 4}
_FORMS = {"p": "p, role, tenant, tool, call, deny", "g": "g, person or role, role, tenant"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One `p` line: who (a role, `user:` and a person, or `*`), where, which tool, which act, and allow or deny."""

    sub: str
    dom: str
    obj: str
    act: str
    eft: str

    def __str__(self) -> str:
        return ", ".join(("p", *self.columns))

    @property
    def columns(self) -> tuple[str, str, str, str, str]:
        """The columns as Casbin wants them."""
        return (self.sub, self.dom, self.obj, self.act, self.eft)

    def covers(self, tool: str) -> bool:
        """Whether the rule speaks about this tool."""
        return tool.startswith(self.obj[:-1]) if self.obj.endswith(ANY) else tool == self.obj


@dataclass(frozen=True, slots=True)
class Grant:
    """One `g` line: in `dom` (`*`: everywhere), whoever is `sub` is also `role`. `sub` is a role, a person, or `user:` and a person."""

    sub: str
    role: str
    dom: str


@dataclass(frozen=True, slots=True)
class RuleBook:
    """What the CSV files say, each rule with its place. `roles` are the names that a line calls a role outright (`role:x`)."""

    rules: dict[Rule, Item] = field(default_factory=dict)
    grants: dict[Grant, Item] = field(default_factory=dict)
    roles: set[str] = field(default_factory=set)


def read_rules(files: Iterable[File], tools: frozenset[str], problems: Problems) -> RuleBook:
    """Every rule of the CSV files. Lines that are wrong are reported and left out; the load fails then."""
    book = RuleBook()
    for file in files:
        for number, line in enumerate((text_of(file, problems) or "").split("\n"), start=1):
            spot = Item(file.name, number)
            cells = _cells(line.removesuffix("\r"), spot, problems)
            if cells:
                _add(cells, spot, book, tools, problems)
    _cycles(book.grants, problems)
    return book


def _add(cells: list[str], spot: Item, book: RuleBook, tools: frozenset[str], problems: Problems) -> None:
    """Put one line into the book."""
    kind, sub, other, *rest = cells
    sub = _name(sub, spot, book, problems)
    table: dict[Rule, Item] | dict[Grant, Item]
    found: Rule | Grant | None
    if kind == "p":
        table, found = book.rules, _rule(Rule(sub, other, *rest), spot, tools, problems)
    else:
        role = _name(other, spot, book, problems)
        if role.startswith(PERSON):
            problems.error(spot, f"{role} is a person and cannot be a role", f"write {_FORMS['g']}")
        table, found = book.grants, Grant(sub, role, *rest)
    if found in table:
        first = table[found]  # type: ignore[index]  # each table is asked for its own kind
        problems.warn(spot, "the rule is written twice", f"the first stands at {first.file}:{first.line}")
    elif found is not None:
        table[found] = spot  # type: ignore[index]  # as above


def _name(cell: str, spot: Item, book: RuleBook, problems: Problems) -> str:
    """A role's plain name, or `user:` and a person's."""
    prefix = next((known for known in (ROLE, PERSON) if cell.casefold().startswith(known)), "")
    if not prefix:
        return cell
    name = cell[len(prefix) :].strip()
    if not cell.startswith(prefix) or not name or name.casefold().startswith((ROLE, PERSON)):
        problems.error(spot, f"{cell} is no name", "write role:NAME or user:NAME, in small letters")
    if prefix == PERSON:
        return PERSON + name
    if name != ANY:
        book.roles.add(name)
    return name


def _cells(line: str, spot: Item, problems: Problems) -> list[str]:
    """The columns of one line, or nothing for a blank line, a comment or a mistake."""
    text = line.strip(" \t")
    note = text.startswith("#")
    unseen = next((char for char in text if (is_line_break(char) if note else is_invisible(char) and char != "\t")), None)
    if unseen is not None:
        problems.error(
            spot, f"the character U+{ord(unseen):04X}, which cannot be seen", "remove it; only a line feed ends a line"
        )
        return []
    if not text or note:
        return []
    bad = next((char for char in '"#()[]' if char in text), None)
    if bad is not None:
        problems.error(spot, f"{bad} inside a rule", "write comments on lines of their own, and names without quotes or brackets")
        return []
    cells = [cell.strip(" \t") for cell in text.split(",")]
    if cells[0] not in _COLUMNS:
        problems.error(spot, f"unknown rule type {cells[0]}", "write p for a rule or g for a role")
    elif len(cells) != _COLUMNS[cells[0]]:
        problems.error(spot, f"{len(cells)} columns instead of {_COLUMNS[cells[0]]}", f"write {_FORMS[cells[0]]}")
    elif not all(cells):
        problems.error(spot, "an empty column", f"write {_FORMS[cells[0]]}; * stands for any")
    elif any("\t" in cell for cell in cells):
        problems.error(spot, "a tab inside a name", "write the name without it")
    else:
        return cells
    return []


def _rule(rule: Rule, spot: Item, tools: frozenset[str], problems: Problems) -> Rule | None:
    before = len(problems.errors)
    if rule.eft not in EFFECTS:
        problems.error(spot, f"unknown effect {rule.eft}", meant(rule.eft, EFFECTS))
    if rule.act not in ACTS:
        problems.error(spot, f"unknown act {rule.act}", meant(rule.act, ACTS))
    if rule.act == "approve" and rule.eft == "allow":
        problems.error(spot, "who may approve is said in the tool's approve.by", "write the role there")
    for name in (rule.sub, rule.dom):
        if ANY in name and name != ANY:
            problems.error(spot, f"{name}: * stands alone here", "write the whole name, or * for everybody")
    if ANY in rule.obj[:-1]:
        problems.error(spot, f"{rule.obj}: * may only stand at the end", "write a prefix and *")
    elif rule.obj not in tools and not any(rule.covers(tool) for tool in tools):
        problems.error(spot, f"no tool of this policy is called {rule.obj}", meant(rule.obj.rstrip(ANY), tools))
    return rule if len(problems.errors) == before else None


def _cycles(grants: Mapping[Grant, Item], problems: Problems) -> None:
    for grant, spot in grants.items():
        if ANY in grant.sub + grant.role:
            problems.error(spot, "* cannot be a person or a role in a g line", "write the name")
    for dom in {grant.dom for grant in grants}:
        for grant in circular([grant for grant in grants if grant.dom in {dom, ANY}]):
            problems.error(grants[grant], f"{grant.sub} and {grant.role} are roles of each other", "remove one of the lines")


def circular(grants: list[Grant]) -> list[Grant]:
    """The grants that lie on circles: what is left when every loose end has been taken away."""
    left: list[Grant] = []
    while len(left) != len(grants):
        left, grants = grants, left
        subjects = {grant.sub for grant in left}
        roles = {grant.role for grant in left}
        grants = [grant for grant in left if grant.role in subjects and grant.sub in roles]
    return grants


class Graph:
    """Who has which role in which tenant, through any number of steps. Grows only with the names that stand in rules."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._links: dict[tuple[str, str], list[str]] = {}
        for grant in grants:
            self._links.setdefault((grant.sub, grant.dom), []).append(grant.role)
        self._subjects = {sub for sub, _ in self._links}
        self._domains = {dom for _, dom in self._links}
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, name: str, dom: str) -> frozenset[str]:
        """`name` itself and every role that it has in the tenant."""
        if name not in self._subjects:
            return frozenset({name})
        key = (name, dom if dom in self._domains else ANY)
        if key not in self._known:
            self._known[key] = self._close(*key)
        return self._known[key]

    def _close(self, name: str, dom: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += [role for where in {dom, ANY} for role in self._links.get((here, where), ())]
        return frozenset(found)

    def has_link(self, name: str, role: str, *domain: str) -> bool:
        """Casbin's question to its role manager."""
        return role in self.of(name, domain[0] if domain else ANY)
