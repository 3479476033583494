"""Hostile texts: with google-re2 and without it the same is found in them, in texts of words never seen before as well, and no step is taken too often."""

from __future__ import annotations

import json
import re
from itertools import islice
from random import Random
from typing import Any

import pytest
from hostile_kit import COUNTED, RUNS, SPECIAL, TEXTS, UNITS, VALUES, invented
from hypothesis import given, settings
from hypothesis import strategies as st
from redactors_kit import PIECES
from redactors_kit import TEXTS as SOME

from guard.core.beside import below, parts
from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.redaction import BELOW, LABEL, LONGEST, read
from guard.core.values import encode
from guard.redactors import REDACTOR, detect, redactor
from guard.redactors.keys import names_of, word_list
from guard.redactors.prefixes import PREFIXES
from guard.redactors.views import LONG

FAST, SLOW = redactor(), redactor(fast=False)
EVERY = Redactor(detect=detect)
"""Passes each text to the detectors: what the looks must agree with."""
GROUPS = {
    "pieces again and again": [name for name in TEXTS if name.endswith("again and again")],
    "pieces with other words": [name for name in TEXTS if name.endswith("with other words")],
    "long runs": [name for name in TEXTS if ", then " in name],
    "keys of services": [name for name in SPECIAL if "inside a word" in name or "after a dash" in name or "a sign" in name],
}
GROUPS["others"] = [name for name in SPECIAL if not any(name in group for group in GROUPS.values())]


def test_every_hostile_text_is_in_a_group() -> None:
    """None is left out of what follows."""
    assert sorted(TEXTS) == sorted(name for group in GROUPS.values() for name in group)
    assert len(TEXTS) >= len(set(UNITS)) + len(COUNTED) + len(RUNS)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [60, 300])
def test_both_engines_find_the_same_in_hostile_texts(group: str, size: int) -> None:
    """As texts, alone and together, as JSON text, and inside JSON: what is called quiet holds nothing, and what is shown is the same."""
    texts = [TEXTS[name](size) for name in GROUPS[group]]
    values = [{"text": text, "list": [text[:40], text[40:]]} for text in texts]
    wanted = {text for text in texts if detect(None, text)[1]}
    shown = [encode(hide(value, EVERY, set())) for value in values]
    for one in (FAST, SLOW):
        assert set(one.sift(texts)) == wanted
        assert not [text for text in wanted if one.quiet(text)]
        assert [encode(hide(value, one, set())) for value in values] == shown


@pytest.mark.parametrize("name", VALUES)
def test_both_engines_hide_the_same_in_hostile_values(name: str) -> None:
    """As a value and as its JSON text; hiding it twice changes nothing more."""
    value = VALUES[name](900)
    wanted = hide(value, EVERY, set())
    for one in (FAST, SLOW):
        assert encode(hide(value, one, set())) == encode(wanted)
        assert not (one.quiet(encode(value)) and wanted is not value)
        assert encode(hide(wanted, one, set())) == encode(wanted)


@settings(max_examples=60, deadline=None)
@given(st.lists(SOME | PIECES, min_size=1, max_size=3), st.integers(0, 10**9), st.booleans())
def test_what_is_planted_among_words_never_seen_before_is_found(texts: list[str], seed: int, camel: bool) -> None:
    """The look at a text as a whole overlooks nothing that the look piece by piece sees, as a value or as a name."""
    value: Any = invented(Random(seed), camel=camel)
    value["planted"] = texts
    value["named"] = [{texts[0]: 1}, {"name": texts[-1], "value": "a1B2c3"}]
    text, wanted = encode(value), hide(value, EVERY, set())
    for one in (FAST, SLOW):
        assert not (one.quiet(text) and wanted is not value)
        assert encode(hide(value, one, set())) == encode(wanted)


@pytest.mark.parametrize("sign", [sign for sign, _ in PREFIXES])
def test_no_key_of_a_service_is_overlooked_among_new_words(sign: str) -> None:
    """Whatever may be a key of this service, in a text that is like none before and, after it was seen, piece by piece."""
    key = sign + "".join(Random(sign).choice("0123456789abcdef") for _ in range(64))
    for text in (key, f"see {key} there", f"a={key}"):
        value = {**invented(Random(sign)), "planted": text}
        for _ in range(4):
            if hide(value, EVERY, set()) is not value:
                assert not SLOW.quiet(encode(value)), text


@pytest.mark.parametrize(("sign", "rest"), PREFIXES, ids=[f"{at} {sign}" for at, (sign, _) in enumerate(PREFIXES)])
def test_no_key_of_a_service_is_shorter_than_what_the_looks_look_for(sign: str, rest: str) -> None:
    """Whatever stands before it in the same run: nineteen characters are none, or are none for their last ones."""
    own = re.compile(re.escape(sign) + rest)
    for filler in "a0A1":
        assert own.fullmatch(sign + filler * (LONG - 1 - len(sign))) is None


