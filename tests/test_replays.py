"""Replays of the shared cases through the whole path: what benchmarks and real models proposed runs once and unchanged, or is refused.

The full replays are `slow`; every seventh episode is not. Where guard rightly differs from a corpus' own verdict, the difference is a named
mechanism with a test that recognises it, never a list of ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from corpora import LEGAL, TESTER, Recorder, entry, episodes, kind, load, names_of, needed, read, same, toolsets
from provider_rules import check_anthropic, check_openai

from guard import Guard, Outcome, PolicyError, Reason, ToolCall
from guard.core.values import encode

SAMPLE = 7
WIRES = {"openai-chat": check_openai, "anthropic": check_anthropic}
parts = pytest.mark.parametrize("step", [pytest.param(SAMPLE, id="sample"), pytest.param(1, id="full", marks=pytest.mark.slow)])


def message(wire: str, calls: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """The assistant message that proposes these (id, tool, arguments) calls: text with every digit, or decoded objects."""
    if wire == "anthropic":
        uses = [{"type": "tool_use", "id": own, "name": name, "input": given} for own, name, given in calls]
        return {"role": "assistant", "content": uses}
    functions = [
        {"id": own, "type": "function", "function": {"name": name, "arguments": encode(given)}} for own, name, given in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": functions}


def proposed(turn: Mapping[str, Any], number: int, names: Mapping[str, str]) -> list[tuple[str, str, Any]]:
    """The calls of a turn under names that providers take, with ids where the corpus has none."""
    return [
        (call["id"] or f"none_{number}_{at}", names.get(call["name"], LEGAL.sub("_", call["name"])), call["arguments"])
        for at, call in enumerate(turn["calls"])
    ]


class Replay:
    """Guards by toolset, each under a policy that allows everything in it."""

    def __init__(self, corpus: str, folder: Path) -> None:
        self.corpus, self.folder, self.recorder = corpus, folder, Recorder()
        self.guards: dict[str, tuple[Guard, dict[str, str]]] = {}

    def guard(self, toolset: str) -> tuple[Guard, dict[str, str]]:
        """The guard of a toolset, and the policy's name of each tool."""
        if toolset not in self.guards:
            tools = toolsets(self.corpus)[toolset]
            names = names_of(tools)
            entries = {name: entry(tool) for name, tool in zip(names, tools, strict=True)}
            guard = load(self.folder / str(len(self.guards)), entries, self.recorder, names)
            self.guards[toolset] = guard, {own: name for name, own in names.items()}
        return self.guards[toolset]

    def play(self, episode: Mapping[str, Any], wire: str) -> Iterator[tuple[dict[str, Any], Outcome, list[Any], set[str]]]:
        """Every call of an episode with its outcome, what ran of its turn, and which tools act."""
        guard, names = self.guard(episode["toolset"])
        chat = guard.open(TESTER, wire=wire, conversation=f"{wire} {episode['id']}")
        acting = {tool["name"] for tool in toolsets(self.corpus)[episode["toolset"]] if kind(tool) == "action"}
        history = [chat.user("Please.")]
        check = WIRES[wire]
        for number, turn in enumerate(episode["turns"]):
            answer = chat.handle(message(wire, proposed(turn, number, names)), history=history)
            history += answer.append
            ran = self.recorder.take()
            for call, outcome in zip(turn["calls"], answer.outcomes, strict=True):
                yield call, outcome, ran, acting
            assert ran == []  # whoever reads takes what belongs to a call that ran
        check({"messages": history, "max_tokens": 9, "tools": chat.tools})


def differs(call: Mapping[str, Any], outcome: Outcome, ran: list[Any]) -> bool:
    """Whether a call did not go as the corpus' own `valid` says: valid ones run now, unchanged, the others are refused."""
    if not call["valid"]:
        return outcome.status != "refused"
    if outcome.status != "done" or outcome.replayed or not ran:
        return True
    name, arguments = ran.pop(0)
    return name != call["name"] or not same(arguments, call["arguments"])


def repeated_action(call: Mapping[str, Any], outcome: Outcome, earlier: list[Any], acting: set[str]) -> bool:
    """An action proposed twice with equal arguments in one message is one action: it runs once, and both ids get its result."""
    equal = any(call["name"] == other["name"] and same(call["arguments"], other["arguments"]) for other in earlier)
    return call["name"] in acting and equal and outcome.status == "done" and outcome.replayed


