"""Where the time of one call goes: timers around the rooms and what they use, each counting only its own time.

Used by `path.py --stages`. The whole is CPU time, the stages are medians of wall time. What a timer adds to its own stage is measured and taken off; what it adds around it is not
in "the rest", which is the untimed run less all stages.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import path

SIZE = 32
TURNS = 4
_OWN: dict[str, int] = {}
_COUNT: dict[str, int] = {}
_OPEN: list[int] = []


def _places() -> list[tuple[str, Any, str]]:
    """What is timed: a name, and where the function is looked up when it is called."""
    from guard.core import audit, board, endings, pipeline, redact
    from guard.policy import casbin_rules, schemas
    from guard.runner import chat, drivers, hands
    from guard.stores import ledger, memory
    from guard.wires import openai_chat

    return [
        ("wire: read the reply", openai_chat.OpenAIChat, "read"),
        ("wire: message to store", openai_chat.OpenAIChat, "stored"),
        ("wire: results", openai_chat.OpenAIChat, "results"),
        ("runner: digest of the turn", chat, "digest_of"),
        ("room: parse", pipeline, "parse"),
        ("room: bind", pipeline, "bind"),
        ("room: validate (fingerprint, canonical)", pipeline, "validate"),
        ("room: validate (schema)", schemas.Schema, "validate"),
        ("room: ground", pipeline, "ground"),
        ("room: authorize", pipeline, "authorize"),
        ("room: authorize (casbin)", casbin_rules.CasbinAuthorizer, "decide"),
        ("room: limit", pipeline, "charges"),
        ("room: redact", endings, "redact"),
        ("room: redact (hide and write)", redact, "shown_text"),
        ("audit: proposed", audit, "proposed"),
        ("audit: decided", audit, "decided"),
        ("audit: decided (arguments redacted)", audit, "shown_text"),
        ("audit: ended", audit, "ended"),
        ("board: recall", pipeline, "recall"),
        ("board: conclude", pipeline, "conclude"),
        ("board: rows", board, "row_of"),
        ("board: rows", endings, "row_of"),
        ("endings", pipeline, "ended"),
        ("execute: idempotency key", pipeline, "digest"),
        ("execute: prepare", hands.Hands, "prepare"),
        ("execute: result as JSON", drivers, "finished"),
        ("store: open the turn", ledger.LedgerStore, "open_turn"),
        ("store: record", ledger.LedgerStore, "record"),
        ("store: seal an event", memory, "write"),
    ]


def _timer(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    clock = time.perf_counter_ns
    _OWN.setdefault(name, 0)
    _COUNT.setdefault(name, 0)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        start = clock()
        _OPEN.append(0)
        try:
            return function(*args, **kwargs)
        finally:
            whole = clock() - start
            _OWN[name] += whole - _OPEN.pop()
            _COUNT[name] += 1
            if _OPEN:
                _OPEN[-1] += whole

    return run


@contextmanager
def timers() -> Iterator[None]:
    """The timers in place; gone afterwards."""
    places = [(label, owner, name) for label, owner, name in _places() if hasattr(owner, name)]  # another release may lack one
    before = [(owner, name, getattr(owner, name)) for _, owner, name in places]
    for label, owner, name in places:
        setattr(owner, name, _timer(label, getattr(owner, name)))
    try:
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def _run(chat: Any, mark: str, turns: int) -> float:
    """Microseconds a call."""
    given = [path.message(SIZE, f"{mark}_{at}") for at in range(turns)]
    start = time.thread_time_ns()
    for one in given:
        chat.handle(one)
    return (time.thread_time_ns() - start) / 1000 / turns / SIZE


def _overhead() -> float:
    """Nanoseconds that a timer counts for a function that does nothing."""
    name = "nothing"
    timed = _timer(name, lambda: None)
    for _ in range(10_000):
        timed()
    _COUNT.pop(name)
    return _OWN.pop(name) / 10_000


def report(rounds: int, as_json: bool) -> int:
    """Print own time by stage, most expensive first."""
    column = path.COLUMNS[0]
    plain: list[float] = []
    spent: dict[str, list[float]] = {}
    cost = _overhead()
    with path.folder() as place:
        for number in range(rounds):
            _, chat = path.opened(column, place, number)
            _run(chat, "warm", 2)
            plain.append(_run(chat, "plain", TURNS))
            with timers():
                _, chat = path.opened(column, place, number)
                _run(chat, "warm", 2)
                _OWN.update(dict.fromkeys(_OWN, 0))
                _COUNT.update(dict.fromkeys(_COUNT, 0))
                _run(chat, "timed", TURNS)
            for name, own in _OWN.items():
                spent.setdefault(name, []).append((own - cost * _COUNT[name]) / 1000 / TURNS / SIZE)
    total = statistics.median(plain)
    figures = {name: statistics.median(found) for name, found in spent.items()}
    figures["the rest: driver, generators, board, the tool"] = total - sum(figures.values())
    _print(total, dict(sorted(figures.items(), key=lambda item: -item[1])), as_json)
    return 0


def _print(total: float, figures: dict[str, float], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"us_a_call": total, "stages": figures}))
        return
    print(f"{SIZE} calls a turn, {path.COLUMNS[0].name}: {total:.1f} µs of CPU a call; own time, µs a call:")
    for name, own in figures.items():
        print(f"  {own:7.2f}  {own / total:5.1%}  {name}")
    print(f"load {os.getloadavg()[0]:.1f}")
