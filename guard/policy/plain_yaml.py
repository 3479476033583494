"""Plain YAML: a quick reader of the everyday part of YAML, for folders of thousands of tools.

Reads block mappings and sequences, flow collections, and scalars that are plain or quoted on one line. Whatever else it meets, a mistake included, it
gives up on the whole file, and ruamel.yaml reads it and has the words: a file is never read in part by each. Which kind a plain scalar is says ruamel's own
YAML 1.2 resolver. May not differ from ruamel's reading in any value or line: a test compares both. Comes after source, which calls it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from decimal import InvalidOperation
from typing import Any

from guard.policy.source import Item, scalar

DEPTH = 40
"""Collections inside each other, beyond which ruamel reads the file."""

_FOREIGN = re.compile(
    "[^\n\x20-\x7e\u00a1-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff\uf900-\ufdff\ufe30-\ufefe\U00010000-\U0010fffd]"
)
_KEY = re.compile(
    r"""([A-Za-z_$/][A-Za-z0-9_$/.\-]{0,80}(?: [A-Za-z0-9_$/.\-]{1,80}){0,4}|"[^"\\\n]{0,200}"|'[^'\n]{0,200}'):(?=[ \n]|$)"""
)
_DASH = re.compile(r"-(?= ) +(?=[^ #\n])")
_DOUBLE = re.compile(r'"((?:[^"\\\n]|\\["\\/nt])*)"')
_SINGLE = re.compile(r"'((?:[^'\n]|'')*)'")
_PLAIN = re.compile(
    r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`=<]|-(?=[A-Za-z0-9.]))(?:[^ :#\n]|:(?=[^ \n])|(?<! )#| (?=[^ #\n]))*(?= *(?:\n|$| #))"
)
_FLOW_PLAIN = re.compile(
    r"(?:[A-Za-z0-9_$/.+^(~;]|-(?=[A-Za-z0-9.]))(?:[^ ,\[\]{}:#?&*!|>'\"%@`\n]| (?=[^ ,\[\]{}:#?&*!|>'\"%@`\n]))*"
)
_REST = re.compile(r" *(?: #[^\n]*)?(?:\n|$)")
_GAP = re.compile(r"(?: |\n|(?<=[ \n])#[^\n]*)*")
_LINE = re.compile(r"( *)(?:#[^\n]*)?(?:\n|$)")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t"}


class _Unusual(Exception):  # noqa: N818 - no error: somebody else reads the file
    """Something that is not everyday YAML, or no YAML."""


def read_plain(text: str, file: str, most: int) -> Item | None:
    """The file's one document as items, or None: ask ruamel. `most` is how many values may stand in it."""
    if _FOREIGN.search(text):
        return None
    try:
        return _Reader(text, file, most).document()
    except (_Unusual, ValueError, KeyError, InvalidOperation):
        return None


class _Reader:
    """Goes through one text once. `at` is where it stands: in block context always at the first sign of a line or behind a dash."""

    def __init__(self, text: str, file: str, most: int) -> None:
        from ruamel.yaml import YAML  # noqa: PLC0415 - as in source
        from ruamel.yaml.nodes import ScalarNode  # noqa: PLC0415 - as above

        resolver: Any = YAML(typ="safe", pure=True).resolver
        self._tag: Callable[[str], Any] = lambda plain: resolver.resolve(ScalarNode, plain, (True, False))
        self._known: dict[str, Any] = {}
        self.text, self.file, self.left = text, file, most
        self.breaks = [place for place, char in enumerate(text) if char == "\n"]
        self.at = self.indent = self.depth = 0

    def document(self) -> Item:
        self.next_line()
        if self.indent or self.at == len(self.text):
            raise _Unusual
        found = self.mapping(0)
        if self.at < len(self.text):
            raise _Unusual
        return found

    def item(self, place: int) -> Item:
        self.left -= 1
        if self.left < 0:
            raise _Unusual
        return Item(self.file, bisect_right(self.breaks, place - 1) + 1 if place else 1)

    def next_line(self) -> None:
        """To the first sign of the next line that says something; `indent` is its column."""
        text = self.text
        while (blank := _LINE.match(text, self.at)) and self.at < len(text):
            self.at = blank.end()
        begun = self.at
        while text.startswith(" ", self.at):
            self.at += 1
        self.indent = self.at - begun if self.at < len(text) else -1

    def end_of_line(self) -> None:
        """Nothing but a comment may follow on this line."""
        rest = _REST.match(self.text, self.at)
        if rest is None:
            raise _Unusual
        self.at = rest.end()
        self.next_line()

    # -- blocks --------------------------------------------------------------------------------------------------------

    def mapping(self, column: int) -> Item:
        found = self.deeper(self.at)
        while self.indent == column and (key := _KEY.match(self.text, self.at)):
            name, line = self.key(key.group(1)), self.item(self.at).line
            self.left += 1
            self.at = key.end()
            if name in found.fields:
                raise _Unusual
            below = self.value(column)
            below.line = line
            found.fields[name] = below
        if not found.fields or self.indent > column:
            raise _Unusual
        found.value = {name: below.value for name, below in found.fields.items()}
        self.depth -= 1
        return found

    def deeper(self, place: int) -> Item:
        self.depth += 1
        if self.depth > DEPTH:
            raise _Unusual
        return self.item(place)

    def key(self, written: str) -> str:
        if written[0] in "\"'":
            return written[1:-1]
        if not str(self.kind(written)).endswith((":str", ":timestamp")):
            raise _Unusual
        return written

    def value(self, column: int) -> Item:
        """What stands behind a key: on its line, or below it."""
        here = self.at
        if not (_REST.match(self.text, here)):
            return self.on_line(column)
        self.end_of_line()
        if self.indent > column:
            return self.sequence(self.indent) if _DASH.match(self.text, self.at) else self.mapping(self.indent)
        if self.indent == column and _DASH.match(self.text, self.at):
            return self.sequence(column)
        return self.item(here)

    def on_line(self, column: int) -> Item:
        """A scalar or a flow collection, to the end of its last line. What goes on below a scalar is not everyday."""
        text = self.text
        while text.startswith(" ", self.at):
            self.at += 1
        begun = self.at
        if text[begun] in "[{":
            found = self.flow()
            self.check_indents(begun, column)
        else:
            found = self.quoted() or self.plain(_PLAIN)
        self.end_of_line()
        if self.indent > column:
            raise _Unusual
        return found

    def check_indents(self, begun: int, column: int) -> None:
        """The further lines of a flow collection stand deeper than the key that it belongs to."""
        first, last = bisect_right(self.breaks, begun - 1), bisect_right(self.breaks, self.at - 1)
        for number in range(first, last):
            line = (
                self.text[self.breaks[number] + 1 :]
                if number + 1 >= len(self.breaks)
                else self.text[self.breaks[number] + 1 : self.breaks[number + 1]]
            )
            inner = line.lstrip(" ")
            if inner and len(line) - len(inner) <= column:
                raise _Unusual

    def sequence(self, column: int) -> Item:
        found = self.deeper(self.at)
        while self.indent == column and (dash := _DASH.match(self.text, self.at)):
            inner = column + dash.end() - dash.start()
            self.at = dash.end()
            if _KEY.match(self.text, self.at):
                self.indent = inner
                found.items.append(self.mapping(inner))
            else:
                found.items.append(self.on_line(column))
        if self.indent > column:
            raise _Unusual
        found.value = [below.value for below in found.items]
        self.depth -= 1
        return found

    # -- flow ----------------------------------------------------------------------------------------------------------

    def flow(self) -> Item:
        opening = self.text[self.at]
        found = self.deeper(self.at)
        self.at += 1
        ending = "]" if opening == "[" else "}"
        self.gap()
        while not self.text.startswith(ending, self.at):
            self.pair(found) if opening == "{" else found.items.append(self.node())
            self.gap()
            if self.text.startswith(",", self.at):
                self.at += 1
                self.gap()
                if self.text.startswith(ending, self.at):
                    raise _Unusual
            elif not self.text.startswith(ending, self.at):
                raise _Unusual
        self.at += 1
        found.value = (
            [below.value for below in found.items] if opening == "[" else {name: one.value for name, one in found.fields.items()}
        )
        self.depth -= 1
        return found

    def gap(self) -> None:
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at

    def pair(self, found: Item) -> None:
        key = _KEY.match(self.text, self.at)
        if key is None:
            raise _Unusual
        name, line = self.key(key.group(1)), self.item(self.at).line
        self.left += 1
        self.at = key.end()
        self.gap()
        below = self.node()
        if name in found.fields:
            raise _Unusual
        below.line = line
        found.fields[name] = below

    def node(self) -> Item:
        if self.text.startswith(("[", "{"), self.at):
            return self.flow()
        return self.quoted() or self.plain(_FLOW_PLAIN)

    # -- scalars -------------------------------------------------------------------------------------------------------

    def quoted(self) -> Item | None:
        sign = self.text[self.at : self.at + 1]
        if not sign or sign not in "\"'":
            return None
        match = (_DOUBLE if sign == '"' else _SINGLE).match(self.text, self.at)
        if match is None:
            raise _Unusual
        found, inner = self.item(self.at), match.group(1)
        found.value = re.sub(r"\\(.)", lambda one: _ESCAPES[one.group(1)], inner) if sign == '"' else inner.replace("''", "'")
        self.at = match.end()
        return found

    def plain(self, form: re.Pattern[str]) -> Item:
        match = form.match(self.text, self.at)
        if match is None:
            raise _Unusual
        found, written = self.item(self.at), match.group(0)
        found.value = scalar(str(self.kind(written)).removeprefix("tag:yaml.org,2002:"), written)
        self.at = match.end()
        return found

    def kind(self, written: str) -> Any:
        """The tag that a plain scalar has."""
        tag = self._known.get(written)
        if tag is None:
            tag = self._known[written] = self._tag(written)
        return tag
