"""What Gemini and Bedrock Converse reject about a request, as far as tool calls go. See `provider_rules`.

Written from the providers' documented rules and error texts. Knows nothing of `guard`.
"""

from __future__ import annotations

import base64
import re

from provider_rules import need

GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
BEDROCK_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
BEDROCK_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
PARTS = {"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult"}

# -- Gemini ----------------------------------------------------------------------------------------------------------


def check_gemini(body: dict) -> None:
    """Raise RejectedError for a request that generateContent would not take."""
    contents = body.get("contents")
    need(isinstance(contents, list) and contents, "contents is not specified")
    for tool in body.get("tools", []):
        for one in tool.get("functionDeclarations", []):
            need(GEMINI_NAME.fullmatch(one["name"]), f"Invalid function name {one['name']!r}")
            shape = one.get("parametersJsonSchema") or one.get("parameters_json_schema")  # the SDK sends the second
            need(shape is None or shape.get("type") == "object", f"{one['name']}: the schema must describe an object")
    waiting: list[tuple[str, object]] = []
    for number, content in enumerate(contents):
        where = f"contents[{number}]"
        need(content.get("role") in ("user", "model"), f"{where}: please use a valid role: user, model")
        need(content.get("parts"), f"{where}: must include at least one parts field")
        for part in content["parts"]:
            kinds = [kind for kind in part if kind in PARTS]
            need(len(kinds) == 1, f"{where}: a part holds one of {PARTS}, not {kinds}")
        _gemini_answers(content, waiting, where)
        waiting = _gemini_calls(content, where) if content["role"] == "model" else []
    need(not waiting, "the number of function response parts is not equal to the number of function call parts")


def _gemini_calls(content: dict, where: str) -> list[tuple[str, object]]:
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    ids = [call["id"] for call in calls if "id" in call]
    need(all(isinstance(text, str) and text for text in ids), f"{where}: an id is a text that is not empty")
    need(len(set(ids)) == len(ids), f"{where}: function call ids must be unique")
    for call in calls:
        need(GEMINI_NAME.fullmatch(call.get("name") or ""), f"{where}: function_call.name: invalid")
        need(isinstance(call.get("args", {}), dict), f"{where}: function_call.args: not an object")
    return [(call["name"], call.get("id")) for call in calls]


def _gemini_answers(content: dict, waiting: list[tuple[str, object]], where: str) -> None:
    results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
    if not waiting:
        need(not results, f"{where}: function response turn must come immediately after a function call turn")
        return
    need(content["role"] == "user", f"{where}: function call turn must be followed by a function response turn")
    need(len(results) == len(waiting), f"{where}: as many function response parts as function call parts of the turn")
    need([(one.get("name"), one.get("id")) for one in results] == waiting, f"{where}: function responses do not match the calls")
    need(all("functionResponse" in part for part in content["parts"][: len(results)]), f"{where}: function responses come first")
    for one in results:
        need(isinstance(one.get("response"), dict) and one["response"], f"{where}: function_response.response: not an object")


# -- Bedrock Converse ------------------------------------------------------------------------------------------------


def check_bedrock(body: dict) -> None:
    """Raise RejectedError for a request that Converse would not take."""
    need(isinstance(body.get("messages"), list) and body["messages"], "messages: at least one message is required")
    for tool in body.get("toolConfig", {}).get("tools", []):
        name = tool["toolSpec"]["name"]
        need(BEDROCK_NAME.fullmatch(name), f"toolConfig: {name!r} failed to satisfy constraint")
        need(tool["toolSpec"]["inputSchema"]["json"].get("type") == "object", "inputSchema: type must be object")
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        where = f"messages.{number}"
        need(set(message) == {"role", "content"}, f"{where}: unknown or missing field")
        need(message["role"] in ("user", "assistant"), f"{where}: role")
        need(message["content"], f"{where}: The content field is empty")
        for block in message["content"]:
            need("text" not in block or block["text"].strip(), f"{where}: The text field in the ContentBlock object is blank")
        _bedrock_results(message, waiting, where)
        waiting = _bedrock_uses(message, where) if message["role"] == "assistant" else []
    need(not waiting, f"Expected toolResult blocks for the following Ids: {waiting}")


def _bedrock_uses(message: dict, where: str) -> list[str]:
    uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    own = {use["toolUseId"] for use in uses if use.get("type") == "server_tool_use"}  # answered by the provider, there and then
    ran = {block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block}
    need(own == ran, f"{where}: calls of the provider's own tools {own}, their results {ran}")
    uses = [use for use in uses if use["toolUseId"] not in own]
    need("reasoningContent" not in message["content"][-1], f"{where}: the final block cannot be thinking")
    ids = [use.get("toolUseId") for use in uses]
    for use in uses:
        need(set(use) == {"toolUseId", "name", "input"}, f"{where}: toolUse holds {sorted(use)}")
        need(isinstance(use["toolUseId"], str) and BEDROCK_ID.fullmatch(use["toolUseId"]), f"{where}: toolUseId")
        need(BEDROCK_NAME.fullmatch(use["name"]), f"{where}: toolUse.name")
        need(isinstance(use["input"], dict), f"{where}: The format of the value at toolUse.input is invalid")
    need(len(set(ids)) == len(ids), f"{where}: duplicate toolUse ids")
    return ids


def _bedrock_results(message: dict, waiting: list[str], where: str) -> None:
    blocks = message["content"] if message["role"] == "user" else []
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    ids = [result.get("toolUseId") for result in results]
    need(sorted(ids) == sorted(waiting), f"{where}: Expected toolResult blocks for the following Ids: {waiting}, got {ids}")
    need(all("toolResult" in block for block in blocks[: len(results)]), f"{where}: toolResult blocks come first")
    for result in results:
        need(result.get("status", "success") in ("success", "error"), f"{where}: toolResult.status")
        need(result.get("content"), f"{where}: toolResult.content is empty")
        for block in result["content"]:
            need(
                len(block) == 1 and set(block) <= {"text", "image", "json", "document"}, f"{where}: toolResult holds {set(block)}"
            )
            need("text" not in block or block["text"].strip(), f"{where}: The text field is blank")
            need("image" not in block or result.get("status") != "error", f"{where}: an error takes text only")
            need(
                "image" not in block or base64.b64decode(block["image"]["source"]["bytes"], validate=True), f"{where}: no picture"
            )
