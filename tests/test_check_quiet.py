"""What looks like a mistake and is none: each edit of the good folder stays silent. And the folders that the lints must bear."""

from __future__ import annotations

from pathlib import Path

import pytest
from review_check_kit import Edit, edited, found

from guard.policy import survey_policy
from guard.policy.problems import Problems
from guard.policy.rule_shape import model_text
from guard.review.alike import skeleton
from guard.review.lints import lint
from guard.review.view import View
from guard.review.visible import shown

T, M, R, P = "tools.yaml", "money.yaml", "rules.csv", "people.yaml"
AMOUNTS = "{calls: 3, sum: amount, per: order_id, at_most: 900}"


def more(name: str, description: str, rest: str = "") -> Edit:
    return (T, "", f"  {name}: {{kind: read, allow: [clerk], description: {description}{rest}}}\n")


QUIET: dict[str, Edit] = {
    "a deny of one role of many": (R, "", "p, role:temp, *, cancel_order, call, deny\n"),
    "a deny in one tenant": (R, "", "p, clerk, acme, refund, call, deny\n"),
    "a broader rule of another effect": (R, "", "p, role:temp, *, find*, call, deny\n"),
    "a deny of approving": (R, "", "p, manager, acme, refund, approve, deny\n"),
    "a role of one's own in a tenant": (R, "", "g, E3, role:clerk, acme\n"),
    "a role by another name": (
        R,
        "",
        "p, role:helper_eu, *, find_order, call, allow\np, role:helper_us, *, find_order, call, allow\n",
    ),
    "bounds that meet": (M, "minimum: 1, maximum: 1000", "minimum: 1, maximum: 501"),
    "one value": (T, "minimum: 1, maximum: 50, default: 10", "minimum: 10, maximum: 10, default: 10"),
    "exclusive bounds with room": (M, "{amount: {maximum: 500}}", "{amount: {exclusiveMinimum: 4, maximum: 5}}"),
    "a pattern as long as it may be": (T, "[A-Z][0-9]+", "[A-Z][0-9]{11}"),
    "a list with a fitting pattern": (T, "enum: [short, full]", "enum: [short, full], pattern: '^[a-z]+$'"),
    "a list in a condition": (M, "{channel: bank}", "{channel: {enum: [bank, giro]}}"),
    "alternatives that narrow": (M, "{amount: {maximum: 100}}", "{amount: {maximum: 21}}"),
    "alternatives of other arguments": (M, "{amount: {maximum: 100}}", "{urgent: true}"),
    "a sum above one call": (M, "at_most: 900", "at_most: 1"),
    "as many calls as the run": (M, "limits: {calls: 3", "limits: {calls: 20"),
    "more calls in a window than in a run": (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 30, per: 24h}}]"),
    "a longer window with more": (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 8, per: 1h}}, {{calls: 9, per: 24h}}]"),
    "a longer window with less than all shorter ones": (
        M,
        AMOUNTS,
        f"[{AMOUNTS}, {{calls: 2, per: 1h}}, {{calls: 47, per: 24h}}]",
    ),
    "a person's window below the tenant's": (
        M,
        AMOUNTS,
        f"[{AMOUNTS}, {{calls: 8, per: 24h}}, {{calls: 7, per: 1h, of: conversation}}, {{calls: 9, per: 24h, of: tenant}}]",
    ),
    "a window of another argument": (
        M,
        AMOUNTS,
        f"[{AMOUNTS}, {{calls: 8, per: 24h, of: order_id}}, {{calls: 9, per: 1h, of: region}}]",
    ),
    "calls beside a window on trial": (
        M,
        AMOUNTS,
        f"[{AMOUNTS}, {{calls: 9, per: 1h}}, {{calls: 8, per: 24h, enforce: shadow}}]",
    ),
    "all tools less than this one": (
        M,
        "  run: {steps",
        "  windows: [{calls: 100, per: 24h}, {calls: 50, per: 1h}]\n  run: {steps",
    ),
    "calls within a conversation": (M, AMOUNTS, f"[{AMOUNTS}, {{calls: 100, per: 24h, of: conversation}}]"),
    "a ceiling that the least call just meets": (
        M,
        AMOUNTS,
        f"{AMOUNTS}\n    ceilings: {{arguments_bytes: 14, arguments_items: 2}}",
    ),
    "a ceiling below the turn's limit": (M, "limits:\n", "ceilings: {message_calls: 16}\nlimits:\n  turn: {calls: 16}\n"),
    "an identity that is grounded": (
        M,
        "{order_id: {returned_by: find_order.order_id}}",
        "{order_id: {returned_by: find_order.order_id}, customer_email: {written_by: user}}",
    ),
    "an identity that must equal the session's": (
        T,
        "    approve: {by: self}",
        "    require: {reason: {equals: session.principal}}\n    approve: {by: self}",
    ),
    "a word within a name": (T, "reason: {type: string", "username_hint_text: {type: string"),
    "another verb": more("open_order", "Open an order that was not sent yet."),
    "another number": more("find_order_2", "Search the archive for orders of last year"),
    "plural": more("find_orders", "Search the archive for all that was bought last year"),
    "another alphabet": more("\u641c\u7d22\u5de5\u5177", "Search the archive for all that was bought last year"),
    "a source that everybody may call": more("ping", "Say whether the shop is open", ", schema: {type: object, properties: {}}"),
    "a role that a person alone has": (P, "roles: [clerk]", "roles: [clerk, janitor]"),
    "another fact": (M, "{region: session.region}", "{region: session.branch}"),
    "comments": (R, "", "# only a remark\n\n"),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_meant_is_not_told(name: str, tmp_path: Path) -> None:
    """A neighbour of a mistake is no mistake."""
    edit = QUIET[name]
    edits = [edit]
    if "customer_email" in edit[2]:
        edits.append((M, "urgent: {type: boolean}", "customer_email: {type: string}"))

    assert [str(one) for one in found(edited(tmp_path, *edits))] == []


