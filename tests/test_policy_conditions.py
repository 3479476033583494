"""Conditions and matchers: what surely holds, what may hold, and what cannot be told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.core.conditions import Condition
from guard.policy.conditions import CALL, condition
from guard.policy.matchers import domain, host, inside, programs
from guard.policy.problems import Problems
from guard.policy.source import File, read_yaml

D = Decimal


def compiled(text: str) -> Condition:
    """The condition that this YAML says."""
    problems = Problems()
    item = read_yaml(File("when.yaml", text.encode()), problems)
    found = condition(item, CALL, problems, "when", lambda _path, _item: None)
    assert found is not None, problems.errors
    return found


def answers(text: str, arguments: object, **scope: object) -> tuple[bool, bool]:
    """Whether the condition surely holds, and whether it may hold."""
    everything = {"arguments": arguments, **scope}
    return compiled(text).surely(everything), compiled(text).maybe(everything)


YES, NO, OPEN = (True, True), (False, False), (False, True)

CONDITIONS = {
    "equal": ("a: 5", {"a": 5}, YES),
    "equal by value": ("a: 5", {"a": D("5.00")}, YES),
    "unequal": ("a: 5", {"a": 6}, NO),
    "missing": ("a: 5", {}, OPEN),
    "another type": ("a: 5", {"a": "5"}, OPEN),
    "true is not one": ("a: 1", {"a": True}, OPEN),
    "null where a text was asked for": ("a: x", {"a": None}, OPEN),
    "nothing but null is null": ("a: null", {"a": 0}, NO),
    "null": ("a: null", {"a": None}, YES),
    "a list": ("a: [1, x]", {"a": [D("1.0"), "x"]}, YES),
    "an object by const": ("a: {const: {b: 1}}", {"a": {"b": 1}}, YES),
    "maximum": ("a: {maximum: 50}", {"a": 50}, YES),
    "maximum exceeded": ("a: {maximum: 50}", {"a": D("50.01")}, NO),
    "maximum of a text": ("a: {maximum: 50}", {"a": "10"}, OPEN),
    "maximum of a bool": ("a: {maximum: 50}", {"a": True}, OPEN),
    "maximum of NaN": ("a: {maximum: 50}", {"a": float("nan")}, OPEN),
    "exact decimals": ("a: {multipleOf: 0.01}", {"a": D("4.02")}, YES),
    "no rounding": ("a: {multipleOf: 0.01}", {"a": D("4.025")}, NO),
    "a float is read as written": ("a: {maximum: 0.1}", {"a": 0.1}, YES),
    "an exponent bomb": ("a: {multipleOf: 3}", {"a": D("1E+999999")}, NO),
    "enum": ("a: {enum: [x, y]}", {"a": "y"}, YES),
    "not in enum": ("a: {enum: [x, y]}", {"a": "z"}, NO),
    "enum of another type": ("a: {enum: [x, y]}", {"a": 1}, OPEN),
    "a mixed enum": ("a: {enum: [1, x]}", {"a": "z"}, NO),
    "type": ("a: {type: integer}", {"a": D("2.0")}, YES),
    "type is certain": ("a: {type: string}", {"a": 2}, NO),
    "pattern": ("a: {pattern: 'R-[0-9]+'}", {"a": "R-17"}, YES),
    "pattern is whole": ("a: {pattern: 'R-[0-9]+'}", {"a": "xR-17"}, NO),
    "pattern ends truly": ("a: {pattern: '^R-[0-9]+$'}", {"a": "R-17\n"}, NO),
    "pattern spans lines": ("a: {pattern: '.*urgent.*'}", {"a": "x\nurgent\ny"}, YES),
    "a line break is any character": ("a: {pattern: 'R-.'}", {"a": "R-\n"}, YES),
    "pattern is ASCII": (r"a: {pattern: '\d'}", {"a": "٣"}, NO),
    "alternatives are whole": ("a: {pattern: 'a|b'}", {"a": "bc"}, NO),
    "format": ("a: {format: date}", {"a": "2026-02-30"}, NO),
    "not": ("a: {not: {enum: [x]}}", {"a": "y"}, YES),
    "not of another type": ("a: {not: {enum: [x]}}", {"a": 1}, OPEN),
    "anyOf": ("a: {anyOf: [{maximum: 1}, {const: x}]}", {"a": "x"}, YES),
    "allOf": ("a: {allOf: [{minimum: 1}, {maximum: 2}]}", {"a": 3}, NO),
    "both tests": ("{a: 1, b: 2}", {"a": 1, "b": 3}, NO),
    "one test open": ("{a: 1, b: 2}", {"a": 1}, OPEN),
    "every item": ("a[*].n: {maximum: 5}", {"a": [{"n": 1}, {"n": 9}]}, OPEN),
    "all items": ("a[*].n: {maximum: 5}", {"a": [{"n": 1}, {"n": 2}]}, YES),
    "equals": ("a: {equals: b}", {"a": 1, "b": D("1.0")}, YES),
    "equals missing": ("a: {equals: b}", {"a": 1}, OPEN),
    "equals the session": ("a: {equals: session.team}", {"a": "x"}, YES),
    "a path from the session": ("session.team: x", {}, YES),
    "a path from the record": ("resource.order.state: open", {}, NO),
    "an argument by prefix": ("arguments.a: 1", {"a": 1}, YES),
    "unique": ("a: {uniqueItems: true}", {"a": [1, D("1.0")]}, NO),
    "lengths": ("a: {minLength: 2, maxLength: 3}", {"a": "abcd"}, NO),
    "items": ("a: {maxItems: 1}", {"a": [1, 2]}, NO),
}


@pytest.mark.parametrize(("text", "arguments", "expected"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_a_condition_surely_holds_may_hold_or_fails(text: str, arguments: object, expected: tuple[bool, bool]) -> None:
    """What is missing or of another type never allows, and always holds or refuses."""
    found = answers(text, arguments, session={"team": "x"}, resource={"order": {"state": "closed"}})

    assert found == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(VALUES)
def test_what_surely_holds_may_hold(value: object) -> None:
    """For any value and each kind of test: certain implies possible, and a test and its negation never both hold surely."""
    for text in ("{maximum: 5}", "{pattern: a}", "x", "{enum: [1, a]}", "{email: {domain: a.b}}", "{command: {programs: [ls]}}"):
        surely, maybe = answers(f"a: {text}", {"a": value})

        assert maybe or not surely
    for text in ("{maximum: 5}", "{enum: [1, a]}", "{const: x}", "{pattern: a}"):
        yes = answers(f"a: {text}", {"a": value})
        no = answers(f"a: {{not: {text}}}", {"a": value})

        assert not (yes[0] and no[0])
        assert yes[1] or no[1]


# -- mail and web ----------------------------------------------------------------------------------------------------

MAILS = {
    "exact": ("a@example.com", True),
    "case": ("A@EXAMPLE.com", True),
    "a subdomain": ("a@evil.example.com", False),
    "the same ending": ("a@notexample.com", False),
    "the same beginning": ("a@example.com.evil.test", False),
    "a list": ("x@example.com,y@evil.test", None),
    "a list turned round": ("y@evil.test,x@example.com", None),
    "a display name": ("Ann <a@example.com>", None),
    "two at signs": ("a@evil.test@example.com", None),
    "a quoted part": ('"a@evil.test"@example.com', None),
    "a line break": ("a@example.com\n", None),
    "a header": ("a@example.com\r\nBcc: b@evil.test", None),
    "letters that look alike": ("a@\u0435xample.com", None),
    "a dot at the end": ("a@example.com.", None),
    "a comment": ("a@(evil)example.com", None),
    "no address": ("example.com", None),
    "no text": (5, None),
}


@pytest.mark.parametrize(("value", "expected"), MAILS.values(), ids=MAILS.keys())
def test_a_mail_domain_is_compared_whole(value: object, expected: bool | None) -> None:
    """Look-alikes are outside; what is not exactly one address cannot be told."""
    assert domain(("example.com",))(value) is expected


URLS = {
    "exact": ("https://api.example.com/x?y#z", True),
    "case": ("HTTPS://API.EXAMPLE.COM", True),
    "a port": ("http://api.example.com:8080/", True),
    "another host": ("https://example.com/", False),
    "the host as a path": ("https://evil.test/api.example.com", False),
    "a longer host": ("https://api.example.com.evil.test/", False),
    "user info": ("https://api.example.com@evil.test/", None),
    "user info the other way": ("https://evil.test@api.example.com/", None),
    "a backslash": ("https://evil.test\\@api.example.com/", None),
    "another scheme": ("ftp://api.example.com/", None),
    "a script": ("javascript://api.example.com/%0aalert(1)", None),
    "no scheme": ("//api.example.com/", None),
    "a tab": ("https://api.example\t.com/", None),
    "a leading space": (" https://api.example.com/", None),
    "letters that look alike": ("https://api.\u0435\u0445ample.com/", None),
    "a wide dot": ("https://api.example。com/", None),
    "an encoded host": ("https://api%2eexample.com/", None),
    "a broken port": ("https://api.example.com:x/", None),
    "a dot at the end": ("https://api.example.com./", None),
    "three slashes": ("https:///api.example.com/", None),
}


@pytest.mark.parametrize(("value", "expected"), URLS.values(), ids=URLS.keys())
def test_a_host_is_compared_whole(value: object, expected: bool | None) -> None:
    """Every reader of the URL must agree on its host; else it cannot be told."""
    assert host(("api.example.com",))(value) is expected


# -- files -----------------------------------------------------------------------------------------------------------

PATHS = {
    "inside": ("/srv/data/a.txt", True),
    "itself": ("/srv/data", True),
    "a slash at the end": ("/srv/data/", True),
    "dots that stay": ("/srv/data/x/../a", True),
    "dots that leave": ("/srv/data/../secret", False),
    "doubled slashes": ("//srv//data//a", True),
    "a longer name": ("/srv/database", False),
    "outside": ("/etc/passwd", False),
    "relative": ("data/a.txt", None),
    "home": ("~/a", None),
    "a NUL": ("/srv/data/a\0/../../..", None),
    "empty": ("", None),
    "no text": (["/srv/data"], None),
}


@pytest.mark.parametrize(("value", "expected"), PATHS.values(), ids=PATHS.keys())
def test_a_path_is_judged_after_its_dots(value: object, expected: bool | None) -> None:
    """Spelling is normalised before it is compared, and directories are compared by whole names."""
    assert inside(("/srv/data",))(value) is expected


def test_everything_is_inside_the_root_directory() -> None:
    """The root directory needs no special spelling."""
    assert inside(("/",))("/etc") is True


def test_a_rule_that_names_a_link_knows_both_ends(tmp_path: Path) -> None:
    """A directory of the policy is taken as spelled and as it really is, so neither spelling of a request escapes."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    judge = inside((str(tmp_path / "link"),))

    assert judge(str(tmp_path / "link" / "f")) is True
    assert judge(str((tmp_path / "real").resolve() / "f")) is True
    assert judge(str(tmp_path / "other")) is False


