"""Reading policy folders: every mistake of the language is found, all of them at once, each with file, line and cure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from guard.core.model import Session
from guard.errors import PolicyError, Problem
from guard.policy import Declared, load_policy
from guard.policy.conditions import KEYWORDS
from guard.policy.language import KEYS
from guard.policy.matchers import MATCHERS

ROOT = Path(__file__).resolve().parent.parent
TRAVEL = ROOT / "policies"
SHOP = ROOT / "examples" / "shop" / "policies"

SIGNATURE = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": "string"}},
    "required": ["order_id"],
}
PAY = Declared(name="pay", schema=SIGNATURE, parameters=frozenset({"order_id", "amount", "note"}))
LOOK = Declared(name="look", schema={"type": "object", "properties": {}}, parameters=frozenset())


def folder(tmp_path: Path, files: Mapping[str, str] | str) -> Path:
    """A policy folder with these files; a text is tools.yaml."""
    for name, text in ({"tools.yaml": files} if isinstance(files, str) else files).items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def problems(
    tmp_path: Path, files: Mapping[str, str] | str, declared: object = (PAY, LOOK), **more: object
) -> tuple[Problem, ...]:
    """The mistakes that loading reports."""
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, files), declared, **more)
    return caught.value.problems


def entry(lines: str) -> str:
    """A policy with an action `pay`, whose own keys begin at line 4, and a read tool."""
    return f"tools:\n  look: {{kind: read, allow: [staff]}}\n  pay:\n{lines}\n"


GOOD = "    kind: action\n    allow: [staff]\n    approve: never\n"

MISTAKES = {
    # name: (lines below `pay:`, line, message, cure)
    "unknown key": (GOOD + "    alow: [staff]", 7, "unknown key alow", "did you mean allow?"),
    "no kind": ("    allow: [staff]\n    approve: never", 3, "pay has no kind", "read, compute or action"),
    "wrong kind": ("    kind: acton\n    approve: never", 4, "kind: must be read or compute or action", "did you mean action?"),
    "action without approve": ("    kind: action\n    allow: [staff]", 3, "does not say who approves it", "never"),
    "kind is a number": ("    kind: 3\n    approve: never", 4, "kind: must be", "write read"),
    "empty list": (GOOD.replace("[staff]", "[]"), 5, "allow: an empty list has no effect", "leave the key out"),
    "role with a comma": (GOOD.replace("[staff]", "['a,b']"), 5, "a,b cannot be a role", "letters"),
    "key twice": (GOOD + "    kind: read", 7, "kind is written twice", "line 4"),
    "not lossless": (GOOD + "    coerce: loose", 7, "coerce: must be lossless", "lossless"),
    "repeat": (GOOD + "    repeat: yes", 7, "repeat: must be allow", "allow"),
    "flag as text": (GOOD + "    unwrap: yes", 7, "unwrap: true or false is needed, not a text", "true and false"),
    "duration": (GOOD + "    timeout: 5 parsecs", 7, "timeout: not a duration", "90s"),
    "duration of nothing": (GOOD + "    timeout: 0s", 7, "timeout: not a duration above 0", "90s"),
    "unknown check": (GOOD + "    checks: [budgt]", 7, "the check budgt is not registered", "did you mean budget?"),
    "bind to no session": (GOOD + "    bind: {note: principal}", 7, "not a fact of the session", "session.principal"),
    "bind without from": (GOOD + "    bind: {note: {strict: true}}", 7, "does not say from where", "from"),
    "bind to a missing argument": (
        GOOD + "    bind: {user: session.principal}",
        7,
        "pay cannot take the bound field user",
        "function",
    ),
    "bind is a list": (GOOD + "    bind: [note]", 7, "bind: a mapping is needed, not a list", "key: value"),
    "ground on a missing argument": (
        GOOD + "    ground: {amunt: {returned_by: look.x}}",
        7,
        "pay has no argument amunt",
        "did you mean amount?",
    ),
    "ground by an unknown tool": (
        GOOD + "    ground: {amount: {returned_by: loook.x}}",
        7,
        "loook is not a tool",
        "did you mean look?",
    ),
    "ground without a field": (GOOD + "    ground: {amount: {returned_by: look}}", 7, "look names no field", "look.field"),
    "ground without an origin": (GOOD + "    ground: {amount: {latest: true}}", 7, "exactly one of", "any_of"),
    "ground with two origins": (
        GOOD + "    ground: {amount: {returned_by: look.x, written_by: user}}",
        7,
        "exactly one of",
        "any_of",
    ),
    "ground by somebody else": (GOOD + "    ground: {amount: {written_by: model}}", 7, "written_by: must be user", "user"),
    "ground option without effect": (
        GOOD + "    ground: {amount: {written_by: user, once: true}}",
        7,
        "once has no effect beside written_by",
        "leave it out",
    ),
    "shadow inside any_of": (
        GOOD + "    ground: {amount: {any_of: [{returned_by: look.x, shadow: true}]}}",
        7,
        "shadow belongs to the whole ground",
        "beside any_of",
    ),
    "after without tool": (GOOD + "    after: {once: true}", 7, "after: tool is missing", "name the tool"),
    "after an unknown tool": (GOOD + "    after: {tool: lok}", 7, "lok is not a tool", "did you mean look?"),
    "same names no argument": (GOOD + "    after: {tool: look, same: [orderid]}", 7, "no argument orderid", "order_id"),
    "resource without a name": (GOOD + "    resource: {owner: customer}", 7, "one record name is needed", "{order: order_id"),
    "resource on a missing argument": (GOOD + "    resource: {order: ordr}", 7, "pay has no argument ordr", "order_id"),
    "limit without a bound": (GOOD + "    limits: {sum: amount}", 7, "sum without at_most has no effect", "add at_most"),
    "limit on nothing": (GOOD + "    limits: {sum: amout, at_most: 5}", 7, "no argument amout", "did you mean amount?"),
    "limit below zero": (GOOD + "    limits: {calls: -1}", 7, "calls: a number from 0 up is needed", "digits"),
    "limit that is not whole": (GOOD + "    limits: {calls: 1.5}", 7, "calls: a whole number is needed", "write 1"),
    "approve without by": (GOOD.replace("never", "{expires: 1h}"), 6, "approve: by is missing", "by: self"),
    "approve with a condition last": (
        GOOD.replace("never", "[{when: {amount: 1}, by: self}]"),
        6,
        "the last alternative must have no when",
        "add one",
    ),
    "approve never reached": (
        GOOD.replace("never", "[never, {by: [boss]}]"),
        6,
        "never reached",
        "move it to the end",
    ),
    "never as a role": (GOOD.replace("never", "{by: [never]}"), 6, "never is not a role", "write by: never, alone"),
    "show a missing argument": (GOOD.replace("never", "{by: [boss], show: [reson]}"), 6, "no argument reson", "known:"),
    "condition on a missing argument": (
        GOOD + "    refuse: [{when: {amonut: {maximum: 5}}}]",
        7,
        "no argument amonut",
        "did you mean amount?",
    ),
    "condition on another type": (
        GOOD + "    refuse: [{when: {amount: '50'}}]",
        7,
        "amount is a number in the schema, and this test is about a text",
        "compare the types",
    ),
    "keyword about another type": (
        GOOD + "    require: {note: {maximum: 50}}",
        7,
        "note is a text in the schema, and this test is about a number",
        "compare the types",
    ),
    "a schema without end": (
        GOOD + "    schema: {type: object, properties: {note: {$ref: '#/$defs/a'}}, $defs: {a: {$ref: '#/$defs/a'}}}",
        3,
        "refers to itself without end",
        "flatten",
    ),
    "condition with an unknown keyword": (GOOD + "    require: {amount: {maximun: 5}}", 7, "maximun is not a test", "maximum"),
    "condition that never holds": (GOOD + "    require: {amount: {minimum: 5, maximum: 4}}", 7, "can never hold", "exchange"),
    "keyword with a wrong value": (GOOD + "    require: {amount: {maximum: many}}", 7, "maximum: a text makes no sense here", ""),
    "condition on a record without resource": (
        GOOD + "    refuse: [{when: {resource.state: closed}}]",
        7,
        "pay has no resource",
        "add resource",
    ),
    "broken pattern": (GOOD + "    require: {note: {pattern: '('}}", 7, "pattern: missing )", "re"),
    "matcher without option": (GOOD + "    require: {note: {email: {host: a.b}}}", 7, "email: unknown key host", "domain"),
    "matcher with a wildcard": (GOOD + "    require: {note: {url: {host: '*.a.b'}}}", 7, "not a whole host name", "url: {host:"),
    "matcher with a relative path": (GOOD + "    require: {note: {path: {inside: data}}}", 7, "not an absolute path", "inside"),
    "equals not alone": (GOOD + "    require: {note: {equals: order_id, minLength: 1}}", 7, "equals stands alone", "one test"),
    "rule without when": (GOOD + "    refuse: [{say: no}]", 7, "refuse: when is missing", "write when"),
    "result of nothing": (GOOD + "    result: {max_bytes: 0}", 7, "withholds every result", "bytes"),
    "not a path": (GOOD + "    result: {keep: ['a..b']}", 7, "is not a path", ""),
    "schema property that the function lacks": (
        GOOD + "    schema: {type: object, properties: {amont: {type: number}}}",
        7,
        "the function takes no argument amont",
        "did you mean amount?",
    ),
    "schema with a wrong type": (
        GOOD + "    schema: {type: object, properties: {note: {type: strng}}}",
        7,
        "not a valid schema at properties.note.type",
        "",
    ),
    "dangling reference": (
        GOOD + "    schema: {type: object, properties: {note: {$ref: '#/$defs/Nte'}}, $defs: {Note: {type: string}}}",
        7,
        "points nowhere",
        "did you mean #/$defs/Note?",
    ),
    "remote reference": (
        GOOD + "    schema: {type: object, properties: {note: {$ref: 'https://example.com/note.json'}}}",
        7,
        "remote reference",
        "copy it into $defs",
    ),
    "unknown draft": (GOOD + "    schema: {$schema: 'https://example.com/x', type: object}", 7, "unknown draft", "2020-12"),
}


@pytest.mark.parametrize(("lines", "line", "message", "cure"), MISTAKES.values(), ids=MISTAKES.keys())
def test_each_mistake_of_a_tool_is_named_with_its_line_and_cure(
    tmp_path: Path, lines: str, line: int, message: str, cure: str
) -> None:
    """A mistake in a tool's entry is one problem at its own line, saying what is wrong and what to write instead."""
    found = problems(tmp_path, entry(lines), checks={"budget": lambda _: None})

    assert [(problem.file, problem.line) for problem in found] == [("tools.yaml", line)], found
    assert message in found[0].message
    assert cure in found[0].cure


