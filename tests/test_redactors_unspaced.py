"""Unspaced: names of fields in scripts that write words together, and with letters that have marks: what they end with tells."""

from __future__ import annotations

import json

import pytest

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.redactors import redactor
from guard.redactors.keys import UNSPACED, word_list
from guard.redactors.languages import bare
from guard.redactors.national import IDS, SSN
from guard.redactors.phone import TELLING
from guard.redactors.secret_keys import STRONG, WEAK
from guard.redactors.telling import WORDS

BOTH = [redactor(), redactor(fast=False)]
TOLD = [
    ("客户手机", "13812345678", "[phone]"),
    ("备用电话号码", "13812345678", "[phone]"),
    ("聯絡電話", "13812345678", "[phone]"),
    ("登录密码", "hunter22x", "[secret]"),
    ("客户身份证号码", "110105491231002", "[id number]"),
    ("고객주민등록번호", "900101-1234567", "[id number]"),
    ("fødselsnummer", "01019012345", "[id number]"),
    ("sécurité sociale", "185057800608491", "[id number]"),
]
PLAIN = [("手机品牌", "13812345678"), ("密码提示", "hunter22x"), ("密码修改时间", "2026-05-01"), ("电话费", "13812345678")]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
def test_a_name_that_ends_with_a_word_tells(one: Redactor) -> None:
    """Whatever stands before it, and a word for number behind; one that goes on otherwise speaks of something else."""
    for name, value, mask in TOLD:
        for given in ({name: value}, {"a": [{name: value, "n": 1}]}):
            shown = hide(given, one, set())
            assert value not in str(shown)
            assert mask in str(shown)
    for name, value in PLAIN:
        assert hide({name: value}, one, set()) == {name: value}


def test_all_words_of_other_scripts_are_known() -> None:
    """A word that some rule knows as a name is one of those that are looked for, or stands between blanks as a word does."""
    words = {*STRONG, *WEAK, *TELLING, *(word for row in (*SSN, *IDS) for word in row.words)}
    assert all({*word_list(word)} & {*UNSPACED, bare(word)} for word in words if not word.isascii())
    assert {*UNSPACED} <= WORDS


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
def test_what_was_too_deep_once_is_hidden_elsewhere(one: Redactor) -> None:
    """A run that stood where it is not read any more is read the next time, where it stands in the open."""
    run = "Y2Fyb2xAZXhhbXBsZS5vcmc1"
    deep: object = run
    for _ in range(3):
        deep = json.dumps([deep])
    hide([deep, deep], one, set())
    assert hide([run], one, set()) == ["[email]"]
