"""Putting back: the handles and masks in what a model wrote, and the value in the place of a handle where the policy says so.

A handle means something in the arguments that the tool's entry names, for the types that it names, as a whole text or inside a longer one; in any
other argument, in the name of a field and inside text that is JSON it refuses, and so does a mask. Which values exist is read beforehand, by
a command. Comes after handles and ports; bind alone uses it. It can only refuse or put back; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from guard.core.handles import HASH, Sign, Signs, is_spelling, leaves
from guard.core.model import ParsedCall, Refusal
from guard.core.paths import ANY, Path
from guard.core.ports import Vaulted
from guard.core.reasons import Reason
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject
from guard.core.views import Revealed

_Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What to look for in arguments, and the values behind the handles that were found in them."""

    signs: Signs = field(default_factory=Signs)
    vault: Mapping[str, Vaulted] = field(default_factory=dict)
    name: Callable[[str, Json], str] | None = None  # the handle that a value of a type has in this conversation


NOTHING = Hidden()


@dataclass(frozen=True, slots=True)
class Back:
    """Arguments with the values in the place of their handles; the same object where there were none."""

    arguments: JsonObject
    revealed: tuple[Revealed, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """One text with handles or masks in it."""

    place: _Place
    text: str
    named: bool  # the name of a field
    inner: bool  # inside text that is JSON
    signs: list[Sign]


def wanted(calls: Iterable[ParsedCall], hidden: Hidden) -> tuple[str, ...]:
    """The handles whose values these calls may be given, if they exist, and those of values that they hold already."""
    calls, signs = [call for call in calls if call.tool.reveals], hidden.signs
    bare = {name: None for call in calls for name, _ in _bare(call.tool, call.arguments, hidden)}
    found = {
        sign.handle: None
        for call in calls
        for one in _found(call.tool, call.arguments, signs)
        for sign in one.signs
        if sign.handle and sign.sound and _reveals(call.tool, one, sign)
    }
    return tuple(found | bare)


def _bare(tool: Tool, arguments: JsonObject, hidden: Hidden) -> list[tuple[str, str]]:
    """Texts that were sent as they are where a handle would be put back: the handle that each would have, and the text.

    The user may have said it, or the guard itself proposes the call. If it stands behind a handle, it is shown as that.
    """
    found: list[tuple[str, str]] = []
    name = hidden.name
    for rule in tool.reveals if name is not None else ():
        for value in rule.argument.find(arguments):
            if name is not None and isinstance(value, str) and value.strip():
                found += [(name(kind, value), value) for kind in sorted(rule.types)]
    return found


def put_back(tool: Tool, arguments: JsonObject, hidden: Hidden) -> Back | Refusal:
    """The arguments with real values, or why not. What the session owns is not looked at: the model did not write it."""
    values: list[tuple[_Place, Json]] = []
    bare = _bare(tool, arguments, hidden) if hidden.vault else []
    revealed = {Revealed(text, name, ""): None for name, text in bare if name in hidden.vault}
    for one in _found(tool, arguments, hidden.signs):
        refusal = next((told for sign in one.signs if (told := _refused(tool, one, sign, hidden)) is not None), None)
        if refusal is not None:
            return refusal
        known = {sign.handle: hidden.vault[sign.handle].value for sign in one.signs if sign.handle}
        if known:
            values.append((one.place, _with_values(one, known)))
            revealed |= {Revealed(str(value), name, _top(one)): None for name, value in known.items()}
    return Back(_replaced(arguments, values) if values else arguments, tuple(revealed))


def _found(tool: Tool, arguments: JsonObject, signs: Signs) -> list[_Found]:
    """Every text of the model's with a handle or mask in it, in order."""
    owned = {binding.field for binding in tool.bindings}
    found: list[_Found] = []
    for name, item in arguments.items():
        if name in owned:
            continue
        bare = type(item) in _BARE or (type(item) is str and signs.quiet(item) and item[:1] not in _OPENING)
        texts = leaves({name: None if bare else item}) if not bare or not signs.quiet(name) else []
        for place, text, named, inner in texts:
            here = signs.find(text)
            found += [_Found(place, text, named, inner, here)] if here else []
    return found


_BARE = frozenset({int, bool, type(None)})
_OPENING = frozenset('{[" \t\r\n')


def _refused(tool: Tool, one: _Found, sign: Sign, hidden: Hidden) -> Refusal | None:
    """Why a handle or mask may not stand there."""
    spot = f"In {_spelled(one)}."
    if not sign.handle or sign.kind == HASH:
        if not one.named and any(_fits(path, one.place, below=True) for path in tool.masks):
            return None if not sign.handle else Refusal(reason=Reason.MASKED_VALUE, detail=spot)
        return Refusal(reason=Reason.MASKED_VALUE, detail=spot, rules=(f"masks {_top(one)}",))
    if not _reveals(tool, one, sign):
        return Refusal(reason=Reason.HANDLE_NOT_ALLOWED, detail=spot, rules=(f"handles {_top(one)}",))
    known = hidden.vault.get(sign.handle)
    whole = _is_whole(one, sign)
    if known is None or not sign.sound or not (sign.exact or whole):
        return Refusal(reason=Reason.HANDLE_UNKNOWN, detail=spot, rules=(f"handles {_top(one)}",))
    return None


def _reveals(tool: Tool, one: _Found, sign: Sign) -> bool:
    """Whether the policy puts values of this type back at this place."""
    if one.named or one.inner:
        return False
    return any(sign.kind in rule.types and _fits(rule.argument, one.place) for rule in tool.reveals)


def _fits(path: Path, place: _Place, *, below: bool = False) -> bool:
    """Whether a path leads to a place, or (`below`) to something that holds it."""
    if len(place) < len(path.steps) or (len(place) > len(path.steps) and not below):
        return False
    return all(type(at) is int if step == ANY else step == at for step, at in zip(path.steps, place, strict=False))


def _is_whole(one: _Found, sign: Sign) -> bool:
    """Whether a text is nothing but one handle, however it is spelled."""
    return len(one.signs) == 1 and is_spelling(one.text, sign.handle)


def _with_values(one: _Found, known: Mapping[str, Json]) -> Json:
    """The value itself where the text is one handle, else the text with the values in it."""
    signs = sorted((sign for sign in one.signs if sign.handle), key=lambda sign: sign.start)
    if len(one.signs) == 1 and _is_whole(one, signs[0]):
        return known[signs[0].handle]
    pieces, done = [], 0
    for sign in signs:
        pieces += [one.text[done : sign.start], str(known[sign.handle])]
        done = sign.end
    return "".join([*pieces, one.text[done:]])


def _replaced(arguments: JsonObject, values: list[tuple[_Place, Json]]) -> JsonObject:
    """The arguments with other values at these places; what is changed is copied."""
    out: Json = arguments
    for place, value in values:
        out = _at(out, place, value)
    return dict(out)


def _at(value: Json, place: _Place, new: Json) -> Json:
    if not place:
        return new
    copied = value.copy()
    copied[place[0]] = _at(value[place[0]], place[1:], new)
    return copied


def _spelled(one: _Found) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one.place).lstrip(".")
    return f"a name of a field below {text}" if one.named and text else "the name of a field" if one.named else text


def _top(one: _Found) -> str:
    return str(one.place[0]) if one.place else "(name)"
