"""Sources: how ground and limit find records in earlier results and values in the user's words. Comes before both; pure.

A result value that merely repeats what the model sent in that call, under no guarantee of its own, is no evidence, however it was spelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from guard.core.paths import ANY, Path
from guard.core.ports import CallRow, Ledger
from guard.core.rules import Source
from guard.core.values import Json, equal, is_number, number_text

MAX_SENT = 100_000  # characters of an argument that are searched for what a result says; a longer one may say anything
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # scripts without spaces do not bound a word
_BEFORE = rf"(?<!{_LETTER})(?<!{_LETTER}[.@_/+-])"  # a sign between letters joins them: part of an address is no word
_AFTER = rf"(?!{_LETTER})(?![.@_/+-]{_LETTER})"
_NUMBER = re.compile(rf"{_BEFORE}-?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?{_AFTER}(?!,\d)")
Alike: TypeAlias = Callable[[Json, Json], bool]
"""What tells whether two values are equal: `values.equal`, or keyed digests of them."""


def records(
    source: Source, arguments: Mapping[str, Json], ledger: Ledger, alike: Alike = equal
) -> list[tuple[CallRow, list[Json]]]:
    """Finished calls of the source's tool, newest first, each with the values at its path that belong to the same record."""
    found: list[tuple[CallRow, list[Json]]] = []
    for row in reversed(ledger.calls):
        if row.call.tool != source.tool or row.status != "done" or source.path is None:
            continue
        values = _of_record(source.path, source.same, arguments, row, alike)
        if values or not source.same:
            found.append((row, values))
    return found[:1] if source.latest else found


def _of_record(path: Path, same: Sequence[Path], arguments: Mapping[str, Json], row: CallRow, alike: Alike) -> list[Json]:
    found = path.spots(row.value)
    if not found and isinstance(row.value, list) and path.steps[0] != ANY:
        found = Path(path.root, (ANY, *path.steps)).spots(row.value)
    return [value for value, at in found if same_record(same, arguments, _around(row.value, at), row, alike)]


def _around(value: Json, at: Sequence[str | int]) -> list[Json]:
    """The objects that enclose a spot, innermost first."""
    chain: list[Json] = []
    for step in at:
        if isinstance(value, Mapping):
            chain.append(value)
        value = value[step]
    return chain[::-1]


def same_record(
    same: Sequence[Path], arguments: Mapping[str, Json], around: Sequence[Json], row: CallRow, alike: Alike = equal
) -> bool:
    """Whether every field of `same` has, in the record or else in the arguments it was asked for with, the value of this call."""
    for field in same:
        name = field.steps[-1]
        wanted = field.find(arguments)
        owner = next((item for item in around if isinstance(item, Mapping) and name in item), row.arguments or {})
        if not wanted or name not in owner or not all(alike(value, owner[name]) for value in wanted):
            return False
    return True


def echoes(value: Json, row: CallRow) -> bool:
    """Whether a result value may merely repeat an argument of its own call that was neither bound nor grounded."""
    bare = value is None or isinstance(value, bool)
    for path, leaf in _leaves(row.arguments or {}, ""):
        if not _owned(path, row.owned) and (leaf is value if bare else _repeats(value, leaf)):
            return True
    return not bare and isinstance(value, Mapping | list) and any(equal(value, sent) for sent in (row.arguments or {}).values())


def _leaves(value: Json, path: str) -> list[tuple[str, Json]]:
    if isinstance(value, Mapping):
        return [leaf for name, item in value.items() for leaf in _leaves(item, f"{path}.{name}" if path else name)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item, path + ANY)]
    return [(path, value)]


def _owned(path: str, owned: frozenset[str]) -> bool:
    return any(path == own or path.startswith((f"{own}.", f"{own}{ANY}")) for own in owned)


def _repeats(value: Json, sent: Json) -> bool:
    """Whether `sent` says `value`, however it was spelled: another case, blanks around, a number as text, words around it."""
    if max(len(text) if isinstance(text, str) else 0 for text in (value, sent)) > MAX_SENT:
        return True
    if isinstance(sent, str):
        return in_words(value, (sent,), MAX_SENT) or (
            isinstance(value, str) and value.strip().casefold() == sent.strip().casefold()
        )
    if is_number(sent) and isinstance(value, str):
        return in_words(sent, (value,), MAX_SENT)
    return equal(value, sent)


def in_words(value: Json, words: Sequence[str], most: int) -> bool:
    """Whether the user wrote this value: a number by its value, a text as whole words whatever the case.

    More than `most` characters are not searched and are no evidence.
    """
    if sum(map(len, words)) > most or value is None or isinstance(value, bool):
        return False
    if is_number(value):
        wanted = number_text(value)
        return any(number_text(Decimal(hit.replace(",", ""))) == wanted for text in words for hit in _NUMBER.findall(text))
    if not isinstance(value, str) or not value.strip():
        return False
    pattern = _BEFORE + r"\s+".join(re.escape(part) for part in value.split()) + _AFTER
    return any(re.search(pattern, text, re.IGNORECASE) for text in words)
