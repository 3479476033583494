"""Effect line: the operator's one line about a held call as a record may hold it: nothing in it that the record's arguments hide.

The line is filled from the final arguments as they are. What was hidden in those, by name or by kind, is hidden here in the same words, and what
nobody is shown has neither its length nor its digest. Pure; comes after hiding; before `audit_asked`.
"""

from __future__ import annotations

import re

from guard.core.approval import Approval
from guard.core.ports import Redactor
from guard.core.values import Json, encode

_MASK = re.compile(r"\[secret: \d+ characters(?:, digest [0-9a-f]{16})?\]")


def effect_line(approval: Approval, arguments: Json, shown: Json, redactor: Redactor) -> str:
    """The line, or nothing where the policy has none. `shown` is what a record shows of `arguments`, in which secrets are replaced already."""
    text = _MASK.sub("[secret]", approval.effect)
    for raw, seen in sorted(_hidden(arguments, shown), key=lambda pair: -len(pair[0])):
        # a number is no part of a longer one
        whole = re.escape(raw) if raw[0] in '"[{' else rf"(?<![\w.]){re.escape(raw)}(?![\w.])"
        text = seen.join(re.split(whole, text))
    return redactor.detect(None, text)[0] if text else ""


def _hidden(value: Json, shown: Json) -> list[tuple[str, str]]:
    """As JSON, every part of a value that is shown otherwise, beside what is shown in its place."""
    if value == shown and type(value) is type(shown):
        return []
    found = [(encode(value), encode(shown))]
    if isinstance(value, dict) and isinstance(shown, dict) and value.keys() == shown.keys():
        return found + [pair for name, part in value.items() for pair in _hidden(part, shown[name])]
    if isinstance(value, list) and isinstance(shown, list) and len(value) == len(shown):
        return found + [pair for part, seen in zip(value, shown, strict=True) for pair in _hidden(part, seen)]
    return found
