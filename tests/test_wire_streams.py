"""Streams through the real clients: every event passes unchanged, and the calls are those of the whole reply, handled when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from provider import Provider
from wire_helpers import answers, every
from wire_talk import CLIENTS, ask, legal, streamed

from guard import Guard, Session

SESSION = Session(principal="E1", roles=("staff",))
POLICY = """
tools:
  look: {kind: read, allow: [staff]}
  act: {kind: action, allow: [staff], approve: never}
limits: {run: {calls: 100}}
"""
CALLS = [("c1", "look", '{"n": 1, "text": "a b c d e f g"}'), ("c2", "act", '{"n": 2, "text": "h"}')]


class Ran(list[Any]):
    """What ran, in order."""

    def look(self, n: int, text: str = "") -> dict[str, Any]:
        self.append(("look", n, text))
        return {"n": n}

    def act(self, n: int, text: str = "") -> dict[str, Any]:
        self.append(("act", n, text))
        return {"n": n}


@pytest.fixture
def ran() -> Ran:
    return Ran()


@pytest.fixture
def guard(tmp_path: Any, ran: Ran) -> Any:
    (tmp_path / "tools.yaml").write_text(POLICY)
    with Guard.load(tmp_path, tools={"look": ran.look, "act": ran.act}, store="memory://") as made:
        yield made


@every
def test_a_stream_passes_on_and_its_calls_run_when_it_is_over(guard: Any, ran: Ran, name: str) -> None:
    """The host sees each event of the SDK as it is; nothing runs before `turn`, and then what the whole reply would have run."""
    chat = guard.open(SESSION, wire=name, conversation="c")
    script = [streamed(name, *CALLS), streamed(name, *CALLS), streamed(name)]
    with Provider(script) as provider, CLIENTS[name](provider) as client:
        messages = [chat.user("go")]
        plain = ask(name, client, messages, chat.tools, stream=True)
        wanted = [str(event) for event in (plain["stream"] if isinstance(plain, dict) else plain)]
        stream = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages)
        seen = [str(event) for event in stream]
        assert ran == []
        turn = stream.turn()
        messages += turn.append
        last = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages).turn()
        assert provider.rejections == []

    assert len(seen) == len(wanted) > 4
    assert stream.complete
    assert ran == [("look", 1, "a b c d e f g"), ("act", 2, "h")]
    assert answers(name, turn.messages) == [("c1", '{"n":1}'), ("c2", '{"n":2}')]
    assert stream.turn() is turn
    assert last.stop == "done"
    legal(name, messages)
