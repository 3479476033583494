"""Results in the forms that only some wires know, shortened: what a shell said, objects of a host, pictures beside their results."""

from __future__ import annotations

from typing import Any

import pytest
from results_kit import PICTURE
from wire_helpers import answers, given_results, message
from wire_talk import legal

from guard.core.model import Image
from guard.core.views import Room
from guard.errors import WireError
from guard.runner.trim import trimmed
from guard.wires import WIRES, wire
from guard.wires.trim import TRIMMERS, trimmer

LONG = "Once upon a time. " * 60
CUT = "[cut: 0 of 1080 characters shown]"


def shortened(name: str, messages: list[Any]) -> list[dict[str, Any]]:
    """As short as it can be, old results and new ones."""
    return trimmed(wire(name), messages, (), Room(tokens=0), len)


def test_every_wire_can_be_shortened() -> None:
    """A wire without a row would be found out only when somebody's history grows."""
    assert TRIMMERS.keys() == WIRES.keys()
    with pytest.raises(WireError, match="known are anthropic"):
        trimmer("telegraph")


SHELL = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}, "status": "completed"}
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "shell": (
        SHELL,
        {"type": "shell_call_output", "output": [{"stdout": LONG, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
        [{"stdout": CUT, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    ),
    "failed-shell": (
        SHELL,
        {"type": "shell_call_output", "output": [{"stdout": "", "stderr": LONG, "outcome": {"type": "exit", "exit_code": 1}}]},
        [{"stdout": "", "stderr": CUT, "outcome": {"type": "exit", "exit_code": 1}}],
    ),
    "patch": (
        {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}, "status": "completed"},
        {"type": "apply_patch_call_output", "status": "completed", "output": LONG},
        CUT,
    ),
    "custom": (
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": LONG}]},
        CUT,
    ),
    "local-shell": (
        {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec"}, "status": "completed"},
        {"type": "local_shell_call_output", "output": LONG},
        CUT,
    ),
}


@pytest.mark.parametrize(("call", "result", "output"), FORMS.values(), ids=FORMS)
def test_each_kind_of_call_keeps_the_form_of_its_result(call: dict[str, Any], result: dict[str, Any], output: Any) -> None:
    """Type, status, caller and exit code stay; only what was said is shorter."""
    place = "id" if call["type"] == "local_shell_call" else "call_id"
    given = [call, {"type": result["type"], place: "c1", **{name: one for name, one in result.items() if name != "type"}}]
    given += message("openai-responses")["output"]
    short = shortened("openai-responses", given)
    assert short == [call, {**given[1], "output": output}, given[2]]
    assert shortened("openai-responses", short) == short
    legal("openai-responses", short)


@pytest.mark.parametrize("calls", [("c1", "c2"), (None, None)], ids=["ids", "no-ids"])
def test_pictures_behind_results_go_with_their_labels(calls: tuple[str | None, ...]) -> None:
    """What the user added stays, each result keeps its place, and a line says how many pictures were there."""
    chat = wire("gemini")
    reply = chat.read(message("gemini", *((name, "shot", {}) for name in calls)))
    held = chat.results(reply, [given_outcome(call, ["a screen", PICTURE]) for call in reply.calls])
    assert sum("inlineData" in part for part in held[0]["parts"]) == 2
    own = [{"text": "Picture this: a cat."}, {"inlineData": {"mimeType": "image/png", "data": PICTURE.data}}]
    held[0]["parts"] += own
    given = [chat.user("Look."), *chat.stored(reply), *held, message("gemini")]
    short = shortened("gemini", given)
    parts = short[2]["parts"]
    assert [part["functionResponse"]["response"] for part in parts[:2]] == [
        {"output": "a screen\n[picture 1 follows]"},
        {"output": "a screen\n[picture 2 follows]"},
    ]
    assert parts[2]["text"].endswith("not words of the user. [2 left out]")
    assert parts[3:] == own
    assert shortened("gemini", short) == short
    legal("gemini", short)


@pytest.mark.parametrize("name", sorted(WIRES))
def test_documents_go_as_pictures_do(name: str) -> None:
    """An old PDF is large whatever stands beside it: on every wire it is gone from a history that has to be short, and so is a new one."""
    chat = wire(name)
    reply = chat.read(message(name, *((call, "paper", chat_arguments(name)) for call in ("c1", "c2"))))
    paper = Image(data="JVBERi0xLjcg" + "A" * 8_000, media_type="application/pdf")
    contents: list[list[str | Image]] = [["a page", paper, PICTURE], [paper]]
    held = chat.results(reply, [given_outcome(call, content) for call, content in zip(reply.calls, contents, strict=True)])
    for last in ([], chat.stored(chat.read(message(name)))):
        given = [chat.user("Look."), *chat.stored(reply), *held, *last]
        short = shortened(name, given)
        assert "AAAAAAAA" not in str(chat.dump(short))
        assert shortened(name, short) == short
        legal(name, short)


def given_outcome(call: Any, content: list[str | Image]) -> Any:
    from wire_helpers import outcome

    return outcome(call, tuple(content))


def test_an_object_of_a_host_stays_an_object() -> None:
    """Gemini takes objects only; a result that the guard did not write may be any, and is shortened as one."""
    chat = wire("gemini")
    reply = chat.read(message("gemini", ("c1", "weather", {})))
    told = {
        "functionResponse": {"id": "c1", "name": "weather", "response": {"days": [{"t": 1.5, "text": LONG}] * 9, "unit": "C"}}
    }
    given = [*chat.stored(reply), {"role": "user", "parts": [told]}, message("gemini")]
    short = shortened("gemini", given)
    assert short[1]["parts"][0]["functionResponse"]["response"] == {"[cut]": "0 of 2 shown"}
    assert shortened("gemini", short) == short
    legal("gemini", short)


def test_a_json_block_of_a_host_is_shortened_by_its_structure() -> None:
    """Converse takes JSON blocks and documents in results; both count as what the tool said."""
    chat = wire("bedrock-converse")
    reply = chat.read(message("bedrock-converse", ("c1", "weather", {})))
    document = {"document": {"format": "txt", "name": "d", "source": {"bytes": b"x" * 900}}}
    block = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"days": [LONG] * 3, "unit": "C"}}, document]}}
    given = [*chat.stored(reply), {"role": "user", "content": [block]}, message("bedrock-converse")]
    short = shortened("bedrock-converse", given)
    assert answers("bedrock-converse", short) == [("c1", '{"[cut]":"0 of 2 shown"}')]
    assert shortened("bedrock-converse", short) == short
    legal("bedrock-converse", short)


