"""Masks: what stands in a text where something was hidden, by kind.

The table in `guard.redactors` takes its replacement texts from here, and the rule for secret keys knows from here what is already a mask. No
mask may match a rule. Pure; may not import anything.
"""

from __future__ import annotations

MASKS: dict[str, str] = {
    "secret": "[secret]",
    "email": "[email]",
    "card": "[card]",
    "iban": "[iban]",
    "ssn": "[ssn]",
    "id": "[id number]",
    "ip": "[ip address]",
    "mac": "[mac address]",
    "phone": "[phone]",
}