def test_both_the_spelling_and_the_real_path_count(tmp_path: Path) -> None:
    """A link out of the permitted directory is not surely inside, and a link into a forbidden one may be inside."""
    text = f"file: {{path: {{inside: {tmp_path}/desk}}}}"
    spelled = f"{tmp_path}/desk/link/f"

    assert answers(text, {"file": spelled}, resolved={spelled: f"{tmp_path}/protected/f"}) == OPEN
    assert answers(text, {"file": spelled}, resolved={spelled: f"{tmp_path}/desk/x/f"}) == YES
    assert answers(text, {"file": spelled}) == OPEN
    assert answers(text, {"file": "/link"}, resolved={"/link": f"{tmp_path}/desk/f"}) == OPEN


# -- commands --------------------------------------------------------------------------------------------------------

COMMANDS = {
    "one program": ("ls -la /srv", True),
    "two programs": ("cd /srv && ls", True),
    "a pipe": ("ls | grep 'a b; c'", True),
    "quotes around the name": ("'ls' x", True),
    "another program": ("rm -fr /", False),
    "something chained": ("cd /srv && python3 x.py", None),
    "chained without spaces": ("ls;rm x", None),
    "chained by a line": ("ls\nrm x", None),
    "in the background": ("ls & rm x", None),
    "a substitution": ("ls $(rm x)", None),
    "backticks": ("ls `rm x`", None),
    "a substitution in quotes": ('ls "$(rm x)"', None),
    "a dollar that is only text": ("grep '$x' f", True),
    "a redirection": ("ls > /etc/passwd", None),
    "a subshell": ("(rm x)", None),
    "a group": ("{ rm x; }", None),
    "an assignment": ("PATH=/tmp ls", None),
    "an open quote": ("ls 'x", None),
    "an escape": ("l\\s", None),
    "a comment": ("ls # x", None),
    "an empty part": ("ls ;; rm", None),
    "a full path": ("/bin/ls", None),
    "a wildcard program": ("l* x", None),
    "nothing": ("  ", None),
    "no text": (None, None),
}


