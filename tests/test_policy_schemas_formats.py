"""Formats: each accepts what fits and refuses what nearly does, and one that nobody checks is said."""

from __future__ import annotations

import pytest
from policy_schemas_kit import fields

from guard.policy.formats import FORMATS
from guard.policy.problems import Problems
from guard.policy.schemas import compile_schema
from guard.policy.source import Item

FORMAT_CASES = {
    "date": (["2026-02-28", "2024-02-29"], ["2026-02-30", "2026-2-3", "20260203", "2026-01-01\n", "٢٠٢٦-01-01"]),
    "time": (
        ["08:30:06Z", "08:30:06.28+01:00", "23:59:60Z", "15:59:60-08:00"],
        ["24:00:00Z", "08:30:06", "22:59:60Z", "8:30:06Z"],
    ),
    "date-time": (["1990-12-31T15:59:50.123-08:00"], ["1990-02-31T15:59:59Z", "1990-12-31 15:59:59Z", "1990-12-31T15:59:59"]),
    "duration": (["P4DT12H30M5S", "P1Y", "PT1M", "P2W"], ["P", "PT", "4D", "P1Y2W", "P1D2H", "P2S"]),
    "email": (["a@b.example", "a.b+c@x.org", '"a b"@x.org', "a@[127.0.0.1]"], ["a", "a@", "@b", "a..b@c.d", "a@b@c", "a@b c"]),
    "hostname": (["a.example.com", "localhost", "a-b.c"], ["-a.b", "a_b", "a..b", "", "a" * 64, "ä.de"]),
    "ipv4": (["127.0.0.1", "1.2.3.4"], ["127.0.0", "256.0.0.1", "01.0.0.1", "1.2.3.4.5", "1.2.3.4\n"]),
    "ipv6": (["::1", "2001:db8::8a2e:370:7334"], ["12345::", "::1%eth0", "1:2:3", ""]),
    "json-pointer": (["", "/a/b~0~1"], ["a", "/a~2"]),
    "regex": (["^a+$"], ["(a", r"a\Z"]),
    "uri": (["https://a.example/x?y#z", "urn:a:b", "mailto:a@b.c"], ["//a/b", "a b:c", "http://a/ü", "http://[::1", "x"]),
    "uri-reference": (["/a/b", "#x", ""], ["\\\\a\\b", "a b"]),
    "uuid": (
        ["2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
        ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g"],
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_accepts_and_refuses(name: str) -> None:
    """Every format has texts that fit and texts that nearly do."""
    good, bad = FORMAT_CASES[name]

    assert [text for text in good if not FORMATS[name](text)] == []
    assert [text for text in bad if FORMATS[name](text)] == []


def test_a_format_that_nobody_checks_is_said() -> None:
    """A format without a checker does not silently accept everything: the load names the extra that would check it."""
    problems = Problems()
    compile_schema(fields(a={"format": "iban"}), Item("x.yaml", 1), problems, "schema")

    assert "iban is not checked" in problems.warnings[0].message
    assert "formats" in problems.warnings[0].cure
