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


SHOWN = {
    "CSV": ("id,name,phone\n1,Anna,030 901820\n2,Jan,0171-2345678\n", "id,name,phone\n1,Anna,[phone]\n2,Jan,[phone]\n"),
    "CSV with quotes": ('"name","phone"\n"Beck, Anna","(020) 7946 0958"', '"name","phone"\n"Beck, Anna","[phone]"'),
    "tabs": ("n\tmobile\nJan\t06 12345678", "n\tmobile\nJan\t[phone]"),
    "Chinese": ("姓名,手机\n王伟,13800138000\n", "姓名,手机\n王伟,[phone]\n"),
    "Japanese": ("氏名,電話番号\n田中,03-3210-1234\n", "氏名,電話番号\n田中,[phone]\n"),
    "what a database prints": (
        " n   |  phone\n-----+---------\n Jan | 030 9018\n",
        " n   |  phone\n-----+---------\n Jan | [phone]\n",
    ),
    "what a command prints": (
        "NAME   PHONE        CITY\nAnna   030 901820   Bonn",
        "NAME   PHONE        CITY\nAnna   [phone]   Bonn",
    ),
}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("name", SHOWN)
def test_tables_of_several_rows(name: str, one: Redactor) -> None:
    """Each cell of the column is hidden."""
    text, shown = SHOWN[name]
    assert detect(None, text) == (shown, ("phone",))
    assert hide([text], one, set()) == [shown]


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
        "id,phone_id,phone_model\n1,100000123,8848123456\n",
        "name;phones sold;mobile sessions\nA;123456789;0234567890\n",
        "date,desktop,mobile,tablet\n2024-01-01,123456789,234567890,345678901\n",
        "id,mobile_price,phone\n1,12345678,2024-05-12\n2,030901820,1234567.89\n3,030901820,1 234 567\n",
        "category,count\nphone,123456789\nmobile,030901820\n",
        "product,units\nTelefon,1234567890\n",
        "phone,note\n-,order 4711001234\n",
        "order,phone\n4711001234,n/a\n",
        "hotel,room\n0123456789,12",
        "| phone | yes |\n| orders | 12345678 |",
    ],
)
def test_what_is_no_number_to_dial_stays(table: str, one: Redactor) -> None:
    """Counts, models, ids, and columns of other names."""
    assert hide(table, one, set()) == table
    assert detect(None, table) == (table, ())
