"""JSON of the command line: the same values as ever, in text that no terminal obeys and no reader overlooks."""

from __future__ import annotations

import json

import pytest

from guard.cli.records import Entry, json_line
from guard.cli.show import json_text
from guard.core.ports import Sealed
from guard.core.unseen import unseen

TEXTS = {
    "C1": "\x9b2J",
    "DEL": "\x7f",
    "C0": "\x1b[2J\x00",
    "next line": "a\u0085b\u2028c\u2029d",
    "direction": "\u202egnp\u2066x",
    "no width": "a\u200bb\ufeff",
    "a blank that is no space": "a\u00a0b\u3000c",
    "beyond the first plane": "\U000e0041\U0010ffff",
    "a filler": "\u3164\ufe0f",
    "half a character": "\ud83d",
    "plain": 'a "b" \\u0041 é 中 😀',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_unseen_characters_are_escaped_and_the_value_stays(text: str) -> None:
    """Whatever a text holds, as a value or a key, it comes back the same from text that can be printed."""
    told = json_text({text: [text]})

    assert json.loads(told) == {text: [text]}
    assert not any(map(unseen, told))


def test_what_can_be_seen_is_not_escaped() -> None:
    """Names in any script stay readable."""
    assert json_text({"a": "é 中 😀"}) == '{"a":"é 中 😀"}'


@pytest.mark.parametrize("body", ['{"a":"x\x9b\u202e"}', '{\t"a":\t"x\x9b"}', "not JSON \x9b"], ids=["plain", "tabs", "broken"])
def test_a_records_line_is_json_whatever_was_stored(body: str) -> None:
    """A record that somebody changed in the store can neither move the cursor nor break the line."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = {}
    sealed = Sealed(chain=0, seq=1, body=body, prev="p", hash="h")
    line = json_line(Entry(sealed, parsed))

    assert not any(map(unseen, line))
    found = json.loads(line)
    assert found.get("a", json.loads(found["body"])["a"] if parsed and "body" in found else None) == parsed.get("a")