TOPS = {
    "unknown top-level key": ("tool: {}\n", 1, "unknown key tool", "did you mean tools?"),
    "unknown limit": ("limits: {run: {stepps: 3}}\n", 1, "unknown key stepps", "did you mean steps?"),
    "a price without out": ("prices: {m: {in: 2}}\n", 1, "needs in and out", "million"),
    "a person without principal": ("people:\n  ann: {roles: [boss]}\n", 2, "ann has no principal", "principal"),
    "people is empty": ("people:\n", 1, "people: a mapping is needed, not nothing", "key: value"),
    "not YAML": ("tools: {a: [}\n", 1, "not YAML", ""),
    "a tag": ("limits: !!python/object:os.system {}\n", 1, "has no meaning here", "leave the tag out"),
    "a merge key": ("a: &a {x: 1}\nlimits:\n  <<: *a\n", 3, "a key must be a text", "write << out in full"),
    "infinity": ("limits: {run: {seconds: .inf}}\n", 1, "not a value that a policy can hold", "quotes"),
    "an alias inside itself": ("limits: &a {run: *a}\n", 1, "inside the value that it names", ""),
    "a path without quotes": ("limits: {run: a[*].b}\n", 1, "not YAML", "quotes around a path with [*]"),
    "two documents": ("limits: {turn: {calls: 1}}\n---\nlimits: {}\n", 2, "another document", ""),
    "nested without end": ("limits: " + "[" * 3000, None, "nested too deeply", ""),
}


