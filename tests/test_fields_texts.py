"""Rules about fields and texts that hold fields: each is read exactly or hidden whole, and prose stays as it is."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from guard import Guard, Session, ToolCall
from guard.core.endings import SHUT as SHUT_TEXT
from guard.core.redact import NONE_SHOWN

NEEDLE = "TAX-77-QX"
OBJECT = f'{{"tax":"{NEEDLE}","b":1}}'
POLICY = """
tools:
  look: {{kind: read, allow: [staff], result: {{{rule}}}}}
  act: {{kind: action, allow: [staff], approve: never, handles: {{to: taxid}}}}
limits: {{run: {{steps: 8, calls: 20}}}}
"""
KIM = Session(principal="kim", roles=("staff",))
RULES = ("drop: [..tax]", "mask: {..tax: fixed}", "hash: [..tax]", "handle: {..tax: taxid}")


def loaded(folder: Path, rule: str, value: Any) -> Guard:
    """A guard with one look-up, which gives a value under one rule."""
    (folder / "tools.yaml").write_text(POLICY.format(rule=rule))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not every rule here gives out handles
        return Guard.load(folder, tools={"look": lambda: value, "act": lambda to: to}, store="memory://")


def seen(folder: Path, rule: str, value: Any) -> str:
    """What goes back for a value under one rule."""
    content = loaded(folder, rule, value).call(ToolCall("1", "look", "{}"), KIM, conversation="c").content
    return content if isinstance(content, str) else str(content)


def folded(depth: int) -> str:
    text = OBJECT
    for _ in range(depth):
        text = json.dumps(text)
    return text


READ = {
    "plain": OBJECT,
    "blanks": f"\n\t {OBJECT} \n",
    "a mark of byte order": f"\ufeff{OBJECT}",
    "a sequence with separators": f"\x1e{OBJECT}\n\x1e{OBJECT}\n",
    "lines": f"{OBJECT}\n{OBJECT}",
    "repeated, the first": f'{{"a":{OBJECT},"a":{{"b":1}}}}',
    "repeated, the last": f'{{"a":{{"b":1}},"a":{OBJECT}}}',
    "repeated itself": f'{{"tax":"x","tax":"{NEEDLE}","b":1}}',
    "a number of 5,000 digits": f'{{"a":{OBJECT},"n":{"1" * 5000}}}',
    "text in text": folded(1),
    "escaped braces": '"' + OBJECT.replace('"', '\\"').replace("{", "\\u007b").replace("}", "\\u007d") + '"',
    "in a field": {"a": OBJECT},
    "lines in a field": {"a": f"\ufeff{OBJECT}\n{OBJECT}"},
    "repeated in a field": {"a": f'{{"tax":"x","tax":"{NEEDLE}","b":1}}'},
    "in a list": [{"a": OBJECT}],
}
SHUT = {
    "words before": f"Result: {OBJECT}",
    "words behind": f"{OBJECT} is all.",
    "in a fence": f"```json\n{OBJECT}\n```",
    "cut short": OBJECT[:-1],
    "its end only": OBJECT[1:],
    "an exponent too large": f'{{"a":{OBJECT},"n":1e{"9" * 30}}}',
    "100,000 deep": f'{{"a":{OBJECT},"n":{"[" * 100_000}{"]" * 100_000}}}',
    "single quotes": str({"tax": NEEDLE}),
    "a comment": f"// found\n{OBJECT}",
    "a comma too many": f'{{"tax":"{NEEDLE}",}}',
    "a control character": f'{{"x":"\n","tax":"{NEEDLE}"}}',
    "deeper than is read": folded(5),
    "words in a field": {"a": f"Result: {OBJECT}", "c": 1},
    "deeper in a field": {"a": folded(5), "c": 1},
    "in pieces": ['{"tax":"', NEEDLE, '"}'],
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", READ.values(), ids=READ)
def test_what_can_be_read_is_judged_by_its_fields(tmp_path: Path, rule: str, value: Any) -> None:
    """However it is written: the field is hidden in each place, and everything else is there."""
    content = seen(tmp_path, rule, value)
    assert NEEDLE not in content
    assert '"b' in content.replace("\\", "")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", SHUT.values(), ids=SHUT)
def test_what_cannot_be_read_is_hidden_whole(tmp_path: Path, rule: str, value: Any) -> None:
    """Nothing of it is shown, since a rule may mean some of it; what stands beside it is shown."""
    content = seen(tmp_path, rule, value)
    assert NEEDLE not in content
    assert isinstance(value, str | list) or ("[hidden]" in content and json.loads(content)["c"] == 1)


PROSE = ("No order [1] was found, see (a).", 'He said "tax": nothing.', '"Quoted" words', "a\tb", "[see above]")


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_as_it_is(tmp_path: Path, text: str) -> None:
    """A text without braces holds no field, so rules about fields leave it."""
    assert seen(tmp_path, "drop: [..tax]", text) == text
    assert json.loads(seen(tmp_path, "drop: [..tax]", {"a": text})) == {"a": text}


def test_items_are_hidden_where_a_rule_means_items(tmp_path: Path) -> None:
    """A list that cannot be read is hidden under a rule about its items."""
    assert NEEDLE not in seen(tmp_path, "mask: {'tags[*]': fixed}", {"tags": f'["{NEEDLE}", oops'})


def test_nothing_is_looked_into_where_no_rule_leads(tmp_path: Path) -> None:
    """A path means its own place: text beside it stays, whatever it looks like."""
    assert json.loads(seen(tmp_path, "drop: [a.tax]", {"b": "f() { return }"})) == {"b": "f() { return }"}


def test_the_program_is_told(tmp_path: Path) -> None:
    """The turn warns that text was hidden since nobody could read it."""
    chat = loaded(tmp_path, "drop: [..tax]", f"Result: {OBJECT}").open(KIM, wire="openai-chat", conversation="c")
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    turn = chat.handle({"choices": [{"finish_reason": "tool_calls", "message": message}]})
    assert turn.outcomes[0].content == NONE_SHOWN
    assert turn.warnings == (f"look: {SHUT_TEXT}",)
