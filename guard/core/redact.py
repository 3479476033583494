"""Redact: the last room. `Executed` → what the model may see: listed fields only, personal data hidden, within its size.

Works on decoded leaves, never on serialised text; a part that is hidden says what it was, everything else stays as it is. Errors pass
the same door. If it fails, the pipeline withholds the result. Comes after execute; the detectors are brought by the host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guard.core.hiding import beginning, shown_text, together
from guard.core.model import Block, Content, Image
from guard.core.paths import ANY, Path
from guard.core.ports import Executed, Redactor
from guard.core.rules import Tool
from guard.core.values import Json, encode

_PLACE = re.compile(r"\[image/[a-z.+-]+, [0-9]+ (?:bytes|KB|MB), shown below\]")
"""What stands in a value where a picture was lifted out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What goes back for a tool that ran: the content, the kinds of data hidden in it, and whether it was cut."""

    content: Content
    hidden: tuple[str, ...] = ()
    cut: bool = False
    empty: bool = False  # nothing is shown: the content only says so
    dropped: bool = False  # `keep` left nothing of a result that was not empty


def redact(ran: Executed, tool: Tool, redactor: Redactor) -> Shown:
    """Filter, hide, make empty explicit, serialise and cut one result. Raises for what it cannot make safe."""
    kinds: set[str] = set()
    value = ran.value
    said = isinstance(value, str) and ran.failed  # what a tool says about its own failure has no fields to choose from
    fields = None if said else tool.result.keep
    if ran.content is not None and isinstance(value, str) and fields is None:  # the blocks say everything
        blocks = _joined([_block(block, tool, redactor, kinds) for block in ran.content], redactor, kinds)
        return Shown(content=tuple(blocks) or _nothing(tool), hidden=tuple(sorted(kinds)), empty=not blocks)
    kept = value if fields is None else keep(value, fields)
    if _is_empty(kept):
        return Shown(content=_nothing(tool), empty=True, dropped=not _is_empty(value))
    if isinstance(kept, list) and all(isinstance(item, str) for item in kept):  # what a tool gave piece by piece
        kept = _pieces(kept, redactor, kinds)
    if isinstance(kept, str):
        text, cut = _text(kept, tool, redactor, kinds)
    else:
        text, cut = _cut(shown_text(kept, redactor, kinds), tool)
    text = text or _nothing(tool)
    pictures = _pictures(ran, kept)
    return Shown(content=(text, *pictures) if pictures else text, hidden=tuple(sorted(kinds)), cut=cut)


def _pictures(ran: Executed, kept: Json) -> list[Block]:
    """The pictures that belong to a value. A filtered value keeps them only if it kept the place of every one."""
    found = [block for block in ran.content or () if isinstance(block, Image)]
    if kept is ran.value or (found and len(found) == _places(kept) == _places(ran.value)):
        return [*found]
    return []


def _places(value: Json) -> int:
    """How many texts in `value` stand for a picture."""
    if isinstance(value, str):
        return _PLACE.fullmatch(value) is not None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_places(item) for item in items)


def _pieces(texts: list[str], redactor: Redactor, kinds: set[str]) -> list[str]:
    """The same list, unless something is cut over several of its texts."""
    shown = [redactor.detect(None, text)[0] for text in texts]
    joined = together(shown, redactor, kinds)
    return texts if joined is shown else joined


def _joined(blocks: list[Block], redactor: Redactor, kinds: set[str]) -> list[Block]:
    """The blocks without what is cut over several texts."""
    before = [block for block in blocks if isinstance(block, str)]
    texts = together(before, redactor, kinds)
    if texts is before:
        return blocks
    first = next(index for index, block in enumerate(blocks) if isinstance(block, str))
    return [
        texts[0] if index == first else block
        for index, block in enumerate(blocks)
        if index == first or not isinstance(block, str)
    ]


def _block(block: Block, tool: Tool, redactor: Redactor, kinds: set[str]) -> Block:
    if isinstance(block, Image):
        return block
    return _text(block, tool, redactor, kinds)[0] or "(empty)"


def _text(text: str, tool: Tool, redactor: Redactor, kinds: set[str]) -> tuple[str, bool]:
    shown, found = beginning(text, tool.result.max_bytes, redactor)
    kinds.update(found)
    return _cut(shown, tool, len(text))


def _cut(text: str, tool: Tool, size: int = 0) -> tuple[str, bool]:
    most = tool.result.max_bytes
    if max(len(text), size) <= most:
        return text, False
    return encode(
        {"cut": True, "size": max(len(text), size), "note": "Only the beginning is shown.", "beginning": text[:most]}
    ), True


def _is_empty(value: Json) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value) or (isinstance(value, str) and not value.strip())


def _nothing(tool: Tool) -> str:
    return tool.result.empty or ("Done; the tool gave no output." if tool.acts else "Nothing found.")


def keep(value: Json, paths: Sequence[Path]) -> Json:
    """Only what the paths name, in the value's own order. A list of records keeps the fields of each record."""
    tree: dict[str, dict[str, object]] = {}
    for path in paths:
        node = tree
        for step in path.steps:
            node = node.setdefault(step, {})  # type: ignore[assignment]  # a tree of itself, which mypy cannot say
    if isinstance(value, list) and ANY not in tree:
        return [item for item in (_keep(item, tree) for item in value) if not _is_empty(item)]
    return _keep(value, tree)


def _keep(value: Json, tree: dict[str, dict[str, object]]) -> Json:
    if not tree:
        return value
    if isinstance(value, list):
        inner = tree.get(ANY)
        return [_keep(item, inner) for item in value] if inner is not None else []  # type: ignore[arg-type]  # as above
    if isinstance(value, dict):
        return {name: _keep(item, tree[name]) for name, item in value.items() if name in tree}  # type: ignore[arg-type]
    return None