@pytest.mark.parametrize(("text", "line", "message", "cure"), TOPS.values(), ids=TOPS.keys())
def test_each_mistake_of_a_file_is_named_with_its_line_and_cure(
    tmp_path: Path, text: str, line: int | None, message: str, cure: str
) -> None:
    """A mistake outside of a tool's entry is found like one inside."""
    found = problems(tmp_path, {"tools.yaml": entry(GOOD), "more.yaml": text})
    fitting = [problem for problem in found if problem.file == "more.yaml" and message in problem.message]

    assert len(fitting) == 1, found
    assert fitting[0].line == line
    assert cure in fitting[0].cure


def test_every_mistake_of_a_folder_is_reported_at_once(tmp_path: Path) -> None:
    """Nobody repairs a policy one error at a time: tools, rules, limits and a broken file are all named."""
    found = problems(
        tmp_path,
        {
            "tools.yaml": entry("    kind: action\n    alow: [staff]\n    timeout: soon"),
            "more.yaml": "tools:\n  look: {kind: read}\nlimits: {run: {stepps: 1}}\n",
            "rules.csv": "p, staff, *, pya, call, deny\n",
            "broken.yml": "a: [",
        },
    )
    places = {(problem.file, problem.line) for problem in found}

    assert places == {
        ("tools.yaml", 3),
        ("tools.yaml", 5),
        ("tools.yaml", 6),
        ("tools.yaml", 2),  # the tool stands in more.yaml, too
        ("more.yaml", 3),
        ("rules.csv", 1),
        ("broken.yml", 1),
    }


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    """Nested aliases that unfold to billions of values stop the load, not the machine."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    found = problems(tmp_path, {"tools.yaml": "\n".join(lines)})

    assert any("more than 100000 values" in problem.message for problem in found)


@pytest.mark.parametrize("case", ["missing", "empty", "a file"])
def test_a_folder_without_a_policy_is_an_error(tmp_path: Path, case: str) -> None:
    """No policy is not an empty policy: somebody pointed at the wrong place."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    where = {"missing": tmp_path / "none", "empty": tmp_path / "empty", "a file": tmp_path / "file"}[case]

    with pytest.raises(PolicyError, match="policy folder"):
        load_policy(where)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Cases, backups and notes are not policy."""
    files = {"tools.yaml": entry(GOOD), "cases.yaml": "- 1\n", "tools.yaml.bak": "[", "notes.md": "x", ".hidden.yaml": "["}
    (tmp_path / "cases").mkdir()

    assert set(load_policy(folder(tmp_path, files), (PAY, LOOK)).policy.tools) == {"look", "pay"}


def test_values_keep_their_digits_and_words(tmp_path: Path) -> None:
    """YAML 1.2: `no` is a text, a date is a text, and 0.10 stays 0.10."""
    text = entry(GOOD + "    schema: {properties: {note: {enum: [no, 2026-10-15]}, amount: {multipleOf: 0.10}}}")

    schema = load_policy(folder(tmp_path, text), (PAY, LOOK)).policy.tools["pay"].schema

    assert schema["properties"]["note"]["enum"] == ["no", "2026-10-15"]
    assert str(schema["properties"]["amount"]["multipleOf"]) == "0.10"


# -- names -----------------------------------------------------------------------------------------------------------


def test_a_function_serves_the_entry_of_the_same_name_in_another_spelling(tmp_path: Path) -> None:
    """`query_expense` serves `queryExpense`; the exact name always comes first."""
    text = "tools:\n  queryExpense: {kind: read, allow: [a]}\n  lookUp: {kind: read, allow: [a]}\n"
    declared = [Declared(name=name, schema={}) for name in ("query_expense", "look_up", "lookUp")]

    loaded = load_policy(folder(tmp_path, text), declared)

    assert loaded.names == {"queryExpense": "query_expense", "lookUp": "lookUp"}
    assert loaded.policy.unlisted == {"look_up"}


NAMES = {
    "unknown": (["query_expenses"], "no registered tool is called queryExpense", "did you mean query_expenses?"),
    "ambiguous": (["query_expense", "query-expense"], "could be any of", "registered name"),
}


@pytest.mark.parametrize(("registered", "message", "cure"), NAMES.values(), ids=NAMES.keys())
def test_an_entry_that_matches_no_single_tool_is_an_error(tmp_path: Path, registered: list[str], message: str, cure: str) -> None:
    """A misspelt or ambiguous entry must not silently apply to nothing."""
    found = problems(
        tmp_path, "tools:\n  queryExpense: {kind: read, allow: [a]}\n", [Declared(name=name, schema={}) for name in registered]
    )

    assert [(problem.line, message in problem.message, cure in problem.cure) for problem in found] == [(2, True, True)]


def test_two_entries_for_one_function_are_an_error(tmp_path: Path) -> None:
    """One function under two entries would have two policies."""
    text = "tools:\n  queryExpense: {kind: read, allow: [a]}\n  query-expense: {kind: read, allow: [a]}\n"

    found = problems(tmp_path, text, [Declared(name="query_expense", schema={})])

    assert "both mean the registered tool query_expense" in found[0].message


def test_tools_may_be_spread_over_files_but_stand_once(tmp_path: Path) -> None:
    """The same tool in two files is an error that names both places."""
    found = problems(tmp_path, {"a.yaml": entry(GOOD), "b.yaml": "tools:\n  look: {kind: read, allow: [x]}\n"})

    assert [(problem.file, problem.line, problem.cure) for problem in found] == [
        ("b.yaml", 2, "the first stands at a.yaml:2; keep one")
    ]


def test_without_a_program_the_policy_alone_is_checked(tmp_path: Path) -> None:
    """`guard check` knows no functions: unregistered tools and checks are no errors, and nothing is known of arguments."""
    loaded = load_policy(folder(tmp_path, entry(GOOD + "    checks: [budget]")))
    tool = loaded.policy.tools["pay"]

    assert tool.schema == {}
    assert tool.validate({"anything": 1}) == ()
    assert tool.checks[0].run({}) is not None


# -- what comes out --------------------------------------------------------------------------------------------------


def test_a_bound_field_does_not_make_unknown_arguments_known(tmp_path: Path) -> None:
    """Where nothing is known of a tool's arguments, a bound field is one of them, not the only one."""
    lines = GOOD + "    bind: {customer: session.principal}\n    ground: {amount: {returned_by: look.total}}"
    tool = load_policy(folder(tmp_path, entry(lines))).policy.tools["pay"]

    assert tool.validate({"customer": "E1", "amount": 5}) == ()
    assert tool.visible == {"type": "object", "properties": {}, "additionalProperties": True}


