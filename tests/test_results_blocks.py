"""Content blocks and pictures: every spelling becomes texts and pictures, and what merely resembles them stays data."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from results_kit import PICTURE, PNG, URI, text_block

from guard.core.model import Image
from guard.tools import normalise

SHORT = "[image/png, 12 bytes, shown below]"


@pytest.mark.parametrize(
    ("value", "told", "blocks"),
    [
        pytest.param([text_block("a")], "a", None, id="one text is a text"),
        pytest.param([text_block("a"), text_block("b")], "a\nb", ("a", "b"), id="two texts"),
        pytest.param([text_block("")], "", None, id="an empty text is empty"),
        pytest.param(
            [text_block("a"), {"type": "image", "data": PNG, "mimeType": "image/png"}],
            f"a\n{SHORT}",
            ("a", PICTURE),
            id="MCP image",
        ),
        pytest.param(
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, text_block("a")],
            f"{SHORT}\na",
            (PICTURE, "a"),
            id="Anthropic image",
        ),
        pytest.param(
            [text_block("a"), {"type": "image_url", "image_url": {"url": URI}}], f"a\n{SHORT}", ("a", PICTURE), id="OpenAI image"
        ),
        pytest.param(["a", PICTURE], f"a\n{SHORT}", ("a", PICTURE), id="texts and pictures"),
        pytest.param(("a", PICTURE), f"a\n{SHORT}", ("a", PICTURE), id="a tuple of them"),
        pytest.param(PICTURE, SHORT, (PICTURE,), id="a picture alone"),
        pytest.param(URI, SHORT, (PICTURE,), id="a data URI alone"),
        pytest.param({"rows": [{"img": URI}]}, {"rows": [{"img": SHORT}]}, (PICTURE,), id="a data URI deep inside"),
        pytest.param({"rows": [PICTURE]}, {"rows": [SHORT]}, (PICTURE,), id="a picture deep inside"),
        pytest.param(
            {"d": "data:application/pdf;base64,AAAA"}, {"d": "[application/pdf, 3 bytes, left out]"}, None, id="another type"
        ),
        pytest.param(
            {"d": "data:image/svg+xml;base64,AAAA"}, {"d": "[image/svg+xml, 3 bytes, left out]"}, None, id="no wire shows it"
        ),
        pytest.param({"d": "data:image/png;base64,A"}, {"d": "[image/png, 0 bytes, left out]"}, None, id="no base64"),
        pytest.param({"d": f"see {URI}"}, {"d": f"see {URI}"}, None, id="a URI in a sentence stays"),
        pytest.param(["a", "b"], ["a", "b"], None, id="a list of texts is data"),
        pytest.param([{"type": "order", "text": "a"}], [{"type": "order", "text": "a"}], None, id="records are data"),
        pytest.param(
            [text_block("a") | {"price": 1}], [{"type": "text", "text": "a", "price": 1}], None, id="records with a text are data"
        ),
        pytest.param([text_block("a"), 3], [{"type": "text", "text": "a"}, 3], None, id="not wholly blocks"),
        pytest.param(
            [text_block("a"), {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
            "a\n[audio/wav, 3 bytes, left out]",
            ("a", "[audio/wav, 3 bytes, left out]"),
            id="audio is left out",
        ),
        pytest.param(
            [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}],
            "inside",
            ("inside",),
            id="a resource's text",
        ),
        pytest.param({"content": [text_block("a")]}, "a", None, id="MCP result"),
        pytest.param({"content": "a", "isError": False}, {"content": "a", "isError": False}, None, id="an object with content"),
        pytest.param(
            {"content": [text_block("a")], "id": 1}, {"content": [text_block("a")], "id": 1}, None, id="an object with more"
        ),
    ],
)
def test_blocks(value: object, told: Any, blocks: Any) -> None:
    """Blocks in every spelling become texts and pictures in order; what merely resembles them stays data."""
    normal = normalise(value)

    assert normal.value == told
    assert normal.blocks == blocks
    assert not normal.failed


def test_a_large_picture_never_stays_in_the_value() -> None:
    """A picture inside an object leaves nothing but a short text with its size behind."""
    big = base64.b64encode(b"\x89PNG" + bytes(299_996)).decode()
    normal = normalise({"rows": [{"img": f"data:image/png;base64,{big}"}]})

    assert normal.value == {"rows": [{"img": "[image/png, 300 KB, shown below]"}]}
    assert normal.blocks == (Image(data=big),)