@pytest.mark.parametrize(("value", "expected"), COMMANDS.values(), ids=COMMANDS.keys())
def test_each_part_of_a_command_is_judged(value: object, expected: bool | None) -> None:
    """An allowed beginning covers nothing that is chained behind it; what cannot be split with certainty is not allowed."""
    assert programs(("ls", "cd", "grep"))(value) is expected


@given(st.text(alphabet="ls rm;&|\n'\"$()<>`\\#={}", max_size=25))
def test_no_command_with_another_program_is_ever_sure(command: str) -> None:
    """Whatever the text, `rm` is never surely permitted where only `ls` is."""
    import re

    if programs(("ls",))(command) is True:
        plain = re.sub(
            r"'[^']*'|\"[^\"]*\"", lambda quoted: quoted[0][1:-1].replace(";", "").replace("&", "").replace("|", ""), command
        )

        assert all(part.split()[:1] == ["ls"] for part in re.split(r"[;&|\n]+", plain.strip()))


@pytest.mark.parametrize("build", [domain, host], ids=["email", "url"])
@pytest.mark.parametrize("wrong", ["*.example.com", "@example.com", "https://example.com", "example.com:80", ""])
def test_a_rule_names_a_whole_host(build: object, wrong: str) -> None:
    """A wildcard or a scheme in a rule would never match, and is said at load."""
    with pytest.raises(ValueError, match="whole host"):
        build((wrong,))
