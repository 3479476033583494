"""Worlds for the property tests: a policy, tools that play a script, a session and a store, driven by either guard.

    with World("async", policy, session, script=[Give({"q": "a"})]) as world:
        turn = world.turn([("c1", "look", {"q": "a"})])

Nothing is mocked: policies go through the loader, tools through the registry, commands through the real drivers. `trace` holds what the walk
asked for, `ran` what the tools were given. The random parts are in `world_parts`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from record_kit import fitting
from stages import SECRET_TEXT, STAGES, TOOLS, Behaviour, Stage
from stores_kit import Clock, records
from wire_helpers import message

from guard import ApprovalError, Outcome, Session, StoreError, Turn
from guard.core import ports as p
from guard.core.values import JsonObject
from guard.policy import Declared, Loaded, load_policy
from guard.redactors import REDACTOR
from guard.runner import guard as runner
from guard.runner.hands import Hands
from guard.stores import open_store

BOSS = Session(principal="B9", roles=("boss",))
DAY = 86_400.0


def polite(arguments: JsonObject) -> str | None:
    return "Say it politely." if arguments.get("q") == "rude" else None


def broken(arguments: JsonObject) -> str | None:
    raise LookupError(SECRET_TEXT)


@functools.lru_cache(maxsize=512)
def compiled(text: str, csv: str, colour: str) -> Loaded:
    """The policy of this YAML text, through the real loader."""
    declared = [
        Declared(name=tool.name, schema=tool.schema, parameters=tool.parameters, accepts=tool.accepts, origin=tool.origin)
        for tool in TOOLS[colour].values()
    ]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tools.yaml").write_text(text)
        if csv:
            Path(folder, "rules.csv").write_text(csv)
        return load_policy(folder, declared, checks={"polite": polite, "broken": broken})


# -- what lies between the walk and the world --------------------------------------------------------------------------


class Tracing(Hands):
    """Hands that note every command that they are given."""

    def note(self, trace: list[p.Command[Any]]) -> Tracing:
        self.trace = trace
        return self

    def store_call(self, command: p.Command[Any]) -> Callable[[], Any] | None:
        found = super().store_call(command)
        if found is not None:
            self.trace.append(command)
        return found

    def prepare(self, command: p.Execute) -> Callable[[], Any] | p.Executed:
        self.trace.append(command)
        return super().prepare(command)


class Faulty:
    """A store that fails at chosen operations: before the work, or after it was done (the answer is lost)."""

    OPERATIONS = (
        "open_turn",
        "load_ledger",
        "find_twins",
        "take",
        "ask",
        "record",
        "hold",
        "decide",
        "blocked",
        "claim",
        "outright",
        "begin",
        "say",
        "rows",
        "approval",
        "vote",
    )

    def __init__(self, inner: p.Store, at: Iterable[int], *, after: bool = False) -> None:
        self.inner, self.at, self.after, self.count = inner, frozenset(at), after, 0
        self.blocking = inner.blocking

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return functools.partial(self._do, method) if name in self.OPERATIONS else method

    def _do(self, method: Callable[..., Any], *args: Any, **more: Any) -> Any:
        self.count += 1
        fails = self.count in self.at
        if fails and not self.after:
            raise StoreError(SECRET_TEXT)
        answer = method(*args, **more)
        if fails:
            raise StoreError(SECRET_TEXT)
        return answer


class Silent:
    """An authorizer that cannot be evaluated."""

    scoped = False

    def decide(self, session: Session, tool: str, act: str, scope: Any = None) -> p.Verdict:
        raise RuntimeError("the matcher broke")

    def roles(self, session: Session) -> frozenset[str]:
        return frozenset(session.roles)


def thing(number: Any) -> Any:
    """The loader of the resource `thing`: some are missing, some cannot be looked up, some are somebody else's."""
    if number == 3:
        raise LookupError(SECRET_TEXT)
    return None if number == 4 else {"owner": "E2" if number == 5 else "E1"}


Call = tuple[Any, Any, Any]
"""Id, tool name and arguments, as a model may write them."""


