"""Rules: each layer's own rules and role graph, read and built, and what a narrower layer may not do with roles.

Comes after books, publish and authorizer; before load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from guard.core.model import Session
from guard.policy.books import Beside, book_of
from guard.policy.layers.asking import roles
from guard.policy.layers.authorizer import Layer
from guard.policy.layers.both import at
from guard.policy.problems import Problems
from guard.policy.publish import authorizer
from guard.policy.rule_files import ANY, Grant, Rule, RuleBook, check_graph
from guard.policy.rule_shape import STANDARD, Shape, shape_of
from guard.policy.source import File, Item
from guard.policy.written import Written, collect

_PLAIN = frozenset({"equal", "keyMatch"})
_CHANGING = frozenset({"resource", "resolved"})
"""What a narrower layer may make known of a call that a wider one does not know."""


def entries_of(layer: Written) -> dict[str, Item]:
    """The layer's own entries; mistakes in how they stand there were reported when the layers were merged."""
    return collect(layer.documents, "tools", Problems())


def layers_of(
    written: Sequence[Written], tools: Iterable[str], people: Mapping[str, Session], problems: Problems, rows: File | None = None
) -> tuple[Layer, ...]:
    """Each layer with its authorizer, the widest first, but for those that cannot be used. `rows` are the narrowest layer's."""
    names = frozenset(tools)
    found: list[Layer] = []
    defined: set[str] = set()
    wider = RuleBook()
    rewarded: dict[str, Item] = {}
    for one in written:
        narrowest = one is written[-1]
        files = (*one.files, *([rows] if rows and narrowest else ()))
        shape = shape_of(files, problems)
        own = entries_of(one)
        voters = {name: roles(item.fields.get("approve")) for name, item in own.items()}
        book = book_of(files, own, voters, people, shape, problems, Beside(tools=names, roles=wider.roles, narrowest=narrowest))
        _check_grants(book, wider, rewarded, problems)
        wider = _joined(wider, book)
        rewarded = {**_shown_to(own), **rewarded}
        first = {name for name, item in own.items() if "kind" in item.fields} - defined
        defined |= first
        layer = None if shape is None else _layer(one.place, shape, book, wider, names, first, problems)
        if layer is not None:
            _check_model(layer, problems, narrowest=narrowest)
            found.append(layer)
    check_graph(wider.grants, problems)
    return tuple(found)


def _layer(
    name: str, shape: Shape, book: RuleBook, known: RuleBook, tools: frozenset[str], first: set[str], problems: Problems
) -> Layer | None:
    """One layer, built over its own rules and the roles of wider layers. `first` are the tools that it is the first to say the kind of."""
    usual = shape.model.columns == STANDARD and shape.model.roles.get("g") == 3
    judged = replace(book, grants=known.grants, roles=known.roles) if usual else book
    judge = authorizer(shape, judged, problems)
    if judge is None:
        return None
    calls, approves = (_allowed(book, act, tools) for act in ("call", "approve"))
    plain = shape.model.columns == STANDARD and shape.uses.of("obj") <= _PLAIN
    own_calls = frozenset(calls | first) if plain else tools
    return Layer(name=name, book=book, judge=judge, calls=own_calls, approves=approves, own_model=not usual or not plain)


def _allowed(book: RuleBook, act: str, tools: frozenset[str]) -> frozenset[str]:
    """The tools that some rule of the layer allows somebody."""
    named = book.naming.tools((rule.obj for rule in book.rules if (rule.act, rule.eft) == (act, "allow")), tools)
    return frozenset(tool for found in named.values() for tool in found)


def _joined(wider: RuleBook, book: RuleBook) -> RuleBook:
    rules, trial = {**book.rules, **wider.rules}, {**book.trial, **wider.trial}
    return RuleBook(rules, {**book.grants, **wider.grants}, wider.roles | book.roles, book.groups, trial)


def _shown_to(entries: Mapping[str, Item]) -> dict[str, Item]:
    """The roles for which a layer has rules about results of their own: some of them may see more than others."""
    results = [item.fields["result"] for item in entries.values() if "result" in item.fields]
    return {role: spot for one in results if "roles" in one.fields for role, spot in one.fields["roles"].fields.items()}


def _check_grants(book: RuleBook, wider: RuleBook, rewarded: Mapping[str, Item], problems: Problems) -> None:
    """Nobody is given a role that a wider layer speaks about: only that layer says who has it."""
    spoken: dict[str, Item] = dict(rewarded)
    for rule, spot in wider.rules.items():
        spoken.setdefault(rule.sub, spot)
    for grant, spot in wider.grants.items():
        spoken.setdefault(grant.role, spot)
        spoken.setdefault(grant.sub, spot)
    for grant, spot in book.grants.items():
        if grant.role in spoken and grant.role != ANY and not _known(grant, wider):
            message = f"{grant.role} is a role that a wider layer speaks about at {at(spoken[grant.role])}"
            problems.error(spot, message, "grant it there, or name another role", code="layer-loosens")


def _known(grant: Grant, wider: RuleBook) -> bool:
    return grant in wider.grants or replace(grant, dom=ANY) in wider.grants


def _check_model(layer: Layer, problems: Problems, *, narrowest: bool) -> None:
    """A wider layer's own matcher may not read what a narrower layer can make known."""
    read = sorted({path[0] for path in layer.judge.engine.paths} & _CHANGING)
    if read and not narrowest:
        spot = layer.judge.shape.model.at("m")
        message = f"the matcher of a wider layer reads {' and '.join(read)}, which a narrower layer can change"
        problems.error(spot, message, "write it as require: or refuse: at the tool", code="layer-loosens")


def joined(layers: Sequence[Layer]) -> RuleBook:
    """Every rule and grant of all layers, for whoever reads them; who may do what is the authorizer's to say."""
    book = RuleBook()
    for layer in layers:
        book = _joined(book, layer.book)
        book.groups.update(layer.book.groups)
    return book


def warn_layers(layers: Sequence[Layer], entries: Mapping[str, Item], tools: Iterable[str], problems: Problems) -> None:
    """A tool that a layer lets nobody call, and one that every layer lets everybody call."""
    for name in tools:
        speaking = [layer for layer in layers if name in layer.calls]
        subs = [{rule.sub for rule in layer.book.rules if _allows(layer, rule, name)} for layer in speaking]
        for layer, callers in zip(speaking, subs, strict=True):
            if not callers and not layer.own_model:
                cure = 'write allow: [role] there, or allow: ["*"] to leave it to narrower layers'
                problems.warn(
                    entries[name], f"nobody may call {name}: {layer.name} names it and allows nobody", cure, code="tool-nobody"
                )
        if subs and all(ANY in callers for callers in subs):
            problems.warn(entries[name], f"everybody may call {name}", "name the roles", code="tool-everybody")


def _allows(layer: Layer, rule: Rule, tool: str) -> bool:
    return (rule.act, rule.eft) == ("call", "allow") and layer.book.covers(rule, tool)
