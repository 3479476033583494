"""The wires find answered and open calls in a history, and close the open ones where the provider wants them."""

from __future__ import annotations

import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_helpers import ANTHROPIC, OPENAI, PNG, answers, both, fingerprint, given_results, message, outcome

from guard.errors import WireError
from guard.wires import wire

HELLO = {"role": "user", "content": "hello"}


def said(name, *ids):
    return message(name, *((text, "a", "{}" if name == "openai-chat" else {}) for text in ids))


def split(name, results):
    """Each result in a message of its own."""
    if name == "openai-chat":
        return results
    return [{"role": "user", "content": [block]} for item in results for block in item["content"]]


ID_SETS = {"fine": ("a", "b"), "repeated": ("dup", "dup"), "empty": ("", ""), "illegal": ("a.b", "a:b")}


@both
@pytest.mark.parametrize("ids", ID_SETS.values(), ids=ID_SETS.keys())
def test_answered_messages_are_found_as_stored_or_as_sent(name, ids):
    """A message with all its results counts, whether the host keeps the stored form or the provider's own ids."""
    raw = said(name, *ids)
    reply = wire(name).read(raw)
    stored, results = wire(name).stored(reply)[0], given_results(name, reply)
    renamed = (
        [{**item, "tool_call_id": text} for item, text in zip(results, ids, strict=True)] if name == "openai-chat" else results
    )
    expected = [fingerprint(reply.kept)]

    assert expected == wire(name).answered([HELLO, stored, *results, HELLO], fingerprint)
    assert expected == wire(name).answered([stored, *split(name, results)], fingerprint)
    assert expected == wire(name).answered([raw, *results], fingerprint)
    assert expected == wire(name).answered([raw, *renamed], fingerprint)
    assert expected * 2 == wire(name).answered([stored, *results, stored, *results, stored], fingerprint)
    assert wire(name).open_calls([stored, *results]) is None


@both
def test_objects_in_a_history_are_read_like_dicts(name):
    """A history may mix dicts with objects."""
    reply = wire(name).read(said(name, "a"))
    history = [SimpleNamespace(**item) for item in (HELLO, wire(name).stored(reply)[0], *given_results(name, reply))]

    assert [fingerprint(reply.kept)] == wire(name).answered(history, fingerprint)
    assert [HELLO, reply.store, *given_results(name, reply)] == wire(name).dump(history)


@both
def test_a_call_is_not_answered_by_another_messages_result(name):
    """Ids are scoped to their message: a result after the next assistant message answers that one."""
    reply = wire(name).read(said(name, "0"))
    results = given_results(name, reply)
    history = [HELLO, reply.store, reply.store, *results]

    assert [fingerprint(reply.kept)] == wire(name).answered(history, fingerprint)
    index, found, positions = wire(name).open_calls(history)
    assert (1, reply.kept, frozenset()) == (index, found.kept, positions)


