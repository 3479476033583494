"""The import rule and the sizes of the house, read from the syntax trees: nothing here runs the modules but the last few tests."""

from __future__ import annotations

import ast
import importlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import guard

ROOT = Path(__file__).parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "guard").rglob("*.py"))
}
TESTS = sorted(path for path in (ROOT / "tests").glob("test_*.py"))

LANGUAGE = (
    "values",
    "likeness",
    "replacing",
    "redactor",
    "dialect",
    "redaction",
    "roles",
    "beside",
    "objects",
    "paths",
    "keytree",
    "opening",
    "fields",
    "blocks",
    "views",
    "conditions",
    "endpoints",
    "ceilings",
    "targets",
    "offers",
    "asking",
    "rules",
    "reasons",
    "names",
    "approval",
    "grants",
    "covering",
    "ways",
    "model",
    "kills",
    "commands",
    "killing",
    "acting",
    "granting",
    "outright",
    "log",
    "searching",
    "ports",
    "outbox",
)  # each may use those before it
HELPERS = (
    "lasting",
    "sources",
    "source_words",
    "telling",
    "pointers",
    "presented",
    "unseen",
    "legible",
    "facts",
    "gone",
    "wording",
    "briefing",
    "tags",
    "persons",
    "actors",
    "budgets_of_people",
    "rights",
    "handles",
    "clipping",
    "cutting",
    "spellings",
    "hiding",
    "effect_line",
    "echoes",
    "sealing",
    "putback",
    "edited",
    "grant_words",
    "untrusted",
    "budget",
    "answer",
    "erasing",
    "gaps",
    "commitments",
    "rowed",
    "audit",
    "audit_begun",
    "audit_ends",
    "audit_asked",
    "audit_votes",
    "spoken",
    "exported",
    "audit_exports",
    "audit_proofs",
    "context",
    "grant_records",
    "kill_records",
    "audit_policy",
    "board",
    "unresolved",
    "concluding",
    "recall",
    "endings",
    "taking",
    "looking",
    "stopping",
    "quotas",
    "standing",
    "unopened",
    "permits",
    "ahead",
    "walked",
)  # as well, and the language
ROOMS = ("parse", "bind", "validate", "ground", "authorize", "limit", "approve", "redact")  # never each other
BOUNDARY = (
    "core.values",
    "core.replacing",
    "core.dialect",  # policies and redactors hold patterns that both must judge alike
    "core.redaction",  # a policy may not take the name of a kind that is always hidden
    "core.objects",  # what is JSON among other words is hidden and cut alike
    "core.roles",
    "core.beside",  # names beside values mean the same to the walk and to texts of JSON
    "core.paths",
    "core.keytree",
    "core.opening",
    "core.fields",
    "core.views",
    "core.conditions",
    "core.endpoints",
    "core.ceilings",
    "core.targets",
    "core.offers",
    "core.asking",
    "core.rules",
    "core.reasons",
    "core.names",
    "core.approval",
    "core.grants",
    "core.covering",
    "core.blocks",
    "core.ways",
    "core.model",
    "core.kills",
    "core.killing",
    "core.searching",
    "core.commands",
    "core.acting",
    "core.granting",
    "core.log",
    "core.ports",
    "core.outbox",
)


def _core() -> dict[str, tuple[str, ...]]:
    rules: dict[str, tuple[str, ...]] = {"core": ()}
    for index, name in enumerate(LANGUAGE):
        rules[f"core.{name}"] = ("errors", *(f"core.{other}" for other in LANGUAGE[:index]))
    for index, name in enumerate(HELPERS):
        rules[f"core.{name}"] = ("errors", *BOUNDARY, *(f"core.{other}" for other in HELPERS[:index]))
    for name in ROOMS:
        rules[f"core.{name}"] = ("errors", *BOUNDARY)
    rules["core.endings"] += ("core.redact",)  # what an executed call means includes what may be shown of it
    rules["core.standing"] += ("core.ground",)
    rules["core.quotas"] += ("core.limit",)  # the room's work on a whole turn
    rules["core.ahead"] += ("core.limit",)  # whether time alone makes a difference to it
    rules["core.approve"] += ("core.pointers", "core.presented", "core.edited", "core.rights")
    rules["core.permits"] += ("core.approve",)  # likewise
    rules["core.redact"] += (
        "core.clipping",
        "core.cutting",
        "core.hiding",
        "core.unseen",
    )  # unseen: what nobody sees is no result
    rules["core.bind"] += ("core.putback",)
    rules["core.ground"] += ("core.sources", "core.source_words", "core.likeness")
    rules["core.limit"] += ("core.lasting", "core.sources", "core.budgets_of_people")  # whose a quota is
    return rules


