"""`guard approvals unknown`: what is in doubt, shown in full to whoever may see it, and settled by whoever may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from cli_kit import USER, Run, program

from guard import Guard, OutcomeUnknownError, Session, ToolCall

CLERK = "principal: E1, tenant: acme, roles: [clerk]"
BOSS = "principal: E2, tenant: acme, roles: [boss]"
POLICY = """
tools:
  pay: {kind: action, allow: [clerk], approve: never}
  wire: {kind: action, allow: [clerk], approve: {by: [boss]}}
limits: {run: {calls: 100}}
people:
"""
SESSION = Session(principal="E1", tenant="acme", roles=("clerk",))


def folder(path: Path, person: str = CLERK, user: str = USER) -> Path:
    path.mkdir(exist_ok=True)
    (path / "tools.yaml").write_text(f'{POLICY}  "{user}": {{{person}}}\n', "utf-8")
    return path


def pay(to: str, note: str = "") -> None:
    """Pay somebody."""
    raise OutcomeUnknownError


def wire(to: str) -> None:
    """Wire to somebody."""
    raise OutcomeUnknownError


@contextmanager
def doubting(path: Path) -> Iterator[Guard]:
    """A store with one call in doubt that its requester may settle."""
    made = Guard.load(folder(path / "policies"), tools=[pay, wire], store=f"sqlite:///{path / 'guard.db'}")
    with closing(made):
        arguments = '{"to": "bob\\u202e", "note": "for kim@example.com"}'
        assert made.call(ToolCall("c1", "pay", arguments), SESSION, conversation="conv\u200b-1").status == "unknown"
        yield made


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Guard]:
    with doubting(tmp_path) as found:
        yield found


def name(made: Guard) -> str:
    return made.unknown.list()[0].id


def wired(made: Guard) -> str:
    """A call in doubt that another person must settle."""
    boss = Session(principal="E2", tenant="acme", roles=("boss",))
    chat = made.open(SESSION, wire="openai-chat", conversation="wires")
    sent = {"id": "w1", "type": "function", "function": {"name": "wire", "arguments": '{"to": "ann"}'}}
    chat.handle({"role": "assistant", "tool_calls": [sent]})
    made.approvals.approve(made.approvals.list()[0].id, approver=boss)
    chat.settled()
    return next(one.id for one in made.unknown.list() if one.tool == "wire")


@pytest.mark.parametrize("words", [(), ("list",)], ids=["bare", "list"])
def test_list_shows_what_is_in_doubt_without_arguments(words: tuple[str, ...], run: Run, made: Guard) -> None:
    """Id, tool, class, time, requester, conversation with hidden characters spelled out, and what one can do."""
    ran = run("approvals", "unknown", *words)
    assert ran.code == 0
    row = ran.out.splitlines()[-1]
    assert row.startswith(name(made))
    assert all(text in row for text in ("pay", "once", "E1", "conv[U+200B]-1", "UTC", "may settle it"))
    assert "bob" not in ran.out


def test_list_says_whose_word_is_needed(run: Run, made: Guard, tmp_path: Path) -> None:
    """One's own call that another person must settle is told from one that waits for oneself."""
    wired(made)
    assert run("approvals", "unknown").out.splitlines()[-1].endswith("yours, another person must settle it")
    found = {one["tool"]: one["you_may_settle"] for one in run("approvals", "unknown", "--json").json}
    assert found == {"pay": True, "wire": False}
    folder(tmp_path / "policies", BOSS)
    assert [one["tool"] for one in run("approvals", "unknown", "list", "--json").json] == ["wire"]


@pytest.mark.parametrize(
    "text",
    [
        "tool          pay (once)",
        "asked for by  E1 in acme",
        "where         conv[U+200B]-1, turn 1, position 0",
        "attempt 1",
        "approval      none was needed",
        'to: "bob[U+202E]"',
        "may or may not have taken effect",
    ],
)
def test_show_tells_everything(text: str, run: Run, made: Guard) -> None:
    """Every argument in full, hidden characters spelled out, and that nobody knows."""
    assert text in run("approvals", "unknown", "show", name(made)).out


