"""Verdict: after the kills a process that lives brings every conversation to its end.

Then what the store, the targets and the histories say is compared.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from provider_rules import RejectedError, check_openai
from wire_helpers import answers

from crash import scene, targets
from crash.cast import Host
from guard.cli.audit_verify import stored_report
from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Store
from guard.stores import open_store
from guard.stores.chain import verify_store

ROUNDS = 6


def numbers(folder: Path) -> list[int]:
    """Every conversation of the run."""
    return sorted(int(path.name.partition("-")[2]) for path in folder.glob("talk-*") if not path.suffix)


def ref_of(number: int) -> ConversationRef:
    """Where a conversation stands in the store."""
    who = scene.EMPLOYEE
    return ConversationRef(tenant=who.tenant, principal=who.principal, conversation=scene.name_of(number))


def recover(host: Host, folder: Path) -> None:
    """Resume every conversation until nothing is open, and propose once more what its class lets be repeated and is not done."""
    for number in numbers(folder):
        host.play(number, crashed=True)
        talk = scene.talk_at(folder, number)
        chat = host.open(talk)
        for attempt in range(ROUNDS):
            talk.messages = chat.resume(talk.messages)
            rows = host.guard.store.rows(ref_of(number))
            missing = _undone(host.proposed(number), rows)
            if not missing and not any(row.status in ("held", "started") for row in rows):
                break
            if missing:
                again = [(f"again{attempt}-{n}", tool, n) for tool, n in missing]
                talk.messages += chat.handle(scene.reply(again), history=talk.messages).append
            host.settle(chat, talk)
        talk.save(folder)


def number_of(row: CallRow) -> int:
    """Which call of the run this is."""
    return int(json.loads(row.call.arguments)["n"]) if isinstance(row.call.arguments, str) else -1


def _undone(proposed: list[tuple[str, int]], rows: tuple[CallRow, ...]) -> list[tuple[str, int]]:
    """Calls that may be repeated and are not done: lost ones, and those that a resumed history closed before they were started."""
    done = {number_of(row) for row in rows if row.status == "done"}
    return [(tool, n) for tool, n in proposed if scene.CLASS.get(tool, "once") != "once" and n not in done]


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run found. `effects` counts calls by class and by how often they took effect: 0, 1, more. `problems` must be empty."""

    calls: int = 0
    kills: int = 0
    seams: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    effects: dict[str, list[int]] = field(default_factory=dict)
    ledger: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    unknown_acted: int = 0
    invocations: int = 0
    attempts: int = 0
    records: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def duplicates(self) -> int:
        """Calls that took effect more than once."""
        return sum(counts[2] for counts in self.effects.values())

    def line(self) -> str:
        """All of it on one line."""
        effects = ", ".join(f"{kind} {'/'.join(map(str, counts))}" for kind, counts in sorted(self.effects.items()))
        return (
            f"{self.calls} calls, {self.kills} kills, effects 0/1/>1: {effects}; unknown {self.unknown}"
            f" (had acted: {self.unknown_acted}), {self.duplicates} duplicates, {self.invocations} invocations, {self.records} records,"
            f" {len(self.problems)} problems, {self.seconds:.0f} s"
        )

    def json(self) -> str:
        """All of it as JSON."""
        return json.dumps(asdict(self) | {"duplicates": self.duplicates, "line": self.line()}, sort_keys=True)