def test_bytes_are_bytes_again() -> None:
    """What is given back is what the SDK of Converse takes, whether or not anything was cut; a picture that stays is whole."""
    chat = wire("bedrock-converse")
    reply = chat.read(message("bedrock-converse", ("c1", "shot", {})))
    held = chat.results(reply, [given_outcome(reply.calls[0], ["a screen", PICTURE])])
    given = [*chat.stored(reply), *held]
    assert trimmed(chat, given, (), Room(tokens=10**9), len) == given
    assert trimmed(chat, chat.dump(given), (), Room(tokens=10**9), len) == given
    assert isinstance(given[1]["content"][0]["toolResult"]["content"][1]["image"]["source"]["bytes"], bytes)


@pytest.mark.parametrize("name", sorted(WIRES))
def test_results_know_their_tools(name: str) -> None:
    """By the call that they answer, in every turn anew though ids come again; a result without a call has none."""
    chat = wire(name)
    history: list[Any] = []
    for tool in ("first", "second"):
        reply = chat.read(message(name, ("c1", tool, chat_arguments(name))))
        history += [*chat.stored(reply), *given_results(name, reply)]
    places = trimmer(name).places(chat.dump(history))
    assert [(place.tool, place.text, place.fresh) for place in places] == [("first", "x", False), ("second", "x", True)]
    lonely = trimmer(name).places(chat.dump(given_results(name, chat.read(message(name, ("c1", "t", chat_arguments(name)))))))
    assert [(place.tool, place.fresh) for place in lonely] == [("", True)]


def chat_arguments(name: str) -> Any:
    from wire_helpers import spelled

    return spelled(name, {})