def test_everything_of_the_language_is_compiled(tmp_path: Path) -> None:
    """Each key arrives in the compiled tool as the words of the core."""
    text = entry("""    kind: action
    description: Pay an order.
    allow: [staff]
    bind: {note: {from: session.memo, strict: true}}
    coerce: lossless
    unwrap: true
    repeat: allow
    timeout: 500ms
    checks: [budget]
    ground:
      order_id: {any_of: [{returned_by: 'look.orders[*].id', once: true, verified: true}, {written_by: user}], shadow: true}
      amount: {at_most: look.total, same: [order_id]}
    after: [{tool: look, where: {ok: true}, latest: false, once: true, shadow: true}]
    resource: [{order: order_id, owner: owner.id}, {shop: note}]
    require: {amount: {minimum: 1}}
    refuse: [{when: {resource.order.state: closed}, say: The order is closed., shadow: true}]
    limits: [{calls: 3, equal: 1}, {sum: amount, per: order_id, at_most: 100.50}]
    approve: [{when: {amount: {maximum: 50}}, by: self}, {by: [role:boss, self], expires: 7d, show: [amount]}]
    result: {keep: [id], empty: nothing, max_bytes: 1000}
limits:
  turn: {calls: 4, whole: true}
  run: {steps: 8, cost: 1.25}
  conversation: {tokens: 1000}
prices: {m: {in: 2.50, out: 10}}
people: {ann: {principal: E1, tenant: acme, roles: [boss], attributes: {level: 3}}}
""")
    loaded = load_policy(folder(tmp_path, text), (PAY, LOOK), checks={"budget": lambda _: None})
    tool, limits = loaded.policy.tools["pay"], loaded.policy.limits
    order, amount = tool.grounds

    assert (tool.kind, tool.timeout, tool.repeat, tool.unwrap, tool.acts) == ("action", 0.5, True, True, True)
    assert [(b.field, str(b.source), b.strict) for b in tool.bindings] == [("note", "memo", True)]
    assert "note" in tool.schema["properties"]
    assert "note" not in tool.visible["properties"]
    assert (order.shadow, [source.origin for source in order.sources]) == (True, ["tool", "user"])
    assert (str(order.sources[0].path), order.sources[0].once, order.sources[0].verified) == ("orders[*].id", True, True)
    assert (amount.sources[0].relation, amount.sources[0].latest, str(amount.sources[0].same[0])) == ("at_most", True, "order_id")
    assert (tool.after[0].latest, tool.after[0].once, tool.after[0].shadow) == (False, True, True)
    assert [(rule.name, rule.owner and str(rule.owner)) for rule in tool.resources] == [("order", "owner.id"), ("shop", None)]
    assert [(rule.id, rule.effect, rule.shadow) for rule in tool.rules] == [
        ("pay.require[0]", "require", False),
        ("pay.refuse[0]", "refuse", True),
    ]
    assert (tool.limits.calls, tool.limits.equal, str(tool.limits.sums[0].at_most)) == (3, 1, "100.50")
    assert [(rule.by, rule.self_, rule.expires) for rule in tool.approval] == [((), True, 86400.0), (("boss",), True, 604800.0)]
    assert (tool.result.empty, tool.result.max_bytes) == ("nothing", 1000)
    assert (limits.turn_calls, limits.whole_turn, str(limits.run["cost"])) == (4, True, "1.25")
    assert [str(price) for price in limits.prices["m"]] == ["2.50", "10"]
    assert loaded.policy.people["ann"] == Session(principal="E1", tenant="acme", roles=("boss",), attributes={"level": 3})


