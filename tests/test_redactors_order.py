"""Words of a field's name in their order: what stands ahead of the word that tells says whose the value is, what stands behind it says what of it."""

from __future__ import annotations

import json

import pytest

from guard.core.hiding import Kinds, shown_value
from guard.redactors import redactor

VALUE = "Tr0ub4dor3xQ"
BOTH = [pytest.param(redactor(), id="with google-re2"), pytest.param(redactor(fast=False), id="without")]
HELD = [
    "file_password",
    "page_password",
    "inputPassword",
    "url_password",
    "next_password",
    "reset_token",
    "id_token",
    "endpoint_secret",
    "name_secret",
    "client_id_secret",
    "in_secret",
    "status_token",
    "db_pw",
    "USER_PW",
    "format_password",
]
ABOUT = [
    "password_file",
    "secret_version",
    "secretName",
    "token_type",
    "prompt_token",
    "next_page_token",
    "secret_path",
    "password_hint",
    "credential_id",
    "secret_arn",
    "public_token",
    "idempotency_token",
    "reset_password",
    "api_key_id",
]


def shown(one: object, value: object) -> object:
    return json.loads(shown_value(value, one, Kinds(), 100_000)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize("name", HELD)
def test_words_ahead_say_whose_secret_it_is(name: str, one: object) -> None:
    """Under the name, and under the same words as names of objects around the value."""
    assert shown(one, {name: VALUE}) == {name: "[secret]"}


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize("name", ABOUT)
def test_words_behind_speak_about_a_secret(name: str, one: object) -> None:
    """A file, a version, a hint: the value stays."""
    assert shown(one, {name: VALUE}) == {name: VALUE}


@pytest.mark.parametrize("one", BOTH)
@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("build_server", True),
        ("release_host", True),
        ("version_server_ip", True),
        ("server_version", False),
        ("host_build", False),
    ],
)
def test_the_last_word_tells_an_address_from_a_version(name: str, *, hidden: bool, one: object) -> None:
    """Where a name holds both."""
    assert shown(one, {name: "10.20.30.40"}) == {name: "[ip address]" if hidden else "10.20.30.40"}
