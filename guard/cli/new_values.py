"""New values: what a person types after --set, as the kind of value that it takes the place of.

A text stays a text, whatever it looks like; a number takes the place of a number. Whoever runs the command may lack the program's schema, so the value
that stands there is all that tells. Reads only. Used by `changing`.
"""

from __future__ import annotations

from decimal import Decimal

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.core.approval import Approval
from guard.core.pointers import at, within
from guard.core.values import Json, read_json

_KINDS: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((bool,), "true or false", "true"),  # before numbers: to Python it is one
    ((int, Decimal, float), "a number", "40"),
    ((str,), "a text", '"rent"'),
    ((list,), "a list", '["a", "b"]'),
    ((dict,), "an object", '{"a": 1}'),
)


def changes(approval: Approval, typed: list[str], exact: list[str]) -> dict[str, Json]:
    """The changes of `--set NAME=VALUE` and `--set-json NAME=JSON`, by pointer. Raises UsageError with the cure."""
    if not typed and not exact:
        raise UsageError("say what to change: --set NAME=VALUE, such as --set amount=40")
    found = {place: _typed(approval, place, name, value) for place, name, value in map(_split, typed)}
    return found | {place: _exact(name, value) for place, name, value in map(_split, exact)}


def _split(text: str) -> tuple[str, str, str]:
    """The place, its name as it was typed, and its new value."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip("/"):
        raise UsageError(f"--set {spell(text)}: write NAME=VALUE, such as amount=40")
    return (name if name.startswith("/") else "/" + name.replace("~", "~0")), name, value


def _exact(name: str, text: str) -> Json:
    try:
        return read_json(text)
    except ValueError:
        raise UsageError(
            f"--set-json {spell(name)}={spell(text)}: this is no JSON; a text stands in quotes: '{spell(name)}=\"rent\"'"
        ) from None


def _typed(approval: Approval, place: str, name: str, text: str) -> Json:
    there, now = at(approval.arguments, place)
    new = _read(text)
    if not there or now is None or not within(place, approval.editable):  # nothing to go by, or refused anyway
        return new
    if isinstance(now, str):
        return new if isinstance(new, str) else text
    if _kind(new)[0] != _kind(now)[0]:
        raise UsageError(_mismatch(name, text, now, new))
    return new


def _read(text: str) -> Json:
    """JSON, or else the text as it is."""
    try:
        return read_json(text)
    except ValueError:
        return text


def _kind(value: Json) -> tuple[str, str]:
    """What kind of value it is, in words, and one of that kind."""
    return next(((told, such) for types, told, such in _KINDS if isinstance(value, types)), ("nothing", "null"))


def _mismatch(name: str, text: str, now: Json, new: Json) -> str:
    """What differs, and both cures; the value that stands there is not told, since it may be secret."""
    shown, (kind, such) = spell(name), _kind(now)
    same = f"'{shown}={such}'" if such[:1] in '["{' else f"{shown}={such}"
    as_json = spell(text) if text.lstrip()[:1] == '"' or not isinstance(new, str) else f'"{spell(text)}"'
    return (
        f"--set {shown}={spell(text)}: {shown} holds {kind}, and this is {_kind(new)[0]}; write {kind}, such as {same}. "
        f"Where another kind of value is meant: --set-json '{shown}={as_json}'"
    )