def test_findings_come_sorted_and_beside_mistakes(tmp_path: Path) -> None:
    """A folder that cannot be used tells its warnings too, in the order of files and lines."""
    edited(
        tmp_path,
        (T, "    allow: [clerk]", "    alow: [clerk]\n    allow: [clerk]"),
        (M, "calls: 3", "calls: 0"),
        (R, "refund, call", "refund, approve"),
    )
    survey = survey_policy(tmp_path)
    warnings, _ = lint(survey)

    assert [one.message for one in survey.errors] == ["unknown key alow"]
    assert [(one.file, one.line, one.code) for one in warnings] == [("money.yaml", 19, "limit-zero")]


def test_a_matcher_of_ones_own_silences_the_lints_that_know_ours(tmp_path: Path) -> None:
    """What a rule means is then not known here: said in one line, and the other lints go on."""
    model = model_text((), Problems())
    edits = [(R, "", "p, clerk, acme, refund, call, allow\n"), (M, "calls: 3", "calls: 0")]
    edited(tmp_path, *edits)
    (tmp_path / "model.conf").write_text(model, "utf-8")
    assert {one.code for one in lint(survey_policy(tmp_path))[0]} == {"rule-shadowed", "limit-zero"}

    (tmp_path / "model.conf").write_text(model.replace('p.sub == "*" ||', 'p.sub == "*" || r.sub == p.sub ||'), "utf-8")
    warnings, notes = lint(survey_policy(tmp_path))

    assert [one.code for one in warnings] == ["limit-zero"]
    assert len(notes) == 1
    assert "model.conf" in notes[0]


def test_more_than_ten_tools_of_one_role_are_counted(tmp_path: Path) -> None:
    """Inherited ones too, denied ones not; the count and an estimate of the tokens are told."""
    lines = "".join(
        f"  look_{number}: {{kind: read, allow: [clerk], description: Look at shelf {number}}}\n" for number in range(7)
    )
    told = found(edited(tmp_path, (T, "", lines), (R, "", "p, manager, *, look_0, call, deny\n")))

    assert [(one.code, one.file, one.line) for one in told] == [("tools-many", "money.yaml", 5)]
    assert "clerk shows the model 11 tools, about " in told[0].message
    assert {one.role: one.tools for one in shown(View(survey_policy(tmp_path)))} == {"auditor": 2, "clerk": 11, "manager": 10}


@pytest.mark.parametrize("text", ["", "# nothing\n", "tools:\n", "tools: {}\n", "limits: {run: {calls: 3}}\n"])
def test_a_policy_without_tools_is_told(text: str, tmp_path: Path) -> None:
    """It refuses every call, which nobody means."""
    (tmp_path / "tools.yaml").write_text(text, "utf-8")

    assert any(
        "every call is refused" in one.message or "empty" in one.message or "mapping" in one.message for one in found(tmp_path)
    )


LOOKS = [
    ("verify_user", "verify_\u057dser"),
    ("pay", "p\u0430y"),
    ("queryExpense", "query-expense"),
    ("admin", "\uff41dmin"),
    ("pay1", "payl"),
]


@pytest.mark.parametrize(("one", "other"), LOOKS)
def test_names_of_one_look_have_one_skeleton(one: str, other: str) -> None:
    """Letters of other alphabets, wide letters, case, separators and digits."""
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize("text", ["tools: [1, 2]", "tools: {a: 3}", "tools: {a: {schema: 7}}", "tools: {a: {kind: read, limits: 3, require: [], ground: x, approve: [], after: [1]}}", 'tools: {"\\e[31mred": {kind: read}}', "tools: {a: {kind: read, schema: {properties: [1], required: {}, minimum: x, enum: 3}}}"])  # fmt: skip
def test_lints_bear_whatever_stands_there(text: str, tmp_path: Path) -> None:
    """A folder full of nonsense is reported by the loader, and no lint fails on it."""
    (tmp_path / "tools.yaml").write_text(text, "utf-8")
    survey = survey_policy(tmp_path)

    assert survey.errors
    assert isinstance(lint(survey)[0], tuple)
