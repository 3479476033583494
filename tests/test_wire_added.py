"""One file and one row are a wire: the smallest one, written from the README, plays every scenario as the others do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conformance
import pytest
from conformance import Seen, Way, loaded, play
from conformance_scenarios import SCENARIOS
from toy_wire import SPELLING, Toy

from guard import Guard, WireError, wires
from guard.wires.names import Spelling


class ToyWay(Way):
    """The toy wire's row: how its model speaks, and what its provider would take."""

    @classmethod
    def carries(cls, wire: str, scenario: Any) -> bool:
        return True

    def handle(self, named: list[Any], *, cut: bool) -> Any:
        calls = [{"no": call_id, "do": tool, "with": text} for call_id, tool, text in named]
        reply = {"role": "assistant", "say": "hm", "calls": calls, **({"end": "cut"} if cut else {})}
        return self.chat.handle(reply, history=self.history)

    def sendable(self, turn: Any) -> None:
        asked = [call["no"] for call in turn.append[0]["calls"]]
        assert asked == [result["no"] for result in turn.append[1:]]
        assert len(set(asked)) == len(asked)
        assert all(SPELLING.takes(call["do"]) for call in turn.append[0]["calls"])
        assert [result["failed"] for result in turn.messages] == [one.error for one in turn.outcomes]


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    monkeypatch.setattr(wires, "WIRES", {**wires.WIRES, "toy": Toy()})
    monkeypatch.setattr(conformance, "legal", lambda name, history: None)
    with loaded(tmp_path) as made:
        yield made


def test_the_smallest_wire_behaves_as_the_others(guard: Guard) -> None:
    """Each scenario, answered at once and suspended, gives what `openai-chat` gives."""

    def played(way: Way, name: str) -> list[Seen]:
        return play(way, SCENARIOS[name])

    for held in ("answer", "suspend"):
        for name in SCENARIOS:
            tenant = name.replace(":", "")
            first = played(Way(guard, "openai-chat", "answer", f"{tenant} {held} first"), name)
            assert played(ToyWay(guard, "toy", held, f"{tenant} {held}"), name) == first


def test_a_wire_without_a_collector_says_that_it_reads_no_streams(guard: Guard) -> None:
    """Streams are a further step: without it the wire says so."""
    chat = guard.open(conformance.STAFF, wire="toy", conversation="c")
    with pytest.raises(WireError, match="toy reads no streams"):
        chat.stream([])


def test_a_stored_reply_reads_as_it_was() -> None:
    """As of every wire: whatever a model called the tool, what is stored is in names that the provider takes, and is stored the same again."""
    calls = [{"no": "", "do": name, "with": "{}"} for name in ("lo.ok", "look", "a" * 200, "", "é" * 30)]
    reply = Toy().read({"role": "assistant", "say": "hm", "calls": calls})
    again = Toy().read(Toy().joined(Toy().stored(reply)))
    assert again.kept == reply.kept == again.calls
    assert Toy().stored(again) == Toy().stored(reply)
    assert all(SPELLING.takes(call.tool) for call in again.calls)


@pytest.mark.parametrize("letter", [False, True])
@pytest.mark.parametrize("most", [4, 8, 9, 10, 20, 30, 48, 49, 63, 64, 128])
def test_a_made_name_is_one_that_the_provider_takes(most: int, *, letter: bool) -> None:
    """However short its names have to be, and the same when it is made again; other tools get other names."""
    spelling = Spelling(most=most, letter=letter)
    made = {spelling.legal(name, digits) for name in ("a.b", "x" * 200, "9" * 200, "-.", "é" * 90, "") for digits in (8, 22)}
    assert all(spelling.takes(name) and spelling.legal(name) == name for name in made)
    assert len(made) >= 6


def test_the_readme_names_every_verb_that_a_wire_must_have() -> None:
    """What the toy wire defines is what "Add a wire" lists."""
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8").partition("### Add a wire")[2].partition("\n2. ")[0]
    named = set(re.findall(r"`(\w+)`", text.partition("with `name`")[2].partition("What each must")[0]))
    own = {name for name, value in vars(Toy).items() if callable(value) and not name.startswith("_")}
    assert own == named - {"name", "most_calls", "spelling"}


def test_every_table_that_the_readme_names_is_there() -> None:
    """What a newcomer is sent to exists where "Add a wire" says."""
    step = (
        (Path(__file__).parent.parent / "README.md")
        .read_text("utf-8")
        .partition("\n5. Add the wire's form")[2]
        .partition("\n\n")[0]
    )
    waiting: list[str] = []
    found = 0
    for name in re.findall(r"`([^`]+)`", step.partition(" Then `")[0]):
        if not name.endswith(".py"):
            waiting.append(name)
            continue
        text = (Path(__file__).parent.parent / "tests" / Path(name).name).read_text("utf-8")
        for one in waiting:
            assert re.search(rf"^(def )?{re.escape(one)}\b", text, re.MULTILINE), (one, name)
        found += len(waiting)
        waiting = []
    assert found >= 15
    assert waiting == []