def test_the_limit_of_one_record_is_what_was_said_about_this_record(tmp_path: Path) -> None:
    """`per` decides which earlier result a bound is read from, unless `same` is written."""
    text = entry(GOOD + "    limits: {sum: amount, per: order_id, at_most: look.total}")

    limit = load_policy(folder(tmp_path, text), (PAY, LOOK)).policy.tools["pay"].limits.sums[0].at_most

    assert [str(path) for path in limit.same] == ["order_id"]


def test_a_tool_name_with_dots_is_the_longest_that_fits(tmp_path: Path) -> None:
    """`api.orders.get.id` is field `id` of tool `api.orders.get`, even where a tool `api` exists."""
    text = entry(GOOD + "    ground: {order_id: {returned_by: api.orders.get.id}}")
    text += "  api: {kind: read, allow: [a]}\n  api.orders.get: {kind: read, allow: [a]}\n"

    source = load_policy(folder(tmp_path, text)).policy.tools["pay"].grounds[0].sources[0]

    assert (source.tool, str(source.path)) == ("api.orders.get", "id")


WARNINGS = {
    "no run limits": (GOOD, "no limits.run"),
    "nobody may call": ("    kind: action\n    approve: never", "nobody may call pay"),
    "everybody may call": (GOOD.replace("staff", "'*'"), "everybody may call pay"),
    "identity": (GOOD + "    schema: {properties: {userId: {}}}", "nobody owns the argument userId"),
    "misspelt keyword": (GOOD + "    schema: {properties: {a: {}}, requred: [a]}", "requred is not a keyword"),
    "a cost that nobody knows": (GOOD + "limits: {run: {cost: 5}}", "only where the provider states it"),
    "forbidden programs": (GOOD + "    refuse: [{when: {note: {command: {programs: [rm]}}}}]", "easily evaded"),
}


