"""Redactors under generated texts and values: a second pass changes nothing, and nothing planted survives."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from redactors_kit import LABELS, TEXTS

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import DETECTORS, REDACTOR, detect
from guard.redactors.fold import folded
from guard.redactors.views import still


@given(LABELS, TEXTS)
@example(None, "a@example.com@example.com")
@example(None, "+14155550182-4111111111111111")
@example("phone", "[phone]")
def test_redacting_twice_changes_nothing(key: str | None, text: str) -> None:
    """What was shown once is shown again as it is."""
    shown, _ = detect(key, text)

    assert detect(key, shown)[0] == shown


@given(LABELS, TEXTS)
def test_gates_are_necessary_conditions(key: str | None, text: str) -> None:
    """Wherever a rule finds something its gate is true, and the quick look that skips all rules is not."""
    plain, _ = folded(text)
    for detector in DETECTORS:
        if detector.rule(key, plain):
            assert detector.gate(plain)
            assert not (plain.isascii() and still(plain))


@given(LABELS, TEXTS)
def test_spans_lie_inside_the_text(key: str | None, text: str) -> None:
    """Every finding is a non-empty piece of the text."""
    plain, _ = folded(text)
    for detector in DETECTORS:
        for start, end in detector.rule(key, plain):
            assert 0 <= start < end <= len(plain)


@given(LABELS, TEXTS)
def test_kinds_and_change_go_together(key: str | None, text: str) -> None:
    """A kind is named exactly when the text changed, and an unchanged text is the same object."""
    shown, kinds = detect(key, text)

    assert (shown is text) == (kinds == ())


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}([._+-][a-z0-9]{1,5})?", fullmatch=True)
ADDRESSES = st.tuples(
    NAMES, st.from_regex(r"[a-z][a-z0-9]{1,8}", fullmatch=True), st.sampled_from(["com", "org", "co.uk", "cn"])
).map(lambda parts: f"{parts[0]}@{parts[1]}.{parts[2]}")


@given(ADDRESSES, st.data())
def test_a_planted_mail_never_survives(address: str, data: st.DataObject) -> None:
    """Wherever in a value an address is put, as a leaf, in a sentence or as a key, at any depth, it is gone afterwards."""
    around = data.draw(st.sampled_from(["{}", "mail {} now", "<{}>", "{}, {}", "联系{}。", "x:{};", "\n{}\n"])).replace(
        "{}", address
    )
    value: Any = data.draw(st.sampled_from([around, {around: 1}, {"k": around}, [around, 1, None]]))
    for wrap in data.draw(st.lists(st.sampled_from(["list", "dict"]), max_size=30)):
        value = [value, "x"] if wrap == "list" else {"inner": value}
    kinds: set[str] = set()
    shown = hide(value, REDACTOR, kinds)

    assert address not in encode(shown)
    assert kinds <= {"email"}


@given(
    st.recursive(
        st.integers(-(10**10), 10**10) | st.booleans() | st.none() | st.dates().map(str),
        st.lists,
        max_leaves=9,
    )
)
def test_data_without_anything_personal_is_the_same_object(value: Any) -> None:
    """Numbers, dates and their containers are not even copied."""
    assert hide(value, REDACTOR, set()) is value
