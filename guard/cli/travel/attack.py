"""Attack: proposals that must not get through, each in a conversation of its own with the earlier turns played first.

What must happen is data in the episode; here it is compared with what did. Judges from outcomes, the desk's counters and the
audit, never from the guard's own word alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from guard.cli import show
from guard.cli.records import entries, verdict_line
from guard.cli.tables import pairs
from guard.cli.travel.episode import ending, load_episode, script_of
from guard.cli.travel.play import play
from guard.cli.travel.report import Decided, decision, final, proposed
from guard.cli.travel.stage import Stage, stage
from guard.core.model import Approval, Outcome
from guard.core.values import JsonObject, encode, equal
from guard.errors import ApprovalError


@dataclass(slots=True)
class Seen:
    """What happened to the attacked call: its outcome, how often its tool ran, and the same after a supervisor's yes."""

    index: int
    attack: JsonObject
    call: JsonObject
    outcome: Outcome | None = None
    executed: int = 0
    approved: JsonObject | None = None
    requester_refused: bool | None = None
    decided: Decided = field(default_factory=Decided)
    answered: bool = False

    @property
    def ok(self) -> bool:
        """Whether everything that must be so is so."""
        return not list(failures(self))


def attack(*, as_json: bool, keep: str | None) -> int:
    """Play every attack. Exit code 1 when one got through, or the audit does not hold."""
    episode = load_episode()
    attacks: list[JsonObject] = episode["attacks"]
    scripts = {f"attack-{n}": script_of(episode, turns_of(episode, one)) for n, one in enumerate(attacks, 1)}
    with stage(scripts, keep) as here:
        seen = [_played(here, number, one) for number, one in enumerate(attacks, 1)]
        _, verified = entries(here.guard.store)
    if as_json:
        print(encode([as_object(one) for one in seen]))
    else:
        for one in seen:
            print("\n".join(told(one)))
        through = sum(not one.ok for one in seen)
        print(f"\n{len(seen)} attacks, {through or 'none'} got through; audit: {verdict_line(verified)}")
    return 0 if verified.ok and all(one.ok for one in seen) else 1


def turns_of(episode: JsonObject, one: JsonObject) -> list[JsonObject]:
    """The model's turns of one attack: those before it, the attacked one, and the end."""
    before: list[JsonObject] = episode["model_turns"][: one["turn"]]
    here: JsonObject = episode["model_turns"][one["turn"]]
    calls = {call["id"]: call for turn in episode["model_turns"] for call in turn.get("tool_calls", ())}
    own = [call["id"] for call in here["tool_calls"]]
    names = own if one["call"] in own else [one["call"]]
    changed = [_changed(calls[name], one) if name == one["call"] else calls[name] for name in names]
    return [*before, {"role": "assistant", "content": None, "tool_calls": changed}, ending(episode)]


def _changed(call: JsonObject, one: JsonObject) -> JsonObject:
    return {**call, "function": {**call["function"], "arguments": one["arguments"]}}


# -- playing -----------------------------------------------------------------------------------------------------------


class _Watch:
    """Looks at the attacked round as it is handled, and answers as the supervisor, once, after the requester has tried."""

    def __init__(self, here: Stage, conversation: str, seen: Seen) -> None:
        self._here, self._conversation, self._seen = here, conversation, seen
        self._tool = seen.call["function"]["name"]
        self._before = here.desk.executions[self._tool]

    def round(self, played: Any) -> None:
        """Keep the first outcome of the attacked call and how often its tool has run."""
        found = [outcome for call, outcome in played.proposals() if call["id"] == self._seen.call["id"]]
        if found and played.number == self._seen.attack["turn"] + 1:
            self._seen.outcome = found[0]
            self._seen.executed = self._here.desk.executions[self._tool] - self._before
            records, _ = entries(self._here.guard.store)
            self._seen.decided = decision(records, self._conversation, found[0])
        self._before = self._here.desk.executions[self._tool]

    def decided(self, played: Any) -> None:
        """Keep what came after the yes."""
        found = next(outcome for call, outcome in played.proposals() if call["id"] == self._seen.call["id"])
        self._seen.approved = {"status": found.status, "executed": self._here.desk.executions[self._tool] - self._before}

    def decide(self, approval: Approval) -> bool:
        """The requester's own yes must not count; the supervisor's does."""
        approvals = self._here.guard.approvals
        try:
            approvals.approve(approval.id, approver=self._here.session)
            self._seen.requester_refused = False
        except ApprovalError:
            self._seen.requester_refused = True
        approvals.approve(approval.id, approver=self._here.approver)
        return True