@pytest.mark.parametrize(("lines", "message"), WARNINGS.values(), ids=WARNINGS.keys())
def test_what_works_but_is_probably_not_meant_is_a_warning(tmp_path: Path, lines: str, message: str) -> None:
    """A policy that can be used is loaded; what looks wrong in it is said."""
    loaded = load_policy(folder(tmp_path, entry(lines)))

    assert any(message in warning.message and warning.warning for warning in loaded.warnings), loaded.warnings


def test_registered_tools_without_entry_are_named(tmp_path: Path) -> None:
    """A tool that nobody wrote a policy for is refused at run time, and said so at load."""
    loaded = load_policy(folder(tmp_path, entry(GOOD)), (PAY, LOOK, Declared(name="wipe", schema={})))

    assert loaded.policy.unlisted == {"wipe"}
    assert any("wipe has no entry" in warning.message for warning in loaded.warnings)


def test_the_version_changes_with_every_byte_and_every_definition(tmp_path: Path) -> None:
    """Two different policies never share a version; the same one always does."""
    first = load_policy(folder(tmp_path, entry(GOOD)), (PAY, LOOK)).policy.version
    again = load_policy(tmp_path, (PAY, LOOK)).policy.version
    other_tool = load_policy(tmp_path, (Declared(name="pay", schema={}), LOOK)).policy.version
    comment = load_policy(folder(tmp_path, entry(GOOD) + "# x\n"), (PAY, LOOK)).policy.version

    assert first == again
    assert len({first, other_tool, comment}) == 3


