"""Exported: the lines of an export of the audit in files: what a writer writes and a reader reads back to the stored bytes.

    {"v":1,"guard":"audit-export","file":2,"after":{"0":[17,"<hash>"]}}        the first line of each file: where each chain goes on
    <body>,"prev":"…","hash":"…"}                                             one record a line: the stored body with two members more

The stored bytes come back by taking the two members off, so nothing is ever written as JSON again to check it. Comes after ports; pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from guard.core.ports import Sealed
from guard.core.values import encode

MARK = "audit-export"
_TAIL = re.compile(r',"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}\Z')
Heads = Mapping[int, tuple[int, str]]
"""Number and hash of the last record of each chain."""


def record_line(one: Sealed) -> str:
    """The line of a record, without its end. Raises ValueError for a body that is no object on one line: nobody could read it back."""
    if not one.body.endswith("}") or one.body == "{}" or "\n" in one.body or "\r" in one.body:
        raise ValueError("the body is no JSON object on one line")
    return f'{one.body[:-1]},"prev":"{one.prev}","hash":"{one.hash}"}}'


def first_line(number: int, heads: Heads) -> str:
    """The first line of a file: its number, and behind which record of each chain it begins."""
    after = {str(chain): [seq, own] for chain, (seq, own) in sorted(heads.items())}
    return encode({"v": 1, "guard": MARK, "file": number, "after": after})


def read_record(line: str) -> Sealed:
    """The record of a line. Raises ValueError for a line that holds none."""
    tail = _TAIL.search(line)
    if tail is None:
        raise ValueError("the line is no record")
    body = f"{line[: tail.start()]}}}"
    found = _object(body)
    chain, seq = found.get("chain"), found.get("seq")
    if type(chain) is not int or type(seq) is not int:
        raise ValueError("the record has no place")
    return Sealed(chain=chain, seq=seq, prev=tail[1], hash=tail[2], body=body)


def read_first(line: str) -> tuple[int, dict[int, tuple[int, str]]]:
    """Number and heads of a file's first line. Raises ValueError for a line that is none."""
    found = _object(line)
    number, after = found.get("file"), found.get("after")
    whole = found.keys() == {"v", "guard", "file", "after"} and (found["v"], found["guard"]) == (1, MARK)
    if not whole or type(number) is not int or not isinstance(after, dict):
        raise ValueError("the file does not begin as an export does")
    heads = {}
    for chain, pair in after.items():
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or not isinstance(pair[1], str):
            raise ValueError("the first line does not say where the chains go on")
        heads[int(chain)] = (pair[0], pair[1])
    return number, heads


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found