RULES: dict[str, tuple[str, ...]] = {
    "errors": (),
    "extras": (),  # what to install: for whatever needs a package that not everybody has
    **_core(),
    "core.pipeline": ("errors", "core"),
    "core.revising": ("errors", "core"),  # a changed call walks the pipeline's rooms up to the question
    "policy": (*BOUNDARY, "core.handles", "errors", "extras", "policy"),  # handles: how types of them are spelled
    "tools": (*BOUNDARY, "errors", "tools"),
    "tools.secrets": (*BOUNDARY, "core.spellings", "errors", "tools"),  # how a service may repeat what it was asked with
    "redactors": (*BOUNDARY, "errors", "extras", "redactors"),
    "stores": (*BOUNDARY, "core.erasing", "core.gaps", "core.exported", "core.rowed", "errors", "extras", "stores"),
    # tools: where a request of the house may go, and how it is sent once
    "sinks": (
        *BOUNDARY,
        "core.unseen",
        "core.exported",
        "errors",
        "core.audit_exports",
        "sinks",
        "tools.destination",
        "tools.sending",
        "tools.request",
    ),
    "wires": ("core.values", "core.asking", "core.rules", "core.approval", "core.model", "errors", "wires"),
    "runner": ("core", "errors", "extras", "tools", "wires", "runner"),
    # exported: a closed month is an export of its records
    "proof": (
        "core.values",
        "core.commands",
        "core.exported",
        "core.log",
        "core.ports",
        "core.rowed",  # digests of rows are made again of the rows that stand
        "errors",
        "extras",
        "stores.chain",
        "stores.stamp",
        "proof",
    ),
    "proof.chains": (),  # these six run without anything else of ours
    "proof.exports": ("proof.chains",),
    "proof.notes": ("proof.chains",),
    "proof.segments": ("proof.chains",),
    "proof.checking": ("proof.chains", "proof.notes", "proof.segments"),
    "proof.alone": ("proof.chains", "proof.exports", "proof.notes", "proof.checking"),
    "options": ("redactors", "runner", "stores", "proof"),  # the types of what `load` takes
    "compose": (
        "core",
        "errors",
        "options",
        "policy",
        "stores",
        "redactors",
        "tools",
        "runner",
        "review",
        "proof",
    ),  # review: the cases of a folder
    "integrations": ("core.values", "core.model", "errors", "extras", "runner", "wires", "integrations"),
    # the definitions of an MCP server: compiled tools to show, pins to hold them against, a record of what is refused
    "integrations.mcp": (
        "core.values",
        "core.ceilings",  # how long a message may be
        "core.rules",
        "core.telling",  # what is told of a tool's results, the same as on the wires
        "core.beside",  # names beside values count in messages as they do in results
        "core.redaction",  # what stands in the place of a secret
        "core.audit",
        "core.model",
        "errors",
        "extras",
        "tools",
        "runner",
        "wires",
        "policy.pins",
        "integrations",
    ),
    "auditing": ("core", "errors", "stores", "auditing"),  # what an auditor asks of the records: reads a store, changes nothing
    "review": (
        "core",
        "errors",
        "policy",
        "stores",
        "redactors",
        "tools",
        "runner",
        "review",
    ),  # cases are played by a real guard
    "web": ("",),
    "cli": ("",),
    "__main__": ("cli",),
    "": ("core.model", "core.reasons", "errors", "compose", "runner", "tools"),  # the package's front
}
"""Module or package → the modules and packages of ours that it may import; the longest name that fits counts. `""`: any."""

UNIMPORTED = ("cli", "web", "__main__")  # nobody but themselves
PURE = {"core"}  # standard library only
PROOFS = {
    "ParsedCall": {"guard.core.parse"},
    "BoundCall": {"guard.core.bind"},
    "ValidCall": {"guard.core.validate"},
    "GroundedCall": {"guard.core.ground"},
    "AuthorizedCall": {"guard.core.authorize"},
    "Allow": {"guard.core.approve", "guard.core.pipeline"},  # pipeline: for calls that need nobody
    "Hold": {"guard.core.approve"},
}
FOREIGN = ("openai", "anthropic", "starlette", "fastapi", "psycopg", "mcp", "sqlite3", "httpx", "casbin", "numpy")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, wherever in it and under whatever condition."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports are not used here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in MODULES else str(node.module)


def within(name: str, place: str) -> bool:
    return place in ("", name) or name.startswith(f"{place}.")


