"""Sources: how ground and limit find records in earlier results and values in the user's words. Comes before both; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from guard.core.paths import Path
from guard.core.ports import CallRow, Ledger
from guard.core.rules import Source
from guard.core.values import Json, equal, is_number, number_text

MAX_WORDS = 100_000  # characters of the user's text that are searched; more is no evidence
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # scripts without spaces do not bound a word
_NUMBER = re.compile(rf"(?<!{_LETTER})(?<!\.)-?\d[\d,]*(?:\.\d+)?(?!{_LETTER})")


def records(source: Source, arguments: Mapping[str, Json], ledger: Ledger) -> list[tuple[CallRow, list[Json]]]:
    """Finished calls of the source's tool, newest first, each with the values at its path that belong to the same record."""
    found: list[tuple[CallRow, list[Json]]] = []
    for row in reversed(ledger.calls):
        if row.call.tool != source.tool or row.status != "done" or source.path is None:
            continue
        values = _of_record(source.path, source.same, arguments, row)
        if values or not source.same:
            found.append((row, values))
    return found[:1] if source.latest else found


def _of_record(path: Path, same: Sequence[Path], arguments: Mapping[str, Json], row: CallRow) -> list[Json]:
    found = path.spots(row.value)
    if not found and isinstance(row.value, list) and path.steps[0] != "[*]":
        found = Path(path.root, ("[*]", *path.steps)).spots(row.value)
    return [value for value, at in found if same_record(same, arguments, _around(row.value, at), row)]


def _around(value: Json, at: Sequence[str | int]) -> list[Json]:
    """The objects that enclose a spot, innermost first."""
    chain: list[Json] = []
    for step in at:
        if isinstance(value, Mapping):
            chain.append(value)
        value = value[step]
    return chain[::-1]


def same_record(same: Sequence[Path], arguments: Mapping[str, Json], around: Sequence[Json], row: CallRow) -> bool:
    """Whether every field of `same` has, in the record or else in the arguments it was asked for with, the value of this call."""
    for field in same:
        name = field.steps[-1]
        wanted = field.find(arguments)
        owner = next((item for item in around if isinstance(item, Mapping) and name in item), row.arguments or {})
        if not wanted or name not in owner or not all(equal(value, owner[name]) for value in wanted):
            return False
    return True


def in_words(value: Json, words: Sequence[str]) -> bool:
    """Whether the user wrote this value: a number by its value, a text as whole words whatever the case."""
    if sum(map(len, words)) > MAX_WORDS or value is None or isinstance(value, bool):
        return False
    if is_number(value):
        wanted = number_text(value)
        return any(number_text(Decimal(hit.replace(",", ""))) == wanted for text in words for hit in _NUMBER.findall(text))
    if not isinstance(value, str) or not value.strip():
        return False
    pattern = f"(?<!{_LETTER})" + r"\s+".join(re.escape(part) for part in value.split()) + f"(?!{_LETTER})"
    return any(re.search(pattern, text, re.IGNORECASE) for text in words)
