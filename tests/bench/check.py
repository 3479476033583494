"""What the reviewer's desk costs: check, load, matrix and diff over generated folders of 300, 1,000 and 3,000 tools and 50 roles.

    PYTHONPATH=. python tests/bench/check.py            all sizes, some minutes
    PYTHONPATH=. python tests/bench/check.py --quick    300 and 1,000 tools
    PYTHONPATH=. python tests/bench/check.py --keep DIR leave the folders there

Seconds are CPU seconds of this process, measured once: the table says how they grow (`per tool` against the smallest folder), and that is what the
bars are about. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from guard.cli.main import main as guard
from guard.policy import load_policy

ROLES = 50
FILES = 10
DESK: dict[str, float] = {"load": 4.0, "check": 8.0, "matrix": 15.0, "diff": 15.0}
"""Seconds that 3,000 tools may take on two shared cores."""
GROWTH = 1.6
"""How much dearer one tool of the largest folder may be than one of the smallest."""


def tool(number: int) -> str:
    """One entry: a look-up, and every third one an action that needs it."""
    service, role = f"service{number // 30}", f"role{number % ROLES}"
    name = f"{service}_{'change' if number % 3 == 2 else 'read'}_{number}"
    lines = [
        f"  {name}:",
        f"    description: What is done with number {number} of {service}, for {role}.",
        f"    allow: [{role}, role{(number * 7 + 3) % ROLES}]",
        "    schema:",
        "      type: object",
        "      properties:",
        "        account_id: {type: string}",
        f"        item_{number}: {{type: string, maxLength: {20 + number % 40}}}",
        f"        amount: {{type: number, minimum: 0, maximum: {1000 + number}}}",
        f"      required: [item_{number}]",
        "    bind: {account_id: session.principal}",
    ]
    if number % 3 == 2:
        lines += [
            "    kind: action",
            f"    require: {{amount: {{maximum: {500 + number % 300}}}}}",
            f"    limits: {{calls: {3 + number % 5}, sum: amount, at_most: {900 + number}}}",
            f"    approve: [{{when: {{amount: {{maximum: 50}}}}, by: self}}, {{by: [role{(number + 1) % ROLES}]}}]",
        ]
    else:
        lines += ["    kind: read", f"    result: {{keep: [item_{number}, amount], empty: nothing found}}"]
    return "\n".join(lines)


def folder(where: Path, tools: int) -> Path:
    """Write a folder of `tools` tools in ten files, with roles that hold each other and as many CSV rules as tools."""
    here = where / f"policy-{tools}"
    here.mkdir(parents=True)
    for part in range(FILES):
        entries = [tool(number) for number in range(tools) if number * FILES // tools == part]
        (here / f"tools-{part}.yaml").write_text("tools:\n" + "\n".join(entries) + "\n", "utf-8")
    (here / "limits.yaml").write_text("limits: {run: {steps: 8, calls: 20}}\n", "utf-8")
    names = [line.strip().rstrip(":") for number in range(tools) for line in tool(number).splitlines()[:1]]
    rules = [f"p, role{(at * 11 + 5) % ROLES}, tenant{at % 3}, {name}, call, allow" for at, name in enumerate(names)]
    people = [f"g, person{number}, role{number % ROLES}, tenant{number % 3}" for number in range(200)]
    (here / "rules.csv").write_text("\n".join([*rules, *people]) + "\n", "utf-8")
    return here


def narrowed(old: Path) -> Path:
    """The same folder with one bound moved and one allow taken away."""
    new = old.with_name(old.name + "-new")
    new.mkdir()
    for file in old.iterdir():
        text = file.read_text("utf-8")
        if file.name == "tools-0.yaml":
            text = text.replace("{amount: {maximum: 502}}", "{amount: {maximum: 400}}", 1)
        if file.name == "rules.csv":
            text = text.split("\n", 1)[1]
        (new / file.name).write_text(text, "utf-8")
    return new


def spent(act: Callable[[], object]) -> float:
    """CPU seconds of one run, its output thrown away."""
    begun = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        act()
    return time.process_time() - begun


def measured(old: Path) -> dict[str, float]:
    """Seconds of each piece of work on one folder."""
    new = narrowed(old)
    return {
        "load": spent(lambda: load_policy(old)),
        "check": spent(lambda: guard(["check", "--policy", str(old)])),
        "matrix": spent(lambda: guard(["explain", "--policy", str(old), "--matrix"])),
        "diff": spent(lambda: guard(["diff", str(old), str(new)])),
    }


def told(rows: dict[int, dict[str, float]]) -> bool:
    """Print the table; whether every bar holds."""
    sizes = sorted(rows)
    good = True
    print(f"{'':8}" + "".join(f"{size:>9} tools" for size in sizes) + "   per tool   bar")
    for name, most in DESK.items():
        growth = (rows[sizes[-1]][name] / sizes[-1]) / (rows[sizes[0]][name] / sizes[0])
        missed = growth > GROWTH or (sizes[-1] == max(SIZES) and rows[sizes[-1]][name] > most)
        good = good and not missed
        cells = "".join(f"{rows[size][name]:>13.2f} s" for size in sizes)
        print(f"{name:8}{cells}   {growth:7.2f}x   {most:g} s, {GROWTH}x {'MISSED' if missed else 'ok'}")
    return good


SIZES = (300, 1_000, 3_000)


def main() -> int:
    """Exit code 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the largest folder")
    parser.add_argument("--keep", metavar="DIR", help="leave the folders there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(arguments.keep or scratch)
        measured(folder(where, 30))  # what is imported and compiled once is nobody's
        rows = {size: measured(folder(where, size)) for size in (SIZES[:-1] if arguments.quick else SIZES)}
    return 0 if told(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
