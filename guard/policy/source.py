"""Source: the files of a policy folder, and YAML text as plain values that remember their lines.

YAML 1.2 by ruamel.yaml's composer; values are built here, so that numbers keep their digits (`0.10` is a Decimal), keys are
texts and appear once, and nothing but JSON comes out. May not know any key of the language. Comes after problems and before language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from guard.core.values import Json
from guard.policy.file_names import is_cases, is_policy, is_yaml, looks_like_policy, shown
from guard.policy.problems import Problems

MAX_NODES = 100_000
"""Values in one file, aliases counted each time they are used: an alias bomb must not stop the machine."""

MAX_BYTES = 20_000_000
"""Bytes of one policy file."""
UNREAD = "file-unread"
"""The code of a problem that keeps everything in a file from being known."""

_TAG = "tag:yaml.org,2002:"
_TEXTS = frozenset({"str", "timestamp"})  # YAML 1.2 has no dates: they are texts
_WORDS: dict[str, Json] = {"true": True, "false": False}


@dataclass(slots=True)
class Item:
    """One value in a policy file with its place. `fields` of a mapping and `items` of a list are items again.

    Only of layered folders: `added` is what a narrower layer adds to something that a wider one has, `also` what holds besides this value.
    """

    file: str
    line: int | None
    value: Json = None
    fields: dict[str, Item] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    added: bool = False
    also: tuple[Item, ...] = ()

    def at(self, path: list[str | int]) -> Item:
        """The item at `path`, or the innermost one on the way to it."""
        here = self
        for step in path:
            below = here.fields.get(step) if isinstance(step, str) else here.items[step] if step < len(here.items) else None
            if below is None:
                return here
            here = below
        return here


@dataclass(frozen=True, slots=True)
class File:
    """One file of the folder: its name relative to the folder (behind its layer's name, where there are several) and its bytes."""

    name: str
    data: bytes

    @property
    def base(self) -> str:
        """The name within its folder."""
        return self.name.rpartition("/")[2]


def read_folder(folder: str | os.PathLike[str], problems: Problems, *, alone: bool = True) -> list[File]:
    """Every policy file, sorted by name. A folder that cannot be read, or holds no YAML where it stands `alone`, is a problem."""
    here = Path(folder)
    spot = Item(str(here), None)
    try:
        found = sorted(here.iterdir())
    except OSError as failure:
        problems.error(spot, f"the policy folder cannot be read: {failure.strerror}", "name a folder that holds tools.yaml")
        return []
    names = [entry.name for entry in found if is_policy(entry.name) and (entry.is_file() or _points_nowhere(entry))]
    if not any(is_yaml(name) for name in names) and (alone or not names):
        problems.error(spot, "the policy folder holds no YAML file", "write tools.yaml in it")
    skipped = [entry.name for entry in found if entry.name not in names and looks_like_policy(entry.name)]
    skipped += [f"{entry.name}/{name}" for entry in found if entry.name not in skipped for name in _below(entry)]
    if skipped:
        problems.warn(
            spot, f"not read: {', '.join(map(shown, skipped))}", "rename what belongs to the policy, move the rest away"
        )
    return list(_read(here, names, problems))


def _below(entry: Path) -> list[str]:
    """The files of a folder in the policy folder that somebody may believe to be read."""
    if entry.name.startswith((".", "_")) or entry.is_symlink() or not entry.is_dir():
        return []
    try:
        return sorted(below.name for below in entry.iterdir() if looks_like_policy(below.name))
    except OSError:
        return []


def read_case_files(folder: str | os.PathLike[str], problems: Problems) -> list[File]:
    """Every file of the folder that holds cases, sorted by name. They change no decision, so they are no part of the policy or its version."""
    here = Path(folder)
    try:
        names = sorted(entry.name for entry in here.iterdir() if is_cases(entry.name))
    except OSError as failure:
        problems.error(Item(str(here), None), f"the policy folder cannot be read: {failure.strerror}")
        return []
    return list(_read(here, names, problems))


def _points_nowhere(entry: Path) -> bool:
    """Whether a link leads to nothing: what it stands for is missing, which is a mistake and not an absence."""
    return entry.is_symlink() and not entry.exists()


def _read(here: Path, names: list[str], problems: Problems) -> Iterator[File]:
    for name in names:
        try:
            data = (here / name).read_bytes()
        except OSError as failure:
            problems.error(Item(name, None), f"the file cannot be read: {failure.strerror}", code=UNREAD)
            continue
        if len(data) > MAX_BYTES:
            problems.error(Item(name, None), f"the file is larger than {MAX_BYTES} bytes", code=UNREAD)
            continue
        yield File(name, data)


def text_of(file: File, problems: Problems) -> str | None:
    """The file's text; anything but UTF-8 is a problem."""
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = file.data[: failure.start].count(b"\n") + 1
        problems.error(Item(file.name, line), "the file is not UTF-8", "save it as UTF-8", code=UNREAD)
        return None


def read_yaml(file: File, problems: Problems, *, most: int = MAX_NODES, any_key: bool = False) -> Item | None:
    """The file's one document, or None when it is empty or cannot be read (then `problems` says why).

    Other documents than policies may hold more than `MAX_NODES` values and keys that are numbers, which stand for their text then.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - loaded with the first policy, so that importing guard stays cheap
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - as above

    from guard.policy.plain_yaml import read_plain  # noqa: PLC0415 - it builds the items of this file

    text = text_of(file, problems)
    if text is None:
        return None
    plain = None if any_key else read_plain(text, file.name, most)
    if plain is not None:
        return plain
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        return None if node is None else _Builder(file.name, problems, most, any_key=any_key).build(node)
    except MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = None if mark is None else mark.line + 1
        cure = (
            "put quotes around a path with [*]" if "[*]" in _line_of(text, line) else "compare indentation, brackets and quotes"
        )
        problems.error(Item(file.name, line), f"not YAML: {failure.problem or failure.context}", cure, code=UNREAD)
    except YAMLError as failure:
        problems.error(Item(file.name, None), f"not YAML: {str(failure).splitlines()[0]}", code=UNREAD)
    except RecursionError:
        problems.error(Item(file.name, None), "nested too deeply", code=UNREAD)
    return None


def _line_of(text: str, line: int | None) -> str:
    lines = text.splitlines()
    return lines[line - 1] if line is not None and line <= len(lines) else ""


class _Builder:
    """Turns composed nodes into items. Stops at too many values and at an alias that holds itself."""

    def __init__(self, file: str, problems: Problems, most: int, *, any_key: bool) -> None:
        self.file = file
        self.problems = problems
        self.most = most
        self.keys = {f"{_TAG}{kind}" for kind in (*_TEXTS, *(("int", "float", "bool", "null") if any_key else ()))}
        self.count = 0
        self.open: set[int] = set()

    def build(self, node: Any) -> Item:
        """One node and everything below it."""
        item = Item(self.file, node.start_mark.line + 1)
        self.count += 1
        if self.count > self.most:
            if self.count == self.most + 1:
                self.problems.error(item, f"more than {self.most} values in one file", "write fewer aliases")
            return item
        if id(node) in self.open:
            self.problems.error(item, "an alias stands inside the value that it names")
            return item
        self.open.add(id(node))
        {"MappingNode": self._mapping, "SequenceNode": self._sequence}.get(type(node).__name__, self._scalar)(node, item)
        self.open.discard(id(node))
        return item

    def _mapping(self, node: Any, item: Item) -> None:
        self._plain(node, item, "map")
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            value = self.build(value_node)
            if key in item.fields:
                first = item.fields[key].line
                spot = Item(self.file, key_node.start_mark.line + 1)
                self.problems.error(spot, f"{key} is written twice", f"the first stands at line {first}; keep one")
                continue
            value.line = key_node.start_mark.line + 1  # the key says where an entry begins
            item.fields[key] = value
        item.value = {key: below.value for key, below in item.fields.items()}

    def _key(self, node: Any) -> str | None:
        spot = Item(self.file, node.start_mark.line + 1)
        if type(node).__name__ != "ScalarNode" or node.tag not in self.keys:
            cure = "write << out in full" if getattr(node, "value", "") == "<<" else "put quotes around it"
            self.problems.error(spot, "a key must be a text", cure)
            return None
        return str(node.value)

    def _sequence(self, node: Any, item: Item) -> None:
        self._plain(node, item, "seq")
        item.items = [self.build(below) for below in node.value]
        item.value = [below.value for below in item.items]

    def _plain(self, node: Any, item: Item, kind: str) -> None:
        if node.tag != f"{_TAG}{kind}":
            self.problems.error(item, f"the tag {node.tag.removeprefix(_TAG)} has no meaning here", "leave the tag out")

    def _scalar(self, node: Any, item: Item) -> None:
        kind = str(node.tag).removeprefix(_TAG)
        text = str(node.value)
        try:
            item.value = scalar(kind, text)
        except (ValueError, KeyError, InvalidOperation):
            self.problems.error(item, f"{text[:40]} is not a value that a policy can hold", "put quotes around a text")


def scalar(kind: str, text: str) -> Json:
    """The value of a scalar of this kind. Raises ValueError, KeyError or InvalidOperation where a policy cannot hold it."""
    if kind in _TEXTS:
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return _WORDS[text.lower()]
    if kind == "int":
        return _integer(text.replace("_", ""))
    number = Decimal(text.replace("_", "")) if kind == "float" else Decimal("nan")
    if not number.is_finite():
        raise ValueError(kind)
    return number


def _integer(text: str) -> int:
    return int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else int(text, 0)