def test_a_definition_is_about_what_the_tool_is_not_where_it_lives(tmp_path: Path) -> None:
    """Moving a function leaves approvals valid; changing its schema or description does not."""
    where = folder(tmp_path, entry(GOOD))

    def definition(**changes: object) -> str:
        declared = Declared(**{"name": "pay", "schema": SIGNATURE, **changes})
        return load_policy(where, (declared, LOOK)).policy.tools["pay"].definition

    assert definition() == definition(origin="elsewhere.pay")
    assert len({definition(), definition(description="x"), definition(schema={})}) == 3


# -- the two policies of the design ----------------------------------------------------------------------------------


def test_the_shipped_travel_policy_loads() -> None:
    """The travel-expense assistant's policy holds what its scenario needs, and its people exist."""
    loaded = load_policy(TRAVEL)
    create = loaded.policy.tools["createExpenseSupplement"]

    assert set(loaded.policy.tools) == {"queryExpense", "queryTravelPolicy", "calcAmountOver", "createExpenseSupplement"}
    assert (create.approval[0].by, create.approval[0].expires, create.after[0].tool) == (
        ("supervisor",),
        86400.0,
        "calcAmountOver",
    )
    assert loaded.policy.people["root"].principal == "E20417"
    assert loaded.policy.authorizer.roles(loaded.policy.people["supervisor"]) == {"supervisor"}
    assert loaded.warnings == ()