def test_show_gives_the_key_to_look_for(run: Run, made: Guard) -> None:
    """What the tool was given to tell this act from others."""
    one = made.unknown.list()[0]
    assert one.key in run("approvals", "unknown", "show", one.id).out
    found = run("approvals", "unknown", "show", one.id, "--json").json
    assert (found["key"], found["id"], found["arguments"]["to"]) == (one.key, one.id, "bob\u202e")


@pytest.mark.parametrize(
    ("word", "status", "told"),
    [("--happened", "done", "it took effect"), ("--did-not-happen", "failed", "it did not take effect")],
)
@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_resolve_settles_it(word: str, status: str, told: str, json: bool, run: Run, made: Guard) -> None:
    """By this person's word, with how they found out; the program is told when it goes on."""
    one = made.unknown.list()[0]
    ran = run("approvals", "unknown", "resolve", one.id[:8], word, "--reason", "Asked kim@example.com", *(["--json"] * json))
    assert ran.code == 0
    assert (ran.json["happened"] == (status == "done")) if json else (ran.out.startswith(f"{one.id}: {told}, says E1"))
    assert made.unknown.list() == ()
    chat = made.open(SESSION, wire="openai-chat", conversation="conv\u200b-1")
    assert "Asked [email]" in str(chat.settled())
    again = run("approvals", "unknown", "resolve", one.id, word, "--reason", "again")
    assert (again.code, again.out) == (1, "")


