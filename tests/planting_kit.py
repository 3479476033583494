"""Planting: structures in which something is hidden, and what they say however it is written. Shared by the properties of redaction."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from hypothesis import strategies as st
from plants_kit import Plant

from guard.redactors.fold import plain

BESIDE: dict[str, Any] = {
    "total": Decimal("1204.50"),
    "amount_text": "1204.50 EUR",
    "order_id": "ORD-2026-001734",
    "n": 20260501,
    "on": "2026-05-01",
    "at": "2026-05-01T12:30:00Z",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "ok": True,
    "nothing": None,
    "words": "three nights, breakfast included",
}
"""What stands beside a plant and stays."""


@st.composite
def beside(draw: st.DrawFn) -> dict[str, Any]:
    """Some of it."""
    return {name: BESIDE[name] for name in draw(st.lists(st.sampled_from(sorted(BESIDE)), max_size=4, unique=True))}


SENTENCES = ("~", "see ~ now", "<~>", "\n~\n", "号 ~ 。", '"~"', "~, ok", "(~)")


@st.composite
def hidden(draw: st.DrawFn, plant: Plant, depth: int = 3) -> Any:
    """The plant somewhere in a value; in texts inside texts at most `depth` times."""
    way = draw(st.sampled_from(ALIKE))
    text, under = way(plant.text), way(plant.under or "")
    if not under:
        text = draw(st.sampled_from(SENTENCES)).replace("~", text)
    value: Any = {under: text, **draw(beside())} if under else text
    for _ in range(draw(st.integers(0, 6))):
        value, depth = draw(_deeper(value, depth, coded=way is str))
    return value


def _wide(text: str) -> str:
    """The text with full-width characters."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else "\u00a0" if char == " " else char for char in text)


def _wide_digits(text: str) -> str:
    """The text with full-width digits and at-signs."""
    return "".join(chr(ord(char) + 0xFEE0) if char in "0123456789@" else char for char in text)


def _torn(text: str) -> str:
    """The text with invisible characters inside."""
    return "\u200b".join(text[at : at + 3] for at in range(0, len(text), 3))


def _hyphened(text: str) -> str:
    """The text with soft hyphens inside and another kind of dash."""
    return "\u00ad".join(text[at : at + 4] for at in range(0, len(text), 4)).replace("-", "\u2011")


ALIKE: tuple[Callable[[str], str], ...] = (str, str, str, _wide, _wide_digits, _torn, _hyphened)
"""Ways to write a text with characters that look like its own, or like nothing."""


@st.composite
def _deeper(draw: st.DrawFn, value: Any, depth: int, *, coded: bool) -> tuple[Any, int]:
    """One level more around it, and how many texts inside texts may come still."""
    ways = ["list", "object", "content", "structured", "resource"]
    ways += ["name"] if isinstance(value, str) else []
    coded = coded and (depth > 1 if isinstance(value, dict | list) else depth > 0 and len(value) > 14)
    ways += (["JSON"] if depth and not isinstance(value, str) else []) + (["base64", "hex"] if coded else [])
    way = draw(st.sampled_from(ways))
    some = draw(beside())
    if way == "list":
        return [*some.values(), value], depth
    if way == "object":
        return {**some, draw(st.sampled_from(["data", "note", "items"])): value}, depth
    if way == "name":
        return {value: 1, **some}, depth
    if way == "content":
        return {"content": [{"type": "text", "text": value}, some], "isError": False}, depth
    if way == "structured":
        return {"structuredContent": value, "meta": some}, depth
    if way == "resource":
        return {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": value}}, depth
    if way == "JSON":
        return escaped(value, draw(st.sampled_from(ESCAPES)), draw(st.sampled_from([None, 1]))), depth - 1
    raw = (value if isinstance(value, str) else json.dumps(value, default=str)).encode()
    return (raw.hex() if way == "hex" else base64.b64encode(raw).decode()), depth - (1 if isinstance(value, str) else 2)


ESCAPES = ("", "@", "+-.", "0123456789", "_:=", "/", "aeE")
"""Signs that are written as escapes though they need not be."""


def escaped(value: Any, signs: str, indent: int | None) -> str:
    """JSON text with these signs of its texts and names as escapes."""

    def sign(char: str) -> str:
        return "\\/" if char == "/" else f"\\u{ord(char):04x}"

    def text(one: str) -> str:
        return (
            json.dumps(one, ensure_ascii=False)
            if not signs
            else '"' + "".join(sign(char) if char in signs else json.dumps(char, ensure_ascii=False)[1:-1] for char in one) + '"'
        )

    def each(item: Any) -> str:
        if isinstance(item, str):
            return text(item)
        if isinstance(item, dict):
            inner = (f"{text(name)}: {each(one)}" for name, one in item.items())
            return "{" + (", " if indent is None else ",\n").join(inner) + "}"
        if isinstance(item, list):
            return "[" + (", " if indent is None else ",\n").join(map(each, item)) + "]"
        return str(item) if isinstance(item, Decimal) else json.dumps(item)

    return each(value)


_RUN = re.compile("[A-Za-z0-9+/_-]{14,}={0,2}")
_CODE = re.compile(r"\\+u([0-9A-Fa-f]{4})")


def said(text: str, depth: int = 8) -> Iterator[str]:
    """Everything that a text says: as it is, without its escapes, decoded, and each of that again."""
    seen: set[str] = set()
    todo = [text]
    for _ in range(depth):
        new = {one for text in todo for one in _once(text)} - seen
        seen |= new
        todo = list(new)
    yield from seen


def _once(text: str) -> Iterator[str]:
    yield text
    yield plain(text)
    yield _CODE.sub(lambda one: chr(int(one[1], 16)), text)
    yield re.sub(r"\\+([\"/\\])", r"\1", text).replace("\\n", "\n")
    yield html.unescape(text)
    yield unquote(text)
    for run in _RUN.findall(text):
        yield from _decoded(run.rstrip("="))


def _decoded(run: str) -> Iterator[str]:
    ways: tuple[Callable[[str], bytes], ...] = (
        bytes.fromhex,
        lambda one: base64.urlsafe_b64decode(one.replace("+", "-").replace("/", "_") + "=" * (-len(one) % 4)),
    )
    for way in ways:
        try:
            found = way(run).decode()
        except ValueError:
            continue
        yield found


def holds(value: Any, what: str) -> bool:
    """Whether a text says it in any reading of it."""
    return any(what in one or what in one.replace("\n", "") for one in said(value))


def same(before: Any, after: Any, what: str) -> bool:
    """Whether a shown value has the types and names of the value, and everything that says nothing of what was planted."""
    if isinstance(before, dict):
        return (
            isinstance(after, dict)
            and len(before) == len(after)
            and all(
                (one == other or holds(one, what)) and same(before[one], after[other], what)
                for one, other in zip(before, after, strict=True)
            )
        )
    if isinstance(before, list):
        return (
            isinstance(after, list)
            and len(before) == len(after)
            and all(same(*two, what) for two in zip(before, after, strict=True))
        )
    if not isinstance(before, str):
        return type(before) is type(after) and str(before) == str(after)
    if not isinstance(after, str):
        return False
    inner = read(before)
    if inner is not None:
        return same(inner, read(after), what)
    return before == after or holds(before, what)


def read(text: str) -> Any:
    """The object or list that a text is, with its numbers as they are written; None where it is none."""
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None