def test_the_shop_policy_loads() -> None:
    """The shop's policy says whose orders, what must have happened, and who approves how much."""
    refund = load_policy(SHOP).policy.tools["refund"]

    assert [(rule.self_, rule.by) for rule in refund.approval] == [(True, ()), (False, ("support",))]
    assert (refund.resources[0].name, str(refund.resources[0].owner)) == ("order", "customer_id")
    assert refund.limits.sums[0].at_most.tool == "order_status"


def test_the_editors_schema_knows_exactly_the_keys_of_the_reader() -> None:
    """What an editor completes and what the reader accepts are the same language, and both shipped policies are in it."""
    import jsonschema

    from guard.policy.keywords import float_copy
    from guard.policy.problems import Problems
    from guard.policy.source import File, read_yaml

    schema = json.loads((ROOT / "guard" / "policy" / "tools.schema.json").read_text())
    defs = schema["$defs"]
    written = {name: tuple(body["properties"]) for name, body in defs.items() if name in KEYS}
    judge = jsonschema.Draft202012Validator(schema)

    assert {name: tuple(keys) for name, keys in KEYS.items()} == written
    assert set(KEYWORDS) | {"allOf", "anyOf", "not"} == set(defs["fragment"]["properties"])
    assert {next(iter(option["properties"])) for option in defs["test"]["oneOf"] if "properties" in option} == {
        *MATCHERS,
        "equals",
    }
    for file in [*TRAVEL.glob("*.yaml"), *SHOP.glob("*.yaml")]:
        value = read_yaml(File(file.name, file.read_bytes()), Problems()).value
        assert [error.message for error in judge.iter_errors(float_copy(value))] == [], file


def test_messages_are_plain() -> None:
    """A problem prints as file, line, message and cure on one line."""
    problem = Problem(file="tools.yaml", line=3, message="unknown key alow", cure="did you mean allow?")

    assert re.fullmatch(r"tools\.yaml:3: unknown key alow \(did you mean allow\?\)", str(problem))


def test_a_signature_that_cannot_be_told_needs_a_schema(tmp_path: Path) -> None:
    """A parameter of a type that JSON Schema cannot say is a mistake until the policy gives the schema; it is never waved through."""
    (tmp_path / "tools.yaml").write_text("tools:\n  look: {kind: read, allow: [a]}\nlimits: {run: {steps: 3}}\n", "utf-8")

    with pytest.raises(PolicyError, match=r"tools\.yaml:2: look: .*schema: below look"):
        load_policy(tmp_path, [Declared(name="look", trouble="look: the parameter x cannot be told")])


def test_an_alternative_may_say_that_nobody_is_asked(tmp_path: Path) -> None:
    """`by: never` with a condition lets exactly the calls through for which it surely holds; all others ask the next one."""
    text = """tools:
  bash:
    kind: action
    allow: [dev]
    schema: {type: object, properties: {cmd: {type: string}}, required: [cmd]}
    approve: [{when: {cmd: {command: {programs: [ls, cd]}}}, by: never}, {by: [operator]}]
limits: {run: {steps: 3}}
"""
    (tmp_path / "tools.yaml").write_text(text, "utf-8")

    tool = load_policy(tmp_path).policy.tools["bash"]

    free, asked = tool.approval
    assert (free.strictness, asked.strictness) == (0, 2)
    assert free.when is not None
    assert free.when.surely({"arguments": {"cmd": "cd /w && ls"}})
    assert not free.when.surely({"arguments": {"cmd": "cd /w && python3 x.py"}})
    assert free.when.maybe({"arguments": {"cmd": "cd $HOME"}})


@pytest.mark.parametrize("name", ["MORE.YAML", "RULES.CSV"])
def test_the_ending_of_a_file_counts_in_any_case(tmp_path: Path, name: str) -> None:
    """A rule is not passed over because its file's ending is written in capitals."""
    (tmp_path / "tools.yaml").write_text("tools:\n  a: {kind: read, allow: [x]}\nlimits: {run: {steps: 3}}\n", "utf-8")
    (tmp_path / name).write_text("nonsense", "utf-8")

    with pytest.raises(PolicyError, match=name):
        load_policy(tmp_path)
