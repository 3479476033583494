"""Edits: the form for what an approver may change, from the stored arguments and back into JSON values.

A field is a plain text only where a browser carries it unchanged; everything else is written as JSON, so that hidden characters and types stay as
they are. Only what differs from the stored revision is a change. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.core.approval import Approval
from guard.core.pointers import at, within
from guard.core.unseen import unseen
from guard.core.values import Json, encode, equal, read_json
from guard.web.bodies import RequestError

PREFIX = "value:"
"""A field's name is this and the pointer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One place that may be changed. `plain`: what is typed is the text itself, else JSON."""

    pointer: str
    name: str
    hint: str
    value: str
    plain: bool
    rows: int = 0
    choices: tuple[str, ...] = ()


def fields_of(approval: Approval) -> tuple[Field, ...]:
    """The fields of the form; what is secret, or holds something secret, is never put into one."""
    return tuple(_field(approval, place) for place in approval.editable if not _secret(place, approval.secret))


def _secret(place: str, secret: tuple[str, ...]) -> bool:
    return within(place, secret) or any(within(one, (place,)) for one in secret)


def _field(approval: Approval, place: str) -> Field:
    there, value = at(approval.arguments, place)
    name = place.removeprefix("/")
    if not there:
        return Field(pointer=place, name=name, hint="not given so far; as JSON", value="", plain=False)
    if isinstance(value, bool):
        return Field(pointer=place, name=name, hint="", value=encode(value), plain=False, choices=("true", "false"))
    if isinstance(value, str):
        return _text(place, name, value)
    rows = 6 if isinstance(value, dict | list) else 0
    return Field(pointer=place, name=name, hint="as JSON" if rows else "", value=encode(value), plain=False, rows=rows)


def _text(place: str, name: str, value: str) -> Field:
    if any(char != "\n" and unseen(char) for char in value):
        hint = "as JSON, since it holds characters that cannot be seen"
        return Field(pointer=place, name=name, hint=hint, value=_json(value), plain=False, rows=4)
    rows = min(16, value.count("\n") + len(value) // 40 + 1)
    return Field(pointer=place, name=name, hint="", value=value, plain=True, rows=rows if rows > 1 else 0)


def _json(text: str) -> str:
    """A text as JSON in which every character can be seen."""
    return '"' + "".join(map(_one, text)) + '"'


def _one(char: str) -> str:
    if not unseen(char):
        return encode(char)[1:-1]
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def changes(approval: Approval, form: Mapping[str, list[str]]) -> dict[str, Json]:
    """What the form changes, by pointer. Raises RequestError (422) for a value that is no JSON of its field."""
    found: dict[str, Json] = {}
    for field in fields_of(approval):
        given = form.get(PREFIX + field.pointer)
        if given is None or (not field.plain and not given[0].strip()):
            continue
        value = _read(field, given[0].replace("\r\n", "\n"))
        there, now = at(approval.arguments, field.pointer)
        if not there or not _same(now, value):
            found[field.pointer] = value
    return found


def _same(now: Json, new: Json) -> bool:
    """Whether nothing changes: `5.0` for `5` changes digits, and that is a change."""
    return equal(now, new) and encode(now) == encode(new)


def _read(field: Field, text: str) -> Json:
    if field.plain:
        return text
    try:
        return read_json(text)
    except ValueError:
        raise RequestError(f"{field.name} is no JSON; a text stands in quotes", 422) from None
