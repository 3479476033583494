"""What the two providers reject about a request, as far as tool calls go: text of the error, or None for a good request.

Written from the providers' documented rules and error texts. Knows nothing of `guard`, so that the wires are judged by others' rules.
"""

from __future__ import annotations

import json
import re

TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class RejectedError(Exception):
    """A request that the provider answers with status 400."""


def need(good: object, problem: str) -> None:
    if not good:
        raise RejectedError(problem)


# -- OpenAI Chat Completions -----------------------------------------------------------------------------------------


def check_openai(body: dict) -> None:
    """Raise RejectedError for a request that Chat Completions, or a strict compatible host, would not take."""
    need(isinstance(body.get("messages"), list) and body["messages"], "'messages' must be a list that is not empty")
    for number, tool in enumerate(body.get("tools", [])):
        name = tool["function"]["name"]
        need(OPENAI_NAME.fullmatch(name), f"Invalid 'tools[{number}].function.name': {name!r} does not match the pattern")
    waiting: list[str] = []  # ids of calls without a result; a name where the deprecated form was used
    for number, message in enumerate(body["messages"]):
        role, where = message.get("role"), f"messages.[{number}]"
        if role in ("tool", "function"):
            _openai_result(message, waiting, where)
            continue
        need(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages; lacking: {waiting}")
        need(role in ("system", "developer", "user", "assistant"), f"Invalid value for '{where}.role': {role!r}")
        if role == "assistant":
            waiting = _openai_assistant(message, where)
        else:
            _openai_words(message, where)
    need(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages; lacking: {waiting}")


def _openai_assistant(message: dict, where: str) -> list[str]:
    content = message.get("content")
    if "function_call" in message:
        return [_openai_function(message["function_call"], where)]
    if "tool_calls" not in message:
        need(isinstance(content, str | list) or message.get("refusal"), f"Invalid value for '{where}.content': expected a string")
        return []
    calls = message["tool_calls"]
    need(isinstance(calls, list) and calls, f"[] is too short - '{where}.tool_calls'")
    need(len(calls) <= 128, f"Invalid '{where}.tool_calls': array too long. Expected at most 128, got {len(calls)}")
    ids = [call.get("id") for call in calls]
    need(all(isinstance(text, str) and text for text in ids), f"Missing '{where}.tool_calls.id'")
    need(len(set(ids)) == len(ids), f"Duplicate value for 'tool_call_id' in {where}")
    for call in calls:
        need(call.get("type") in ("function", "custom"), f"Missing '{where}.tool_calls.type'")
        if call["type"] == "function":
            _openai_function(call["function"], where)
        else:
            need(isinstance(call["custom"].get("input"), str), f"'{where}.tool_calls.custom.input' must be a string")
    return ids


def _openai_function(function: dict, where: str) -> str:
    name, arguments = function.get("name"), function.get("arguments")
    need(isinstance(name, str) and OPENAI_NAME.fullmatch(name), f"{name!r} does not match the pattern - '{where}.function.name'")
    need(isinstance(arguments, str), f"'{where}.function.arguments' must be a string")
    try:
        json.loads(arguments)
    except ValueError:
        raise RejectedError(f"'{where}.function.arguments' is not JSON") from None
    return name


def _openai_result(message: dict, waiting: list[str], where: str) -> None:
    key = message.get("tool_call_id") if message["role"] == "tool" else message.get("name")
    need(key in waiting, f"'{where}': a message with role 'tool' must be a response to a preceding message with 'tool_calls'")
    waiting.remove(key)
    content = message.get("content")
    if isinstance(content, list):
        need(all(part.get("type") == "text" for part in content), f"'{where}': role 'tool' takes text parts only, no image")
    else:
        need(isinstance(content, str), f"Invalid value for '{where}.content': expected a string")


def _openai_words(message: dict, where: str) -> None:
    content = message.get("content")
    need(isinstance(content, str) or (isinstance(content, list) and content), f"Invalid value for '{where}.content'")
    for part in content if isinstance(content, list) else []:
        need(part.get("type") in ("text", "image_url"), f"Invalid value for '{where}.content.type'")
        need(part["type"] == "text" or message["role"] == "user", f"'{where}': pictures are for the role 'user'")


# -- Anthropic Messages ----------------------------------------------------------------------------------------------


def check_anthropic(body: dict) -> None:
    """Raise RejectedError for a request that the Messages API, or a strict compatible host, would not take."""
    need(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
    need(isinstance(body.get("messages"), list) and body["messages"], "messages: at least one message is required")
    for number, tool in enumerate(body.get("tools", [])):
        need(ANTHROPIC_NAME.fullmatch(tool["name"]), f"tools.{number}.custom.name: String should match pattern")
        need(tool["input_schema"].get("type") == "object", f"tools.{number}.custom.input_schema.type: Field required")
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        where = f"messages.{number}"
        need(set(message) == {"role", "content"}, f"{where}: Extra inputs are not permitted, or a field is missing")
        need(message["role"] in ("user", "assistant"), f"{where}.role: Input should be 'user' or 'assistant'")
        need(message["content"], f"{where}: all messages must have non-empty content")
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        _anthropic_texts(blocks, where)
        _anthropic_results(blocks if message["role"] == "user" else [], waiting, where)
        waiting = _anthropic_uses(blocks, where) if message["role"] == "assistant" else []
    need(not waiting, f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}")


def _anthropic_texts(blocks: list[dict], where: str) -> None:
    for block in blocks:
        need(isinstance(block, dict) and block.get("type"), f"{where}.content: type: Field required")
        if block["type"] == "text":
            need(str(block.get("text") or "").strip(), f"{where}: text content blocks must be non-empty")


def _anthropic_uses(blocks: list[dict], where: str) -> list[str]:
    uses = [block for block in blocks if block["type"] == "tool_use"]
    need(blocks[-1]["type"] not in ("thinking", "redacted_thinking"), f"{where}: the final block cannot be `thinking`")
    ids = [use.get("id") for use in uses]
    for use in uses:
        need(
            isinstance(use.get("id"), str) and TOOL_ID.fullmatch(use["id"]),
            f"{where}.tool_use.id: should match '^[a-zA-Z0-9_-]+$'",
        )
        need(ANTHROPIC_NAME.fullmatch(use.get("name") or ""), f"{where}.tool_use.name: String should match pattern")
        need(isinstance(use.get("input"), dict), f"{where}.tool_use.input: Input should be a valid dictionary")
    need(len(set(ids)) == len(ids), f"{where}: `tool_use` ids must be unique")
    return ids


def _anthropic_results(blocks: list[dict], waiting: list[str], where: str) -> None:
    results = [block for block in blocks if block["type"] == "tool_result"]
    ids = [result.get("tool_use_id") for result in results]
    need(set(ids) <= set(waiting), f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {set(ids) - set(waiting)}")
    need(len(set(ids)) == len(ids), f"{where}: each tool_use must have a single result")
    lacking = [text for text in waiting if text not in ids]
    need(not lacking, f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {lacking}")
    need(blocks[: len(results)] == results, f"{where}: tool_result blocks must come first")
    for result in results:
        content = result.get("content")
        inner = content if isinstance(content, list) else []
        _anthropic_texts(inner, where)
        need(all(block["type"] in ("text", "image", "document") for block in inner), f"{where}.tool_result: not such blocks")
        pictures = any(block["type"] != "text" for block in inner)
        need(not (result.get("is_error") and pictures), f"{where}: when `is_error` is true all content must be type `text`")


# -- OpenAI Responses ------------------------------------------------------------------------------------------------

CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
MODEL_ITEMS = {*CALLS, "reasoning", "web_search_call", "tool_search_call", "tool_search_output", "file_search_call"}


def check_responses(body: dict, known: tuple[str, ...] = ()) -> None:
    """Raise RejectedError for a request that Responses would not take. `known`: calls of the response named by `previous_response_id`."""
    items = body.get("input")
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    need(isinstance(items, list) and items, "'input' must be a text or a list that is not empty")
    for number, tool in enumerate(body.get("tools", [])):
        need(OPENAI_NAME.fullmatch(tool["name"]), f"Invalid 'tools[{number}].name': {tool['name']!r}")
        need("strict" in tool and "parameters" in tool, f"Missing required parameter: 'tools[{number}].strict'")
    waiting: list[str] = list(known) if "previous_response_id" in body else []
    names: set[str] = set()
    for number, item in enumerate(items):
        where = f"input[{number}]"
        kind = item.get("type") or "message"
        need(item.get("id") is None or item["id"] not in names, f"Duplicate item found with id {item.get('id')}")
        names.add(item.get("id"))
        if kind.removesuffix("_output") in CALLS and kind.endswith("_output"):
            _responses_output(item, waiting, where)
        elif kind in CALLS:
            waiting.append(_responses_call(item, waiting, where))
        else:
            need(kind == "message" or kind in MODEL_ITEMS, f"Invalid value: {kind!r}: '{where}.type'")
            if kind == "message":
                _responses_message(item, where)
    need(not waiting, f"No tool output found for function call {waiting}.")


def _responses_call(item: dict, waiting: list[str], where: str) -> str:
    payload = item.get(CALLS[item["type"]])
    text = item["type"] in ("function_call", "custom_tool_call")
    need(isinstance(payload, str if text else dict), f"Invalid type for '{where}'")
    need(not text or OPENAI_NAME.fullmatch(item.get("name") or ""), f"Invalid '{where}.name'")
    if item["type"] == "function_call":
        try:
            json.loads(payload)
        except ValueError:
            raise RejectedError(f"'{where}.arguments' is not JSON") from None
    call = item.get("call_id")
    need(isinstance(call, str) and 0 < len(call) <= 64, f"Invalid '{where}.call_id'")
    need(call not in waiting, f"Duplicate function call {call}")
    return call


def _responses_output(item: dict, waiting: list[str], where: str) -> None:
    call = item.get("id" if item["type"] == "local_shell_call_output" else "call_id")
    need(call in waiting, f"No tool call found for function call output with call_id {call}.")
    waiting.remove(call)
    output = item.get("output")
    need(isinstance(output, str | list) and output, f"Invalid type for '{where}.output'")
    if item["type"] in ("function_call_output", "custom_tool_call_output"):
        for part in output if isinstance(output, list) else []:
            need(part.get("type") in ("input_text", "input_image", "input_file"), f"Invalid value for '{where}.output.type'")


def _responses_message(item: dict, where: str) -> None:
    content = item.get("content")
    need(item.get("role") in ("user", "system", "developer", "assistant"), f"Invalid value for '{where}.role'")
    need(isinstance(content, str | list), f"Invalid type for '{where}.content'")
    own = "output_text" if item["role"] == "assistant" else "input_text"
    for part in content if isinstance(content, list) else []:
        need(part.get("type") in (own, "input_image", "refusal"), f"Invalid value: {part.get('type')!r} in '{where}.content'")
