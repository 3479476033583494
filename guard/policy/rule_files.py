"""Rule files: the CSV lines of Casbin, read loudly, and the role graph that they make.

Casbin itself drops lines that it does not understand and ignores effects that it does not know; here each such line is a mistake with its
file and line. May not decide anything. Comes after source and before casbin_rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from guard.policy.engine.checks import check_rule
from guard.policy.engine.closure import MAX_CHAIN, Closure, tangles
from guard.policy.engine.functions import NAMES, table
from guard.policy.file_names import is_trial
from guard.policy.naming import Naming
from guard.policy.on_trial import no_trial
from guard.policy.problems import Problems, is_invisible, is_line_break, meant
from guard.policy.rule_shape import Shape, shape_of
from guard.policy.source import File, Item, text_of

ACTS = ("call", "approve")
EFFECTS = ("allow", "deny")
ANY = "*"
PERSON = "user:"
"""Before a name in a rule: it is a person's own, not a role's. No role begins like this."""
ROLE = "role:"
_FORMS = {"p": "p, role, tenant, tool, call, deny", "g": "g, person or role, role, tenant"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One `p` line: who (a role, `user:` and a person, or `*`), where, which tool, which act, and allow or deny.

    `written` are all fields in the order of a model of the user's own; what such a model has no column for stands here as `*`.
    """

    sub: str
    dom: str
    obj: str
    act: str
    eft: str
    written: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(("p", *(self.written or self.columns)))

    @property
    def columns(self) -> tuple[str, str, str, str, str]:
        """The columns as Casbin wants them."""
        return (self.sub, self.dom, self.obj, self.act, self.eft)


@dataclass(frozen=True, slots=True)
class Grant:
    """One `g` line: in `dom` (`*`: everywhere), whoever is `sub` is also `role`. `sub` is a role, a person, or `user:` and a person."""

    sub: str
    role: str
    dom: str

    def __str__(self) -> str:
        return f"g, {self.sub}, {self.role}, {self.dom}"


