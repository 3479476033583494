"""Asking: the supervisor's yes or no at the terminal, for the demo. The vote itself is judged by `guard.approvals`.

Nobody at the terminal is no answer: the call stays held. An answer that is neither yes nor no is asked for again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TextIO

from guard.cli.beside import words_lines
from guard.cli.telling import person
from guard.cli.travel.stage import Stage
from guard.cli.views import approval_lines
from guard.core.model import Approval

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervisor:
    """The supervisor at the terminal: `yes` answers every question, `stream` is where questions are shown (None: nowhere)."""

    stage: Stage
    yes: bool
    stream: TextIO | None

    def decide(self, approval: Approval) -> bool:
        """Show the approval and cast the vote; False when nobody answered."""
        there = self.yes or sys.stdin.isatty()
        self._print("\nA person must decide. What would run, in full:")
        for line in (*approval_lines(approval, indent="  "), *words_lines(approval)):
            self._print(line)
        answer = True if self.yes else self._ask() if there else None
        if answer is None:
            return False
        approvals, who = self.stage.guard.approvals, self.stage.approver
        (approvals.approve if answer else approvals.reject)(approval.id, approver=who)
        self._print(f"{'approved' if answer else 'rejected'} by {person(who)}{', answered by --yes' if self.yes else ''}")
        return True

    def _ask(self) -> bool | None:
        """Yes, no, or None when the terminal was closed."""
        stream = self.stream or sys.stderr
        while True:
            print(f"Approve as {person(self.stage.approver)}? [y/n] ", end="", file=stream, flush=True)
            line = sys.stdin.readline()
            if not line:
                return None
            answer = _ANSWERS.get(line.strip().lower())
            if answer is not None:
                return answer

    def _print(self, line: str) -> None:
        if self.stream is not None:
            print(line, file=self.stream)
