"""HTML: pages from templates, every text escaped, and the pieces of a text marked so that what cannot be seen is read.

May not decide, read a store or shorten anything. Needs the extra `server`. Comes after `core.facts`; used by the pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from guard.core import legible
from guard.core.facts import Part, span
from guard.core.legible import Piece
from guard.core.names import real
from guard.core.wording import GONE, HEADING

HERE = Path(__file__).parent


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelt name is an error, not a blank
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"pieces": marked, "text": shown, "parts": parts, "when": when, "span": span}
    made.globals |= {"heading": HEADING, "gone": GONE}
    return made


def page(name: str, status: int = 200, **values: object) -> Response:
    """A page from a template."""
    text = _environment().get_template(name).render(**values)
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html")


def shown(text: str) -> Markup:
    """A text that somebody else wrote, with what is hidden in it spelled out. Of a person, the real name where it is known."""
    return marked(legible.pieces(real(text)))


def marked(pieces: Iterable[Piece]) -> Markup:
    """Pieces as HTML."""
    return Markup("").join(map(_piece, pieces))


def _piece(piece: Piece) -> Markup:
    if piece.kind == "plain":
        return escape(piece.text)
    if piece.kind == "break":
        return Markup('<span class="end" title="line end">\u21b5</span>\n')
    return Markup('<span class="sign" title="{}">{}</span>').format(piece.name, piece.code)


def parts(given: Iterable[Part], tag: str = "") -> Markup:
    """The stretches of a text, those that differ inside `tag` (`ins` or `del`)."""
    found = [
        Markup("<{0}>{1}</{0}>").format(Markup(tag), marked(pieces)) if differs and tag else marked(pieces)  # noqa: S704 - our own word
        for differs, pieces in given
    ]
    return Markup("").join(found)


def when(seconds: float) -> Markup:
    """A time for a person, with the machine's form beside it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%d %b %Y, %H:%M:%S UTC")
    )
