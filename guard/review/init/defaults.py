"""Defaults: those that contradict their own schema, such as `default: null` for a text, which many lists hold and no policy takes.

Such a default is left out, and said: what the tool does without the argument is its own affair then. Comes before draft.
"""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.values import JsonObject
from guard.policy.keywords import exact_copy
from guard.policy.problems import Problems
from guard.policy.schemas import compile_schema
from guard.policy.source import Item


def with_fitting_defaults(schema: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """The schema without defaults of arguments that do not fit, and a note about each."""
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return schema, ()
    compiled = compile_schema(schema, Item("tools.yaml", None), Problems(), "schema")
    if compiled is None:
        return schema, ()
    kept, notes = {}, []
    for name, shape in fields.items():
        kept[name] = shape
        if (
            isinstance(shape, Mapping)
            and "default" in shape
            and not compiled.fits(compiled.strict["properties"][name])(exact_copy(shape["default"]))
        ):
            kept[name] = {key: value for key, value in shape.items() if key != "default"}
            notes.append(f"the default of {name} does not fit its own schema and was left out")
    return {**schema, "properties": kept}, tuple(notes)
