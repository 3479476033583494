"""Slack: a message for each approval that people should know of, to an incoming webhook. Its link opens the page; nothing in it decides.

Whatever a record says stands in plain-text blocks, where Slack reads no markup; in the line for notifications `&`, `<` and `>` are escaped and markup
is switched off, so that nobody is mentioned and no link is made by a value. Comes after notice and post.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.core.ports import Sealed
from guard.core.values import JsonObject, encode
from guard.sinks.entry import Entry, entry
from guard.sinks.notice import Links, lines, title
from guard.sinks.port import SinkError
from guard.sinks.post import Post

_HEADER, _SECTION = 150, 2900  # characters that Slack takes


class Slack:
    """Sends one message for each record."""

    def __init__(self, name: str, post: Post, links: Links) -> None:
        self.name = name
        self._post, self.links = post, links

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        for number, one in enumerate(batch):
            body = encode(message(entry(one), self.links)).encode()
            try:
                self._post.send(body, {"Content-Type": "application/json"})
            except SinkError as error:
                raise SinkError(str(error), retry=error.retry, sent=number, after=error.after) from None

    def close(self) -> None:
        """Nothing is held open."""


def message(one: Entry, links: Links) -> JsonObject:
    """The message about a record."""
    head = title(one)
    return {
        "text": escaped(head),
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": [
            {"type": "header", "text": _plain(head, _HEADER)},
            {"type": "section", "text": _plain("\n".join(lines(one)[1:]), _SECTION)},
            {"type": "section", "text": {"type": "mrkdwn", "text": f"<{escaped(links.to(one))}|Open the approval>"}},
        ],
    }


def escaped(text: str) -> str:
    """A text in which Slack finds no mention, link or entity."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str, most: int) -> JsonObject:
    return {"type": "plain_text", "emoji": False, "text": text if len(text) <= most else f"{text[: most - 2]} …"}
