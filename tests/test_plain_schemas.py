"""The quick yes about schemas never says yes where a draft's own meta-schema says no."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.policy import dialects
from guard.policy.keywords import float_copy
from guard.policy.plain_schemas import _WORDS, is_plain

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        ["string", "integer", "object", "text", "", "a", True, False, None, 0, 1, -1, 2.5, [], {}, ["a"], ["a", "a"]]
    ),
    st.lists(st.sampled_from(["string", "null", "a", 1]), max_size=3),
)
WORDS = [*_WORDS, "format", "pattern", "$ref", "nonsense"]
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=3),
    lambda inner: st.one_of(
        inner,
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)}),
        st.fixed_dictionaries({"items": inner, "type": st.just("array")}),
        st.fixed_dictionaries({"additionalProperties": st.one_of(inner, st.booleans())}),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS)
def test_what_is_called_plain_every_draft_accepts(schema: Any) -> None:
    """Whatever the words and values."""
    if is_plain(schema):
        for name in dialects.DRAFTS:
            assert not list(dialects.meta(name).iter_errors(float_copy(schema)))


@pytest.mark.parametrize("word", sorted(_WORDS))
def test_a_wrong_value_of_a_word_is_left_to_the_meta_schema(word: str) -> None:
    """Each word is looked at: a value that no draft takes is not plain."""
    wrong = {"default": None}.get(word, object())
    assert is_plain({word: wrong}) is (word == "default")


def test_the_everyday_schema_is_plain() -> None:
    """What programs write most is what must be quick."""
    fields = {"a": {"type": "string", "maxLength": 4, "enum": ["x"]}, "b": {"type": ["number", "null"], "minimum": 0}}
    assert is_plain({"type": "object", "properties": fields, "required": ["a"], "additionalProperties": False})
