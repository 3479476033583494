"""Edits: a written policy with one thing changed, everything else shared: for whoever asks what a policy would do without it.

A changed document keeps the places of what stays. May not judge a policy: the loader does. Comes before `points`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from guard.core.values import Json
from guard.policy.source import File, Item
from guard.policy.written import Written

Steps = tuple[str | int, ...]
"""Where something stands in a document: keys and numbers of list items, from the top."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `new` at `steps` of a document; None takes away what stands there."""

    steps: Steps
    new: Item | None = None


def constant(value: Json, like: Item) -> Item:
    """A value without fields, at the place of `like`."""
    return Item(like.file, like.line, value)


def edited(written: Written, document: int, edits: Sequence[Edit]) -> Written:
    """The policy with edits in one of its documents. A mapping or list that loses its last entry goes as well."""
    root: Item | None = written.documents[document]
    for edit in edits:
        root = None if root is None else _changed(root, edit.steps, edit.new)
    documents = list(written.documents)
    documents[document : document + 1] = [] if root is None else [root]
    return replace(written, documents=tuple(documents))


def _changed(item: Item, steps: Steps, new: Item | None) -> Item | None:
    if not steps:
        return new
    head, rest = steps[0], steps[1:]
    if isinstance(head, str):
        if head not in item.fields:  # an edit before this one took it away
            return item
        fields = dict(item.fields)
        below = _changed(fields[head], rest, new)
        fields = {key: below if key == head else one for key, one in fields.items() if key != head or below is not None}  # type: ignore[misc]  # None is left out
        return Item(item.file, item.line, {key: one.value for key, one in fields.items()}, fields) if fields else None
    items = list(item.items)
    below = _changed(items[head], rest, new)
    items[head : head + 1] = [] if below is None else [below]
    return Item(item.file, item.line, [one.value for one in items], items=items) if items else None


def without_line(written: Written, name: str, line: int, new: str = "") -> Written:
    """The policy with one line of a rule file emptied, or written anew."""
    return replace(written, files=tuple(_file(file, line, new) if file.name == name else file for file in written.files))


def _file(file: File, line: int, new: str) -> File:
    lines = file.data.split(b"\n")
    lines[line - 1] = new.encode()
    return File(file.name, b"\n".join(lines))