@both
@pytest.mark.parametrize("done", [(), (0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
@pytest.mark.parametrize("tail", [[], [HELLO]], ids=["at the end", "before more"])
@pytest.mark.parametrize("ids", [("a", "b", "c"), ("dup", "dup", "dup"), ("", "a.b", "")], ids=["fine", "repeated", "odd"])
def test_open_calls_are_closed_in_call_order(name, done, tail, ids):
    """The missing results appear directly after their message, in call order, and those that were there stay."""
    reply = wire(name).read(said(name, *ids))
    results = [item for at, item in enumerate(split(name, given_results(name, reply, "old"))) if at in done]
    history = [HELLO, wire(name).stored(reply)[0], *results, *tail]
    index, found, positions = wire(name).open_calls(history)
    lacking = {at: outcome(call, "new") for at, call in enumerate(found.calls) if at not in done}
    closed = wire(name).close(history, index, found, lacking)

    assert (1, frozenset(done)) == (index, positions)
    assert [HELLO, reply.store] == closed[:2]
    wanted = [(call.id, "old" if at in done else "new") for at, call in enumerate(reply.kept)]
    assert wanted == answers(name, closed)
    assert len(closed) == 2 + (1 if name == "anthropic" else 3) + len(tail)
    assert closed[-len(tail) :] == tail or not tail
    assert wire(name).open_calls(closed) is None


@both
def test_closing_without_an_outcome_raises(name):
    """An open call without an outcome is never left open quietly."""
    reply = wire(name).read(said(name, "a", "b"))
    with pytest.raises(WireError, match=r"positions \[1\]"):
        wire(name).close([reply.store], 0, reply, {0: outcome(reply.calls[0])})


def test_openai_closing_moves_results_up_and_drops_those_without_a_call():
    """Words between results follow them, results of nobody and second results go, pictures come after the last result."""
    reply = OPENAI.read(said("openai-chat", "a", "b"))
    stray = {"role": "tool", "tool_call_id": "nobody", "content": "?"}
    late = {"role": "tool", "tool_call_id": "a", "content": "old"}
    closed = OPENAI.close([reply.store, HELLO, stray, late, late, HELLO], 0, reply, {1: outcome(reply.calls[1], (PNG,))})

    assert [item["role"] for item in closed] == ["assistant", "tool", "tool", "user", "user", "user"]
    assert answers("openai-chat", closed) == [("a", "old"), ("b", "[picture 1 follows]")]
    assert isinstance(closed[3]["content"], list)


def test_anthropic_closing_merges_into_the_message_with_results():
    """Missing results join the user message that holds some, before its other blocks; its words and later messages stay."""
    reply = ANTHROPIC.read(said("anthropic", "a", "b"))
    words = {"type": "text", "text": "and hurry"}
    held = {"type": "tool_result", "tool_use_id": "b", "content": "old"}
    history = [reply.store, HELLO, {"role": "user", "content": [words, held]}, {"role": "user", "content": [held, words]}, HELLO]
    closed = ANTHROPIC.close(history, 0, reply, {0: outcome(reply.calls[0], "new")})

    assert answers("anthropic", closed) == [("a", "new"), ("b", "old")]
    assert [block["type"] for block in closed[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert [words] == closed[3]["content"]
    assert len(closed) == 5


# -- all at once -------------------------------------------------------------------------------------------------------


def close_one_by_one(name, history, outcomes_of):
    """What `close_all` must do, said with the verbs for single messages."""
    messages = wire(name).dump(history)
    while (found := wire(name).open_calls(messages)) is not None:
        index, reply, _ = found
        messages = wire(name).close(messages, index, reply, outcomes_of(reply))
    return messages


def new_outcomes(reply):
    return {at: outcome(call, "new") for at, call in enumerate(reply.calls)}


@both
@given(data=st.data())
def test_closing_all_is_closing_each(name, data):
    """For any mix of messages, answers and words: one pass gives what closing message by message gives, and nothing stays open."""
    history = []
    for _ in range(data.draw(st.integers(0, 4))):
        history += data.draw(st.lists(st.just(HELLO), max_size=1))
        ids = data.draw(st.lists(st.sampled_from(["a", "b", "", "a.b"]), max_size=3))
        reply = wire(name).read(said(name, *ids))
        results = split(name, given_results(name, reply, "old"))
        history += [reply.store, *data.draw(st.permutations([item for item in results if data.draw(st.booleans())]))]
    closed = wire(name).close_all(history, new_outcomes)

    assert close_one_by_one(name, history, new_outcomes) == closed
    assert wire(name).open_calls(closed) is None
    assert wire(name).close_all(closed, lambda reply: {}) == closed


@both
def test_closing_all_asks_once_for_each_open_message_oldest_first(name):
    """Messages that have all their results are not asked about; of the answer only open positions are looked up."""
    first, second, third = (wire(name).read(said(name, *ids)) for ids in (("a",), ("b", "c"), ("d",)))
    history = [first.store, HELLO, second.store, *given_results(name, second), HELLO, third.store]
    asked = []

    def outcomes_of(reply):
        asked.append(reply.kept)
        return new_outcomes(reply)

    closed = wire(name).close_all(history, outcomes_of)

    assert [first.kept, third.kept] == asked
    assert [text for text, _ in answers(name, closed)] == ["a", "b", "c", "d"]


@both
def test_closing_all_without_an_outcome_raises(name):
    """An open call without an outcome is never left open quietly."""
    with pytest.raises(WireError, match=r"positions \[0\]"):
        wire(name).close_all([said(name, "a")], lambda reply: {})


@both
def test_closing_all_costs_linear_time(name):
    """Four times as many open messages take about four times as many steps of the interpreter."""

    def steps(size):
        history = [said(name, f"c{number}") for number in range(size)]
        taken = Counter()

        def step(frame, event, _):
            frame.f_trace_opcodes = True
            taken[event] += 1
            return step

        before = sys.gettrace()
        sys.settrace(step)
        try:
            wire(name).close_all(history, new_outcomes)
        finally:
            sys.settrace(before)
        return taken["opcode"]

    wire(name).close_all([said(name, "c")], new_outcomes)  # what is made once is made
    assert 100 < steps(400) < steps(100) * 4.5


@both
@pytest.mark.parametrize("entry", [None, "hello", 3, ["x"]], ids=repr)
def test_what_is_no_message_cannot_be_dumped(name, entry):
    """A history holds messages; anything else is a WireError."""
    with pytest.raises(WireError, match="expected a message"):
        wire(name).dump([HELLO, entry])


@both
def test_made_up_calls_do_not_count(name):
    """A history without calls has nothing answered and nothing open."""
    history = [HELLO, {"role": "assistant", "content": "hi"}, HELLO]

    assert wire(name).answered(history, fingerprint) == []
    assert wire(name).open_calls(history) is None
    assert history == wire(name).dump(history)
