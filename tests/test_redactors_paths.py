"""Keys of several levels: what stands around an object makes its fields no safer, and a name counts however deep it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guard.core.hiding import hide
from guard.core.redaction import OwnDetector, Redaction
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
CARD = "4111111111111111"


def under(path: str, value: Any) -> Any:
    """The value in the objects of a path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("status.password", "hunter22xyz", "[secret]"),
        ("output.db_password", "correct horse", "[secret]"),
        ("id.name.url.client_secret", "hunter22xyz", "[secret]"),
        ("policy.api.key", "hunter22xyz", "[secret]"),
        ("passwords.kim", "hunter22xyz", "[secret]"),
        ("api_keys.live", "hunter22xyz", "[secret]"),
        ("api.keys", "hunter22xyz", "[secret]"),
        ("output.token", "hunter22xyz", "[secret]"),
        ("order.note", f"my card is {CARD}", "my card is [card]"),
        ("orders.note", CARD, "[card]"),
        ("order_id", f"of {CARD}", "of [card]"),
        ("tracking.billing", "4111 1111 1111 1111", "[card]"),
        ("build.host", "10.1.2.3", "[ip address]"),
        ("release.notes", "see 10.1.2.3", "see [ip address]"),
    ],
)
def test_what_stands_further_out_makes_nothing_ordinary(path: str, value: str, shown: str, one: Any) -> None:
    """As a value and in a JSON text: an exception belongs to the name that it is about."""
    assert hide(under(path, value), one, set()) == under(path, shown)
    text = json.dumps(under(path, value))
    assert hide(text, one, set()) == text.replace(value, shown)


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("password.changed_at", "on Monday"),
        ("password.policy.hint", "ten signs"),
        ("secret.name", "db-main"),
        ("public_keys.of", "hunter22xyz"),
        ("keys.of", "hunter22xyz"),
        ("token.type", "bearer-like"),
        ("next_page.token", "hunter22xyz"),
        ("next.page.token", "hunter22xyz"),
        ("usage.tokens", "1,234,567"),
        ("order.number", CARD),
        ("order.store_order_id", CARD),
        ("orders.id", CARD),
        ("order_ids", CARD),
        ("version.full", "10.1.2.3"),
        ("build.version", "10.1.2.3"),
    ],
)
def test_ordinary_names_stay(path: str, value: str, one: Any) -> None:
    """What says of itself, or right beside a telling name, that it is none of these."""
    before = under(path, value)
    assert hide(before, one, set()) is before


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("depth", [1, 14, 15, 16, 40, 80])
@pytest.mark.parametrize("name", ["a", "organisation_unit", "x" * 700])
def test_a_name_counts_at_every_depth(depth: int, name: str, one: Any) -> None:
    """However long the names above it are."""
    leaves = {"password": "hunter22xyz", "phone": "4155550182", "ssn": "123456789", "note": "kim@example.com"}
    value, shown = leaves, {"password": "[secret]", "phone": "[phone]", "ssn": "[ssn]", "note": "[email]"}
    for _ in range(depth):
        value, shown = {name: value}, {name: shown}  # type: ignore[dict-item]
    assert hide(value, one, set()) == shown
    assert json.loads(hide(json.dumps(value), one, set())) == shown  # type: ignore[arg-type]


def test_words_of_a_policy_count_at_every_depth() -> None:
    """The words of a detector that a policy adds are looked for in the whole key as well."""
    own = redactor(Redaction(own=(OwnDetector(name="badge", pattern="[0-9]{5}", mask="[badge]", words=("staff no",)),)))
    assert hide(under("x" * 650 + ".staff_no", "12345"), own, set()) == under("x" * 650 + ".staff_no", "[badge]")
