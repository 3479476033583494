"""What is called a picture and is none: text goes the way of every text, everything else is left out with a note, and a picture has its own type."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from results_kit import PNG

from guard import Guard, Session, ToolCall
from guard.core.blocks import honest
from guard.core.model import Image
from guard.core.views import Blocks

SECRET = json.dumps({"mail": "kim@example.com", "city": "Bern"})
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(40)).decode()


def coded(raw: bytes) -> str:
    """Base64 text."""
    return base64.b64encode(raw).decode()


TEXT = coded(SECRET.encode())
FORMS: dict[str, Any] = {
    "MCP": {"content": [{"type": "image", "data": TEXT, "mimeType": "image/png"}]},
    "Anthropic": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TEXT}}],
    "OpenAI": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{TEXT}"}}],
    "OpenAI, newer": [{"type": "input_image", "image_url": f"data:image/jpeg;base64,{TEXT}"}],
    "Gemini": [{"inlineData": {"mimeType": "image/png", "data": TEXT}}],
    "Bedrock": [{"document": {"format": "png", "name": "a", "source": {"bytes": TEXT}}}],
    "a picture of the guard's": Image(data=TEXT),
    "beside a text": ["see", Image(data=TEXT)],
    "inside a value": {"of": "Kim", "scan": Image(data=TEXT)},
    "as an address": {"of": "Kim", "scan": f"data:image/png;base64,{TEXT}"},
    "behind the sign of one": Image(data=coded(b"\x89PNG\r\n\x1a\n    " + SECRET.encode())),
    "with a mark of its order": Image(data=coded(b"\xff\xfe" + SECRET.encode("utf-16-le"))),
}


def shown(tmp_path: Any, value: Any, result: str = "{blocks: {text: keep}}") -> Any:
    """What goes back for a tool that returns this."""
    (tmp_path / "tools.yaml").write_text(
        f"tools: {{look: {{kind: read, allow: [a], result: {result}}}}}\nlimits: {{run: {{steps: 8, calls: 20}}}}\n"
    )

    def look() -> Any:
        return value

    guard = Guard.load(tmp_path, tools=[look], store="memory://")
    return guard.call(ToolCall("1", "look", "{}"), Session(principal="E1", roles=("a",)), conversation="c").content


@pytest.mark.parametrize("name", FORMS)
def test_a_text_that_is_called_a_picture_is_looked_through(tmp_path: Any, name: str) -> None:
    """In every spelling of every wire: no picture goes on, and what is personal in it is hidden."""
    content = shown(tmp_path, FORMS[name])
    parts = [content] if isinstance(content, str) else content
    assert all(isinstance(part, str) for part in parts)
    assert not any("kim@example.com" in part or TEXT[:40] in part for part in parts)
    assert any("Bern" in part or "left out" in part for part in parts)


def test_rules_about_fields_look_into_it(tmp_path: Any) -> None:
    """It is JSON like any other text."""
    assert shown(tmp_path, FORMS["MCP"], "{keep: [city]}") == '{"city":"Bern"}'


@pytest.mark.parametrize("media", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_other_bytes_leave_a_note(tmp_path: Any, media: str) -> None:
    """What neither begins like its type nor is text is not shown."""
    assert shown(tmp_path, Image(data=coded(b"\x00\x01\xfe\xff" * 20), media_type=media)) == f"[{media}, 80 bytes, left out]"


def test_a_picture_has_the_type_that_it_begins_like(tmp_path: Any) -> None:
    """So that rules about types mean what is sent."""
    assert honest(Image(data=JPEG)) == Image(data=JPEG, media_type="image/jpeg")
    assert shown(tmp_path, Image(data=JPEG)) == (Image(data=JPEG, media_type="image/jpeg"),)
    assert "Image" not in repr(shown(tmp_path, ["see", Image(data=JPEG)], "{blocks: {images: [image/png]}}"))
    assert honest(Image(data=coded(b"%PDF-1.7 the text of it"))).document  # type: ignore[union-attr]


def test_pictures_stay_as_they_are() -> None:
    """The same object, and types that are not known by a sign of their own too."""
    for one in (
        Image(data=PNG),
        Image(data=JPEG, media_type="image/jpeg"),
        Image(data=coded(b"II*\0\x08\0"), media_type="image/tiff"),
    ):
        assert honest(one) is one


@pytest.mark.parametrize("media", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_the_last_look_shows_only_what_begins_like_its_type(media: str) -> None:
    """Whatever came before, where every picture is shown and where some are."""
    for blocks in (Blocks(), Blocks(images=frozenset({media}))):
        assert not blocks.shows(media, TEXT)
        assert not blocks.shows(media, "AA==")
    assert Blocks().shows("image/png", PNG)