@needed("bfcl", "tau_bench", "agentdojo")
@pytest.mark.parametrize("corpus", ["bfcl", "tau_bench", "agentdojo"])
@parts
def test_ground_truth_runs_once_and_unchanged(corpus: str, step: int, tmp_path: Path) -> None:
    """Each valid call runs exactly once with the very arguments that were sent, each invalid one is refused, on both wires."""
    replay = Replay(corpus, tmp_path)
    seen: Counter[str] = Counter()
    for wire in WIRES:
        for episode in episodes(corpus, exact=wire == "openai-chat")[::step]:
            earlier: list[Any] = []
            for call, outcome, ran, acting in replay.play(episode, wire):
                seen["valid" if call["valid"] else "invalid"] += 1
                if differs(call, outcome, ran):
                    assert repeated_action(call, outcome, earlier, acting), (wire, episode["id"], call, outcome)
                    seen["the same action twice"] += 1
                earlier.append(call)

    print(corpus, dict(seen))
    calls = sum(len(turn["calls"]) for episode in episodes(corpus)[::step] for turn in episode["turns"])
    assert seen["valid"] + seen["invalid"] == calls * len(WIRES) > 0


@needed("bfcl")
def test_names_map_back(tmp_path: Path) -> None:
    """Dotted names reach the model as legal ones, and each runs the tool that the corpus means; without a wire the name itself does."""
    episode = next(one for one in episodes("bfcl") if any("." in call["name"] for call in one["turns"][0]["calls"]))
    name = next(call["name"] for call in episode["turns"][0]["calls"] if "." in call["name"])
    tools = toolsets("bfcl")[episode["toolset"]]
    replay = Replay("bfcl", tmp_path / "wire")
    offered = replay.guard(episode["toolset"])[0].open(TESTER, wire="openai-chat", conversation="c").tools
    recorder = Recorder()
    plain = load(tmp_path / "plain", {tool["name"]: entry(tool) for tool in tools}, recorder)
    call = next(call for call in episode["turns"][0]["calls"] if call["name"] == name)
    outcome = plain.call(ToolCall("c1", name, encode(call["arguments"])), TESTER, conversation="c")

    assert {LEGAL.sub("_", tool["name"]) for tool in tools} == {tool["function"]["name"] for tool in offered}
    assert outcome.status == "done"
    assert [name] == [ran for ran, _ in recorder.take()]
    assert all(call["name"] == ran.pop(0)[0] for call, _, ran, _ in replay.play(episode, "openai-chat"))


# -- JSON Schema's own suite, from end to end --------------------------------------------------------------------------------

DRAFTS = {
    "draft2020-12": ("https://json-schema.org/draft/2020-12/schema", jsonschema.Draft202012Validator),
    "draft7": ("http://json-schema.org/draft-07/schema#", jsonschema.Draft7Validator),
}


def wrapped(group: Mapping[str, Any]) -> dict[str, Any]:
    """The group's schema as that of a tool's one argument."""
    inner = group["schema"]
    if isinstance(inner, dict):
        inner = {key: value for key, value in inner.items() if key != "$schema"}
    return {"$schema": DRAFTS[group["draft"]][0], "type": "object", "properties": {"value": inner}, "required": ["value"]}


def library(group: Mapping[str, Any], instance: Any) -> bool | None:
    """The library's verdict, formats asserted; None where it raises."""
    validator = DRAFTS[group["draft"]][1](wrapped(group), format_checker=jsonschema.FormatChecker())
    try:
        return bool(validator.is_valid({"value": instance}))
    except Exception:
        return None


def loaded(groups: Mapping[str, Any], folder: Path, recorder: Recorder) -> tuple[Guard, set[str]]:
    """A guard with a tool for each group, and the groups whose schemas the policy may not hold."""
    entries = {name: {"kind": "read", "allow": ["tester"], "schema": wrapped(group)} for name, group in groups.items()}
    try:
        return load(folder, entries, recorder), set()
    except PolicyError as error:
        bad = {name for name in entries if any(f"schema of {name}:" in problem.message for problem in error.problems)}
    return load(folder, {name: one for name, one in entries.items() if name not in bad}, recorder), bad