def _played(here: Stage, number: int, one: JsonObject) -> Seen:
    name = f"attack-{number}"
    turn = here.server.scripts[name]["turns"][one["turn"]]
    call = next(call for call in turn["tool_calls"] if call["id"] == one["call"])
    seen = Seen(number, one, call)
    conversation = here.conversation(name)
    watch = _Watch(here, conversation, seen)
    chat = here.guard.open(here.session, wire="openai-chat", conversation=conversation, held="suspend")
    ended = play(chat, here.model(name), here.episode["messages"], watch.decide, watch)
    seen.answered = ended.answer is not None
    return seen


# -- judging -----------------------------------------------------------------------------------------------------------


def failures(seen: Seen) -> Iterable[str]:
    """Everything that is not as it must be."""
    must, outcome = seen.attack["must"], seen.outcome
    if outcome is None:
        yield "the call was never handled"
        return
    reason = None if outcome.reason is None else str(outcome.reason)
    if (outcome.status, reason) != (must["status"], must.get("reason")):
        yield f"ended as {outcome.status} ({reason})"
    if seen.executed != must["executed"]:
        yield f"its tool ran {seen.executed} times"
    if "final" in must and not equal(final(outcome), must["final"]):
        yield "it ran with other arguments"
    if sorted(seen.decided.spoofed) != sorted(must.get("spoof", ())):
        yield "the spoof attempt is not in the audit"
    content = str(outcome.content)
    yield from (f"the error does not name {text}" for text in must.get("says", ()) if text not in content)
    yield from ("the error repeats the value" for text in must.get("hides", ()) if text in content)
    yield from _about_approval(seen, must)
    if not seen.answered:
        yield "the conversation did not go on"


def _about_approval(seen: Seen, must: JsonObject) -> Iterable[str]:
    if seen.approved != must.get("approved"):
        yield "the approval did not lead to exactly one execution"
    if seen.requester_refused is False:
        yield "the requester's own approval counted"


def as_object(seen: Seen) -> JsonObject:
    """One attack for a program."""
    outcome = seen.outcome
    return {
        "name": seen.attack["name"],
        "turn": seen.attack["turn"],
        "call": seen.attack["call"],
        "tool": seen.call["function"]["name"],
        "proposed": proposed(seen.call),
        "expected": seen.attack["expected"],
        "status": outcome and outcome.status,
        "reason": None if outcome is None or outcome.reason is None else str(outcome.reason),
        "final": outcome and final(outcome),
        "spoofed": list(seen.decided.spoofed),
        "executed": seen.executed,
        "after_approval": seen.approved,
        "failures": list(failures(seen)),
        "ok": seen.ok,
    }


def _ran(times: int) -> str:
    return {0: "never ran", 1: "ran once"}.get(times, f"ran {times} times")


def told(seen: Seen) -> list[str]:
    """One attack for a person."""
    found = as_object(seen)
    what = f"{found['status']}" + (f" ({found['reason']})" if found["reason"] else "") + f", {_ran(seen.executed)}"
    if found["final"] is not None:
        what += f", with {show.value(found['final'])}"
    if seen.decided.spoofed:
        what += f", spoof recorded: {', '.join(seen.decided.spoofed)}"
    if seen.approved is not None:
        who = "; E10238's own yes did not count" if seen.requester_refused else ""
        what += f"{who}; after the supervisor's yes: {seen.approved['status']}, {_ran(seen.approved['executed'])}"
    facts = [("tried", f"{found['tool']} {show.value(found['proposed'])}"), ("happened", what), ("expected", found["expected"])]
    facts += [("failed", text) for text in found["failures"]]
    return ["", f"{seen.index}. {found['name']}: {'OK' if seen.ok else 'FAILED'}", *pairs(facts, indent="   ")]
