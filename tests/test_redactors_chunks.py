"""Chunks: a secret that a tool gives in pieces, cut anywhere, is in nothing that is shown: neither in a piece nor in the pieces put together."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plants_kit import KINDS, Plant

from guard import Guard
from guard.core.hiding import hide
from guard.core.model import Image
from guard.core.ports import Executed, Redactor
from guard.core.redact import redact
from guard.core.rules import Tool
from guard.core.values import read_json
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
DIGITS = ("phone", "card", "account", "address", "long address", "hardware", "resident", "id")
LINES = [
    "MIIEpAIBAAKCAQEA2Z3qX2BTLS4e0ek9YxJ3Wd4mY7uQ0z9cT1nKfV5hRj6pLs8a",
    "c8sLp6jRh5VfKn1Tc9z0Qu7Ym4dW3JxY9ke0e4SLTB2Xq3Z2AEQACKAABIApEIIM",
]
TEXTS = sorted(kind for kind in KINDS if not kind.startswith(DIGITS) and "under" not in kind)
"""Kinds that tell what they are; numbers that stand beside each other are not one number."""
AROUND = ["", "see ", "\n", "- ", '{"n": 1} ', " and so on.", "é"]


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """A tool that reads."""
    folder = tmp_path_factory.mktemp("policies")
    (folder / "tools.yaml").write_text("tools:\n  look: {kind: read, allow: [user]}\nlimits: {run: {steps: 9}}\n", "utf-8")
    with Guard.load(folder, tools={"look": lambda: ""}, store="memory://") as guard:
        return guard.in_force.policy.tools["look"]


@st.composite
def pieces(draw: st.DrawFn, kind: str) -> tuple[Plant, list[str]]:
    """A plant among words, cut at up to five places."""
    plant = draw(KINDS[kind])
    text = draw(st.sampled_from(AROUND)) + plant.text + draw(st.sampled_from(["", "\n", " and so on."]))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=5)))
    return plant, [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


def seen(content: object) -> str:
    """All that a model reads of a content, one behind the other."""
    if isinstance(content, str):
        value = read_json(content)
        return "".join(map(str, value)) if isinstance(value, list) else content
    assert isinstance(content, tuple)
    return "".join("" if isinstance(block, Image) else str(block) for block in content)


@pytest.mark.parametrize("form", ["list", "blocks"])
@pytest.mark.parametrize("kind", TEXTS)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_cut_anywhere_is_hidden(look: Tool, kind: str, form: str, data: st.DataObject) -> None:
    """As a list of texts and as blocks, by both engines alike."""
    plant, texts = data.draw(pieces(kind))
    assume(all(texts))
    ran = Executed(value=texts) if form == "list" else Executed(value="".join(texts), content=tuple(texts))
    shown = [redact(ran, look, one) for one in BOTH]
    assert shown[0] == shown[1]
    assert plant.what not in seen(shown[0].content)
    assert shown[0].hidden


KEY = ["x", "-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----", "after"]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
def test_the_lines_of_a_private_key_are_hidden(look: Tool, one: Redactor) -> None:
    """As the items of a list, at any depth, as JSON in a text, and as blocks; what stands before and behind it stays."""
    masked = ["x", *["[secret]"] * 4, "after"]
    assert hide({"a": [{"lines": KEY}]}, one, set()) == {"a": [{"lines": masked}]}
    assert json.loads(one.detect(None, json.dumps({"lines": KEY}))[0]) == {"lines": masked}
    assert hide(["-----BEGIN PRIVATE KEY-----", 1, LINES[0]], one, set()) == ["[secret]", 1, "[secret]"]  # cut off
    assert hide(["-----BEGIN PUBLIC KEY-----", LINES[0]], one, set()) == ["-----BEGIN PUBLIC KEY-----", LINES[0]]
    assert redact(Executed(value="".join(KEY), content=tuple(KEY)), look, one).content == tuple(masked)
    assert read_json(str(redact(Executed(value=KEY), look, one).content)) == masked
