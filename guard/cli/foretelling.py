"""Foretelling: what `guard audit erase` would take, and whose it is, said before anything goes. Used by `erasing`; only reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from guard.cli.show import json_text, spell
from guard.core.values import Json
from guard.runner.erasing import Payloads

Wanted = tuple[tuple[str, str], frozenset[tuple[int, int]] | None]
"""A conversation, and the calls of it that are meant: None for all of it."""
_SHOWN = 20


def foretell(
    payloads: Payloads, wanted: Sequence[Wanted], left: Mapping[str, str], kills: Sequence[str], *, as_json: bool = False
) -> None:
    """Say it: in lines on standard error, or as JSON on standard output. `left`: calls that are not over, each with what ends it; `kills`: their ids."""
    if as_json:
        named: dict[str, Json] = {"kills": list(kills)} if kills else {}
        print(json_text({"would_erase": [_plain(payloads, one) for one in wanted], "left": list(left), **named}))
        return
    lines = [_line(payloads, one) for one in wanted[:_SHOWN]] or ([] if kills else ["nothing"])
    if len(wanted) > _SHOWN:
        lines.append(f"and {len(wanted) - _SHOWN} more conversations (all of them: --dry-run --json)")
    lines += [f"what they are called and wrote in the kill {name}" for name in kills]
    for line in lines:
        print(f"guard: to be erased: {line}", file=sys.stderr)
    for name, cure in left.items():
        print(f"guard: to be left, since it is not over: {spell(name)} ({spell(cure)})", file=sys.stderr)


def _line(payloads: Payloads, one: Wanted) -> str:
    home, calls = one
    what = "everything" if calls is None else f"{len(calls)} call{'s' * (len(calls) != 1)}"
    people = " and ".join(map(spell, payloads.whose(home))) or "somebody whom no record names"
    return f"{what} of {spell(home[1])}, a conversation of {people} (tenant {spell(home[0])})"


def _plain(payloads: Payloads, one: Wanted) -> dict[str, Json]:
    home, calls = one
    whose: list[Json] = [*payloads.whose(home)]
    places: Json = None if calls is None else [list(place) for place in sorted(calls)]
    return {"tenant": home[0], "conversation": home[1], "principals": whose, "calls": places}
