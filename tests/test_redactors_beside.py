"""Names that stand beside their values: a field that names, a column, the first of a pair, a flag: they count as the key of the value does."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.hiding import echoing, hide
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
S = "correct horse"
HIDDEN: dict[str, tuple[Any, str]] = {
    "Kubernetes": ({"env": [{"name": "A", "value": "b"}, {"name": "DB_PASSWORD", "value": S}]}, "[secret]"),
    "AWS tags": ([{"Key": "db-password", "Value": S}], "[secret]"),
    "CloudFormation": ({"ParameterKey": "MasterPassword", "ParameterValue": S}, "[secret]"),
    "a parameter store": ({"Name": "/prod/db/password", "Type": "SecureString", "Value": S}, "[secret]"),
    "Postman": ({"header": [{"key": "Authorization", "value": S, "type": "text"}]}, "[secret]"),
    "a header": ({"header": "Authorization", "value": S}, "[secret]"),
    "spans": ({"key": "db.password", "value": {"stringValue": S}}, "[secret]"),
    "a form": ({"label": "API key", "value": S}, "[secret]"),
    "an input": ({"id": "f1", "type": "password", "value": S}, "[secret]"),
    "a change": ({"field": "password", "oldValue": "b", "newValue": S}, "[secret]"),
    "a word inside": ({"name": "DB_PASSWORD_PROD", "value": "hunter22xyz"}, "[secret]"),
    "a token": ({"name": "token", "value": "a1b2c3d4e5f6"}, "[secret]"),
    "digits": ({"name": "DB_PASSWORD", "value": "12345678"}, "[secret]"),
    "a variable": (["A=b", f"DB_PASSWORD={'hunter2'}"], "DB_PASSWORD=[secret]"),
    "variables, one a line": (["A=b\nSECRET_KEY_BASE=correct horse 4\nC=d"], "SECRET_KEY_BASE=[secret]"),
    "YAML": (["env:\n  - name: A\n    value: b\n  - name: DB_PASSWORD\n    value: correct horse\n"], "value: [secret]"),
    "a log": (["started with {'name': 'DB_PASSWORD', 'value': 'correct horse'} at 7"], "'value': '[secret]'} at 7"),
    "a text that was cut off": (['[{"name": "DB_PASSWORD", "value": "correct horse"}, {"na'], "[secret]"),
    "in one line": (["name: api_key, value: hunter22"], "value: [secret]"),
    "pairs": ([["user", "kim"], ["password", "hunter22"]], "[secret]"),
    "one pair": ([["Authorization", "Bearer abc123"]], "[secret]"),
    "columns": ({"columns": ["user", "password"], "rows": [["kim", S], ["lee", S]]}, "[secret]"),
    "columns as objects": ({"fields": [{"name": "user"}, {"name": "api_key"}], "data": [["kim", S]]}, "[secret]"),
    "columns as objects, rows": ({"columns": [{"name": "id"}, {"name": "password"}], "rows": [[1, S]]}, "[secret]"),
    "columns with types": ({"schema": {"fields": [{"key": "api_key", "type": "text"}], "records": [[S], [S]]}}, "[secret]"),
    "a ragged row": ([["id", "password"], [1, "hunter22"], [2], []], "[secret]"),
    "a row that is longer": ({"columns": ["id", "password"], "rows": [[1, S], [2, S, 3]]}, "[secret]"),
    "numbers of rows": ({"columns": ["id", "password"], "rows": [[0, 1, S], [1, 2, S]]}, "[secret]"),
    "an empty row": ({"columns": ["id", "password"], "rows": [[1, S], []]}, "[secret]"),
    "columns without a name": ({"columns": [0, None, "password"], "rows": [[1, 2, S]]}, "[secret]"),
    "a first row with a blank": ([[], [None, "token", 3], [1, "hunter22", 2]], "[secret]"),
    "columns beside each other": ({"columns": ["id", "password"], "data": [[1, 2, 3], [S, S, S]]}, "[secret]"),
    "cells": ({"cols": [{"label": "password"}], "rows": [{"c": [{"v": S}]}, {"c": [{"v": S}]}]}, "[secret]"),
    "columns with titles": ({"columns": [{"id": "c1", "title": "Password"}], "rows": [[S]]}, "[secret]"),
    "triples": ([["user", "kim", 1], ["password", "hunter22", 2]], "[secret]"),
    "a colon": ({"label": "Password: ", "value": S}, "[secret]"),
    "a new line": ({"name": "DB_PASSWORD\n", "value": S}, "[secret]"),
    "quotes": ({"name": '"password"', "value": S}, "[secret]"),
    "brackets": ({"name": "<password>", "value": S}, "[secret]"),
    "several names": ({"name": "password, db", "value": "hunter22xyz"}, "[secret]"),
    "a name that is set": ({"name": "--set=password", "value": "hunter22xyz"}, "[secret]"),
    "a question": ({"label": "Your password?", "value": "hunter22xyz"}, "[secret]"),
    "a wide name": ({"name": "\uff50assword", "value": S}, "[secret]"),
    "an id": ({"id": "DB_PASSWORD", "value": "hunter22xyz"}, "[secret]"),
    "content": ({"name": "password", "content": "hunter22xyz"}, "[secret]"),
    "before and after": ({"field": "password", "before": "hunter22x", "after": "hunter22xyz"}, "[secret]"),
    "FHIR": ({"name": "password", "valueString": S, "value_string": S}, "[secret]"),
    "DynamoDB": ({"name": {"S": "DB_PASSWORD"}, "value": {"S": S}}, "[secret]"),
    "two lists": ({"names": ["user", "password"], "values": ["kim", S]}, "[secret]"),
    "a first row": ([["user", "password"], ["kim", "hunter22"]], "[secret]"),
    "a flag": ({"args": ["serve", "--db-password", "hunter22", "-v"]}, "[secret]"),
    "a phone": ({"name": "phone", "value": "4155550182"}, "[phone]"),
    "a column of ids": ({"headers": ["name", "ssn"], "rows": [["kim", "078051120"]]}, "[ssn]"),
}
KEPT: dict[str, Any] = {
    "a book": {"name": "Secret Garden", "value": "25 EUR"},
    "a shop": {"name": "Victoria's Secret", "value": "120.00"},
    "an amount": {"name": "secret", "value": 1200},
    "an amount in digits": {"name": "password", "value": "12.50"},
    "a count": {"name": "token_count", "value": "1234567"},
    "a reference": {"name": "DB_PASSWORD", "valueFrom": {"configMapKeyRef": {"name": "db", "key": "pw"}}},
    "another reference": {"name": "DB_PASSWORD", "valueFrom": {"configMapKeyRef": {"name": "db-main-2", "key": "current2"}}},
    "a translation": {"key": "password", "value": "Password"},
    "a page": {"name": "next_page_token", "value": "abcdef123456"},
    "a date": {"key": "password_changed_at", "value": "2024-05-01"},
    "names of fields": {"required": ["password", "email"], "tags": ["token", "oauth2"]},
    "types": [["password", "string"], ["token", "varchar(255)"]],
    "a way to store": [["password", "sha256"]],
    "the state of a service": {"name": "token-service", "value": "running"},
    "a word": {"type": "token", "value": "hello"},
    "an order": {"name": "order_id", "value": "4111111111111111"},
    "a table": {"columns": ["id", "amount"], "rows": [["a1b2c3d4", 12.5]]},
    "YAML of other things": ["- name: SECRET_NAME\n  value: db-main\n- name: TOKEN_COUNT\n  value: 1234567\n"],
    "a request": "next_page_token=abcdef123456",
    "a page about it": {"id": "password", "title": "Password reset", "content": "Choose a new one", "text": "change-password"},
    "a text of a form": {"title": "Password", "value": "Enter yours"},
    "a question about it": {"label": "Forgot password?", "value": "Ask us"},
    "a ragged table": {"columns": ["id", "amount"], "rows": [["a1b2c3d4", 12.5], ["a1b2c3d4"], []]},
    "flags": ["--max-tokens", "4096", "--public-key", "id_rsa_1.pub"],
}
FORMS = ["as a value", "further inside", "as JSON", "JSON in JSON", "base64"]


def formed(value: Any, form: str) -> Any:
    """The value in one of the ways in which it may be sent."""
    text = json.dumps(value)
    forms: dict[str, Any] = {
        "as a value": value,
        "further inside": {"items": [1, {"spec": value}]},
        "as JSON": text,
        "JSON in JSON": {"body": json.dumps({"of": text})},
        "base64": base64.b64encode(text.encode()).decode(),
    }
    return forms[form]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", HIDDEN)
def test_a_name_beside_its_value_counts(name: str, form: str, one: Redactor) -> None:
    """At every depth and in every writing; the name and everything else stay, and looking twice changes nothing."""
    value, mask = HIDDEN[name]
    shown = hide(formed(value, form), one, set())
    told = encode(shown)
    assert all(secret not in told for secret in (S, "hunter22", "4155550182", "078051120", "a1b2c3d4e5f6", "abc123", "12345678"))
    assert form == "base64" or encode(mask)[1:-1].replace("\\", "") in told.replace("\\", "")
    assert hide(shown, one, set()) == shown


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KEPT)
def test_what_only_speaks_of_a_secret_stays(name: str, form: str, one: Redactor) -> None:
    """Titles, amounts, counts, kinds and names of fields are the same object."""
    value = formed(KEPT[name], form)
    assert hide(value, one, set()) is value


NAMES = st.sampled_from(["name", "key", "Value", "value", "type", "columns", "rows", "password", "note"])
TEXTS = st.sampled_from(
    ["DB_PASSWORD", "token", "phone", "x", "--api-key", "hunter22xyz", "4155550182", "A_SECRET=hunter2", "Secret Garden"]
)
VALUES = st.recursive(
    TEXTS | st.integers(0, 10**8) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_both_engines_say_the_same_of_a_value_and_of_its_text(value: Any) -> None:
    """A value that is called quiet holds nothing to hide, and a JSON text is shown as the value that it was written from is."""
    shown = hide(value, BOTH[0], set())
    assert hide(value, BOTH[1], set()) == shown
    for one in BOTH:
        assert shown is value or not one.quiet(encode(value))
        if isinstance(value, dict | list):
            assert json.loads(hide(json.dumps(value), one, set())) == shown


_NAMED = st.sampled_from(["id", "password", "api_key", "phone", "DB_PASSWORD", "Your password?", "note", "--token", "A_PASS"])
_SAID = st.sampled_from([S, "hunter22xyz", "4155550182", 7, 12345678, None, "x", "password"])
_ROLE = st.sampled_from(["name", "key", "field", "label", "title", "id", "Header", "type", "k"])
_HOLDS = st.sampled_from(["value", "val", "v", "content", "text", "from", "after", "newValue", "value_string", "rows", "x"])
_HEADS = st.sampled_from(["columns", "fields", "cols", "headers", "names", "keys"])
_WRAPPED = st.sampled_from([lambda one: one, lambda one: {"S": one}, lambda one: {"text": one}, lambda one: [one]])
_OBJECT = st.builds(
    lambda role, wrap, name, more: {role: wrap(name), **more}, _ROLE, _WRAPPED, _NAMED, st.just({}) | st.just({"type": "text"})
)
_COLUMN = _NAMED | _OBJECT | st.none() | st.integers(0, 3)


def _table(size: int) -> st.SearchStrategy[dict[str, Any]]:
    """A table of so many columns, its rows mostly as long."""
    row = st.lists(_SAID, min_size=size, max_size=size) | st.lists(_SAID, max_size=4)
    rows = st.lists(row, min_size=1, max_size=3) | row.map(lambda one: [{"c": [{"v": cell} for cell in one]}]) | row
    columns = st.lists(_OBJECT, min_size=size, max_size=size) | st.lists(_COLUMN, min_size=size, max_size=size)
    return st.builds(lambda head, names, at, of: {head: names, at: of}, _HEADS, columns, st.just("records") | _HOLDS, rows)


_TABLE = st.integers(1, 3).flatmap(_table)
_FIELD = st.builds(lambda one, at, wrap, said: {**one, at: wrap(said)}, _OBJECT, _HOLDS, _WRAPPED, _SAID)
_LISTS = st.lists(st.lists(_NAMED | _SAID, max_size=3) | _NAMED | _SAID, max_size=4)
_INSIDE = st.sampled_from(
    [lambda one: one, lambda one: {"data": one}, lambda one: [1, {"of": [one]}], lambda one: {"password": one}]
)


@settings(deadline=None, max_examples=300)
@given(_INSIDE.flatmap(_TABLE.map), _INSIDE.flatmap((_FIELD | _LISTS).map))
def test_the_look_at_a_whole_text_is_never_wrongly_quiet(table: Any, other: Any) -> None:
    """Where it says that nothing has to be hidden, a look at every leaf finds nothing either, whatever stands beside what."""
    for value, one in itertools.product([table, other], BOTH):
        shown = hide(value, dataclasses.replace(one, quiet=lambda _: False), set())
        assert shown is value or not one.quiet(encode(value))
        assert hide(value, one, set()) == shown


def test_the_answer_to_a_call_does_not_say_such_a_secret_again() -> None:
    """A secret that an argument names beside it is hidden wherever the answer holds it."""
    one = echoing(BOTH[0], {"env": [{"name": "DB_PASSWORD", "value": "correcthorse"}]})
    assert one.detect(None, "started with correcthorse")[0] == "started with [secret]"
