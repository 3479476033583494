"""Report: what went wrong in the host's own code, for the host's log. The model never sees it.

One logger, `guard`. The text is redacted first, since an exception may hold what the model must not see and neither must a log. May not
decide anything. Used by the drivers and by compose.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from guard.core.ports import Redactor
from guard.errors import GuardError, Problem

LOG = logging.getLogger("guard")
_MOST = 20_000  # characters of a traceback


class ReportedError(Exception):
    """A failure that somebody else reported: no defect of this program, so that its log has no traceback of it."""


def failure(what: str, error: BaseException, redactor: Redactor) -> None:
    """Log that `what` (a tool with its reference, a check, a loader) raised, with its traceback."""
    if isinstance(error, ReportedError):
        LOG.info("%s was reported as failed", what)
        return
    if not LOG.isEnabledFor(logging.ERROR):
        return
    import traceback  # noqa: PLC0415 - only when something failed

    try:
        text = "".join(traceback.format_exception(error))[-_MOST:]
    except BaseException:  # noqa: BLE001 - an exception may refuse to be printed
        text = "an exception that cannot be printed"
    LOG.error("%s raised\n%s", what, _shown(text, redactor))


def _shown(text: str, redactor: Redactor) -> str:
    """The text without what must not be seen, on a terminal either."""
    shown = redactor.detect(None, text)[0]
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in shown)


def published(version: str, warnings: Iterable[Problem], redactor: Redactor) -> None:
    """Log that another policy is in force, and what in it is probably not meant."""
    LOG.info("the policy %s is in force now", version[:12])
    for warning in warnings:
        LOG.warning("the policy %s: %s", version[:12], _shown(str(warning), redactor))


def unpublished(version: str, error: Exception, redactor: Redactor, *, before: str | None) -> str:
    """Log why a policy was not loaded and which one stays in force, unless `before` says the same; gives the text."""
    text = _shown(str(error)[:_MOST] if isinstance(error, GuardError) else type(error).__name__, redactor)
    if text != before:
        LOG.error("the policy was not loaded, and %s stays in force: %s", version[:12], text)
    return text


def idle(rules: Iterable[str], told: set[str]) -> None:
    """Log rules about results that met nothing, each once for a policy (`told` remembers): a field is probably misspelt."""
    for rule in rules:
        if rule not in told and len(told) < _MOST:
            told.add(rule)
            LOG.warning("%s; is the field called otherwise?" if rule.endswith(" nothing") else "%s", rule)


def missing(name: str) -> None:
    """Log that a resource of the policy has no loader."""
    LOG.error('no loader is registered for the resource %r: use @guard.resource("%s")', name, name)
