"""Whose data goes: a name means whoever is called so, a reference is named as such, and what would go is said before it goes."""

from __future__ import annotations

import warnings
from contextlib import closing
from pathlib import Path

import pytest
from cli_kit import guard as command
from wire_helpers import message

from guard import Guard, PolicyWarning, Session
from guard.auditing.persons import names
from guard.runner.erasing import Payloads

KIM = Session(principal="kim.doe@example.com", roles=("staff",))


def look(x: str) -> str:
    return "seen " + x


def made(folder: Path) -> Guard:
    (folder / "policies").mkdir(exist_ok=True)
    (folder / "policies" / "tools.yaml").write_text("tools: {look: {kind: read, allow: [staff]}}\n", "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(folder / "policies", tools={"look": look}, store=f"sqlite:///{folder}/guard.db")


def talk(guard: Guard, who: Session, conversation: str) -> str:
    chat = guard.open(who, wire="openai-chat", conversation=conversation)
    chat.user("hello")
    chat.handle(message("openai-chat", ("k", "look", '{"x": "1"}')))
    return str(chat.ref.principal)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, str, str]:
    """A store of Kim and of somebody who is called what Kim's reference is: the folder, and both references."""
    with closing(made(tmp_path)) as guard:
        kim = talk(guard, KIM, "kims")
        return tmp_path, kim, talk(guard, Session(principal=kim, roles=("staff",)), "mallorys")


def test_a_name_like_a_reference_is_a_name(two: tuple[Path, str, str]) -> None:
    """What is typed means whoever is called so, in the library and in searches; the reference is asked for as such."""
    folder, kim, other = two
    with closing(made(folder)) as guard:
        found = Payloads(guard.store, guard.redactor)
        assert found.of(kim) == found.of(kim, "default") == (("default", "mallorys"),)
        assert found.under(kim) == found.of(KIM.principal) == (("default", "kims"),)
        assert found.under(kim, "another tenant") == ()
        assert found.whose(("default", "kims")) == (kim,)
        assert names(guard.store, kim, None) == names(guard.store, kim, "default") == other
        assert names(guard.store, other, None) == other  # nobody is called so


def test_erasing_says_whose_it_is_before(two: tuple[Path, str, str]) -> None:
    """A dry run takes nothing, names conversations and people; what is erased then is that, and nobody else's."""
    folder, kim, other = two
    words = ("audit", "erase", "--reason", "request")
    ran = command(*words, "--person", kim, "--dry-run", "--json", cwd=folder)
    one = {"tenant": "default", "conversation": "mallorys", "principals": [other], "calls": None}
    assert (ran.code, ran.json) == (0, {"would_erase": [one], "left": []})
    ran = command(*words, "--reference", kim, cwd=folder)
    assert ran.code == 1
    assert f"to be erased: everything of kims, a conversation of {kim} (tenant default)" in ran.err
    ran = command(*words, "--person", kim, "--yes", "--json", cwd=folder)
    assert [one["conversation"] for one in ran.json["conversations"]] == ["mallorys"]
    ran = command(*words, "--reference", kim, "--yes", "--json", cwd=folder)
    assert [one["conversation"] for one in ran.json["conversations"]] == ["kims"]
    ran = command(*words, "--person", "nobody", "--dry-run", cwd=folder)
    assert (ran.code, ran.out, ran.err) == (1, "", "guard: no record is about nobody\n")


def test_a_reference_is_written_as_records_show_it(two: tuple[Path, str, str]) -> None:
    """A name is no reference, for erasing; records are found by a reference alone."""
    folder, kim, other = two
    ran = command("audit", "erase", "--reference", KIM.principal, "--reason", "r", "--yes", cwd=folder)
    assert ran.code == 2
    assert "--person" in ran.err
    found = [command("audit", option, kim, "--json", cwd=folder).out for option in ("--reference", "--person")]
    assert [(kim in text, other in text) for text in found] == [(True, False), (False, True)]
    assert command("audit", "--reference", kim, "--person", kim, cwd=folder).code == 2
