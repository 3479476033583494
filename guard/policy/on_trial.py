"""On trial: denials that refuse nothing yet: the lines of `shadow.csv`, kept apart from the rules in force, and what they would have refused.

Whoever does not know such files reads them as what they say, denials, so that nothing is permitted by mistake. Approvals, roles and allows cannot be on
trial. Comes after engine, before rule_files and casbin_rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from guard.policy.engine.engine import Engine
from guard.policy.engine.model import ALLOW, Model


class Trial:
    """Denials beside a policy. Frozen; decides nothing."""

    def __init__(self, model: Model, rows: Iterable[Sequence[str]], links: Mapping[str, Iterable[Sequence[str]]]) -> None:
        self._engine = Engine(model, rows, links)
        self.scoped = bool(self._engine.paths)
        self.view = self._engine.view
        self.texts = tuple(", ".join(("p", *row)) for row in self._engine.rows)

    def would_refuse(self, requests: Iterable[Sequence[Any]], *, known: bool) -> tuple[str, ...]:
        """The text of each denial that matches one of the requests; `(error)` behind it where it failed, which in force counts as a match."""
        found = (said for request in requests for said in self._matching(request, known=known))
        return tuple(dict.fromkeys(found))

    def _matching(self, request: Sequence[Any], *, known: bool) -> Iterator[str]:
        rows = self._engine.rows
        positions = self._engine.index.find(request)
        for position in range(len(rows)) if positions is None else positions:
            text = ", ".join(("p", *rows[position]))
            try:
                if self._engine.matches(position, request, known=known):
                    yield text
            except Exception:  # noqa: BLE001 - a condition may raise anything; it decides nothing
                yield f"{text} (error)"


def no_trial(model: Model) -> str:
    """Why denials cannot be on trial under this model; empty where they can."""
    if model.effect == ALLOW or model.eft is None:
        return "model.conf knows no denials"
    return "model.conf decides by the order of rules" if model.ranked else ""