@pytest.mark.parametrize(
    "words",
    [
        ("resolve", "un_x", "--happened"),
        ("resolve", "un_x", "--reason", "r"),
        ("resolve", "un_x", "--happened", "--did-not-happen", "--reason", "r"),
        ("resolve", "un_x", "--happened", "--reason", "  "),
        ("resolve", "--happened", "--reason", "r"),
        ("show",),
        ("settle", "un_x"),
    ],
    ids=["no reason", "no word", "both words", "blank reason", "no id", "show nothing", "no such verb"],
)
def test_misuse_settles_nothing(words: tuple[str, ...], run: Run, made: Guard) -> None:
    """What is not said clearly is no word: exit code 2, and the call stays in doubt."""
    ran = run("approvals", "unknown", *(name(made) if word == "un_x" else word for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err != ""
    assert len(made.unknown.list()) == 1


STRANGERS = {
    "another role": "principal: E3, tenant: acme, roles: [clerk]",
    "another tenant": "principal: E1, tenant: globex, roles: [clerk, boss]",
    "a boss": BOSS,
}


@pytest.mark.parametrize("verb", ["show", "resolve"])
@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_learns_nothing(case: str, verb: str, run: Run, made: Guard, tmp_path: Path) -> None:
    """The same answer as for a call that is not there; whose word nobody needs sees nothing either."""
    folder(tmp_path / "policies", STRANGERS[case])
    words = ("--happened", "--reason", "r") if verb == "resolve" else ()
    one = name(made)
    there, nowhere = (run("approvals", "unknown", verb, given, *words) for given in (one, "un_zzzzzz"))
    assert (there.code, there.out) == (nowhere.code, nowhere.out) == (1, "")
    assert there.err.replace(one, "un_zzzzzz") == nowhere.err
    assert "un_" not in run("approvals", "unknown").out
    assert len(made.unknown.list()) == 1


def test_the_requester_sees_what_another_person_must_settle(run: Run, made: Guard) -> None:
    """They may look; their word does not count, and they are told why."""
    one = wired(made)
    assert run("approvals", "unknown", "show", one).code == 0
    ran = run("approvals", "unknown", "resolve", one, "--happened", "--reason", "r")
    assert (ran.code, "another person must" in ran.err) == (1, True)


@pytest.mark.parametrize(
    "short", ["un_", "un_zz", "un_zzz", "", "%", "un____"], ids=["kind", "few", "other", "none", "like", "any"]
)
def test_what_names_no_call_is_not_guessed(short: str, run: Run, made: Guard) -> None:
    """Too short or not the beginning of anything: the whole id is asked for."""
    ran = run("approvals", "unknown", "show", short)
    assert (ran.code, ran.err) == (1, f"guard: there is no call {short} in doubt that E1 may see; give the whole id\n")


def test_a_hostile_name_is_spelled_out(run: Run, made: Guard) -> None:
    """What a person typed cannot move their cursor."""
    ran = run("approvals", "unknown", "show", "un_\x1b[2Jxyz")
    assert (ran.code, "un_[U+001B][2Jxyz" in ran.err) == (1, True)


def test_nothing_is_in_doubt(run: Run, tmp_path: Path) -> None:
    """Said so, for whom; JSON is an empty list."""
    Guard.load(folder(tmp_path / "policies"), tools=[pay, wire], store=f"sqlite:///{tmp_path / 'guard.db'}").close()
    assert (ran := run("approvals", "unknown")).out == "nothing is in doubt for E1 in the tenant acme\n"
    assert (ran.code, run("approvals", "unknown", "--json").json) == (0, [])


def test_options_count_before_and_behind_the_verb(run: Run, made: Guard, tmp_path: Path) -> None:
    """Neither place is without effect."""
    (tmp_path / "policies").rename(tmp_path / "elsewhere")
    for words in (("--policy", "elsewhere", "--json", "list"), ("list", "--json", "--policy", "elsewhere")):
        assert [one["id"] for one in run("approvals", "unknown", *words).json] == [name(made)]
    assert run("approvals", "unknown", "--policy", "elsewhere", "list", "--policy", "nowhere").code == 2
    assert run("approvals", "unknown", "--store", "sqlite:///none.db", "list", "--policy", "elsewhere").code == 2


@pytest.mark.parametrize("words", [(), ("list",), ("show",), ("resolve",)], ids=lambda words: " ".join(words) or "bare")
def test_help_says_what_unknown_means(words: tuple[str, ...], run: Run) -> None:
    """Each verb has help with the defaults in it; the whole says that the call may have taken effect."""
    ran = run("approvals", "unknown", *words, "--help")
    assert (ran.code, "default: policies/" in ran.out, "SUPPRESS" in ran.out) == (0, True, False)
    if not words:
        assert "may or may not have taken effect" in " ".join(ran.out.split())


def test_a_user_that_the_policy_does_not_know_sees_nothing(run: Run, made: Guard, tmp_path: Path) -> None:
    """The lines that would make them known are told, with exit code 1."""
    folder(tmp_path / "policies", CLERK, "somebody-else")
    ran = run("approvals", "unknown")
    assert (ran.code, ran.out, f"the operating-system user {USER} is nobody" in ran.err) == (1, "", True)


PROGRAM = """
import os
from guard import Guard, Session, ToolCall
def pay(to: str, note: str = "") -> None:
    os._exit(9)
def wire(to: str) -> None:
    pass
guard = Guard.load("policies", tools=[pay, wire])
session = Session(principal="E1", tenant="acme", roles=("clerk",))
print(guard.call(ToolCall("c1", "pay", '{"to": "bob"}'), session, conversation="c", key="k").status)
"""


def test_a_call_whose_program_died_is_settled_from_outside(run: Run, tmp_path: Path) -> None:
    """A program ends in the middle of a call, a person looks and says what became of it, the program goes on."""
    folder(tmp_path / "policies")
    assert program(PROGRAM, cwd=tmp_path).code == 9
    listed = run("approvals", "unknown", "list", "--json").json
    assert [one["tool"] for one in listed] == ["pay"]
    run("approvals", "unknown", "resolve", listed[0]["id"], "--happened", "--reason", "booked")
    assert program(PROGRAM, cwd=tmp_path).out == "done\n"
