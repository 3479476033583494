"""Draft: the policy entry of one tool, each guess in it beside the sign that it was made from.

An entry is compiled before it is written, exactly as the loader does it later: what the loader would refuse is left out, with the loader's
own words, and stays unknown to the policy. Nothing is ever allowed here. Comes after kinds and identities, before text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from guard.core.rules import Kind
from guard.core.values import Json, JsonObject
from guard.policy.identities import owner, perhaps
from guard.policy.problems import Problems, is_invisible
from guard.policy.source import Item
from guard.policy.tools import Declared, Entry, compile_tool
from guard.review.init.defaults import with_fitting_defaults
from guard.review.init.found import Found, LeftOut
from guard.review.init.kinds import guess_kind

APPROVER = "approver"
MAX_NAME = 256
_ILLEGAL = '*,"#()[]\n '
_PROVIDER_NAME = 64
_RECORDS = ("_id", "Id", "_no", "_number", "_ref")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """One guess. `key` is where it stands (`kind`, `bind.user_id`, …); one that is not `active` is written as a comment."""

    key: str
    value: str
    why: str
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One entry: what is known, and what was guessed."""

    name: str
    kind: Kind
    description: str
    schema: JsonObject | None
    guesses: tuple[Guess, ...]
    notes: tuple[str, ...]

    @property
    def bound(self) -> dict[str, str]:
        """The bindings that are in force: argument → `session.fact`."""
        return {one.key.removeprefix("bind."): one.value for one in self.guesses if one.active and one.key.startswith("bind.")}

    @property
    def entry(self) -> JsonObject:
        """The entry as the loader will read it."""
        return {
            "kind": self.kind,
            **({"description": self.description} if self.description else {}),
            **({} if self.schema is None else {"schema": self.schema}),
            **({"bind": self.bound} if self.bound else {}),
            **({"approve": {"by": [APPROVER]}} if self.kind == "action" else {}),
        }


def drafts(tools: Iterable[Found], declared: Mapping[str, Declared] | None = None) -> Iterator[Draft | LeftOut]:
    """The entry of each tool in order, or why it gets none. `declared` are the functions behind them, where a program is at hand."""
    seen: set[str] = set()
    for tool in tools:
        why = _unfit(tool.name, seen)
        seen.add(tool.name)
        yield LeftOut(name=tool.name, why=why) if why else _draft(tool, None if declared is None else declared[tool.name])


def _unfit(name: str, seen: set[str]) -> str:
    illegal = next((char for char in name if char in _ILLEGAL), "")
    if illegal:
        shown = {"\n": "a line break", " ": "a space"}.get(illegal, illegal)
        return f"a policy cannot name it: leave out {shown}"
    if any(map(is_invisible, name)):
        return "its name holds a character that cannot be seen"
    if len(name) > MAX_NAME:
        return f"its name is longer than {MAX_NAME} characters"
    return "a tool of this name stands before it already" if name in seen else ""


def _draft(tool: Found, declared: Declared | None) -> Draft | LeftOut:
    kind = guess_kind(tool)
    guesses = [Guess(key="kind", value=kind.kind, why=kind.why), *_bindings(tool.schema)]
    if kind.kind == "action":
        guesses.append(Guess(key="approve", value=f"{{by: [{APPROVER}]}}", why="a person of this role answers; name your own"))
    made = Draft(
        name=tool.name,
        kind=kind.kind,
        description=tool.description if tool.written else "",
        schema=tool.schema if tool.written else None,
        guesses=(*guesses, *_records(tool.schema), *_effect(tool, kind.kind)),
        notes=(*tool.notes, *_provider(tool.name)),
    )
    trouble = _trouble(made, declared)
    if trouble and made.schema is not None:
        schema, notes = with_fitting_defaults(made.schema)
        made = replace(made, schema=schema, notes=(*made.notes, *notes))
        trouble = _trouble(made, declared) if notes else trouble
    return LeftOut(name=tool.name, why=trouble) if trouble else made


def _trouble(made: Draft, declared: Declared | None) -> str:
    """What the loader would say against the entry; empty when it takes it."""
    problems = Problems()
    try:
        item = item_of(made.entry)
    except RecursionError:
        return "its schema is nested too deeply"
    compile_tool(Entry(name=made.name, item=item, declared=declared, tools=frozenset({made.name}), checks=None), problems)
    if not problems.errors:
        return ""
    first = problems.errors[0]
    message = first.message.removeprefix(f"{made.name}: ").removeprefix(f"schema of {made.name}: ")
    return f"{message} ({first.cure})" if first.cure else message


def item_of(value: Json) -> Item:
    """A value as if it had been read from a file."""
    item = Item("tools.yaml", None, value)
    if isinstance(value, Mapping):
        item.fields = {key: item_of(below) for key, below in value.items()}
    elif isinstance(value, list):
        item.items = [item_of(below) for below in value]
    return item


def _provider(name: str) -> Iterator[str]:
    if len(name) > _PROVIDER_NAME or not name.replace("_", "").replace("-", "").isascii() or not _plain(name):
        yield f"providers take names of up to {_PROVIDER_NAME} letters, digits, - and _ only"


def _plain(name: str) -> bool:
    return all(char.isalnum() or char in "_-" for char in name)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _fields(schema: JsonObject | None) -> Mapping[str, Json]:
    fields = (schema or {}).get("properties")
    return fields if isinstance(fields, Mapping) else {}


def _bindings(schema: JsonObject | None) -> Iterator[Guess]:
    """A binding for each argument that is the caller's own by its name, and a commented one where it only may be."""
    for name, shape in _fields(schema).items():
        fact, maybe = owner(name), perhaps(name)
        if fact and _is_text(shape):
            why = "the caller's own, by its name" if fact == "principal" else "the caller's tenant, by its name"
            yield Guess(key=f"bind.{name}", value=f"session.{fact}", why=why)
        elif fact and _is_number(shape):
            yield Guess(
                key=f"bind.{name}",
                value=f"session.{_fact(name)}",
                why="the caller's own; the schema wants a number, so an attribute",
            )
        elif fact or maybe:
            yield Guess(key=f"bind.{name}", value=f"session.{fact or maybe}", why="perhaps the caller's own", active=False)


def _is_text(shape: Json) -> bool:
    kind = shape.get("type") if isinstance(shape, Mapping) else None
    return kind is None or kind == "string" or (isinstance(kind, list) and "string" in kind)


def _is_number(shape: Json) -> bool:
    return isinstance(shape, Mapping) and shape.get("type") in ("integer", "number")


def _fact(name: str) -> str:
    """A name that a path can hold."""
    return "".join(char if char.isalnum() or char == "_" else "_" for char in name)


def _records(schema: JsonObject | None) -> Iterator[Guess]:
    """The first argument that always names a record, which may belong to somebody."""
    needed = (schema or {}).get("required", ())
    for name in _fields(schema):
        end = next((end for end in _RECORDS if name.endswith(end) and len(name) > len(end)), None)
        if end and name in needed and owner(name) is None and perhaps(name) is None and _plain(name):
            record = name.removesuffix(end).rstrip("_-")
            why = f"if the {record} belongs to somebody; your program registers its loader"
            yield Guess(key="resource", value=f"{{{record}: {name}, owner: owner_id}}", why=why, active=False)
            return


def _effect(tool: Found, kind: Kind) -> Iterator[Guess]:
    if tool.keyed and kind == "action":
        why = "the function takes idempotency_key; if what stands behind it takes a key once only"
        yield Guess(key="effect", value="idempotent", why=why, active=False)
