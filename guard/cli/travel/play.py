"""Play: one conversation of the travel assistant, from the question to the answer: the tool loop that a user of the guard would write.

Each request goes to the model server over HTTP. A held turn is handled again once somebody has decided, and the loop ends when
nobody does. Tells a `Teller` what happens; prints nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from guard.cli.travel.model_server import PATH
from guard.core.model import Approval, Outcome
from guard.core.values import JsonObject, encode
from guard.errors import GuardError
from guard.runner import Conversation, Turn

Decide = Callable[[Approval], bool]
"""Ask somebody about an approval and cast the vote; False when nobody is there to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One request and what came of its reply: `message` is the model's, `outcomes` are the last ones of its calls."""

    number: int
    sent: int
    message: JsonObject
    outcomes: tuple[Outcome, ...]

    def proposals(self) -> list[tuple[JsonObject, Outcome]]:
        """Each call of the message with its outcome."""
        return list(zip(self.message.get("tool_calls") or [], self.outcomes, strict=True))


@dataclass(slots=True)
class Played:
    """The conversation so far. `answer` is None while the model has not come to its end."""

    rounds: list[Round] = field(default_factory=list)
    messages: list[JsonObject] = field(default_factory=list)
    answer: str | None = None


class Teller(Protocol):
    """Whoever shows a person what happens, as it happens."""

    def round(self, played: Round) -> None:
        """A reply was handled."""

    def decided(self, played: Round) -> None:
        """A held turn was handled again."""


class Model:
    """The client: one model of the server."""

    def __init__(self, http: httpx.Client, url: str, name: str) -> None:
        self._http, self._url, self._name = http, url + PATH, name

    def reply(self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> JsonObject:
        """The completion for a history. Raises GuardError when the server does not take it."""
        body = encode({"model": self._name, "messages": list(messages), "tools": list(tools)})
        try:
            answer = self._http.post(self._url, content=body, headers={"Content-Type": "application/json"})
            found: JsonObject = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise GuardError(f"the model server did not answer: {type(error).__name__}") from error
        if answer.status_code != 200:
            raise GuardError(f"the model server rejected the history: {found['error']['message']}")
        return found


def play(chat: Conversation, model: Model, opening: Sequence[JsonObject], decide: Decide, teller: Teller) -> Played:
    """Play until the model has answered, or until a held call finds nobody to decide. `opening` ends with the user's question."""
    played = Played(messages=[*opening[:-1], chat.user(opening[-1]["content"])])
    while True:
        reply = model.reply(played.messages, chat.tools)
        turn = chat.handle(reply, history=played.messages)
        one = _round(played, reply, turn)
        teller.round(one)
        if turn.stop == "held":
            turn = _settle(chat, reply, played, turn, decide)
            one = _round(played, reply, turn)
            if turn.stop != "held":
                teller.decided(one)
        played.rounds.append(one)
        played.messages += turn.append
        if turn.stop == "done":
            played.answer = str(one.message.get("content") or "")
        if turn.stop is not None:
            return played


def _settle(chat: Conversation, reply: JsonObject, played: Played, turn: Turn, decide: Decide) -> Turn:
    """Have every pending approval decided, and handle the same turn again."""
    answers = [decide(approval) for approval in turn.pending]
    if not all(answers):
        return turn
    return chat.handle(reply, history=played.messages)


def _round(played: Played, reply: JsonObject, turn: Turn) -> Round:
    message: JsonObject = reply["choices"][0]["message"]
    return Round(number=len(played.rounds) + 1, sent=len(played.messages), message=message, outcomes=turn.outcomes)