class World:
    """One conversation in one colour. `store` may be shared with another world; `at` are the operations at which it fails."""

    def __init__(
        self,
        colour: str,
        policy: JsonObject,
        session: Session,
        *,
        csv: str = "",
        script: Iterable[Behaviour] = (),
        store: Any = None,
        url: str = "memory://",
        wire: str = "openai-chat",
        held: str = "answer",
        conversation: str = "conv",
        authorizer: Any = None,
        clock: Clock | None = None,
    ) -> None:
        self.colour, self.session, self.wire, self.clock = colour, session, wire, clock or Clock()
        loaded = compiled(json.dumps(policy), csv, colour)
        self.policy = loaded.policy if authorizer is None else replace(loaded.policy, authorizer=authorizer)
        timed = frozenset(name for name, tool in self.policy.tools.items() if tool.timeout is not None)
        self.stage = Stage(script, timed)
        self.trace: list[p.Command[Any]] = []
        self.store = store or open_store(url, clock=self.clock)
        if store is None and url.startswith("memory"):
            self.store.secret = b"s" * 32  # the same in every world, so that two runs of one plot can be compared
        kind = runner.Guard if colour == "sync" else runner.AsyncGuard
        tools = {name: TOOLS[colour][name] for name in self.policy.tools}
        self.guard: Any = kind(policy=self.policy, store=self.store, tools=tools, redactor=REDACTOR)
        hands = Tracing(store=self.store, tools=tools, redactor=self.guard.redactor, loaders={"thing": thing})
        self.guard.reloader.current = replace(self.guard.in_force, hands=hands.note(self.trace))
        self.chat: Any = self.guard.open(session, wire=wire, conversation=conversation, held=held)
        self.messages: list[JsonObject] = [{"role": "user", "content": "hello"}]
        self.turns: list[Turn] = []
        self.last: JsonObject | None = None
        self._runner = asyncio.Runner() if colour == "async" else None

    def __enter__(self) -> Self:
        STAGES.append(self.stage)
        return self

    def __exit__(self, *_: object) -> None:
        STAGES.pop()
        if self._runner is not None:
            self._runner.close()

    def run(self, value: Any) -> Any:
        """The value, awaited where the guard is asynchronous."""
        return self._runner.run(value) if self._runner is not None and inspect.iscoroutine(value) else value

    @property
    def ran(self) -> list[tuple[str, dict[str, Any]]]:
        return self.stage.ran

    @property
    def executed(self) -> list[p.Execute]:
        return [command for command in self.trace if isinstance(command, p.Execute)]

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for turn in self.turns for outcome in turn.outcomes]

    def turn(self, calls: Sequence[Call]) -> Turn:
        """The model proposes these calls in one message."""
        self.last = message(self.wire, *calls)
        return self._handled(self.messages)

    def again(self, *, history: bool) -> Turn | None:
        """The newest reply is handled once more; its results are not in the history."""
        if self.last is None:
            return None
        if self.turns and self.turns[-1].append:
            self.messages = self.messages[: -len(self.turns[-1].append)]
        return self._handled(self.messages if history else None)

    def _handled(self, history: list[JsonObject] | None) -> Turn:
        turn: Turn = self.run(self.chat.handle(self.last, history=history))
        self.turns.append(turn)
        self.messages += turn.append
        return turn

    def say(self) -> None:
        self.messages.append(self.run(self.chat.user("please go on")))
        self.turns.append(Turn(messages=[], append=[], stop=None, pending=(), outcomes=()))
        self.last = None

    def vote(self, word: str, who: Session) -> list[str]:
        """This person decides about everything pending; what came of each vote."""
        found = []
        for approval in self.run(self.guard.approvals.list()):
            try:
                found.append(self.run(getattr(self.guard.approvals, word)(approval.id, approver=who)).status)
            except (ApprovalError, StoreError) as error:
                found.append(type(error).__name__)
        return found

    def settle(self) -> list[JsonObject]:
        told: list[JsonObject] = self.run(self.chat.settled())
        self.messages += told
        if told:
            self.turns.append(Turn(messages=[], append=[], stop=None, pending=(), outcomes=()))
            self.last = None
        return told

    def audit(self) -> list[JsonObject]:
        return [fitting(record.body) for record in records(self.store)]