def rule_of(name: str) -> tuple[str, ...]:
    return RULES[max((place for place in RULES if place and within(name, place)), key=len, default="")]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_place_allows(module: str) -> None:
    """As the table says; a package that the table does not know may import nothing."""
    own = module.removeprefix("guard").removeprefix(".")
    for line, name in imports(MODULES[module]):
        if not within(name, "guard"):
            continue
        target = name.removeprefix("guard").removeprefix(".")
        assert any(within(target, place) for place in rule_of(own)), f"{module}:{line} may not import {name}"
        hidden = next((place for place in UNIMPORTED if within(target, place)), None)
        starts = (
            own in ("cli.serve_http", "cli.serve_tokens") and hidden == "web"
        )  # what starts the server and says who may ask it
        assert hidden is None or own == "__main__" or starts or within(own, hidden), f"{module}:{line}: nobody imports {hidden}"


@pytest.mark.parametrize("module", [name for name in MODULES if within(name, "guard.core")])
def test_the_core_knows_only_the_standard_library(module: str) -> None:
    """No third party, no clock, no randomness, no environment."""
    for line, name in imports(MODULES[module]):
        top = name.partition(".")[0]
        assert top == "guard" or top in sys.stdlib_module_names, f"{module}:{line} imports {name}"
        assert top not in {"time", "random", "secrets", "uuid", "os", "socket", "threading", "asyncio", "sqlite3"}


@pytest.mark.parametrize("proof", PROOFS)
def test_each_proof_is_built_in_one_place(proof: str) -> None:
    """Whoever could build a proof elsewhere could skip the room that gives it."""
    found = {
        name
        for name, path in MODULES.items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and proof in {getattr(node.func, "id", None), getattr(node.func, "attr", None)}
    }
    assert found == PROOFS[proof]


def test_no_proof_is_copied_with_changes() -> None:
    """`replace` on a proof would change what was proven: the core uses it on rows, outcomes, sessions and openings alone."""
    for name in (*ROOMS, "pipeline", "taking", "looking", "board", "recall", "endings"):
        for node in ast.walk(tree(MODULES[f"guard.core.{name}"])):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "replace":
                first = ast.unparse(node.args[0])
                assert not any(word in first for word in ("valid", "allow", "grounded", "bound", "parsed")), (name, first)


def test_only_the_walk_yields_in_the_core() -> None:
    """A room that yields would hide a step: only the pipeline, and what it does with actions and look-ups behind the decision, ask for anything."""
    found = {
        name
        for name, path in MODULES.items()
        if within(name, "guard.core") and any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(tree(path)))
    }
    assert found == {
        "guard.core.pipeline",
        "guard.core.taking",
        "guard.core.looking",
        "guard.core.commands",
        "guard.core.revising",
        "guard.core.standing",
        "guard.core.stopping",
        "guard.core.permits",
        "guard.core.unopened",
        "guard.core.unresolved",
        "guard.core.ahead",  # the decision with the claim, in the place of `_record` and the first step of `act`
        "guard.core.quotas",  # the limits, reserved at once or with the question, in the place of `_limit`
    }


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of every function, its docstring left out."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - (len(text.splitlines()) if text else 0)


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_stay_small(module: str) -> None:
    """A file stops at 300 lines, a function at 40."""
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= 300
    assert [(name, size) for name, size in functions(MODULES[module]) if size > 40] == []


def test_most_functions_are_short() -> None:
    """The median function of the package has at most 8 lines."""
    assert statistics.median(lines for path in MODULES.values() for _, lines in functions(path)) <= 8


@pytest.mark.parametrize("path", [*MODULES.values(), *TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_tests_say_what_they_are_for(path: Path) -> None:
    """Every module and every test function has a docstring."""
    assert ast.get_docstring(tree(path))
    silent = [
        node.name
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and path in TESTS and not ast.get_docstring(node)
    ]
    assert silent == []


def test_importing_guard_imports_no_sdk_web_or_database_package() -> None:
    """A program that only wraps its loop pays for nothing else."""
    code = f"import sys, guard; print([name for name in {FOREIGN!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_what_can_be_imported() -> None:
    """`__all__` is sorted and equals the names of the package that are neither private nor modules."""
    shown = [name for name, value in vars(guard).items() if not name.startswith("_") and not isinstance(value, type(guard))]
    assert sorted(guard.__all__) == sorted(shown)
    assert guard.__all__ == sorted(guard.__all__, key=lambda name: (name.islower(), name))


@pytest.mark.parametrize("module", [name for name in MODULES if not within(name, "guard.__main__")])
def test_every_module_can_be_imported_alone(module: str) -> None:
    """No import cycle shows up only in some order."""
    assert importlib.import_module(module)
