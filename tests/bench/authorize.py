"""What a decision costs, as ratios within one run: the engine beside plain pycasbin and cedarpy, the same rules and the same questions.

    PYTHONPATH=. python tests/bench/authorize.py            all bars, some minutes
    PYTHONPATH=. python tests/bench/authorize.py --quick    without the largest policies

Each figure is the median of several rounds of CPU time. `engine` decides anew each time; `memo` is the authorizer when it was asked before.
Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine_kit import HEAD, enforcer

from guard.core.model import Session
from guard.policy.casbin_rules import CasbinAuthorizer, shipped_shape
from guard.policy.engine.engine import Engine
from guard.policy.engine.model import BOTH, read_model
from guard.policy.problems import Problems
from guard.policy.publish import authorizer
from guard.policy.rule_files import Grant, Rule, RuleBook
from guard.policy.rule_shape import shape, shipped
from guard.policy.source import Item

PLAIN = HEAD.format(
    r="sub, dom, obj, act",
    p="sub, dom, obj, act, eft",
    e=BOTH,
    m="r.obj == p.obj && r.act == p.act && r.dom == p.dom && g(r.sub, p.sub, r.dom)",
)
BARS: list[tuple[str, float, float, bool]] = []


def timed(ask: Callable[[], object], seconds: float = 0.05, rounds: int = 7) -> float:
    """CPU seconds of one call: the median of rounds."""
    begun = time.process_time()
    ask()
    times = max(1, int(seconds / max(1e-7, time.process_time() - begun)))
    found = []
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(times):
            ask()
        found.append((time.process_time() - begun) / times)
    gc.enable()
    return statistics.median(found)


def rules(count: int, way: str) -> list[list[str]]:
    """One rule a tool, or all of them on one tool, each for another role."""
    return [
        [f"role{n % 97 if way == 'spread' else n}", "acme", f"tool{n if way == 'spread' else 0}", "call", "allow"]
        for n in range(count)
    ]


def question(count: int, way: str) -> list[str]:
    """What the last rule allows; the person holds its role by a g line."""
    return ["ann", "acme", f"tool{count - 1 if way == 'spread' else 0}", "call"]


def links(count: int, way: str) -> list[list[str]]:
    """One role for the person."""
    return [["ann", f"role{(count - 1) % 97 if way == 'spread' else count - 1}", "acme"]]


def engine(text: str, rows: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> Engine:
    """The engine over a model's text."""
    model = read_model(text, "model.conf", Problems())
    assert model is not None
    return Engine(model, rows, {"g": given})


def bar(name: str, found: float, wanted: float, *, most: bool) -> None:
    """One line of the table."""
    good = found <= wanted if most else found >= wanted
    BARS.append((name, found, wanted, good))
    print(f"{name:72} {found:12.3g}   {'at most' if most else 'at least'} {wanted:<8g} {'ok' if good else 'MISSED'}", flush=True)


def sizes(*, quick: bool) -> None:
    """How the cost grows, and how it compares with a plain enforcer."""
    for way in ("spread", "hot"):
        cost = {}
        for count in (10, 1_000, 10_000, *(() if quick else (100_000,))):
            ours = engine(shipped(), rules(count, way), links(count, way))
            asked = question(count, way)
            assert ours.decide(asked).allowed
            cost[count] = timed(lambda ours=ours, asked=asked: ours.decide(asked))
        for count, seconds in cost.items():
            print(f"  {way}, {count} rules: {seconds * 1e6:.1f} us", flush=True)
        if not quick:
            bar(f"{way}: 100,000 rules against 10", cost[100_000] / cost[10], 1.5, most=True)
        beside(way, cost[10_000])


def beside(way: str, shipped_cost: float) -> None:
    """A plain enforcer over 10,000 rules, with the faster of the usual matchers."""
    same = engine(PLAIN, rules(10_000, way), links(10_000, way))
    plain = enforcer(PLAIN, rules(10_000, way), {"g": links(10_000, way)})
    asked = question(10_000, way)
    assert plain.enforce(*asked)
    slow = timed(lambda: plain.enforce(*asked), seconds=0, rounds=3)
    bar(
        f"{way}: 10,000 rules, plain Enforcer / engine, the same model",
        slow / timed(lambda: same.decide(asked)),
        1000,
        most=False,
    )
    bar(f"{way}: 10,000 rules, plain Enforcer / engine, the shipped model", slow / shipped_cost, 1000, most=False)


