"""The table of README: what each scenario comes to, and on which ways it is the same. Made by playing all of them.

python tests/conformance_table.py           # prints the table of a run
python tests/conformance_table.py --write   # and puts it into README.md
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import framework_ways
import remote_ways
from conformance import Seen, Way, carried, loaded, play, way_of
from conformance_scenarios import SCENARIOS

from guard import Guard

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- conformance: made by tests/conformance_table.py -->", "<!-- /conformance -->"
Opened = Callable[[Path], AbstractContextManager[Guard]]
OTHERS: dict[str, tuple[Any, Opened]] = {
    "LangChain": (framework_ways.LangChain, framework_ways.langchain),
    "OpenAI Agents": (framework_ways.Agents, framework_ways.agents),
    "Pydantic AI": (framework_ways.Pydantic, framework_ways.pydantic),
    "`guard serve`": (remote_ways.Sidecar, remote_ways.sidecar),
    "`guard mcp`": (remote_ways.Proxy, remote_ways.proxy),
}
"""The ways that are no wire: each with what opens a guard for it."""


def brings(kind: type[Way], name: str, scenario: str) -> bool:
    """Whether a way can bring a scenario at all."""
    return kind.carries(name, SCENARIOS[scenario]) and scenario not in getattr(kind, "lost", ())


def on_wires(guard: Guard, first: dict[str, list[Seen]]) -> dict[str, str]:
    """For each scenario on how many of the ways that can bring it, on the wires, by `guard.call` and `@guarded`, it comes to the same."""
    found = {}
    for scenario, played in SCENARIOS.items():
        ways = [name for name, one in carried() if one == scenario]
        same = [name for name in ways if play(way_of(guard, name, f"table {scenario}"), played) == first[scenario]]
        found[scenario] = f"{len(same)} of {len(ways)}"
    return found


def elsewhere(guard: Guard, name: str, first: dict[str, list[Seen]]) -> dict[str, str]:
    """For each scenario whether it comes to the same on one further way; a dash where that cannot bring it."""
    kind = OTHERS[name][0]
    return {
        scenario: "-"
        if not brings(kind, name, scenario)
        else _same(kind(guard, name, "answer", _tenant(name, scenario)), scenario, first)
        for scenario in SCENARIOS
    }


def _same(way: Way, scenario: str, first: dict[str, list[Seen]]) -> str:
    return "same" if play(way, SCENARIOS[scenario]) == first[scenario] else "OTHER"


def _tenant(name: str, scenario: str) -> str:
    return f"{name} {scenario}".replace(":", "").replace("`", "")


def table() -> str:
    """Markdown."""
    columns: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as folder, loaded(Path(folder)) as guard:
        first = {name: play(way_of(guard, "openai-chat", f"first {name}"), played) for name, played in SCENARIOS.items()}
        columns["wires, `guard.call`, `@guarded`"] = on_wires(guard, first)
    for name, (_, opened) in OTHERS.items():
        with TemporaryDirectory() as folder, opened(Path(folder)) as guard:
            columns[name] = elsewhere(guard, name, first)
    lines = [f"| {' | '.join(('scenario', 'comes to', *columns))} |", "|---" * (len(columns) + 2) + "|"]
    for scenario in SCENARIOS:
        told = ", ".join(dict.fromkeys(f"`{one.reason}`" if one.reason else one.status for one in first[scenario]))
        lines.append(f"| {' | '.join((scenario, told, *(column[scenario] for column in columns.values())))} |")
    return "\n".join(lines)


def written() -> str:
    """The table that README holds."""
    return README.read_text("utf-8").partition(f"{BEGIN}\n")[2].partition(f"\n{END}")[0]


if __name__ == "__main__":
    logging.disable()  # what fails here is meant to
    made = table()
    print(made)
    if "--write" in sys.argv:
        README.write_text(README.read_text("utf-8").replace(f"{BEGIN}\n{written()}\n{END}", f"{BEGIN}\n{made}\n{END}"), "utf-8")
