"""OpenAI Responses, answers: each kind of call that the host runs, where its arguments stand, and its result in the form that belongs to it.

Pure. May not pair results with calls: that is the wire's. Comes after `texts`, before the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from guard.core.model import Block, Image, Outcome
from guard.core.values import Json, JsonObject
from guard.wires.texts import blocks_of, spoken, text_of


@dataclass(frozen=True, slots=True)
class Kind:
    """A call in its own form: where its arguments stand, which tool it means if it names none, and its result."""

    payload: str
    tool: str
    answer: Callable[[Outcome], JsonObject]


def content(blocks: Sequence[Block]) -> Json:
    """Blocks as the content of a message or result: a text, or texts and pictures in order."""
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [_image(block) if isinstance(block, Image) else {"type": "input_text", "text": text_of(block)} for block in blocks]


def _image(picture: Image) -> JsonObject:
    if picture.document:
        url = f"data:{picture.media_type};base64,{picture.data}"
        return {"type": "input_file", "filename": "document.pdf", "file_data": url}
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{picture.media_type};base64,{picture.data}"}


def _text(outcome: Outcome) -> str:
    return "\n".join(map(spoken, blocks_of(outcome)))


def _function(outcome: Outcome) -> JsonObject:
    return {"type": "function_call_output", "output": content(blocks_of(outcome, documents=True))}


def _custom(outcome: Outcome) -> JsonObject:
    return {"type": "custom_tool_call_output", "output": content(blocks_of(outcome, documents=True))}


def _local_shell(outcome: Outcome) -> JsonObject:
    return {"type": "local_shell_call_output", "output": _text(outcome)}


def _shell(outcome: Outcome) -> JsonObject:
    error, text = outcome.error, _text(outcome)
    exit_code = {"type": "exit", "exit_code": int(error)}
    return {
        "type": "shell_call_output",
        "output": [{"stdout": "" if error else text, "stderr": text if error else "", "outcome": exit_code}],
    }


def _patch(outcome: Outcome) -> JsonObject:
    return {"type": "apply_patch_call_output", "status": "failed" if outcome.error else "completed", "output": _text(outcome)}


KINDS: Mapping[Json, Kind] = {
    "function_call": Kind("arguments", "", _function),
    "custom_tool_call": Kind("input", "", _custom),
    "local_shell_call": Kind("action", "local_shell", _local_shell),
    "shell_call": Kind("action", "shell", _shell),
    "apply_patch_call": Kind("operation", "apply_patch", _patch),
}
"""The calls that the host runs, by the type of their item."""
