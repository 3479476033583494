"""Pins: the definitions of tools that a person has reviewed, kept in `pins.json` beside the policy, and what differs from them now.

A definition is what a model is told and what is accepted: server, name, description, schema. One that changed since somebody looked may be
a trap, so the policy is not used until a person pins it again; a new one is only told. `compare` is pure and knows no policy, so that the
tools of other servers can be held against their pins by whoever lists them. Comes after source; before load.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from guard.core.rules import Tool
from guard.core.values import Json, canonical, digest
from guard.policy.file_names import PINS
from guard.policy.problems import Problems, is_invisible
from guard.policy.source import File, Item, text_of

LONGEST = 160
"""Characters of a description that a pin shows; the digest covers all of it."""

_CURE = "review the definition, then guard check --pin, with --tools MODULE:NAME where a program has it"
_BROKEN = "put back the version that was committed, or write it anew with guard check --pin"
_FIELDS = {"digest", "description", "arguments"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One reviewed definition: the digest of all of it, and enough of it that a diff can be read."""

    digest: str
    description: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One difference from the pins. `before` and `now` are None where there is no such definition."""

    kind: Literal["changed", "new", "gone"]
    name: str
    before: Pin | None
    now: Pin | None


def pin(name: str, description: str, schema: Mapping[str, Json], *, server: str = "") -> Pin:
    """The pin of one definition; `server` is empty for the program's own functions."""
    properties = schema.get("properties")
    arguments = tuple(sorted(properties)) if isinstance(properties, Mapping) else ()
    short = " ".join(description.split())
    short = short if len(short) <= LONGEST else short[: LONGEST - 1] + "…"
    return Pin(digest=digest(server, name, description, canonical(dict(schema))), description=short, arguments=arguments)


def compare(pinned: Mapping[str, Pin], now: Mapping[str, Pin]) -> tuple[Drift, ...]:
    """Every difference, by name. Both hold the definitions of one server."""
    found = []
    for name in sorted({*pinned, *now}):
        before, after = pinned.get(name), now.get(name)
        if before is None or after is None or before.digest != after.digest:
            kind: Literal["changed", "new", "gone"] = "new" if before is None else "gone" if after is None else "changed"
            found.append(Drift(kind=kind, name=name, before=before, now=after))
    return tuple(found)


def pins_text(servers: Mapping[str, Mapping[str, Pin]]) -> str:
    """The text of `pins.json`: servers (the program's own is empty) and tools sorted, a line for each field."""
    plain = {server: {name: _plain(tools[name]) for name in sorted(tools)} for server, tools in sorted(servers.items()) if tools}
    return json.dumps({"pins": plain}, ensure_ascii=False, indent=2) + "\n"


def _plain(one: Pin) -> dict[str, Json]:
    shown = "".join(f"[U+{ord(char):04X}]" if is_invisible(char) else char for char in one.description)
    return {"arguments": list(one.arguments), "description": shown, "digest": one.digest}


# -- reading ---------------------------------------------------------------------------------------------------------


def read_pins(files: Sequence[File], problems: Problems) -> dict[str, dict[str, Pin]] | None:
    """The pins of each server; None when there is no such file. One that cannot be read is a mistake and not an absence."""
    file = next((one for one in files if one.base == PINS), None)
    if file is None:
        return None
    text = text_of(file, problems)
    if text is None:
        return {}
    try:
        return _servers(json.loads(text, object_pairs_hook=_once))
    except json.JSONDecodeError as failure:
        problems.error(Item(file.name, failure.lineno), f"not JSON: {failure.msg}", _BROKEN, code="pins-broken")
    except (ValueError, RecursionError) as failure:
        problems.error(Item(file.name, 1), f"not a file of pins: {failure}", _BROKEN, code="pins-broken")
    return {}


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key} is written twice")
        found[key] = value
    return found


def _servers(given: Json) -> dict[str, dict[str, Pin]]:
    if not isinstance(given, dict) or set(given) != {"pins"} or not isinstance(given["pins"], dict):
        raise ValueError("pins, and nothing else, is needed")
    found: dict[str, dict[str, Pin]] = {}
    for server, tools in given["pins"].items():
        if not isinstance(tools, dict):
            raise ValueError(f"{server}: a mapping of tools is needed")
        found[server] = {name: _pin(name, one) for name, one in tools.items()}
    return found


def _pin(name: str, given: Json) -> Pin:
    if not isinstance(given, dict) or set(given) != _FIELDS:
        raise ValueError(f"{name}: arguments, description and digest are needed")
    texts = [given["digest"], given["description"], *(given["arguments"] if isinstance(given["arguments"], list) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name}: texts are needed")
    return Pin(digest=texts[0], description=texts[1], arguments=tuple(texts[2:]))


# -- against the policy's own tools ------------------------------------------------------------------------------------


def is_told(entry: Item) -> bool:
    """Whether the entry itself says the whole definition, so that it is known without the program."""
    return "schema" in entry.fields and "description" in entry.fields


def definitions(tools: Mapping[str, Tool]) -> dict[str, Pin]:
    """The pins of compiled tools as they are now."""
    return {name: pin(name, tool.description, tool.schema) for name, tool in tools.items()}


def check_pins(
    files: Sequence[File], tools: Mapping[str, Tool], told: Collection[str], entries: Mapping[str, Item], problems: Problems
) -> None:
    """Report each tool whose definition is not the reviewed one. `told` are those whose definition is known."""
    before = len(problems.errors)
    pinned = read_pins(files, problems)
    if pinned is None or len(problems.errors) > before:
        return
    if pinned and "" not in pinned:
        return  # the pins of servers: whoever lists their tools holds them against these
    own = {name: one for name, one in pinned.get("", {}).items() if name in told or name not in entries}
    file = next(file for file in files if file.base == PINS)
    lines = file.data.decode("utf-8", "replace").splitlines()
    for drift in compare(own, definitions({name: tool for name, tool in tools.items() if name in told})):
        if drift.kind == "changed":
            problems.error(entries[drift.name], f"{drift.name}: {_changes(drift)} since it was pinned", _CURE, code="pin-changed")
        elif drift.kind == "new":
            problems.warn(entries[drift.name], f"{drift.name} is not pinned: nobody has reviewed it", _CURE, code="pin-new")
        else:
            spot = Item(file.name, _line(lines, drift.name))
            message = f"{drift.name} is pinned, and no tool of this policy is called so"
            problems.warn(spot, message, "guard check --pin leaves it out", code="pin-gone")


def _line(lines: Sequence[str], name: str) -> int | None:
    start = f"{json.dumps(name, ensure_ascii=False)}: {{"
    return next((number for number, line in enumerate(lines, start=1) if line.strip() == start), None)


def _changes(drift: Drift) -> str:
    """What differs, in words. Only a changed drift has both sides."""
    if drift.before is None or drift.now is None:
        return drift.kind
    return ", ".join(_parts(drift.before, drift.now)) or "its description or schema changed"


def _parts(before: Pin, now: Pin) -> Iterator[str]:
    if before.description != _plain(now)["description"]:
        yield f"its description changed to {_plain(now)['description']!r}"
    yield from _listed("argument", "added", set(now.arguments) - set(before.arguments))
    yield from _listed("argument", "removed", set(before.arguments) - set(now.arguments))


def _listed(what: str, verb: str, names: Collection[str]) -> Iterator[str]:
    if names:
        yield f"{what}{'' if len(names) == 1 else 's'} {', '.join(sorted(names))} {verb}"