@pytest.mark.parametrize("text", ["\xe9AKIA" + "QWERTYUIOPASDFGH", "x.ghp_" + "a1B2" * 9])
def test_a_key_beside_other_signs_is_loud(text: str) -> None:
    """Behind a letter of another alphabet, and behind a dot."""
    assert detect(None, text)[1] == ("secret",)
    for value in ([text], {**invented(Random(1)), "planted": text}):
        assert not SLOW.quiet(encode(value))
        assert not FAST.quiet(encode(value))


def test_texts_of_new_words_are_quiet() -> None:
    """Names with capitals inside as well; a text that comes again is quiet as well."""
    for seed in range(40):
        for camel in (False, True):
            text = encode(invented(Random(seed), camel=camel))
            assert FAST.quiet(text), text
            assert all(SLOW.quiet(text) for _ in range(3)), text


@pytest.mark.parametrize(
    "words",
    [
        "an itinerary while waiting",
        "the uniform manifest is significant",
        "unify the editing of 12345678 writings",
    ],
)
def test_words_that_only_hold_letters_of_an_id_do_not_tell_of_one(words: str) -> None:
    """`itin` in a writing and `nif` in a manifest make no text loud, with google-re2 as without."""
    assert FAST.quiet(encode({"note": words}))
    assert SLOW.quiet(encode({"note": words}))


@pytest.mark.parametrize("word", ["nif", "NIF", "Nif", "myNif", "userNIF", "NIFNumber", "a_nif", "2nif", "\xe9nif"])
def test_words_of_ids_are_told_however_they_are_written(word: str) -> None:
    """Alone, in capitals, and as a part of a name."""
    text = f"{word} 12345678Z"
    assert detect(None, text)[1] == ("id",)
    for one in (FAST, SLOW):
        assert set(one.sift([text])) == {text}
        assert not one.quiet(encode([text]))


NAMES = st.text(st.sampled_from("ab_K\xe9"), max_size=420) | st.sampled_from(
    ["password", f"{LABEL}password", "a" * 700, "key" * 300]
)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_a_key_is_read_alike_however_short_it_is_kept(names: list[str]) -> None:
    """What is kept of a key of many names says what the whole of it says."""
    kept: str | None = None
    for name in names:
        kept = below(kept, name)
        assert len(kept) <= LONGEST + len(BELOW)
    whole = BELOW.join(names)
    assert kept is not None
    assert read(kept) == read(whole)
    assert word_list(kept) == word_list(whole)
    assert names_of(kept) == names_of(whole)


class Counter:
    """Counts how much the detectors are given to read."""

    def __init__(self) -> None:
        self.read = self.asked = 0

    def redactor(self) -> Redactor:
        """A redactor that counts, and looks at everything."""
        return Redactor(detect=self._detect, sift=set, tells=self._tells)

    def _detect(self, key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        self.read += len(key or "") + len(text) + 1
        return detect(key, text)

    def _tells(self, key: str) -> bool:
        self.asked += 1
        self.read += len(key)
        return REDACTOR.tells(key)


@pytest.mark.parametrize("name", VALUES)
def test_no_value_is_read_more_often_than_its_size_says(name: str) -> None:
    """Eight times the value: eight times as much is read and asked, and what is shown is eight times as long, in a value and in its JSON text."""

    def steps(size: int) -> tuple[int, int, int]:
        count, value = Counter(), VALUES[name](size)
        shown = hide(value, count.redactor(), set())
        return count.read, count.asked, len(encode(shown))

    small, large = steps(2_000), steps(16_000)
    assert all(after <= 12 * before + 30 * LONGEST for before, after in zip(small, large, strict=True)), (small, large)


def test_names_that_are_hidden_alike_stay_apart_and_short() -> None:
    """Each has a number of its own; one that is there already is passed over; the names of a thousand are no longer than those of ten."""
    value = {**{f"a{at}@b.co": at for at in range(1_000)}, "[email]_3": "kept"}
    shown = hide(value, REDACTOR, set())

    assert isinstance(shown, dict)
    assert list(shown.values()) == list(value.values())
    assert list(shown)[:4] == ["[email]", "[email]_", "[email]_2", "[email]_4"]
    assert max(map(len, shown)) == len("[email]_1000")
    assert hide(shown, REDACTOR, set()) is shown


def test_a_table_costs_what_its_rows_are_and_not_each_of_them_all_its_columns() -> None:
    """However many columns are named, a row of one cell is asked for one."""
    columns = [f"{word}" for word in islice(iter(invented(Random(2))), 20)] + ["password"]
    value = {"columns": columns, "rows": [["a1"], ["b2"]], **{f"more{at}": [[]] for at in range(50)}}
    asked = list[str]()

    def tells(name: str) -> bool:
        asked.append(name)
        return REDACTOR.tells(name)

    notes = parts(value, None, None, tells)
    before = len(asked)
    for _, item, key, note in notes:
        if isinstance(item, list):
            parts(item, key, note.frame, tells)
    assert len(asked) - before < 2 * len(notes)
    assert json.loads(encode(hide(value, SLOW, set()))) == json.loads(encode(hide(value, FAST, set())))
