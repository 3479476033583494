"""The quick reader of everyday YAML reads as ruamel.yaml does, values, kinds and lines, or gives up and leaves the file to it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from guard.policy.plain_yaml import DEPTH, read_plain
from guard.policy.problems import Problems
from guard.policy.source import MAX_NODES, File, Item, _Builder, read_yaml

ROOT = Path(__file__).resolve().parents[1]
SMALL = """# a folder's file
a: 1
b:
  c: [x, "y z", {d: e}]
  # note

  d:
  - f: g
    h: 'it''s'
  - j k
  - {s: 1.50, t: -3, u: true, v: null, w: 2026-01-01}
k: {l: m, n: [o,
  p], q: "r \\"s\\"", "t": ~}    # a remark
s: t u, v - w (x) [y] http://z
empty:
"""
PIECES = [
    *(
        " ",
        "  ",
        "\n",
        "\n  ",
        ":",
        ": ",
        "- ",
        "-",
        "#",
        " #",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        '"',
        "a",
        "1",
        "1.0",
        "true",
        "null",
        "~",
    ),
    *("? ", "! ", "!!str ", "&a ", "*a", "|", ">", "\\", "%", "@", "`", "---\n", "...\n", "=", "<<", "0x1F", "0o7", "1_0", "1e3"),
    *(
        ".5",
        ".inf",
        "+1",
        "-1",
        "2020-01-01",
        "é",
        "\t",
        "\r",
        "\u2028",
        "\u00a0",
        "'x'",
        '"x"',
        "x: y",
        "{a: 1}",
        "[1, 2]",
        "no",
        "\x07",
    ),
]


def texts() -> list[str]:
    """Policies of this repository, and examples of its README."""
    files = [*ROOT.glob("policies/*.yaml"), *ROOT.glob("examples/*/policies/*.yaml")]
    found = [file.read_text("utf-8") for file in files]
    return [SMALL, *found, *re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)]


def ruamels(text: str) -> Item | None:
    """As ruamel.yaml reads it; None where that is an error or nothing."""
    problems = Problems()
    try:
        node = YAML(typ="safe", pure=True).compose(text)
    except (YAMLError, ValueError):
        return None
    found = None if node is None else _Builder("f", problems, MAX_NODES, any_key=False).build(node)
    return None if problems.errors else found


def shape(item: Item) -> Any:
    """Everything that an item says, kinds included."""
    fields = [(name, shape(below)) for name, below in item.fields.items()]
    return item.file, item.line, repr(item.value), fields, list(map(shape, item.items))


def agree(text: str) -> bool:
    """Whether the quick reader took it; then both say the same."""
    quick = read_plain(text, "f", MAX_NODES)
    if quick is None:
        return False
    slow = ruamels(text)
    assert slow is not None, text
    assert shape(quick) == shape(slow), text
    return True


def test_everyday_policies_are_read_quickly_and_the_same() -> None:
    """What ships with the package is everyday YAML, but for what is written once and named again."""
    assert all(agree(text) for text in texts() if ": &" not in text)


@pytest.mark.parametrize("seed", range(8))
def test_changed_texts_are_read_the_same_or_left_to_ruamel(seed: int) -> None:
    """Signs put in, taken away and doubled anywhere: never another value, kind or line, never a file that ruamel refuses."""
    chance = random.Random(seed)
    given = texts()
    taken = 0
    for _ in range(300):
        lines = chance.choice([SMALL, *given]).split("\n")
        first = chance.randrange(len(lines)) if len(lines) > 20 else 0
        text = "\n".join(lines[first : first + 20])
        for _ in range(chance.choice((1, 1, 2, 3))):
            text = changed(text, chance)
        taken += agree(text)
    assert taken > 30


def changed(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    way = chance.random()
    if way < 0.5:
        return text[:at] + chance.choice(PIECES) + text[at:]
    if way < 0.8:
        return text[:at] + text[at + chance.choice((1, 1, 2, 5)) :]
    other = chance.randrange(len(text) + 1)
    return text[:at] + text[other : other + 8] + text[at:]


LEFT = {
    "a key twice": "a: 1\na: 2\n",
    "an alias": "a: &x 1\nb: *x\n",
    "a tag": "a: !!str 1\n",
    "a text of several lines": "a: one\n  two\n",
    "a block of text": "a: |\n  one\n",
    "a key that is no text": "true: 1\n",
    "a tab": "a:\tb\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "nothing": "# only a remark\n",
    "a list at the top": "- a\n",
    "no number of ours": "a: .inf\n",
    "too deep": "a: " + "[" * (DEPTH + 1) + "]" * (DEPTH + 1) + "\n",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_the_rest_is_ruamels(text: str) -> None:
    """The quick reader says nothing about it, so that the words for a mistake stay as they were."""
    assert read_plain(text, "f", MAX_NODES) is None


def test_a_file_holds_no_more_values_than_it_may() -> None:
    """However it is read."""
    problems = Problems()
    data = ("a: [" + ", ".join("1" * 1 for _ in range(MAX_NODES)) + "]\n").encode()
    read_yaml(File("tools.yaml", data), problems)
    assert any("more than" in one.message for one in problems.errors)
