"""Redactors: ready detectors of personal data and secrets in the texts of a value; one table.

`REDACTOR` is what the redact room is given; `redactor` makes one that hides more, as a policy or the host says. A detector only ever hides; adding
one is a row in `DETECTORS` and a file beside this one. May not import anything but the core; looks at decoded texts and the key that each stands
under, never at serialised JSON. After it stands `core.hiding`.

Each row has a gate: a necessary condition, cheap, judged on the whole text. Where the gate is false the rule cannot match.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.core.ports import Redactor
from guard.core.redaction import REDACTION, Redaction
from guard.redactors.card import card_gate, card_spans
from guard.redactors.email import email_gate, email_spans
from guard.redactors.find import Detector, Finder, Span
from guard.redactors.gates import Sieve
from guard.redactors.iban import iban_gate, iban_spans
from guard.redactors.ip import ip_gate, ip_spans
from guard.redactors.mac import mac_gate, mac_spans
from guard.redactors.masks import MASKS
from guard.redactors.national import id_gate, id_spans, ssn_gate, ssn_spans
from guard.redactors.nested import First
from guard.redactors.phone import phone_gate, phone_spans
from guard.redactors.secret import secret_gate, secret_spans
from guard.redactors.telling import Telling

__all__ = ["DETECTORS", "REDACTOR", "Detector", "Span", "detect", "redactor"]

DETECTORS: tuple[Detector, ...] = tuple(
    Detector(name=name, gate=gate, rule=rule, replacement=MASKS[name])
    for name, gate, rule in (
        ("secret", secret_gate, secret_spans),
        ("email", email_gate, email_spans),
        ("card", card_gate, card_spans),
        ("iban", iban_gate, iban_spans),
        ("ssn", ssn_gate, ssn_spans),
        ("id", id_gate, id_spans),
        ("ip", ip_gate, ip_spans),
        ("mac", mac_gate, mac_spans),
        ("phone", phone_gate, phone_spans),
    )
)
"""In order of rank: where two findings overlap, the longer one names the replacement, then the earlier row."""


def redactor(redaction: Redaction = REDACTION, detectors: Sequence[Detector] = (), *, fast: bool = True) -> Redactor:
    """What hides the kinds of the table, and what the policy and these further rows add. `fast`: with google-re2, where it is installed.

    Raises ValueError for a row that takes the name of another, or whose pattern is not of the dialect; ImportError, naming the extra, for a
    plug-in that is not installed.
    """
    more = (*_added(redaction), *detectors)
    finder = Finder((*DETECTORS, *more), own=bool(more), seconds=redaction.seconds / 2)
    sieve = Sieve(finder, more, fast=fast, seconds=redaction.seconds)
    masks = frozenset({*MASKS.values(), *(row.replacement for row in more)})
    telling = Telling(tuple(word for row in more for word in row.words), masks)
    finder.first = First(sieve.loud, telling.__getitem__)
    return Redactor(detect=finder.detect, quiet=sieve.quiet, sift=sieve, tells=telling.__getitem__, spot=finder.spot, masks=masks)


def made(redaction: Redaction, detectors: Sequence[Detector] = ()) -> tuple[Redactor, list[str]]:
    """The same as `redactor`, and what keeps it from being made: then it hides what is always hidden."""
    try:
        return redactor(redaction, detectors), []
    except (ValueError, ImportError) as error:
        return REDACTOR, [str(error)]


def _added(redaction: Redaction) -> tuple[Detector, ...]:
    if redaction == REDACTION:
        return ()
    from guard.redactors.added import added  # noqa: PLC0415 - only where a policy asks for more

    return added(redaction)


REDACTOR = redactor()
"""All detectors of the table: what the redact room and the audit are given."""

detect = REDACTOR.detect