def first(people: int = 3_000) -> None:
    """The first decision after a load (with the probes that every load makes), many people in one tenant."""
    spot = Item("rules.csv", 1)
    rule, grants = Rule("clerk", "acme", "tool", "call", "allow"), [Grant(f"u{n}", "clerk", "acme") for n in range(people)]
    asked, ratios = ["user:u7", "acme", "tool", "call"], []
    for _ in range(25):
        gc.collect()
        gc.disable()  # as while the warm ones are timed
        book = RuleBook({rule: spot}, dict.fromkeys(grants, spot), {"clerk"})  # kept, as a loaded folder keeps it
        judge = authorizer(shipped_shape(), book, Problems())
        assert judge is not None
        begun = time.perf_counter()
        judge.engine.decide(asked)
        took = time.perf_counter() - begun
        ratios.append(took / timed(lambda judge=judge: judge.engine.decide(asked), seconds=0.01, rounds=3))
        del judge, book  # here, and not between the next load and its first decision
    bar(f"first decision after a load / a warm one, {people} people", statistics.median(ratios), 3, most=True)


def arguments() -> None:
    """Arguments of 10 and of 10,000 elements, with a policy that reads one of them."""
    text = (
        shipped()
        .replace("r = sub, dom, obj, act", "r = sub, dom, obj, act, ctx")
        .replace("m = ", "m = r.ctx.arguments.amount <= 100 && ")
    )
    model = read_model(text, "model.conf", Problems())
    made = None if model is None else shape(model, Problems())
    assert made is not None
    judge = CasbinAuthorizer(made, [Rule("clerk", "*", "tool", "call", "allow")], [], roles=("clerk",))
    session = Session(principal="ann", roles=("clerk",), tenant="acme")
    cost = {}
    for count in (10, 10_000):
        scope = {"arguments": {"amount": 5, "items": [{"n": n} for n in range(count)]}, "resource": {}, "resolved": {}}
        assert judge.decide(session, "tool", "call", scope).allowed
        cost[count] = timed(lambda scope=scope: judge.decide(session, "tool", "call", scope))
    bar("arguments of 10,000 elements against 10", cost[10_000] / cost[10], 1.1, most=True)


def memo() -> None:
    """What the authorizer costs when it was asked before."""
    judge = CasbinAuthorizer(shipped_shape(), [Rule("clerk", "*", "tool", "call", "allow")], [Grant("ann", "clerk", "*")])
    session = Session(principal="ann", tenant="acme")
    print(f"  memo: {timed(lambda: judge.decide(session, 'tool', 'call')) * 1e6:.2f} us")


def cedar(count: int = 1_000) -> None:
    """Cedar with its policies and entities prepared, the same rules."""
    try:
        import cedarpy
    except ImportError:
        print("  cedarpy is not installed: pip install 'guard-middleware[bench]'")
        return
    for way in ("spread", "hot"):
        text = "".join(
            f'permit(principal in Role::"{sub}", action == Action::"{act}", resource == Tool::"{obj}") when {{ context.dom == "{dom}" }};\n'
            for sub, dom, obj, act, _ in rules(count, way)
        )
        person, role, _ = links(count, way)[0]
        tool = question(count, way)[2]
        entities: list[dict[str, Any]] = [
            {"uid": {"type": "User", "id": person}, "attrs": {}, "parents": [{"type": "Role", "id": role}]},
            {"uid": {"type": "Role", "id": role}, "attrs": {}, "parents": []},
            {"uid": {"type": "Tool", "id": tool}, "attrs": {}, "parents": []},
        ]
        asked = {
            "principal": f'User::"{person}"',
            "action": 'Action::"call"',
            "resource": f'Tool::"{tool}"',
            "context": {"dom": "acme"},
        }
        policies, known = cedarpy.PolicySet.from_str(text), cedarpy.Entities.from_json_str(json.dumps(entities))
        assert cedarpy.is_authorized(asked, policies, known).allowed
        theirs = timed(lambda asked=asked, policies=policies, known=known: cedarpy.is_authorized(asked, policies, known))
        ours = engine(shipped(), rules(count, way), links(count, way))
        mine = question(count, way)
        bar(
            f"{way}: {count} rules, engine / cedarpy with handles",
            timed(lambda ours=ours, mine=mine: ours.decide(mine)) / theirs,
            0.2,
            most=True,
        )


def main() -> int:
    """All bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    sizes(quick=quick)
    cedar()
    first()
    arguments()
    memo()
    return 1 if any(not good for *_, good in BARS) else 0


if __name__ == "__main__":
    sys.exit(main())
