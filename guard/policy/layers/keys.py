"""Keys: what a narrower layer may write under each key of a tool that a wider one has, and what then holds.

A rule gets both and gives the value that is compiled. What loosens, and what cannot be compared, it reports. Comes after both, lists and asking;
before merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from guard.core.paths import ANY, parse_field
from guard.core.values import equal
from guard.policy import language
from guard.policy.ceilings import bounded
from guard.policy.endpoints import TIMEOUT
from guard.policy.layers.asking import approve
from guard.policy.layers.both import Both, mapping, parts, seconds, words
from guard.policy.layers.hides import HIDES, hidden
from guard.policy.layers.lists import after, checks, conditions, ground, resource
from guard.policy.layers.numbers import tool_limits
from guard.policy.source import Item

_OUT = "leave it out, or write the same"


def once(both: Both) -> Item:
    """What a tool is is said by one layer: another may only say the same."""
    if both.first or both.same:
        return both.narrow
    if both.wide is None:
        both.loosens("a wider layer knows the tool without it,", f"write it there, or in no layer; {_conditions(both)}")
    else:
        both.loosens("it is not what stands", f"{_OUT}; {_conditions(both)}")
    return both.wide or both.narrow


def _conditions(both: Both) -> str:
    return "a narrower layer narrows arguments with require:" if both.what.endswith(".schema") else "it cannot be compared"


def described(both: Both) -> Item:
    """A description may be added, and not changed: the model would be told something else than what was reviewed."""
    return both.narrow if both.wide is None else once(both)


def allow(both: Both) -> Item:
    """Who may call is asked of every layer by itself, so there is nothing to merge."""
    return both.narrow


def bind(both: Both) -> Item:
    """A narrower layer may bind further fields; a field that is bound already has the same source."""
    known = dict(both.wide.fields) if both.wide else {}
    for name, item in both.narrow.fields.items():
        first = known.get(name)
        if first is None:
            known[name] = _copy(item, added=both.defined)
            continue
        source, strict = _binding(item)
        wide_source, wide_strict = _binding(first)
        if source != wide_source:
            both.loosens(f"{name} comes from {wide_source}", "leave it out here: a field has one source", wide=first, narrow=item)
        elif first.fields.keys() | item.fields.keys() > {"from", "strict"} and not equal(first.value, item.value):
            both.loosens(f"{name} is not what stands", _OUT, wide=first, narrow=item)
        elif wide_strict and not strict:
            both.loosens(f"{name} is strict", f"leave it out, or write {{from: {source}, strict: true}}", wide=first, narrow=item)
        else:
            known[name] = item
    return mapping(both.wide or both.narrow, known) if both.narrow.fields else both.narrow


def _binding(item: Item) -> tuple[Any, bool]:
    if not item.fields:
        return item.value, False
    return item.at(["from"]).value if "from" in item.fields else None, item.value.get("strict") is True


def _copy(item: Item, *, added: bool) -> Item:
    return Item(item.file, item.line, item.value, fields=item.fields, items=item.items, added=added)


def shorter(both: Both) -> Item:
    """A time-out may be shortened."""
    usual = f"{TIMEOUT:g}s" if "http" in both.entry.fields else None
    told = both.wide.value if both.wide else usual
    if told is None:
        return both.narrow
    most, value = seconds(both.wide) if both.wide else TIMEOUT, seconds(both.narrow)
    if most is None:
        return both.wide or both.narrow
    if value is not None and value > most:
        both.loosens(f"{both.narrow.value} is more than {told}", f"write at most {told}, or leave it out")
    return both.narrow


def effect(both: Both) -> Item:
    """What may be done about a lost call: `once`, the strictest class, may be said in the place of one that runs a call again."""
    again = both.wide is not None and both.wide.value in ("idempotent", "probe")
    if both.narrow.value == "once" and (again or both.wide is None):
        return both.narrow
    return once(both)


def unknown(both: Both) -> Item:
    """What an unresolved call keeps from starting may become more: fewer arguments make the target, or every call of the tool is meant."""
    if both.wide is not None:
        wide, narrow = _blocks(both.wide), _blocks(both.narrow)
        if wide is not None and (narrow is None or not narrow <= wide):
            what = f"calls with the same {', '.join(sorted(wide))}" if wide else "every call"
            both.loosens(
                f"it keeps less from starting than {what}", "leave it out, name fewer of these arguments, or write {blocks: tool}"
            )
    return both.narrow


def _blocks(item: Item) -> frozenset[str] | None:
    """The arguments that make the target: none for every call of the tool; None where only the same call is meant."""
    fields = item.fields
    if "target" in fields:
        return frozenset(name.removeprefix("arguments.") for name in words(fields["target"]))
    return frozenset() if "blocks" in fields and fields["blocks"].value == "tool" else None


def ceilings(both: Both) -> Item:
    """Each ceiling of a tool may be lowered."""
    known = dict(both.wide.fields) if both.wide else {}
    for key, item in both.narrow.fields.items():
        most = bounded(known.get(key), key, both.problems, f"ceilings.{key}") or both.ceilings.get(key)
        value = bounded(item, key, both.problems, f"ceilings.{key}")
        if most is not None and value is not None and value > most:
            both.loosens(
                f"{key} {item.value} is more than {int(most)},", f"write at most {int(most)}", wide=known.get(key), narrow=item
            )
        known[key] = item
    return mapping(both.wide or both.narrow, known) if both.narrow.fields else both.narrow


_ADDED = ("empty", "schema", "units")
"""Keys of `result` that a narrower layer may add and not change: the words for nothing, what a result must be, and what its numbers count."""


def result(both: Both) -> Item:
    """Fewer fields, fewer bytes, more that is hidden; a form of results may be added."""
    known = dict(both.wide.fields) if both.wide else {}
    for key, item in both.narrow.fields.items():
        first = known.get(key)
        if key == "keep":
            _check_keep(both, first, item)
        elif key == "max_bytes":
            _check_bytes(both, first, item)
        elif key == "max_tokens":
            _check_tokens(both, first, item)
        elif key in HIDES:
            known[key] = hidden(both, key, first, item)
            continue
        elif not (key in _ADDED and first is None) and not (first and equal(first.value, item.value)):
            both.loosens(f"{key} is not what stands", _OUT, wide=first, narrow=item)
        known[key] = item
    return mapping(both.wide or both.narrow, known) if both.narrow.fields else both.narrow


def _check_bytes(both: Both, first: Item | None, item: Item) -> None:
    most = bounded(first, "result_bytes", both.problems, "max_bytes") or both.ceilings.get("result_bytes")
    value = bounded(item, "result_bytes", both.problems, "max_bytes")
    if most is not None and value is not None and value > most:
        both.loosens(f"max_bytes {item.value} is more than {int(most)},", f"write at most {int(most)}", wide=first, narrow=item)


def _check_tokens(both: Both, first: Item | None, item: Item) -> None:
    most, value = language.whole(first, both.problems, "max_tokens"), language.whole(item, both.problems, "max_tokens")
    if most is not None and value is not None and value > most:
        both.loosens(f"max_tokens {value} is more than {most},", f"write at most {most}", wide=first, narrow=item)


def _check_keep(both: Both, first: Item | None, item: Item) -> None:
    """Each field must lie within what the wider layer shows, also where a result is a list of records."""
    if first is None:
        return
    wide, narrow = _tree(first), _tree(item)
    if wide is None or narrow is None:
        (language.texts(first, both.problems, "keep"), language.texts(item, both.problems, "keep"))
        return
    beyond = [path for path in _steps(item) if not any(path[: len(known)] == known for known in _steps(first))]
    if beyond or not _within(narrow, wide) or (ANY in wide and ANY not in narrow):
        shown = ", ".join(words(first))
        both.loosens(f"keep shows more than {shown}", f"keep only fields within {shown}", wide=first, narrow=item)


_Tree = dict[str, Any]


def _tree(item: Item) -> _Tree | None:
    """The fields as redaction reads them; None where one is no path."""
    tree: _Tree = {}
    try:
        for one in parts(item):
            node = tree
            for step in parse_field(one.value).steps:
                node = node.setdefault(step, {})
    except (ValueError, TypeError, AttributeError):
        return None
    return tree


def _steps(item: Item) -> list[tuple[object, ...]]:
    return [tuple(parse_field(one.value).steps) for one in parts(item)]


def _within(narrow: _Tree, wide: _Tree) -> bool:
    return not wide or (bool(narrow) and all(step in wide and _within(below, wide[step]) for step, below in narrow.items()))


def marked(both: Both) -> Item:
    """What others wrote may be marked as such by any layer; there is no word that takes the mark away."""
    return both.narrow


RULES: Mapping[str, Callable[[Both], Item]] = {
    "kind": once,
    "description": described,
    "schema": once,
    "allow": allow,
    "bind": bind,
    "checks": checks,
    "coerce": once,
    "unwrap": once,
    "repeat": once,
    "timeout": shorter,
    "effect": effect,
    "lease": once,
    "unknown": unknown,
    "ground": ground,
    "after": after,
    "resource": resource,
    "require": conditions,
    "refuse": conditions,
    "limits": tool_limits,
    "ceilings": ceilings,
    "approve": approve,
    "result": result,
    "trust": marked,
    "http": once,
    "handles": once,
    "masks": once,
}
"""Every key of a tool: how a wider and a narrower layer meet under it. A test holds it to the language."""


def meet(key: str, both: Both) -> Item:
    """What holds under one key; one that has no rule cannot be compared."""
    return RULES.get(key, once)(both)
