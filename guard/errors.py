"""Errors: what the guard raises when it is misused or when something it needs is down.

    GuardError
    ├── PolicyError         a policy folder that may not be used: every problem with file, line and cure
    ├── WireError           a reply or history that is not in the wire's format
    ├── ConversationError   a conversation that belongs to somebody else, or a child that would be wider
    ├── StoreError          the store cannot be reached or cannot write; the core turns it into refusals
    └── ApprovalError       a vote that does not count: not entitled, already decided, expired, unknown

A refusal is never an exception: it is a value (`guard.core.model.Refusal`). Besides the tree stand `ToolError`, which a
*tool* raises to let the model read its text, and `OutcomeUnknownError`, with which an action says that it may or may not have happened;
`AnsweredInterrupt` is Ctrl-C with the answer that it did not stop. Imports nothing of ours; everything else may import it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class GuardError(Exception):
    """Base of everything that the guard itself raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in a policy folder: where it stands, what is wrong, and what to write instead. `code` names its kind, where it has a name."""

    file: str
    line: int | None = None
    message: str
    cure: str = ""
    warning: bool = False
    code: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}" + (f" ({self.cure})" if self.cure else "")


class PolicyError(GuardError):
    """A policy folder, or (`of`) another file, that may not be used. `problems` holds every mistake, not only the first; `warnings` what else was noticed."""

    def __init__(
        self, problems: tuple[Problem, ...] | list[Problem], warnings: tuple[Problem, ...] = (), *, of: str = "the policy"
    ) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.warnings = warnings
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'} in {of}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))


class WireError(GuardError):
    """A reply or a history that is not in the format of the wire that the conversation was opened with."""


class ConversationError(GuardError):
    """A conversation may not be opened: it belongs to somebody else, or a child would be wider than its parent."""


class StoreError(GuardError):
    """The store cannot be reached, or refused to read or write. Nothing may run on the strength of a failed write.

    `code` says why: `disk_full`, `locked`, `read_only`, `damaged`, `moved`, `closed`, `io_error`, `connection_lost`, `deadlock`, `timeout`,
    `version`, `restored`, `payload_key` (missing or wrong), or `unavailable` for everything else.
    """

    def __init__(self, message: str = "the store failed", *, code: str = "unavailable") -> None:
        self.code = code
        super().__init__(message)


class AnsweredInterrupt(KeyboardInterrupt):
    """Ctrl-C that came while the store was writing: the write was waited for, and this says how it ended.

    `answer` is what it gave, or `error` what it raised instead.
    """

    def __init__(self, *, answer: Any = None, error: BaseException | None = None) -> None:
        self.answer = answer
        self.error = error
        super().__init__()

    def result(self) -> Any:
        """What the write gave; raises what it raised."""
        if self.error is not None:
            raise self.error
        return self.answer


class ApprovalError(GuardError):
    """A vote, an edit or an end of an approval that does not count.

    `code` is one of `not_found`, `not_entitled`, `already_decided`, `expired`, `pending`, `stale` (another revision, other content or another
    view than what stands), `own` (the requester, or who edited the call), `voted` (this person voted already), `not_editable`, `refused`
    (an edit that the policy refuses: `outcome` says how); of a grant `not_offered`, `not_approved`, `already_given`,
    `not_given` (the yes counts all the same).
    A stranger gets `not_found` whether or not the approval exists.
    """

    def __init__(self, code: str, message: str, *, outcome: Any = None) -> None:
        self.code = code
        self.outcome = outcome
        super().__init__(message)


class OutcomeUnknownError(Exception):
    """Raised by an action that cannot tell whether it took effect (a time-out of the system behind it): the call becomes `unknown`.

    Any other exception says that the action failed; it may then be proposed and run again.
    """


class ToolError(Exception):
    """Raised by a tool: a failure whose text the model may read (after redaction). Other exceptions' texts stay inside."""
