"""What the model wrote beside its calls, as every wire reads it, whole and streamed; reasoning is none of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from provider import Provider
from test_words import ANN, load
from wire_helpers import every, message
from wire_talk import CLIENTS, EVENTS, ask, streamed

from guard import Guard
from guard.wires import wire

CALL = ("c1", "pay", '{"to": "bob", "amount": 5}')


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Guard]:
    with load(tmp_path) as made:
        yield made


THINK = "I secretly plan."
CHAT = message("openai-chat", CALL)
USE = {"type": "tool_use", "id": "c1", "name": "pay", "input": {}}
BLOCK = {"toolUse": {"toolUseId": "c1", "name": "pay", "input": {}}}
PART = {"functionCall": {"id": "c1", "name": "pay", "args": {}}}
ITEM = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": "{}"}


def item(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "content": parts}


REPLIES: dict[str, tuple[str, Any, str]] = {
    "chat": ("openai-chat", CHAT, "Let me see."),
    "chat, reasoning apart": ("openai-chat", {**CHAT, "reasoning_content": THINK, "reasoning": THINK}, "Let me see."),
    "chat, reasoning at the head": ("openai-chat", {**CHAT, "content": f"<think>{THINK}</think>\n\nSo."}, "So."),
    "chat, reasoning begun by the host": ("openai-chat", {**CHAT, "content": f"{THINK}</think>So."}, "So."),
    "chat, reasoning without an end": ("openai-chat", {**CHAT, "content": f"<think>{THINK}"}, ""),
    "chat, parts": (
        "openai-chat",
        {
            **CHAT,
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": THINK}]},
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b"},
            ],
        },
        "ab",
    ),
    "chat, null": ("openai-chat", {**CHAT, "content": None}, ""),
    "chat, blank": ("openai-chat", {**CHAT, "content": " \n"}, ""),
    "anthropic": (
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": THINK, "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b"},
                USE,
                {"type": "text", "text": "c"},
            ],
        },
        "ab\n\nc",
    ),
    "gemini": (
        "gemini",
        {"role": "model", "parts": [{"text": THINK, "thought": True}, {"text": "a"}, {"text": "b"}, PART, {"text": "c"}]},
        "ab\n\nc",
    ),
    "bedrock": (
        "bedrock-converse",
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": THINK}}},
                {"text": "a"},
                {"citationsContent": {"content": [{"text": "b"}], "citations": []}},
                BLOCK,
                {"text": "c"},
            ],
        },
        "ab\n\nc",
    ),
    "responses": (
        "openai-responses",
        {
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": THINK}]},
                item("a", "b"),
                ITEM,
                item("c"),
            ]
        },
        "ab\n\nc",
    ),
}


@pytest.mark.parametrize(("name", "reply", "words"), REPLIES.values(), ids=REPLIES)
def test_what_a_wire_reads(name: str, reply: Any, words: str) -> None:
    """The texts beside the calls, in order, those that stand together as one; reasoning is none of it, and neither is anything else."""
    assert wire(name).read(reply).words == words


@every
def test_a_reply_without_calls_has_no_words(name: str) -> None:
    """Nothing is held, so nothing is kept."""
    assert wire(name).read(message(name)).words == ""


@pytest.mark.parametrize("name", sorted(EVENTS))
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "streamed"])
def test_the_words_of_a_reply_are_kept_with_its_question(plain: Guard, name: str, whole: bool) -> None:
    """Through the real client, as one reply and as a stream: the same words."""
    chat = plain.open(ANN, wire=name, conversation="c")
    with Provider([streamed(name, CALL)]) as provider, CLIENTS[name](provider) as client:
        messages = [chat.user("go")]
        stream = chat.stream(ask(name, client, messages, chat.tools, stream=True), history=messages)
        turn = chat.handle(stream_reply(stream), history=messages) if whole else stream.turn()
    assert turn.pending[0].words.text == "Let me see."
    assert plain.approvals.show(turn.pending[0].id).words == turn.pending[0].words


def stream_reply(stream: Any) -> Any:
    """The whole reply of a stream, as a loop that collects it would have it."""
    for _ in stream:
        pass
    return stream._collector.reply()
