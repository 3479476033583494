"""Rules about fields: the paths, the key tree and its one walk, held against a plain reading of each rule by itself."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.core.fields import GONE, Fields, apply
from guard.core.keytree import FieldRule, Tree
from guard.core.paths import parse_field
from guard.core.values import copy, equal

PATHS = {
    "a": ("a",),
    "a.b": ("a", "b"),
    "a[*].b": ("a", "[*]", "b"),
    "[*].b": ("[*]", "b"),
    "a[0]": ("a", "[0]"),
    "..b": ("..b",),
    "a..b.c": ("a", "..b", "c"),
    "['a.b'].c": ("a.b", "c"),
    '["a.b"]': ("a.b",),
    "a b-c": ("a b-c",),
}


@pytest.mark.parametrize(("text", "steps"), PATHS.items())
def test_paths_of_fields(text: str, steps: tuple[str, ...]) -> None:
    """Names, any item, one item, a quoted name, one name at any depth; the text of a path reads as the same path."""
    path = parse_field(text)
    assert path.steps == steps
    assert parse_field(str(path)) == path


WRONG = {
    "$.a": "leave out the $",
    "a[?(@.b>1)]": "no filters",
    "a[1:2]": "no slices",
    "a[:]": "no slices",
    "a[-1]": "from the front",
    "a[1,2]": "second path",
    "a.*": "write [*]",
    "*": "write [*]",
    "..*": "write [*]",
    "a..b..c": "one ..name",
    "..": "the name of a field",
    "..[0]": "the name of a field",
    "": "an empty path",
    "a.": "write dotted names",
    "a[*]b": "write dotted names",
    "a[x]": "write dotted names",
    "a[01]": "write dotted names",
    ".a": "write dotted names",
}


@pytest.mark.parametrize(("text", "cure"), WRONG.items())
def test_what_is_no_path_of_a_field_is_told_its_cure(text: str, cure: str) -> None:
    """Filters, slices, wildcards and what is cut off are refused with what to write instead."""
    with pytest.raises(ValueError) as caught:
        parse_field(text)
    assert cure in str(caught.value)


def tree(*rules: str) -> Tree:
    made = []
    for text in rules:
        does, path, *kind = text.split(" ")
        made.append(FieldRule(does, parse_field(path), *kind))  # type: ignore[arg-type]
    return Tree(made)


def shown(rule: FieldRule, value: Any) -> Any:
    return f"<{rule.does} {rule.kind}>" if not isinstance(value, dict) else "<whole>"


RECORD: dict[str, Any] = {
    "id": 7,
    "total": Decimal("1.10"),
    "who": {"name": "Kim", "mail": "k", "tags": ["a", "b"]},
    "rows": [{"mail": "x", "n": 1}, {"n": 2}, {"mail": None, "n": 3}],
    "text": '{"mail": "z", "n": 1.10, "deep": "[{\\"mail\\": 1}]"}',
}
CASES: dict[str, tuple[tuple[str, ...], Any]] = {
    "keep": (("keep id", "keep who.name"), {"id": 7, "who": {"name": "Kim"}}),
    "keep of items": (("keep rows[*].n",), {"rows": [{"n": 1}, {"n": 2}, {"n": 3}]}),
    "keep at any depth": (
        ("keep ..mail",),
        {
            "who": {"mail": "k"},
            "rows": [{"mail": "x"}, {"mail": None}],
            "text": '{"mail":"z","deep":"[{\\"mail\\": 1}]"}',
        },
    ),
    "drop beats keep": (("keep who", "drop who.mail"), {"who": {"name": "Kim", "tags": ["a", "b"]}}),
    "drop does not bring back": (("keep id", "drop ..mail"), {"id": 7}),
    "one item": (("keep rows", "drop rows[1]"), {"rows": [{"mail": "x", "n": 1}, {"mail": None, "n": 3}]}),
    "null stays null": (("keep rows[2]", "mask rows[*].mail fixed"), {"rows": [{"mail": None, "n": 3}]}),
    "each item of a list": (("keep who.tags", "hash who.tags"), {"who": {"tags": ["<hash >", "<hash >"]}}),
    "an object is hidden whole": (("keep who", "mask who last4"), {"who": "<whole>"}),
    "the strictest": (("keep id", "handle id x", "hash id", "mask id last4"), {"id": "<mask fixed>"}),
    "two masks show nothing": (("keep id", "mask id last4", "mask ..id year"), {"id": "<mask fixed>"}),
    "inside text": (("keep text", "drop text.mail"), {"text": '{"n":1.10,"deep":"[{\\"mail\\": 1}]"}'}),
    "inside text inside text": (("keep text", "drop ..mail"), {"text": '{"n":1.10,"deep":"[{}]"}'}),
}


@pytest.mark.parametrize(("rules", "wanted"), CASES.values(), ids=CASES)
def test_what_rules_leave(rules: tuple[str, ...], wanted: Any) -> None:
    """Each rule by itself and where several meet; the tool's own object is never changed."""
    before = copy(RECORD)
    assert apply(tree(*rules), RECORD, shown).value == wanted
    assert before == RECORD


def test_a_list_of_records_has_the_fields_of_each() -> None:
    """A first `[*]` may be left out; records of which nothing is kept go."""
    rows = [{"id": 1, "x": 2}, {"x": 3}, {"id": 4}]
    for path in ("id", "[*].id"):
        assert apply(tree(f"keep {path}"), rows, shown).value == [{"id": 1}, {"id": 4}]
    assert apply(tree("drop x"), rows, shown).value == [{"id": 1}, {}, {"id": 4}]


