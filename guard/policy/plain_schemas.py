"""Plain schemas: a quick yes to "is this a valid JSON Schema?", for schemas made of the everyday keywords in their everyday form.

Says yes only where every draft's own meta-schema says yes too; anything else, a mistake included, is for the meta-schema, which has the last word and
the messages. May not say no. Comes before schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from guard.core.values import Json

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def is_plain(schema: Json) -> bool:
    """Whether `schema` is surely valid in each of the drafts."""
    return isinstance(schema, Mapping) and all(word in _WORDS and _WORDS[word](value) for word, value in schema.items())


def _is_type(value: Json) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_text, value)) and len(set(value)) == len(value) and _TYPES.issuperset(value)
    return isinstance(value, str) and value in _TYPES


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_anything(_value: Json) -> bool:
    return True


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _are_names(value: Json) -> bool:
    """Texts that all differ, one at least, as draft 4 wants it."""
    return isinstance(value, list) and bool(value) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _are_fields(value: Json) -> bool:
    return isinstance(value, Mapping) and all(map(is_plain, value.values()))


def _is_rest(value: Json) -> bool:
    return isinstance(value, bool) or is_plain(value)


_WORDS: Mapping[str, Callable[[Json], bool]] = {
    "type": _is_type,
    "properties": _are_fields,
    "required": _are_names,
    "additionalProperties": _is_rest,
    "items": is_plain,
    "enum": _are_names,
    "minimum": _is_number,
    "maximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "uniqueItems": _is_flag,
    "title": _is_text,
    "description": _is_text,
    "default": _is_anything,
}