def formats_as_the_suite_says(group: Mapping[str, Any], test: Mapping[str, Any], ours: bool) -> bool:
    """The library's format checks are loose (an e-mail address is anything with an at-sign); ours give the suite's own verdict."""
    return isinstance(group["schema"], dict) and "format" in group["schema"] and ours is test["valid"]


def formats_nobody_else_checks(group: Mapping[str, Any], _test: Mapping[str, Any], ours: bool) -> bool:
    """Without its extra packages the library accepts every text for some formats; ours are asserted all the same."""
    form = group["schema"].get("format") if isinstance(group["schema"], dict) else None
    return form is not None and form not in jsonschema.FormatChecker().checkers and not ours


MECHANISMS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], bool], bool]] = {
    "formats are asserted as the suite says": formats_as_the_suite_says,
    "formats that the library cannot check here": formats_nobody_else_checks,
}


@needed("jsonschema_suite")
def test_verdicts_of_the_suite(tmp_path: Path) -> None:
    """Through `guard.call` every verdict is the jsonschema library's; where that raises, the call is refused or the policy is."""
    rows = zip(read("jsonschema_suite/groups.jsonl"), read("jsonschema_suite/groups.jsonl", exact=False), strict=True)
    pairs = {f"group{at}": pair for at, pair in enumerate(pair for pair in rows if pair[0]["wrappable"])}
    recorder = Recorder()
    guard, bad = loaded({name: exact for name, (exact, _) in pairs.items()}, tmp_path, recorder)
    used: Counter[str] = Counter()
    for name, (exact, rough) in pairs.items():
        for at_, (test, as_float) in enumerate(zip(exact["tests"], rough["tests"], strict=True)):
            theirs = library(rough, as_float["instance"])
            if name in bad:
                assert theirs is None, (exact["id"], test)
                used["not even loaded"] += 1
                continue
            call = ToolCall("c1", name, encode({"value": test["instance"]}))
            outcome = guard.call(call, TESTER, conversation=f"{name} {at_}")
            ours = outcome.status == "done"
            ran = recorder.take()

            assert outcome.status in ("done", "refused")
            assert ours or outcome.reason is Reason.INVALID_ARGUMENTS
            assert [test["instance"]] * ours == [arguments["value"] for _, arguments in ran]
            used["compared"] += 1
            if ours is not bool(theirs):
                named = [label for label, known in MECHANISMS.items() if known(exact, test, ours)]
                assert named, (exact["id"], test, outcome)
                used[named[0]] += 1

    print(dict(used))
    assert used["compared"] > 1000
    assert used[next(iter(MECHANISMS))] > 0


# -- what real models said -----------------------------------------------------------------------------------------------------

APIS = {"openai_chat": "openai-chat", "anthropic": "anthropic"}


@needed("wire_recordings")
def test_recorded_messages(tmp_path: Path) -> None:
    """Each recorded assistant message gives one result for each of its calls, and a history that its provider takes back."""
    seen: Counter[str] = Counter()
    for number, row in enumerate(read("wire_recordings/episodes.jsonl", exact=False)):
        wire = APIS.get(row["task"]["api"])
        if wire is None or "assistant_message" not in row:
            continue
        recorder = Recorder()
        guard = load(tmp_path / str(number), {t["name"]: entry(t) for t in toolsets("wire_recordings")[row["toolset"]]}, recorder)
        chat = guard.open(TESTER, wire=wire, conversation="c")
        history = [chat.user("Please.")]
        turn = chat.handle(row["assistant_message"], history=history)
        WIRES[wire]({"messages": [*history, *turn.append, chat.user("And?")], "max_tokens": 9, "tools": chat.tools})
        calls = row["turns"][0]["calls"]
        ran = recorder.take()

        assert [call["id"] for call in calls] == [outcome.call_id for outcome in turn.outcomes]
        assert [call["valid"] for call in calls] == [outcome.status == "done" for outcome in turn.outcomes], row["id"]
        assert [call["name"] for call in calls if call["valid"]] == [name for name, _ in ran]
        assert all(same(call["arguments"], given) for call, (_, given) in zip(calls, ran, strict=False))
        seen[wire] += len(calls)

    print(dict(seen))
    assert set(seen) == set(WIRES)
