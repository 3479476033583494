"""Media: what stands in base64 in a server's messages: text that must be read like any other, bytes that no detector reads, or neither.

Decodes within a bound and passes nothing on that it could not look at. Pure. Before it stands nothing of this package; after it results and
passing.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable

from guard.core.model import Image
from guard.core.values import Json, JsonObject
from guard.tools.blocks import PICTURES, left_out, shown

_MOST = 4_000_000  # characters of base64 text that are decoded; a multiple of four
_BODY = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_TYPE = re.compile(r"[A-Za-z0-9.+-]{1,80}/[A-Za-z0-9.+_-]{1,120}(?:; ?charset=[A-Za-z0-9-]{1,30})?")
_TEXTUAL = re.compile(r"text/|.*\b(?:json|xml|yaml|csv|javascript|html|svg)\b", re.IGNORECASE)

Hide = Callable[[str], str]


def media_type(value: Json, hide: Hide) -> str | None:
    """A media type that says nothing else; None for every other value."""
    return value if isinstance(value, str) and _TYPE.fullmatch(value) is not None and hide(value) == value else None


def read(media: Json, data: str) -> str | bool:
    """The text that base64 data are; True for bytes that are no text; False for what is no base64, or cannot be looked at."""
    body = "".join(data.split())
    if _BODY.fullmatch(body) is None:
        return False
    try:
        found = base64.b64decode(body[:_MOST], validate=True)
    except (binascii.Error, ValueError):
        return False
    form = "utf-16" if found[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(form)().decode(found, final=len(body) <= _MOST)
    except UnicodeDecodeError:
        return not (isinstance(media, str) and _TEXTUAL.match(media) is not None)
    return text if len(body) <= _MOST else False


def silent(media: Json, data: Json, hide: Hide) -> bool:
    """Whether the data of a picture or a sound may go on as they are."""
    found = read(media, data) if isinstance(data, str) else False
    if found is True and isinstance(media, str) and isinstance(data, str) and media.lower() in PICTURES:
        picture = shown(media, data)
        return isinstance(picture, Image) and picture.media_type == media.lower()
    return found if isinstance(found, bool) else hide(bare := found.replace("\0", "")) == bare


def spoken(resource: JsonObject) -> JsonObject:
    """The resource, with its text as text; what cannot be looked at is left out, and a note stands in its place."""
    rest = {key: item for key, item in resource.items() if key != "blob"}
    if "blob" not in resource or "text" in resource:
        return rest
    blob, media = resource["blob"], resource.get("mimeType")
    found = read(media, blob) if isinstance(blob, str) else False
    if found is True:
        return resource
    clear = isinstance(found, str) and "\0" not in found
    return {**rest, "text": found if clear else note(media, blob)}


def note(media: Json, data: Json) -> str:
    """What stands in the place of data that are left out."""
    kind = media if isinstance(media, str) and _TYPE.fullmatch(media) is not None else ""
    return left_out(kind.lower() or "application/octet-stream", "".join(data.split()) if isinstance(data, str) else "")
