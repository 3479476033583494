"""Stock: pycasbin's own evaluator over a few candidate rules, for matchers that are not compiled.

What is asked is always a shallow copy with those rules alone; nothing that is published changes, it is never asked without rules, and its
logging stays silent, since it would write who asked for what. Comes before engine.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from guard.policy.engine.closure import Closure
from guard.policy.engine.model import Model

_LOGGERS = ("casbin", "casbin.policy", "casbin.enforcer", "casbin.role")


class Stock:
    """A prepared enforcer of one model."""

    def __init__(self, model: Model, functions: Mapping[str, Callable[..., Any]], closures: Mapping[str, Closure]) -> None:
        import casbin  # noqa: PLC0415 - loaded with the first policy, so that importing guard stays cheap

        with _quiet():
            self._enforcer = casbin.Enforcer(casbin.Enforcer.new_model(text=model.text()))
        silent = logging.Logger("silent")  # noqa: LOG001 - outside of the tree no configuration of the host's can switch it on
        silent.disabled = True
        self._enforcer.logger = silent
        for name, closure in closures.items():
            self._enforcer.model["g"][name].rm = closure
        for name, function in functions.items():
            self._enforcer.fm.add_function(name, function)

    def ask(self, rows: Sequence[Sequence[str]], request: Sequence[Any]) -> tuple[bool, int | None]:
        """The decision over these rules, in this order, and the place of the one that Casbin explains by. Raises what Casbin raises."""
        if not rows:
            raise ValueError("Casbin without rules judges an empty one")
        here = copy.copy(self._enforcer)
        here.fm = copy.copy(here.fm)
        here.fm.fm = dict(here.fm.fm)
        here.model = copy.copy(here.model)
        here.model.model = dict(here.model.model)
        rules = copy.copy(here.model["p"]["p"])
        rules.policy = [list(row) for row in rows]
        here.model["p"] = {"p": rules}
        allowed, rule = here.enforce_ex(*request)
        place = next((place for place, one in enumerate(rules.policy) if one is rule), None)
        return allowed is True, place

    def sort(self, rows: Sequence[tuple[str, ...]], links: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """The rules as Casbin orders them after loading: by priority, or by the hierarchy of their subjects."""
        model = copy.deepcopy(self._enforcer.model)
        model["p"]["p"].policy = [list(row) for row in rows]
        if "g" in model.keys():  # noqa: SIM118 - Casbin's model is no mapping
            model["g"]["g"].policy = [list(link) for link in links]
        model.sort_policies_by_subject_hierarchy()
        model.sort_policies_by_priority()
        return [tuple(row) for row in model["p"]["p"].policy]


@contextmanager
def _quiet() -> Iterator[None]:
    """Casbin switches its loggers off for the whole process: leave them as they were."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
