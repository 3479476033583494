"""Every key of the policy language is visible to `guard diff`: what each one changes is told, in both directions. A new key must get a row here."""

from __future__ import annotations

from pathlib import Path

import pytest
from diff_keys_kit import EDITS, POLICY

from guard.policy import Loaded, load_policy
from guard.policy.language import KEYS
from guard.review.differ import compare

UNTOLD = {
    "file.layers": "says which narrower folders load beside this one; of what may be called it says nothing",
    "layers.closed": "as above",
    "redact.names": "needs a package besides; it is told as regions are",
}
"""Keys that permit and forbid no call, with the reason."""


def folder(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "tools.yaml").write_text(text, "utf-8")
    return path


def test_every_key_of_the_language_has_an_edit() -> None:
    """A key that is added to the language must be added here, and so to what a diff tells."""
    assert {f"{table}.{key}" for table, keys in KEYS.items() for key in keys} == {*EDITS, *UNTOLD}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return load_policy(folder(tmp_path_factory.mktemp("keys") / "policy", POLICY))


@pytest.mark.parametrize("key", EDITS)
def test_what_a_key_changes_is_told(tmp_path: Path, before: Loaded, key: str) -> None:
    """Both ways; and no edit is without effect because it was not made."""
    old, new = EDITS[key]
    assert old in POLICY
    after = load_policy(folder(tmp_path / "policy", edited(key, old, new)))

    assert compare(before, after).changes
    assert compare(after, before).changes


def edited(key: str, old: str, new: str) -> str:
    """The renamed tool is renamed wherever it is named."""
    if key == "file.tools":
        return POLICY.replace("undo", "undo_it")
    return POLICY.replace(old, new, 1)
