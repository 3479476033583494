"""Redact: the last room. `Executed` → what the model may see: by the rules about fields, personal data hidden, within its size.

Works on decoded leaves, never on serialised text; a part that is hidden says what it was, everything else stays as it is. Errors pass
the same door. If it fails, the pipeline withholds the result. Comes after execute; the detectors are brought by the host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guard.core.beside import KEY, key_lines
from guard.core.blocks import KNOWN, type_of
from guard.core.clipping import parsed
from guard.core.cutting import begun, cut, size
from guard.core.fields import Change, Fields, hidden_whole
from guard.core.hiding import Kinds, beginning, hide, shown_value, together
from guard.core.model import Block, Content, Image
from guard.core.objects import opens
from guard.core.opening import prose
from guard.core.ports import Executed, Redactor
from guard.core.rules import Tool
from guard.core.unseen import unseen
from guard.core.values import Embedded, Json, encode
from guard.core.views import View

_PLACE = re.compile(r"\[image/[a-z.+-]+, [0-9]+ (?:bytes|KB|MB), shown below\]")
"""What stands in a value where a picture was lifted out of it."""
_CUT = "cut"
_SEEN = 250_000  # characters that are looked through of a text with JSON in it, so that it can be cut by its structure
_WRAPPED = "result"
"""The one field of an object in which MCP servers put what is no object."""
_NOTHING = r"(?:null|\"\s*\"|\[\s*\]|\{\s*\})"
_VOID = re.compile(rf"\s*(?:{_NOTHING}|\{{\s*\"{_WRAPPED}\"\s*:\s*{_NOTHING}\s*\}})?\s*")
"""A blank text, or JSON that holds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What goes back for a tool that ran: the content, and what is not as it was: the kinds of data hidden in it, and `cut`."""

    content: Content
    hidden: tuple[str, ...] = ()
    empty: bool = False  # nothing is shown: the content only says so
    dropped: bool = False  # the rules left nothing of a result that was not empty
    idle: tuple[str, ...] = ()  # rules that met nothing in a result that was not empty
    pairs: tuple[tuple[Json, Json], ...] = ()  # values in which something was hidden, each with what is shown of it
    shut: bool = False  # text that the rules may mean could not be read exactly, and was hidden whole


def redact(ran: Executed, tool: Tool, redactor: Redactor, view: View | None = None, change: Change = hidden_whole) -> Shown:
    """Filter, hide, make empty explicit, serialise and cut one result. Raises for what it cannot make safe.

    `view` is what the session may see (None: what everybody may), `change` makes what stands in the place of a hidden value.
    """
    view = tool.result.views.of(()) if view is None else view
    kinds = Kinds()
    value = ran.value
    said = isinstance(value, str) and ran.failed  # what a tool says about its own failure may have no fields to choose from
    fields = Fields(() if said and prose(value) else view.trees, change)
    if ran.content is not None and isinstance(value, str):  # the blocks say everything
        return _blocks(ran.content, tool, redactor, view, fields)
    shown = view.blocks.text if isinstance(value, str) else view.blocks.structured or value is None
    kept = fields.of(value) if shown else None
    if _is_empty(kept):
        return _none(tool, fields, dropped=not _is_empty(value))
    if isinstance(kept, list) and all(type(item) is str for item in kept):  # what a tool gave piece by piece
        kept = _pieces(kept, redactor, kinds)
    told = _text(kept, tool, redactor, kinds) if isinstance(kept, str) else _json(kept, tool, redactor, kinds)
    text = told or _nothing(tool)
    pictures: list[Block] = [block for block in _pictures(ran, kept) if isinstance(block, Image) and _seen(block, view)]
    content: Content = (text, *pictures) if pictures else text
    return Shown(content=content, hidden=tuple(sorted(kinds)), idle=fields.idle(), shut=fields.shut, pairs=tuple(kinds.pairs))


def _blocks(content: Sequence[Block], tool: Tool, redactor: Redactor, view: View, fields: Fields) -> Shown:
    """Texts and pictures, each by itself: rules about fields look into texts that are JSON."""
    kinds = Kinds()
    blocks: list[Block] = []
    torn = fields.torn([str(block) for block in content if isinstance(block, str)])
    lines = key_lines([block if isinstance(block, str) else None for block in content])
    for number, block in enumerate(content):
        if isinstance(block, Image):
            blocks += _pictured(block, view) if not fields.keeps else []
        elif view.blocks.resources if isinstance(block, Embedded) else view.blocks.text:
            kept = None if torn and prose(str(block)) else fields.of(block)
            line = number in lines and isinstance(kept, str)
            blocks += [] if _is_empty(kept) and kept != block else [_block(kept, tool, redactor, kinds, KEY if line else None)]
    if not blocks or (blocks == list(content) and all(isinstance(block, str) and _is_empty(block) for block in blocks)):
        return _none(tool, fields, dropped=bool(content) and not blocks)
    blocks = _joined(blocks, redactor, kinds)
    alone = blocks[0] if len(content) == 1 and isinstance(content[0], Embedded) else None
    shown = str(alone) if isinstance(alone, str) else tuple(blocks)
    return Shown(content=shown, hidden=tuple(sorted(kinds)), idle=fields.idle(), shut=fields.shut, pairs=tuple(kinds.pairs))


def _pictured(image: Image, view: View) -> list[Block]:
    """A picture that may be seen, a note for a document that may not or for what is no picture, and nothing for a picture that may not."""
    if _seen(image, view):
        return [image]
    told = image.document or (image.media_type in KNOWN and type_of(image.data) != image.media_type)
    return [image.left_out] if told and view.blocks.resources else []


def _seen(image: Image, view: View) -> bool:
    return view.blocks.shows(image.media_type, image.data)


def _none(tool: Tool, fields: Fields, *, dropped: bool) -> Shown:
    return Shown(
        content=NONE_SHOWN if dropped else _nothing(tool), empty=True, dropped=dropped, idle=fields.idle(), shut=fields.shut
    )


NONE_SHOWN = "The tool gave a result, and nothing of it may be shown here. That is not the same as nothing found."
"""What goes back where the rules leave nothing of a result."""


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
    shown = [str(item) for item in hide([*texts], redactor, set())]
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


def _block(block: Json, tool: Tool, redactor: Redactor, kinds: Kinds, key: str | None) -> str:
    if not isinstance(block, str):
        return _json(block, tool, redactor, kinds)
    return _text(block, tool, redactor, kinds, key) or "(empty)"


def _text(text: str, tool: Tool, redactor: Redactor, kinds: Kinds, key: str | None = None) -> str:
    """A text; one that is too long begins only, and one that holds JSON is cut by its structure."""
    most = tool.result.max_bytes
    value = parsed(text) if len(text) > most else None
    if value is not None:
        return _json(value, tool, redactor, kinds)
    seen = max(most, _SEEN) if opens(text) else most
    shown, found = beginning(text, seen, redactor, key)
    kinds.update(found)
    if found:
        kinds.note(text[:seen], shown)
    told = begun(shown, len(shown) if len(text) <= seen else len(text), most)
    kinds.update(() if told is shown else (_CUT,))
    return told


def _json(value: Json, tool: Tool, redactor: Redactor, kinds: Kinds) -> str:
    text, hidden = shown_value(value, redactor, kinds, tool.ceilings.result_text)
    kinds.note(value, hidden)
    most = tool.result.max_bytes
    if size(text) <= most:
        return text
    kinds.add(_CUT)
    return encode(cut(hidden, most))


def _is_empty(value: Json) -> bool:
    """Whether a result says nothing: it is nothing, blank, or text in which nobody sees anything; or text that is JSON of nothing."""
    if isinstance(value, dict) and value.keys() == {_WRAPPED}:
        value = value[_WRAPPED]
    if not isinstance(value, str):
        return value is None or (isinstance(value, list | dict) and not value)
    return _VOID.fullmatch(value) is not None or (not value.isascii() and all(char.isspace() or unseen(char) for char in value))


def _nothing(tool: Tool) -> str:
    return tool.result.empty or ("Done; the tool gave no output." if tool.acts else "Nothing found.")
