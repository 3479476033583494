"""Written: secrets whose names stand in a text, in all the shapes in which texts give something to a name.

Assignments, markup, tables, blocks and statements, in a text as it is given: `find` gives it without its escapes as well. Pure; part of `secret`.
"""

from __future__ import annotations

from guard.redactors.assigned import assigned_spans
from guard.redactors.blocks import block_spans
from guard.redactors.cookies import cookie_spans
from guard.redactors.given import given_gate
from guard.redactors.grids import grid_spans
from guard.redactors.markup import markup_spans
from guard.redactors.sections import section_spans
from guard.redactors.statements import statement_spans

_SHAPES = (assigned_spans, markup_spans, grid_spans, block_spans, section_spans, statement_spans, cookie_spans)


def written_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the secrets in a text, in no order; they may overlap."""
    return [span for shape in _SHAPES for span in shape(text)] if given_gate(text) else []