class Judge:
    """Compares, and writes down what does not fit."""

    def __init__(self, store: Store, folder: Path, kills: int) -> None:
        self._store, self._folder = store, folder
        self.report = Report(kills=kills)
        self._effects = targets.Deduping(folder).counts() + Counter(int(words[0]) for words in targets.lines(folder, "effect"))

    def judge(self, url: str) -> Report:
        """Everything that must be true at the end of a run."""
        report = self.report
        report.seams = dict(Counter(" ".join(words) for words in targets.lines(self._folder, "kill")))
        report.seams["from outside"] = report.kills - sum(report.seams.values())
        report.late = dict(Counter(words[0] for words in targets.lines(self._folder, "late")))
        report.invocations = len(targets.lines(self._folder, "invoke"))
        for number in numbers(self._folder):
            self._talk(number)
        chain = verify_store(self._store)
        report.records = chain.records
        self._must(chain.ok, f"the audit chain does not verify: {chain}")
        whole = stored_report(self._store, [], None)
        self._must(whole.ok and whole.records == chain.records, f"the audit log does not verify: {whole.problems}")
        path = url.partition("sqlite:///")[2]
        if path:
            found = sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()[0]
            self._must(found == "ok", f"integrity_check: {found}")
        return report

    def _must(self, good: object, problem: str) -> None:
        if not good:
            self.report.problems.append(problem)

    def _talk(self, number: int) -> None:
        talk, rows = scene.talk_at(self._folder, number), self._store.rows(ref_of(number))
        ledger: dict[int, list[CallRow]] = {}
        for row in rows:
            if row.call.tool in scene.CLASS:
                ledger.setdefault(number_of(row), []).append(row)
        proposed = self._history(number, talk.messages)
        for n, (tool, told) in proposed.items():
            if tool in scene.CLASS:
                self._call(n, tool, ledger.get(n, []), told)

    def _history(self, number: int, messages: list[dict[str, Any]]) -> dict[int, tuple[str, str]]:
        """Each call of a history, with what the model was told last; and that the provider takes the history."""
        try:
            check_openai({"messages": messages})
        except RejectedError as error:
            self._must(good=False, problem=f"conversation {number}: the provider rejects its history: {error}")
        results = answers(scene.WIRE, messages)
        told = dict(results)
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        self._must(sorted(told) == sorted(call["id"] for call in calls), f"conversation {number}: calls without a result")
        self._must(len(told) == len(results), f"conversation {number}: two results for one id")
        found: dict[int, tuple[str, str]] = {}
        for call in calls:
            n = int(json.loads(call["function"]["arguments"])["n"])
            found[n] = (call["function"]["name"], code(told.get(call["id"], "{}")))
        return found

    def _call(self, n: int, tool: str, rows: list[CallRow], told: str) -> None:
        report, kind, acted = self.report, scene.CLASS[tool], self._effects[n]
        own = [row for row in rows if row.status != "alias"]
        report.calls += 1
        counts = report.effects.setdefault(kind, [0, 0, 0])
        counts[min(acted, 2)] += 1
        report.attempts += sum(row.attempt for row in own)
        statuses = {row.status for row in own}
        status = next((one for one in ("done", "unknown", "failed", "refused", "held", "started") if one in statuses), "none")
        report.ledger[status] = report.ledger.get(status, 0) + 1
        rules = {
            "twice": acted <= 1,
            "still open": status in ("done", "unknown", "refused", "none"),
            "done is not one effect": status != "done" or acted == 1,
            "refused and acted": status not in ("refused", "none") or acted == 0,
            "told done": told != "done" or acted == 1,
            "told interrupted and acted": kind != "once" or told != "interrupted" or acted == 0,
            "taken twice": kind != "once" or all(row.attempt <= 1 for row in own),
            "not done in the end": kind == "once" or status == "done",
        }
        broken = ", ".join(name for name, good in rules.items() if not good)
        self._must(not broken, f"{broken}: {tool} {n} is {status} in the ledger, acted {acted} times, the model was told {told}")
        if status == "unknown":
            report.unknown += 1
            report.unknown_acted += acted > 0


def code(content: Any) -> str:
    """The error code in a result, or `done`: a probe's plain yes is told in words."""
    value = json.loads(content) if content.startswith("{") else {}
    return str(value["error"]["code"]) if value.get("ok") is False else "done"


def judged(url: str, folder: Path, kills: int) -> Report:
    """The verdict about a run, with a store of its own."""
    store = open_store(url)
    try:
        return Judge(store, folder, kills).judge(url)
    finally:
        store.close()
