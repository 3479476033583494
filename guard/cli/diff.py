"""`guard diff`: what another version of a policy folder means: what widens, what narrows, what changes its reason. Only reads."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from guard.cli.progress import Progress
from guard.cli.replayed import replay
from guard.cli.revisions import load_side
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core.values import JsonObject
from guard.errors import PolicyError
from guard.policy import Loaded
from guard.review.cells import tenant_label
from guard.review.changes import Change, Direction
from guard.review.differ import Difference, Moved, compare

EXAMPLES = """examples:
  guard diff policies/ policies.new/           two folders
  guard diff org,app org,app.new               layers, the widest first, with a comma between
  guard diff git:HEAD:policies/ policies/      what is committed against what is on the disk
  guard diff git:main:policies/ policies/ --json
  guard diff policies/ policies.new/ --replay sqlite:///guard.db     which recorded decisions would differ

Exit codes: 0 nothing widens, 1 something widens or may (or a folder does not load, or a recorded decision would be wider), 2 misuse.
What cannot be told counts as `may widen`. Without the program's functions their signatures are unknown on both sides."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "diff",
        help="what another version of a policy folder widens or narrows",
        description="Compare two versions of a policy folder by what they mean, cell by cell; exit with 1 when something widens.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD", help="a policy folder, git:REVISION:FOLDER, or several with commas: layers")
    parser.add_argument("new", metavar="NEW", help="the same for the other side")
    parser.add_argument("--replay", metavar="LOG", help="a store's URL, or a file of `guard audit --json`; it is only read")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 when something widens or may, or a side does not load."""
    sides: list[tuple[Loaded, str]] = []
    for name in (arguments.old, arguments.new):
        try:
            sides.append(load_side(name))
        except PolicyError as error:
            return _broken(name, error, json=arguments.json)
    (old, old_model), (new, new_model) = sides
    if arguments.replay:
        return replay(arguments.replay, old, new, json=arguments.json)
    with Progress("tools compared") as progress:
        found = compare(old, new, models=(old_model, new_model), told=progress.told)
    if arguments.json:
        print(json_text(_plain(found, old, new)))
    else:
        _tell(found)
    return 1 if found.widens else 0


def _broken(name: str, error: PolicyError, *, json: bool) -> int:
    if json:
        problems = [{"file": one.file, "line": one.line, "message": one.message, "cure": one.cure} for one in error.problems]
        print(json_text({"ok": False, "folder": name, "problems": problems}))
    for problem in error.problems:
        print(spell(f"{name}: {problem}"), file=sys.stderr)
    print(f"{spell(name)} does not load, so nothing can be compared", file=sys.stderr)
    return 1


def _tell(found: Difference) -> None:
    heads = ("", "what", "was", "is", "where", "note")
    rows = [(one.direction, f"{one.subject}: {one.what}", one.old, one.new, _where(one), one.note) for one in found.changes]
    for line in table(heads, rows) if rows else []:
        print(line)
    counts = Counter(one.direction for one in found.changes)
    told = [f"{counts[direction]} {_counted(direction, counts[direction])}" for direction in Direction if counts[direction]]
    print(", ".join(told) if told else "no difference in what they mean")


def _counted(direction: Direction, count: int) -> str:
    many = {"widens": "widen", "narrows": "narrow", "changes": "change nothing but reasons or words"}
    return (
        many.get(direction, direction)
        if count != 1
        else "changes nothing but reasons or words"
        if direction == "changes"
        else direction
    )


def _where(one: Change) -> str:
    places = [place or "-" for place in (one.old_place, one.new_place)]
    return "" if places == ["-", "-"] else places[0] if places[0] == places[1] else " -> ".join(places)


def _plain(found: Difference, old: Loaded, new: Loaded) -> JsonObject:
    names = ("subject", "what", "old", "new", "old_place", "new_place", "note")
    return {
        "ok": not found.widens,
        "old": old.policy.version,
        "new": new.policy.version,
        "changes": [{"direction": str(one.direction), **{name: getattr(one, name) for name in names}} for one in found.changes],
        "cells": [_cell(one) for one in found.moved],
    }


def _cell(one: Moved) -> JsonObject:
    sides = {side: {"verdict": cell.standing, "rules": list(cell.rules)} for side, cell in (("old", one.old), ("new", one.new))}
    return {"who": one.subject, "tenant": tenant_label(one.tenant), "tool": one.tool, "act": one.act, **sides}