def test_the_same_object_comes_back_where_nothing_matched() -> None:
    """And so does every part in which nothing was changed."""
    assert apply(tree("drop nothing", "mask ..such fixed"), RECORD, shown).value is RECORD
    changed = apply(tree("drop who.mail"), RECORD, shown).value
    assert changed["rows"] is RECORD["rows"]
    text = '{"n": 1.10}'
    assert apply(tree("drop mail"), text, shown).value is text


IDLE = {
    "a misspelt field": (("keep idd",), ["keep idd"]),
    "an empty list has nothing to match": (("drop none[*].x",), []),
    "null has nothing below": (("drop nil.x",), []),
    "what is kept whole": (("keep who", "keep who.name"), []),
    "what is hidden with its object": (("drop who", "mask who.name fixed"), []),
    "one of two": (("drop who.mail", "drop who.mial"), ["drop who.mial"]),
}


@pytest.mark.parametrize(("rules", "idle"), IDLE.values(), ids=IDLE)
def test_a_rule_that_meets_nothing_is_told(rules: tuple[str, ...], idle: list[str]) -> None:
    """Only where there was something that it could have met; an empty result tells nothing about its rules."""
    fields = Fields([tree(*rules)], shown)
    fields.of({**RECORD, "none": [], "nil": None})
    assert list(fields.idle()) == idle
    for empty in (None, {}, [], ""):
        bare = Fields([tree("keep idd")], shown)
        bare.of(empty)
        assert bare.idle() == ()


def test_depth_is_no_matter_of_the_stack() -> None:
    """A value nested ten thousand deep is walked without recursion."""
    value: Any = {"mail": "x"}
    for _ in range(10_000):
        value = {"a": value}
    done = apply(tree("drop ..mail"), value, shown).value
    for _ in range(10_000):
        done = done["a"]
    assert done == {}


NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(st.integers(0, 3), st.text("xy", max_size=2), st.none(), st.booleans())
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)))
STEPS = st.one_of(NAMES.map(lambda name: f".{name}"), st.just("[*]"), st.sampled_from(["[0]", "[1]"]))
TEXTS = st.tuples(st.sampled_from(["", ".."]), NAMES, st.lists(STEPS, max_size=2)).map(
    lambda parts: parts[0] + parts[1] + "".join(parts[2])
)
HIDES = st.tuples(st.sampled_from(["drop", "mask", "hash", "handle"]), TEXTS)


def spots(value: Any, steps: tuple[str, ...], at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places at a path, by the plainest reading of each step."""
    if not steps:
        return [at]
    step, rest = steps[0], steps[1:]
    found: list[tuple[Any, ...]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        deep = step.startswith("..")
        if key == step.removeprefix("..") or (isinstance(key, int) and step in ("[*]", f"[{key}]")):
            found += spots(item, rest, (*at, key))
        if deep:
            found += spots(item, steps, (*at, key))
    return found


@settings(max_examples=300, deadline=None)
@given(value=st.dictionaries(NAMES, VALUES, max_size=3), rules=st.lists(HIDES, min_size=1, max_size=3))
def test_the_tree_finds_what_each_path_finds_by_itself(value: dict[str, Any], rules: list[tuple[str, str]]) -> None:
    """Every place that some path leads to is changed or gone, no other is, and a rule is idle only where its path found nothing."""
    made = [FieldRule(does, parse_field(path), "fixed" if does == "mask" else "x") for does, path in rules]  # type: ignore[arg-type]
    wanted = {number: spots(value, rule.path.steps) for number, rule in enumerate(made)}
    touched = {at for places in wanted.values() for at in places}
    done = apply(Tree(made), value, lambda _rule, _value: "\0")

    assert all(not wanted[number] for number in done.idle)
    untouched = [at for at in _all(value) if not any(at[: len(spot)] == spot or spot[: len(at)] == at for spot in touched)]
    dropped_in_a_list = any(isinstance(step, int) for spot in touched for step in spot)
    if not dropped_in_a_list:
        for at in untouched:
            assert equal(_at(done.value, at), _at(value, at))
    if not touched:
        assert done.value is value


@settings(max_examples=300, deadline=None)
@given(
    value=st.dictionaries(NAMES, VALUES, max_size=3),
    keep=st.lists(TEXTS, max_size=2),
    rules=st.lists(HIDES, max_size=2),
    more=HIDES,
)
def test_a_further_rule_only_hides_more(
    value: dict[str, Any], keep: list[str], rules: list[tuple[str, str]], more: tuple[str, str]
) -> None:
    """Whatever text or number still stands with one rule more stood there without it."""

    def left(hides: list[tuple[str, str]]) -> list[Any]:
        kept = [FieldRule("keep", parse_field(path)) for path in keep]
        made = [FieldRule(does, parse_field(path), "fixed" if does == "mask" else "x") for does, path in hides]  # type: ignore[arg-type]
        done = apply(Tree([*kept, *made]), value, lambda _rule, _value: "\0").value
        return (
            []
            if done is GONE
            else [
                leaf for at in _all(done) if (leaf := _at(done, at)) not in ("\0", {}, []) and not isinstance(leaf, dict | list)
            ]
        )

    without, with_more = left(rules), left([*rules, more])
    for leaf in with_more:
        assert any(equal(leaf, other) for other in without)
    assert len(with_more) <= len(without)


def _all(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(deeper for key, item in items for deeper in _all(item, (*at, key)))]


def _at(value: Any, at: tuple[Any, ...]) -> Any:
    for step in at:
        value = value[step]
    return value
