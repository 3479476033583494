"""The verifier as one file: the modules that check an export, written behind each other so that they need nothing of the guard. Comes after `alone`."""

from __future__ import annotations

import ast
from pathlib import Path

_PARTS = ("chains", "exports", "notes", "segments", "checking", "alone")


def source() -> str:
    """The text of a Python file that checks exports: standard library only."""
    here = Path(__file__).parent
    texts = [(here / f"{part}.py").read_text("utf-8") for part in _PARTS]
    title = ast.get_docstring(ast.parse(texts[-1]), clean=False)
    parts = [f'"""{title}"""\n\nfrom __future__ import annotations\n', *map(_without, texts)]
    return "\n".join(parts)


def _without(text: str) -> str:
    """A module without its docstring and what it imports of ours."""
    tree, lines = ast.parse(text), text.splitlines()
    for node in tree.body:
        ours = isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {"guard", "__future__"}
        if ours or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node is tree.body[0]):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return "\n".join(lines).strip() + "\n"
