"""Escapes: a value is hidden however a page, a URL, a string or a mail spells it; what says nothing personal stays as it is spelled."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planting_kit import holds
from plants_kit import KINDS

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.redactors import redactor
from guard.redactors.escapes import back, readings

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
SPELLED = {
    "write kim&#64;example.com now": "write [email] now",
    "kim&#x40;example.com": "[email]",
    "kim&commat;example&period;com": "[email]",
    "kim&amp;#64;example.com": "[email]",
    "kim%2540example%2Ecom": "[email]",
    r"kim\u0040example.com": "[email]",
    r"kim\x40example.com": "[email]",
    "Encoding: quoted-printable\n\nkim=40exam=\nple.com": "Encoding: quoted-printable\n\n[email]",
    "+1&nbsp;415&nbsp;555&nbsp;0182": "[phone]",
    "tel%3A%2B14155550182": "tel%3A[phone]",
    r"+1\u00a0415\u00a0555\u00a00182": "[phone]",
    "4111%201111%201111%201111": "[card]",
    "DE89%C2%A03704%C2%A00044%C2%A00532%C2%A00130%C2%A000": "[iban]",
    "10&#46;20&#46;30&#46;40": "[ip address]",
    "AA%3ABB%3ACC%3ADD%3AEE%3A0F": "[mac address]",
    "078&#45;05&#45;1120": "[ssn]",
    "ghp&#95;a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8": "[secret]",
    "postgres%3A%2F%2Fapp%3Ahunter22x%40db%2Fm": "postgres%3A%2F%2F[secret]%40db%2Fm",
}
KEPT = [
    "https://example.com/a%20b?x=1%2C2&amp;y=%E2%82%AC",
    "AT&amp;T &copy; 2026 &mdash; 100&nbsp;EUR, 2026&#45;05&#45;01",
    r"C:\users\x20\u0041 50%25 off",
    "id=40example.com",
    "quoted-printable =E2=82=AC 12=2E50",
]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("text", SPELLED)
def test_a_spelling_hides_nothing(text: str, one: Redactor) -> None:
    """As a text, in a value, and twice; nothing beside it goes."""
    assert hide(text, one, set()) == SPELLED[text]
    assert hide({"a": [text, 1]}, one, set()) == {"a": [SPELLED[text], 1]}
    assert hide(SPELLED[text], one, set()) == SPELLED[text]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_a_command_again_and_again_is_hidden_in_one_go(one: Redactor) -> None:
    """However many flags stand in its line, glued or not; a word that only ends like the command is none."""
    assert hide("curl -u a:b" * 90, one, set()).count("a:b") == 0
    assert hide("curl -u a:b1 -v -u c:d2 --user 'e:f3'", one, set()) == "curl -u [secret] -v -u [secret] --user '[secret]'"
    assert hide("unfurl -u a:b", one, set()) == "unfurl -u a:b"


@pytest.mark.parametrize("one", BOTH, ids=IDS)
def test_what_says_nothing_personal_stays_as_it_is_spelled(one: Redactor) -> None:
    """The same object, alone and beside others."""
    for text in KEPT:
        assert hide(text, one, set()) is text
    assert hide(KEPT, one, set()) is KEPT


SPELLINGS = {
    "numbers": lambda char: f"&#{ord(char)};",
    "hexadecimal": lambda char: f"&#x{ord(char):x};",
    "a URL": lambda char: f"%{ord(char):02X}",
    "a URL twice": lambda char: f"%25{ord(char):02x}",
    "a string": lambda char: f"\\u{ord(char):04x}",
}


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in {"cookie", "private key", "command"} and "under" not in kind]
)
@settings(max_examples=25)
@given(data=st.data())
def test_any_kind_in_any_spelling(kind: str, data: st.DataObject) -> None:
    """With some or all of its characters as escapes: no reading of what is shown says it, and both engines agree."""
    plant = data.draw(KINDS[kind])
    spell = SPELLINGS[data.draw(st.sampled_from(sorted(SPELLINGS)))]
    some = data.draw(st.sampled_from(["", "@.+-_:/ ", "0123456789", "aeiou", plant.text]))
    text = "".join(spell(char) if char in some and " " < char < "\x7f" else char for char in plant.text)
    shown = hide({"a": text}, BOTH[0], set())
    assert not holds(shown["a"], plant.what)
    assert hide({"a": text}, BOTH[1], set()) == shown
    assert all(hide(shown, one, set()) == shown for one in BOTH)


@given(
    st.lists(
        st.sampled_from(
            ["a", "1", "&#64;", "&amp;", "#64;", "%25", "40", "\\u0040", "=40", "=\n", "\u200b", "\uff11", "quoted-printable"]
        )
    ).map("".join)
)
def test_every_reading_knows_where_it_stands(text: str) -> None:
    """Characters of a reading stand in the order of the text, each somewhere in it."""
    for seen, ways in readings(text):
        spans = [back(ways, at, at + 1) for at in range(len(seen))]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert spans == sorted(spans)
