"""Results under generated objects: always JSON, and the same when passed through again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from results_kit import PICTURE, PNG, URI, Colour, Endless, Level, Name, NoAttributes, NoIter, NoStr, Opaque

from guard.core.model import Image
from guard.core.values import encode
from guard.tools import normalise


def block_like() -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image", "image_url", "resource", "audio", "other"])},
        optional={
            "text": st.text() | st.none(),
            "data": st.text() | st.just(PNG),
            "mimeType": st.sampled_from(["image/png", "", "audio/mp3"]) | st.none(),
            "image_url": st.just(URI) | st.fixed_dictionaries({"url": st.just(URI) | st.text()}),
            "resource": st.none() | st.fixed_dictionaries({"uri": st.text()}, optional={"text": st.text(), "blob": st.just(PNG)}),
        },
    )


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.fractions()
    | st.sampled_from([Colour.RED, Level.HIGH, Name.A, URI, PICTURE, Opaque, NoStr, NoIter, Endless])
    | st.builds(Opaque)
    | st.builds(NoStr)
    | st.builds(NoAttributes)
)
KEYS = st.text() | st.integers() | st.floats() | st.none() | st.binary() | st.dates() | st.tuples(st.integers())
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner)
        | st.sets(st.integers() | st.text())
        | st.lists(inner).map(iter)
        | st.fixed_dictionaries({"content": st.lists(inner | block_like(), max_size=3)}, optional={"isError": st.booleans()})
    ),
    max_leaves=20,
)


@given(ANYTHING)
def test_total_and_json(value: object) -> None:
    """Whatever is returned: no exception, a value that is written as JSON, and blocks that are texts and pictures."""
    normal = normalise(value)

    text = encode(normal.value)
    text.encode()
    assert normal.blocks is None or all(isinstance(block, str | Image) for block in normal.blocks)
    assert isinstance(normal.failed, bool)


@given(ANYTHING)
def test_twice_is_once(value: object) -> None:
    """What came out is plain JSON: passing it through again changes nothing but the reading of content blocks."""
    once = normalise({"v": value})

    assert encode(normalise(once.value).value) == encode(once.value)
