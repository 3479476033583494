"""Columns: numbers to dial in tables that are written as text are hidden below the name that says so, with google-re2 and without."""

from __future__ import annotations

import json

import pytest

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.redactors import detect, redactor

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
NUMBERS = ["020 7946 0958", "030 901820", "(0)30/901820", "07911 123456", "0791112345", "01 42 68 53 00", "555-0132-44"]
TABLES = {
    "commas": "name,{n},city\nJane,~,London\nJoe,~,York\n",
    "quotes": '"name","{n}","city"\r\n"Jane","~","London"\r\n',
    "semicolons": "{n};ort\n~;Berlin\n~;Bonn",
    "tabs": "name\t{n}\nJane\t~",
    "last": "name,city,{n}\nJane,London,~",
    "markdown": "| name | {n} |\n|---|---:|\n| Jane | ~ |\n| Joe | ~ |",
    "bold": "| **name** | **{n}** |\n|---|---|\n| Jane | ~ |",
    "no edges": "name | {n}\n--- | ---\nJane | ~",
    "frame": "\u2502 name \u2502 {n} \u2502\n\u251c\u2500\u2500\u253c\u2500\u2500\u2524\n\u2502 Jane \u2502 ~ \u2502",
    "gaps": "NAME   {n}\nJane   ~",
    "two columns": "| field | value |\n|---|---|\n| {n} | ~ |",
    "two columns in lines": "field,value\ncity,Bern\n{n},~",
    "a row of two": "| name | Jane |\n| {n} | ~ |",
}
SAID = [
    "phone",
    "Phone",
    "PHONE",
    "Phone number",
    "phone_number",
    "contact_phone",
    "homePhone",
    "Tel.",
    "Telefon",
    "Mobile",
    "Fax",
    "\u624b\u673a",
]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("form", TABLES)
def test_a_number_under_a_name_that_says_phone_is_hidden(form: str, one: Redactor) -> None:
    """As a text, in a value, in a JSON text; a second look changes nothing, and the rest stays."""
    for name in SAID:
        table = TABLES[form].replace("{n}", name)
        shown = table.replace("~", "[phone]")
        for number in NUMBERS:
            given = table.replace("~", number)
            assert hide(given, one, set()) == shown, name
            assert hide({"out": [given]}, one, set()) == {"out": [shown]}
            assert (
                hide(json.dumps({"out": given}), one, set()) == json.dumps({"out": shown}, ensure_ascii=False)
                or not given.isascii()
            )
            assert not one.quiet(json.dumps({"out": given}))
        assert hide(shown, one, set()) == shown


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize(
    "table",
    [
        "name,order,city\nJane,0207 946 0958,London",
        "Desktop,Mobile\n1234567,7654321",
        "phone count,year\n1234567,2024",
        "phone_id,name\n12345678901,Jane",
        "phone,price\nX200 Pro,1299.00",
        "model | phone\n--- | ---\nA | 12,5",
        "Smartphones,sold\n1234567890,1",
        "cells,value\n12345678,3",
        "we sell a phone, a case\nand 12345678 more, a year",
        "hotel,room\n0123456789,12",
        "| phone | yes |\n| orders | 12345678 |",
    ],
)
def test_what_is_no_number_to_dial_stays(table: str, one: Redactor) -> None:
    """Counts, models, ids, and columns of other names."""
    assert hide(table, one, set()) == table
    assert detect(None, table) == (table, ())
