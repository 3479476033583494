"""Report: what went wrong in the host's own code, for the host's log. The model never sees it.

One logger, `guard`. The text is redacted first, since an exception may hold what the model must not see and neither must a log. May not
decide anything. Used by the drivers and by compose.
"""

from __future__ import annotations

import logging

from guard.core.ports import Redactor

LOG = logging.getLogger("guard")
_MOST = 20_000  # characters of a traceback


def failure(what: str, error: BaseException, redactor: Redactor) -> None:
    """Log that `what` (a tool with its reference, a check, a loader) raised, with its traceback."""
    if not LOG.isEnabledFor(logging.ERROR):
        return
    import traceback  # noqa: PLC0415 - only when something failed

    try:
        text = "".join(traceback.format_exception(error))[-_MOST:]
    except BaseException:  # noqa: BLE001 - an exception may refuse to be printed
        text = "an exception that cannot be printed"
    shown = redactor.detect(None, text)[0]
    spelled = "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in shown)
    LOG.error("%s raised\n%s", what, spelled)


def missing(name: str) -> None:
    """Log that a resource of the policy has no loader."""
    LOG.error('no loader is registered for the resource %r: use @guard.resource("%s")', name, name)
