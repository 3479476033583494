"""Written: a policy folder as it is written, before anything is compiled: its files, and its YAML documents with their lines.

May not judge an entry. Whoever wants to know what a changed policy would do (the reviewer's desk) changes this and has it compiled. Comes after
source and language, before load.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from guard.policy import language
from guard.policy.file_names import is_shape, is_yaml
from guard.policy.problems import Problems
from guard.policy.source import File, Item, read_folder, read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A policy folder as it is written: its files, and its YAML documents with their lines.

    Of several folders: `layers` are they, the widest first, and the one document says what they mean together.
    """

    place: str
    files: tuple[File, ...]
    documents: tuple[Item, ...]
    shapes: Mapping[str, Item] = field(default_factory=dict)  # schema files, by name
    layers: tuple[Written, ...] = ()


def read_policy(folder: str | os.PathLike[str], problems: Problems) -> Written:
    """Read the folder's files; what is wrong with them is told to `problems`."""
    return as_written(str(folder), read_folder(folder, problems), problems)


def as_written(place: str, files: Sequence[File], problems: Problems) -> Written:
    """Files that were read before, with their documents."""
    return Written(place=place, files=tuple(files), documents=tuple(_documents(files, problems)), shapes=_shapes(files, problems))


def _documents(files: Sequence[File], problems: Problems) -> list[Item]:
    found = []
    for file in files:
        if not is_yaml(file.name):
            continue
        before = len(problems.errors)
        document = read_yaml(file, problems)
        if document is not None:
            language.mapping(document, "file", problems)
            found.append(document)
        elif len(problems.errors) == before:
            problems.warn(Item(file.name, None), "the file is empty", "remove it")
    return found


def _shapes(files: Sequence[File], problems: Problems) -> dict[str, Item]:
    """The schema files of the folder. JSON is read as the YAML that it is, so that its mistakes have lines."""
    read = {file.name: read_yaml(file, problems) for file in files if is_shape(file.name)}
    return {name: item for name, item in read.items() if item is not None}


def tops(documents: Sequence[Item], key: str) -> list[Item]:
    """What stands under one top-level key, in each file that has it."""
    return [document.fields[key] for document in documents if key in document.fields]


def collect(documents: Sequence[Item], key: str, problems: Problems) -> dict[str, Item]:
    """The entries under one top-level key of all files; the same name twice is a mistake."""
    found: dict[str, Item] = {}
    for block in tops(documents, key):
        for name, item in language.entries(block, key, problems).items():
            if name in found:
                first = found[name]
                problems.error(item, f"{name} is written twice", f"the first stands at {first.file}:{first.line}; keep one")
            found.setdefault(name, item)
    return found
