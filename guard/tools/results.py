"""Results: whatever a tool returned, as a JSON value and the pictures that go with it.

Total: for every object there is an answer, and no object's `repr` or `str` is trusted with one. May not redact, cut to a size that a policy
names or decide what the model sees. Before it stands the tool's return, after it the redact room.

Documented choices: NaN and Infinity become null; sets become lists sorted by their canonical text; keys that are no text become text, and a
key that collides gets ` (2)`; bytes become text when they are printable UTF-8, else their length and SHA-256; at most 10,000 items are taken
from an iterator; what cannot be told becomes `{"unserialisable": "TypeName"}`, what is left out `{"truncated": why}`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from guard.core.blocks import honest
from guard.core.model import Block, Image
from guard.core.values import Embedded, Json
from guard.tools.blocks import blocks_of, join
from guard.tools.walk import DEPTH, NODES, Walk, dumped, marker

_ATOMS: frozenset[type] = frozenset({bool, type(None)})
_BUILT_IN: frozenset[type] = frozenset({dict, list, tuple, str, int, float, bool, type(None)})
_EDGE = 2**63
_SHORTEST = 17
"""No data URI with anything in it is shorter."""


class Normal(NamedTuple):
    """A tool's return, made JSON.

    `value` says everything but the pictures; each stands in it as a short text such as `[image/png, 300 KB, shown below]`. `blocks` is
    None when there are neither pictures nor embedded resources nor several texts. Blocks with texts among them are the whole content in order; blocks that are
    pictures only follow after `value`. `failed` is set when the tool itself said that it failed, or broke while its items were read.
    """

    value: Json
    blocks: tuple[Block, ...] | None = None
    failed: bool = False


def normalise(value: object, depth: int = DEPTH, items: int = NODES) -> Normal:
    """Make `value` JSON. Lets nothing through but KeyboardInterrupt and a task's cancellation; plain JSON comes back as the same object.

    What lies deeper than `depth`, or behind `items` values, is left out and says so.
    """
    if issubclass(type(value), BaseException):
        return Normal(marker(value), None, failed=True)  # returned instead of raised
    try:
        if type(value) is dict and "content" not in value and "type" not in value and len(value) < items and _flat(value):
            return Normal(value, None, value.get("ok") is False)
        raw = value if type(value) in _BUILT_IN else dumped(value)
        content = _content(raw, depth, items)
        if content is not None:
            return content
        if _plain(raw, depth, items):
            return Normal(raw, None, type(raw) is dict and raw.get("ok") is False)
        walk = Walk(depth, items)
        told = walk.json(raw, 0)
        failed = walk.failed or (isinstance(told, dict) and told.get("ok") is False)
        return Normal(told, tuple(walk.images) or None, failed)
    except (Exception, SystemExit):  # noqa: BLE001 - a hostile object may raise anything, and the call still needs its result
        return Normal(marker(value))


_SAFE: frozenset[type] = frozenset({bool, type(None), str, int})


def _flat(value: dict[Any, Any]) -> bool:
    """Whether an object of short ASCII texts and numbers may go on as it is: a cheap yes to what `_plain` would say yes to."""
    for key, item in value.items():
        kind = type(item)
        if type(key) is not str or not key.isascii() or kind not in _SAFE:
            return False
        if kind is str:
            if not item.isascii() or (len(item) >= _SHORTEST and not _plain_text(item)):
                return False
        elif kind is int and not -_EDGE < item < _EDGE:
            return False
    return True


def _plain(value: Any, depth: int, items: int) -> bool:
    """Whether `value` is JSON that may go on as it is: exact types, finite numbers, no data URIs, within depth and size.

    Level by level rather than recursively, so that neither depth nor a cycle can hurt.
    """
    level: list[Any] = [(value,)]
    seen = 0
    for _ in range(depth + 1):
        below: list[Any] = []
        for container in level:
            seen += len(container)
            if seen > items or not _plain_items(container, below):
                return False
        if not below:
            return True
        level = below
    return False


def _plain_items(container: Any, below: list[Any]) -> bool:
    items = container
    if type(container) is dict:
        for key in container:
            if type(key) is not str or not (key.isascii() or _clean(key)):
                return False
        items = container.values()
    for item in items:
        kind = type(item)
        if kind is dict or kind is list:
            below.append(item)
        elif not (_plain_text(item) if kind is str else kind in _ATOMS or _plain_number(kind, item)):
            return False
    return True


def _plain_text(text: str) -> bool:
    if len(text) >= _SHORTEST and (text[:1] in "dD" or text[0].isspace()) and text.lstrip()[:5].lower() == "data:":
        return False
    return text.isascii() or _clean(text)


def _plain_number(kind: type, item: Any) -> bool:
    if kind is int:
        return bool(-_EDGE < item < _EDGE)
    if kind is Decimal:
        return bool(Decimal.is_finite(item))
    return kind is float and bool(item - item == 0)


def _clean(text: str) -> bool:
    """Whether the text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _content(value: Any, depth: int, items: int) -> Normal | None:
    """Content blocks in any of their spellings; None when `value` is data."""
    kind = type(value)
    if kind is dict:
        return _of_message(value, depth, items) if "content" in value else _of_list([value]) if "type" in value else None
    if kind is list or kind is tuple:
        return _of_list(value) if value else None
    return _of_blocks((value,)) if kind is Image else None


def _of_list(raw: Any) -> Normal | None:
    blocks = blocks_of(raw)
    return None if blocks is None else _of_blocks(blocks)


def _of_blocks(blocks: tuple[Block, ...], *, failed: bool = False) -> Normal:
    walk = Walk()
    clean = tuple(_clean_block(walk, block) for block in blocks if block != "")
    several = any(isinstance(block, Image | Embedded) for block in clean)
    kept = (*clean, *walk.images)
    value = join(clean)
    return Normal(value, kept if several or walk.images or len(kept) > 1 else None, failed)


def _clean_block(walk: Walk, block: Block) -> Block:
    if isinstance(block, Image):
        block = honest(block)
        return block if isinstance(block, Image) else walk.text(block)
    return Embedded(walk.text(block)) if isinstance(block, Embedded) else walk.text(block)


_MESSAGE = frozenset({"content", "isError", "is_error", "structuredContent", "structured_content", "_meta", "meta"})


def _of_message(raw: dict[Any, Any], depth: int, items: int) -> Normal | None:
    """An MCP result. What it says in structure wins over the same thing said in text, so that a field rule cannot be sidestepped."""
    content = raw.get("content")
    if not raw.keys() <= _MESSAGE or not isinstance(content, list | tuple):
        return None
    blocks = blocks_of(content) if content else ()
    if blocks is None or (not content and len(raw) == 1):
        return None
    failed = raw.get("isError") is True or raw.get("is_error") is True
    structured = raw.get("structuredContent") or raw.get("structured_content")
    if failed or not structured:
        return _of_blocks(blocks, failed=failed)
    walk = Walk(depth, items)
    told = walk.json(structured, 0)
    images = (*(block for block in blocks if isinstance(block, Image)), *walk.images)
    return Normal(told, images or None, walk.failed)
