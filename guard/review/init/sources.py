"""Sources: whatever somebody has in a file, read as the tools in it. A new form is one reader and one row. Comes last but draft and text."""

from __future__ import annotations

from collections.abc import Callable

from guard.core.values import Json
from guard.review.init.found import SourceError, Sources
from guard.review.init.lists import tools_of
from guard.review.init.openapi import operations_of

_READERS: tuple[Callable[[Json, str], Sources | None], ...] = (operations_of, tools_of)
"""Each gives None for a document that is none of its own."""


def found_in(document: Json, name: str) -> Sources:
    """The tools of a document; `name` stands in messages. Raises SourceError."""
    for reader in _READERS:
        try:
            found = reader(document, name)
        except RecursionError:
            raise SourceError(f"{name}: nested too deeply") from None
        if found is not None:
            return found
    what = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing"}.get(type(document), "a number")
    keys = f" with {', '.join(list(document)[:5])}" if isinstance(document, dict) and document else ""
    raise SourceError(
        f"{name}: {what}{keys} is no tool list and no OpenAPI document (give a list of tools, a request body with `tools`, the answer of "
        "MCP's tools/list, or a document that begins with `openapi: 3…`)"
    )
