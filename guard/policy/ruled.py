"""Ruled: the rules of one folder, or of several as layers, read and built to the authorizer that answers for them.

Comes after books, publish and layers; before load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from guard.core.model import Session
from guard.core.ports import Authorizer
from guard.core.rules import Tool
from guard.core.values import digest
from guard.policy.books import book_of, voters_of
from guard.policy.callers import warn_callers, warn_silent, warn_whole
from guard.policy.file_names import is_rules, is_yaml
from guard.policy.layers.authorizer import Layer, LayeredAuthorizer
from guard.policy.layers.rules import entries_of, joined, layers_of, warn_layers
from guard.policy.pins import check_pins
from guard.policy.problems import Problems
from guard.policy.publish import authorizer
from guard.policy.reading import ROWS
from guard.policy.reveals import warn_result_roles
from guard.policy.rule_files import RuleBook
from guard.policy.rule_shape import shape_of
from guard.policy.source import File, Item
from guard.policy.written import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """The authorizer, None where it cannot be built; every rule and grant with its place; and, of several folders, each layer."""

    judge: Authorizer | None
    book: RuleBook
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the rules are read beside: every entry, the tools that compiled, who people are, and rules from elsewhere.

    `unlisted` are registered tools without an entry, `told` those whose definition is known.
    """

    written: Written
    entries: Mapping[str, Item]
    tools: Mapping[str, Tool]
    people: Mapping[str, Session]
    unlisted: frozenset[str]
    told: frozenset[str]
    rows: File | None

    @property
    def spot(self) -> Item:
        """For what stands nowhere: the file of the first entry, where one would write it; without entries the first file."""
        files = (
            *(entry.file for entry in self.entries.values()),
            *(file.name for file in self.written.files if is_yaml(file.name)),
        )
        return Item(next(iter(files), self.written.place), None)


def ruled(around: Around, problems: Problems) -> Ruled:
    """Read and build the rules, and say what about callers and definitions is not right or not meant."""
    return _layers(around, problems) if around.written.layers else _folder(around, problems)


def _folder(around: Around, problems: Problems) -> Ruled:
    files = (*around.written.files, *([around.rows] if around.rows else ()))
    shape = shape_of(files, problems)
    voters = {name: voters_of(tool) for name, tool in around.tools.items()}
    book = book_of(files, around.entries, voters, around.people, shape, problems)
    casbin = next((Item(file.name, 1) for file in files if _holds_rules(file)), None)
    judge = authorizer(shape, book, problems, casbin)
    warn_whole(around.entries, around.tools, around.unlisted, around.spot, problems)
    warn_callers(around.entries, around.tools, book, problems)
    warn_result_roles(around.entries, around.tools, book.roles, problems)
    check_pins(files, around.tools, around.told, around.entries, problems)
    return Ruled(judge=judge, book=book)


def _holds_rules(file: File) -> bool:
    """Whether a file is there for Casbin's sake."""
    return is_rules(file.name) or file.base in {ROWS, "model.conf"}


def _layers(around: Around, problems: Problems) -> Ruled:
    written = around.written.layers
    found = layers_of(written, around.entries, around.people, problems, around.rows)
    book = joined(found)
    warn_whole(around.entries, around.tools, around.unlisted, around.spot, problems)
    warn_layers(found, around.entries, around.tools, problems)
    warn_silent(book, problems)
    known: set[str] = set()
    for one in written:
        known |= entries_of(one).keys()
        check_pins(one.files, around.tools, around.told & known, around.entries, problems)
    return Ruled(judge=LayeredAuthorizer(found) if len(found) == len(written) else None, book=book, layers=found)


def spared(written: Written) -> frozenset[str]:
    """The tools that only wider layers name: a program need not have them. They are refused then, like every tool that nobody registered."""
    if not written.layers:
        return frozenset()
    return frozenset(name for layer in written.layers[:-1] for name in entries_of(layer)) - entries_of(written.layers[-1]).keys()


def check_spared(absent: Collection[str], tools: Mapping[str, Tool], entries: Mapping[str, Item], problems: Problems) -> None:
    """A compensation that the program does not have cannot be offered."""
    for name, tool in tools.items():
        if tool.compensation in absent:
            spot = entries[name].at(["effect"])
            problems.error(spot, f"compensate: no registered tool is called {tool.compensation}", "register it")


def version(around: Around) -> str:
    """The hash of every file and every tool's definition. Of layers their order counts, and not what their folders are called."""
    parts: list[str] = []
    for number, layer in enumerate(around.written.layers, start=1):
        parts += ["layer", str(number), *(part for file in layer.files for part in (file.base, file.data.decode("latin-1")))]
    if not around.written.layers:
        parts += [part for file in around.written.files for part in (file.name, file.data.decode("latin-1"))]
    if around.rows is not None:
        parts += [around.rows.name, around.rows.data.decode("latin-1")]
    tools = around.tools
    return digest(*parts, *(part for name in sorted(tools) for part in (name, tools[name].definition)))
