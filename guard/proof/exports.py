"""Exports of an audit log: records read back from files, and what is wrong with the files themselves.

A line is the body with "prev" and "hash" behind it, or an object with chain, seq, prev, hash and the body as text, and with nothing else: what other programs
read of a line must be what its hash covers. The first line of a file may say its number and where each chain goes on: then all files do, and they are read in
the order of their numbers. Standard library only, since it is also a part of the verifier that runs without the guard. Comes after `chains`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeGuard

from guard.proof.chains import Begin, Problem, Record, changed, read_strictly

LONGEST = 1 << 28
"""Bytes of a line; no record has as many."""

_TOLD = 10  # lines of a file that are named; more are counted
_MOST = 1 << 63
_PROOF = re.compile(r',"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"}\Z')
_APART, _FIRST = {"chain", "seq", "prev", "hash", "body"}, {"v", "guard", "file", "after"}  # all that such a line says
_ESCAPE = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\.", re.DOTALL)


def read_line(line: str, where: str) -> Record | Begin:
    """One line of an export, without its end. Raises ValueError when it is no record and no beginning of a file."""
    found = read_strictly(line)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if found.get("guard") == "audit-export":
        return _begin(found, where)
    chain, seq, prev, own = (found.get(name) for name in ("chain", "seq", "prev", "hash"))
    if not _number(chain) or not _number(seq) or not isinstance(prev, str) or not isinstance(own, str):
        raise ValueError("it lacks chain, seq, prev or hash")
    if "body" in found:
        if found.keys() != _APART or not isinstance(found["body"], str):
            raise ValueError("it says something besides its body, which its hash does not cover")
        return Record(chain, seq, prev, own, found["body"], where)
    proof = _PROOF.search(line)
    if proof is None:
        raise ValueError("prev and hash do not stand at its end")
    body = line[: proof.start()] + "}"
    shown = _ESCAPE.sub(_character, body)  # a terminal's copy spells what cannot be seen; the record itself does not
    right = shown != body and changed(Record(chain, seq, prev, own, shown)) == "" and read_strictly(shown) == read_strictly(body)
    return Record(chain, seq, prev, own, shown if right else body, where)


def _number(found: Any) -> TypeGuard[int]:
    return type(found) is int and 0 <= found < _MOST


def _begin(found: dict[str, Any], where: str) -> Begin:
    number, after = found.get("file"), found.get("after")
    if type(found.get("v")) is not int or found["v"] != 1:
        raise ValueError("it begins a file of another version")
    if found.keys() != _FIRST:
        raise ValueError("it begins a file, and says something besides")
    if not _number(number) or not isinstance(after, dict) or not all(map(_head, after.items())):
        raise ValueError("it does not say where the chains go on")
    return Begin(number, {int(chain): (seq, own) for chain, (seq, own) in after.items()}, where)


def _head(one: tuple[str, Any]) -> bool:
    chain, pair = one
    plain = chain.isascii() and chain.isdecimal() and len(chain) < 19 and str(int(chain)) == chain
    return plain and isinstance(pair, list) and len(pair) == 2 and _number(pair[0]) and isinstance(pair[1], str)


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return bytes.fromhex(escape[1] + escape[2]).decode("utf-16-be")
    code = int(escape[3], 16) if escape[3] else 0
    return chr(code) if code >= 0x20 and not 0xD800 <= code <= 0xDFFF else escape[0]


class _File:
    """What one file holds. `wrong` has its first bad lines, `more` counts the others."""

    def __init__(self, path: str) -> None:
        if Path(path).exists() and not Path(path).is_file():
            raise ValueError(f"{path}: this is no file; each is read twice, so that a pipe will not do")
        self.path, self.more = path, 0
        self.wrong: list[Problem] = []
        self.chained: bool | None = None  # whether it begins with a line that says where the chains go on

    def bad(self, number: int, what: str) -> None:
        """This line does not hold."""
        if len(self.wrong) < _TOLD:
            self.wrong.append(Problem(f"{self.path}, line {number}", what))
        else:
            self.more += 1

    def read(self) -> Iterator[Record | Begin]:
        """Its records, and how it begins. Raises OSError."""
        number = 0
        with Path(self.path).open("rb") as file:
            for number, data in enumerate(self._lines(file), 1):
                found = self._line(number, data)
                if number == 1 and found is not None:
                    self.chained = isinstance(found, Begin)
                if number > 1 and isinstance(found, Begin):
                    self.bad(number, "the first line of a file stands in the middle of this one")
                elif found is not None:
                    yield found
        if not number:
            self.bad(1, "the file is empty")

    def _lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """Lines with their ends; of one that is too long, its beginning."""
        while data := file.readline(LONGEST):
            yield data
            while len(data) == LONGEST and not data.endswith(b"\n"):
                data = file.readline(LONGEST)

    def _line(self, number: int, data: bytes) -> Record | Begin | None:
        if not data.endswith(b"\n"):
            why = "this line is longer than any record" if len(data) == LONGEST else "the file ends within this line: it was cut"
            self.bad(number, why)
            return None
        if data.endswith(b"\r\n"):
            self.bad(number, "the line ends in CR LF: something wrote the file again")
            return None
        try:
            return read_line(data[:-1].decode(), f"{self.path}, line {number}")
        except (ValueError, RecursionError) as error:
            self.bad(number, f"this line is no record: {error if type(error) is ValueError else 'not JSON'}")
        return None


def read_export(paths: Iterable[str], problems: list[Problem]) -> Iterator[Record | Begin]:
    """The records of files in their order, and where each file begins; what else stands in them is a problem.

    Raises OSError where one cannot be read, ValueError where one is not a file: each is read twice.
    """
    chained: bool | None = None
    for path in paths:
        file = _File(path)
        yield from file.read()
        problems += file.wrong
        if file.more:
            problems.append(Problem(path, f"so are {file.more} more of its lines"))
        if chained is not None and file.chained is (not chained):
            problems.append(Problem(f"{path}, line 1", _ODD[chained]))
        chained = file.chained if chained is None else chained


_ODD = {
    True: "it does not say where the chains go on, as the files before it do",
    False: "it says where the chains go on, and the files before it do not",
}
