"""Masks: what stands in a text where something was hidden, by kind.

The table in `guard.redactors` takes its replacement texts from here, and the rule for secret keys knows from here what is already a mask. No
mask may match a rule. Pure; the kinds themselves are part of the language of policies, since a policy may not take their names.
"""

from __future__ import annotations

from guard.core.redaction import MASKS

__all__ = ["MASKS"]
