"""Mistakes in a tool's entry: each is one problem with file, line and cure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from policy_load_kit import GOOD, entry, problems

from guard.errors import Problem

MISTAKES = {
    # name: (lines below `pay:`, line, message, cure)
    "unknown key": (GOOD + "    alow: [staff]", 7, "unknown key alow", "did you mean allow?"),
    "unknown key like none": (GOOD + "    zzz: 1", 7, "unknown key zzz", "known: kind, description, schema, allow, bind"),
    "unknown key of a ground": (GOOD + "    ground: {amount: {zzz: look.x}}", 7, "unknown key zzz", "any_of"),
    "misspelt any_of": (
        GOOD + "    ground: {amount: {anyOf: [{written_by: user}]}}",
        7,
        "unknown key anyOf",
        "did you mean any_of?",
    ),
    "unknown key of a limit": (
        GOOD + "    limits: {zzz: 1}",
        7,
        "unknown key zzz",
        "known: calls, equal, sum, at_most, same, per, of, enforce",
    ),
    "unknown key of a result": (GOOD + "    result: {zzz: 1}", 7, "unknown key zzz", "known: keep, drop, mask, hash, handle"),
    "no kind": ("    allow: [staff]\n    approve: never", 3, "pay has no kind", "read, compute or action"),
    "no kind, nor approve": ("    allow: [staff]", 3, "pay has no kind", "read, compute or action"),
    "wrong kind, no approve": ("    kind: raed\n    allow: [staff]", 4, "kind: must be read", "did you mean read?"),
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
        GOOD + "    ground: {amount: {any_of: [{returned_by: look.x, enforce: shadow}]}}",
        7,
        "enforce belongs to the whole ground",
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
    "approve false": (GOOD.replace("never", "false"), 6, "must be a mapping or never, not true or false", "or never"),
    "approve nothing": (GOOD.replace("never", ""), 6, "must be a mapping or never, not nothing", "or never"),
    "approve an empty list": (GOOD.replace("never", "[]"), 6, "never, not an empty one", "or never"),
    "approve an empty mapping": (GOOD.replace("never", "{}"), 6, "never, not an empty one", "or never"),
    "approve a bare role": (GOOD.replace("never", "boss"), 6, "never, not a text", "{by: [role]}"),
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
        7,
        "without end",
        "below properties or items",
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
    "inside without path": (
        GOOD + "    require: {note: {inside: /srv}}",
        7,
        "inside belongs to the matcher path",
        "write {note: {path: {inside: …}}}",
    ),
    "domain without email": (
        GOOD + "    require: {note: {domain: a.b}}",
        7,
        "domain belongs to the matcher email",
        "write {note: {email: {domain: …}}}",
    ),
    "host without url": (
        GOOD + "    refuse: [{when: {note: {host: a.b}}}]",
        7,
        "host belongs to the matcher url",
        "write {note: {url: {host: …}}}",
    ),
    "programs without command": (
        GOOD.replace("never", "[{when: {note: {programs: [ls]}}, by: self}, never]"),
        6,
        "programs belongs to the matcher command",
        "write {note: {command: {programs: …}}}",
    ),
    "matcher inside not": (GOOD + "    require: {note: {not: {url: {host: a.b}}}}", 7, "url is not a test", "stands alone"),
    "matcher without option": (GOOD + "    require: {note: {email: {host: a.b}}}", 7, "email: unknown key host", "domain"),
    "matcher with a wildcard": (GOOD + "    require: {note: {url: {host: '*.a.b'}}}", 7, "not a whole host name", "url: {host:"),
    "matcher with a relative path": (GOOD + "    require: {note: {path: {inside: data}}}", 7, "not an absolute path", "inside"),
    "equals not alone": (GOOD + "    require: {note: {equals: order_id, minLength: 1}}", 7, "equals stands alone", "one test"),
    "rule without when": (GOOD + "    refuse: [{say: no}]", 7, "refuse: when is missing", "write when"),
    "result of nothing": (GOOD + "    result: {max_bytes: 0}", 7, "withholds every result", "bytes"),
    "not a path": (GOOD + "    result: {keep: ['a..b..c']}", 7, "is not a path", "one ..name is enough"),
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


def test_messages_are_plain() -> None:
    """A problem prints as file, line, message and cure on one line."""
    problem = Problem(file="tools.yaml", line=3, message="unknown key alow", cure="did you mean allow?")

    assert re.fullmatch(r"tools\.yaml:3: unknown key alow \(did you mean allow\?\)", str(problem))