@dataclass(frozen=True, slots=True)
class RuleBook:
    """What the CSV files say, each rule with its place. `roles` are the names that a line calls a role outright (`role:x`).

    `groups` are the lines of further role definitions of a user's own model (`g2`), by their names. `trial` are denials that refuse nothing yet,
    `naming` is how the model compares a rule's object with a tool.
    """

    rules: dict[Rule, Item] = field(default_factory=dict)
    grants: dict[Grant, Item] = field(default_factory=dict)
    roles: set[str] = field(default_factory=set)
    groups: dict[str, dict[Grant, Item]] = field(default_factory=dict)
    trial: dict[Rule, Item] = field(default_factory=dict)
    naming: Naming = field(default_factory=lambda: Naming(None, {}))

    def covers(self, rule: Rule, tool: str) -> bool:
        """Whether the rule speaks about this tool, as the folder's model compares them."""
        return self.naming.names(rule.obj, tool)


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is needed to read a line, and where it goes."""

    shape: Shape
    tools: frozenset[str]
    book: RuleBook
    problems: Problems
    narrowest: bool = True  # False: of several layers a wider one, which may speak about tools that only others have

    def columns(self, kind: str) -> int | None:
        """How many columns a line of this type has; None for an unknown type."""
        model = self.shape.model
        return len(model.columns) + 1 if kind == "p" else model.roles[kind] + 1 if kind in model.roles else None

    def form(self, kind: str) -> str:
        """What such a line looks like."""
        model = self.shape.model
        if not self.shape.own and len(self.shape.model.columns) == 5:
            return _FORMS.get(kind, f"{kind}, name, group")
        return ", ".join((kind, *(model.columns if kind == "p" else ("name", "role", "tenant")[: model.roles.get(kind, 3)])))


def read_rules(
    files: Iterable[File], tools: frozenset[str], problems: Problems, shape: Shape | None = None, *, narrowest: bool = True
) -> RuleBook:
    """Every rule of the CSV files, for the shipped model or another. Lines that are wrong are reported and left out; the load fails then."""
    known = shape or shape_of([], problems)
    book = RuleBook()
    if known is None:
        return book
    reader = _Reader(known, tools, book, problems, narrowest)
    for file in files:
        for number, line in enumerate((text_of(file, problems) or "").split("\n"), start=1):
            spot = Item(file.name, number)
            cells = _cells(line.removesuffix("\r"), spot, reader)
            if cells:
                _add(cells, spot, reader)
    for grants in (book.grants, *book.groups.values()):
        check_graph(grants, problems)
    for rule in book.trial.keys() & book.rules.keys():
        cure = f"take out one of both: the line in force stands at {book.rules[rule].file}:{book.rules[rule].line}"
        problems.warn(book.trial[rule], "the denial on trial is in force already", cure, code="trial-in-force")
    groups = {name: Closure((one.sub, one.role, one.dom) for one in found) for name, found in book.groups.items()}
    return replace(book, naming=Naming(known, groups))


def _add(cells: list[str], spot: Item, reader: _Reader) -> None:
    """Put one line into the book."""
    kind, *fields = cells
    book, problems = reader.book, reader.problems
    target: dict[Rule, Item] | dict[Grant, Item]
    found: Rule | Grant | None
    tried = is_trial(spot.file)
    if kind == "p":
        target, found = book.trial if tried else book.rules, _rule(fields, spot, reader)
    else:
        target = book.grants if kind == "g" else book.groups.setdefault(kind, {})
        found = _grant(kind, fields, spot, reader)
    if tried and not _may_be_tried(found, spot, reader):
        return
    if found in target:
        first = target[found]  # type: ignore[index]  # each table is asked for its own kind
        problems.warn(spot, "the rule is written twice", f"the first stands at {first.file}:{first.line}")
    elif found is not None:
        target[found] = spot  # type: ignore[index]  # as above


def _may_be_tried(found: Rule | Grant | None, spot: Item, reader: _Reader) -> bool:
    """Whether a line of `shadow.csv` is a denial of calling, and the model one under which it can be left out."""
    why = no_trial(reader.shape.model)
    if isinstance(found, Grant):
        why = "roles cannot be on trial"
    elif found is not None and found.eft != "deny":
        why = why or "denials alone can be on trial, and this line allows"
    elif found is not None and found.act != "call":
        why = why or "who may approve cannot be on trial"
    if why:
        reader.problems.error(spot, why, "write the line in another CSV file: there it is in force")
    return not why


def _grant(kind: str, fields: list[str], spot: Item, reader: _Reader) -> Grant:
    sub, role, dom = (*fields, ANY)[:3]
    if kind == "g":
        sub, role = (_name(name, spot, reader.book, reader.problems) for name in (sub, role))
        if role.startswith(PERSON):
            reader.problems.error(spot, f"{role} is a person and cannot be a role", f"write {reader.form(kind)}")
    return Grant(sub, role, dom)


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


def _cells(line: str, spot: Item, reader: _Reader) -> list[str]:
    """The columns of one line, or nothing for a blank line, a comment or a mistake."""
    problems = reader.problems
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
    cells = [cell.strip(" \t") for cell in text.split(",")]
    bad = _odd(cells, reader.shape)
    wanted = reader.columns(cells[0])
    if bad:
        problems.error(spot, f"{bad} inside a rule", "write comments on lines of their own, and names without quotes or brackets")
    elif wanted is None:
        problems.error(spot, f"unknown rule type {cells[0]}", "write p for a rule or g for a role")
    elif len(cells) != wanted:
        problems.error(spot, f"{len(cells)} columns instead of {wanted}", f"write {reader.form(cells[0])}")
    elif not all(cells):
        problems.error(spot, "an empty column", f"write {reader.form(cells[0])}; * stands for any")
    elif any("\t" in cell for cell in cells):
        problems.error(spot, "a tab inside a name", "write the name without it")
    else:
        return cells
    return []


def _odd(cells: list[str], shape: Shape) -> str:
    """The first character that no name holds; patterns and conditions may hold brackets and quotes."""
    columns = shape.model.columns if cells[0] == "p" and len(cells) == len(shape.model.columns) + 1 else ()
    free = {place for place, name in enumerate(columns, start=1) if shape.uses.free(name)}
    for place, cell in enumerate(cells):
        for char in "#" if place in free else '"#()[]':
            if char in cell:
                return char
    return ""


def _rule(fields: list[str], spot: Item, reader: _Reader) -> Rule | None:
    """One p line, or None where it is wrong."""
    problems, shape = reader.problems, reader.shape
    before = len(problems.errors)
    named = dict(zip(shape.model.columns, fields, strict=True))
    if "sub" in named:
        named["sub"] = _name(named["sub"], spot, reader.book, problems)
    usual = {**_USUAL, **named}
    plain = Rule(usual["sub"], usual["dom"], usual["obj"], usual["act"], usual["eft"])
    _known_words(plain, spot, reader)
    check_rule(tuple(named.values()), shape.model, shape.uses, spot, problems)
    own = shape.model.columns != tuple(_USUAL)
    return (replace(plain, written=tuple(named.values())) if own else plain) if len(problems.errors) == before else None


_USUAL = {"sub": ANY, "dom": ANY, "obj": ANY, "act": "call", "eft": "allow"}
"""The columns of the shipped model, and what a rule says where a model has none of that name."""


def _known_words(rule: Rule, spot: Item, reader: _Reader) -> None:
    problems, uses = reader.problems, reader.shape.uses
    if rule.eft not in EFFECTS:
        problems.error(spot, f"unknown effect {rule.eft}", meant(rule.eft, EFFECTS))
    if rule.act not in ACTS:
        problems.error(spot, f"unknown act {rule.act}", meant(rule.act, ACTS))
    if rule.act == "approve" and rule.eft == "allow":
        problems.error(spot, "who may approve is said in the tool's approve.by", "write the role there")
    for column, name in (("sub", rule.sub), ("dom", rule.dom)):
        if ANY in name and name != ANY and uses.of(column) <= {"equal", "roles"}:
            problems.error(spot, f"{name}: * stands alone here", "write the whole name, or * for everybody")
    _known_tools(rule, spot, reader)


def _known_tools(rule: Rule, spot: Item, reader: _Reader) -> None:
    """The rule must speak about some tool, however its model compares them."""
    problems, uses = reader.problems, reader.shape.uses
    patterns = uses.of("obj") & (set(NAMES) - {"keyMatch"})
    if patterns:
        functions = table()
        if reader.narrowest and not any(functions[name](tool, rule.obj) for name in patterns for tool in reader.tools):
            problems.error(spot, f"no tool of this policy is matched by {rule.obj}", meant(rule.obj, reader.tools))
    elif uses.of("obj") <= {"equal", "keyMatch"}:
        _known_tool(rule, spot, reader)


def _known_tool(rule: Rule, spot: Item, reader: _Reader) -> None:
    tools, problems = reader.tools, reader.problems
    if ANY in rule.obj[:-1]:
        problems.error(spot, f"{rule.obj}: * may only stand at the end", "write a prefix and *")
    elif rule.obj not in tools and not any(tool.startswith(rule.obj[:-1]) for tool in tools if rule.obj.endswith(ANY)):
        tell = problems.error if reader.narrowest else problems.warn
        if reader.narrowest or ANY not in rule.obj:
            tell(spot, f"no tool of this policy is called {rule.obj}", meant(rule.obj.rstrip(ANY), tools))


def check_graph(grants: Mapping[Grant, Item], problems: Problems) -> None:
    """Report circles of roles and chains that are too long."""
    for grant, spot in grants.items():
        if ANY in grant.sub + grant.role:
            problems.error(spot, "* cannot be a person or a role in a g line", "write the name")
    for link, circle in tangles((grant.sub, grant.role, grant.dom) for grant in grants):
        spot = grants[Grant(*link)]
        if circle:
            problems.error(spot, f"{link[0]} and {link[1]} are roles of each other", "remove one of the lines")
        else:
            problems.error(spot, f"{link[1]} is more than {MAX_CHAIN} steps away", "grant the role more directly")
