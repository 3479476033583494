"""Rule shape: how the rules of a folder fill the columns of its model: the shipped one's, or a user's own.

May not read files or decide. Comes after engine, before rule_files and casbin_rules.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from guard.policy.engine.checks import Uses, check_model, uses
from guard.policy.engine.model import Model, read_model
from guard.policy.problems import Problems
from guard.policy.source import File, text_of

STANDARD = ("sub", "dom", "obj", "act", "eft")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model that may be used, and how its matcher reads the rules."""

    model: Model
    tree: ast.expr
    uses: Uses

    @property
    def own(self) -> tuple[str, ...]:
        """Columns that the shipped model does not have."""
        return tuple(name for name in self.model.columns if name not in STANDARD)

    def fields(self, given: Mapping[str, str]) -> tuple[str, ...] | None:
        """A rule's fields in the model's order; None where one column cannot be filled."""
        found = [given.get(name) or self.uses.filled(name) for name in self.model.columns]
        return tuple(one for one in found if one is not None) if None not in found else None


def shipped() -> str:
    """The text of the model that comes with the package."""
    return (resources.files("guard.policy") / "model.conf").read_text("utf-8")


def model_text(files: Sequence[File], problems: Problems) -> str:
    """The text of the folder's own model.conf, or of the shipped one."""
    file = _own(files)
    return shipped() if file is None else text_of(file, problems) or ""


def _own(files: Sequence[File]) -> File | None:
    return next((one for one in files if one.base == "model.conf"), None)


def shape_of(files: Sequence[File], problems: Problems) -> Shape | None:
    """The folder's own model.conf, or the shipped one. None when it cannot be used; `problems` says why."""
    before = len(problems.errors)
    text = model_text(files, problems)
    own = _own(files)
    name = "model.conf" if own is None else own.name
    model = None if len(problems.errors) > before else read_model(text, name, problems)
    return None if model is None else shape(model, problems)


def shape(model: Model, problems: Problems) -> Shape | None:
    """One model, checked."""
    tree = check_model(model, problems)
    return None if tree is None else Shape(model=model, tree=tree, uses=uses(tree, model))
