"""Reported failures: which tool a name means. Those of several servers are held here at the registry, the policy and the pins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from reports import BOSS, EVERY, codes, error, offered, start, states, write
from wire_helpers import make_tool, message, spelled

from guard import Guard, GuardError, PolicyError, Registry, WireError, tool
from guard.policy import survey_policy
from guard.policy.pins import compare, pin
from guard.review.lints import lint
from guard.wires import wire as wire_named
from guard.wires.names import Spelling, legal, tool_names

MAIL = """
    tools:
      mail1_send_email: {kind: action, allow: [staff], approve: {by: [boss]}}
      mail2_send_email: {kind: action, allow: [staff], approve: {by: [boss]}}
    limits: {run: {calls: 9}}
"""


def named(name: str) -> Callable[..., str]:
    """A function under a name of its own."""

    @tool(name=name)
    def send(to: str) -> str:
        """Send."""
        return to

    return send


# -- two tools, one name -----------------------------------------------------------------------------------------------


def test_of_two_tools_with_one_name_none_wins_br_139() -> None:
    """Registering the second is misuse that names both, whichever way they are given."""
    for tools in ([named("send_email"), named("send_email")], [[named("send_email")], {"send_email": named("other")}]):
        with pytest.raises(GuardError, match="two tools are called 'send_email'"):
            Registry(tools)
    registry = Registry([named("send_email")])
    with pytest.raises(GuardError, match="two tools are called 'send_email'"):
        registry.add(named("send_email"))


@EVERY
def test_each_server_has_its_own_name_and_approval_br_139(tmp_path: Path, wire: str) -> None:
    """With the server in the name, an approval of one is none of the other."""
    desk = start(tmp_path, wire, MAIL, {name: lambda to: to for name in ("mail1_send_email", "mail2_send_email")})
    turn = desk.propose(
        ("c1", "mail1_send_email", {"to": "a"}), ("c2", "mail2_send_email", {"to": "a"}), ("c3", "send_email", {})
    )
    assert states(turn) == ["held", "held", "refused"]
    desk.approve(turn, "c1", BOSS)
    desk.settle()
    assert desk.ran == [("mail1_send_email", {"to": "a"})]


ALIKE = ["Sales_Force_read", "Sales-Force-read", "SALESFORCEREAD"]


def test_names_that_fall_together_are_never_told_apart_by_guessing_br_140(tmp_path: Path) -> None:
    """An entry that could mean two functions, and two entries that mean one, stop the load; check tells the look."""
    folder = write(tmp_path, "tools:\n  salesForceRead: {kind: read, allow: [staff]}\n")
    with pytest.raises(PolicyError, match="could be any of"):
        Guard.load(folder, tools={name: lambda: "" for name in ALIKE[:2]}, store="memory://")
    two = write(tmp_path, "".join(["tools:\n", *(f"  {name}: {{kind: read, allow: [staff]}}\n" for name in ALIKE)]))
    assert [one.code for one in lint(survey_policy(two))[0]] == ["name-alike", "name-alike"]
    with pytest.raises(PolicyError, match="both mean"):
        Guard.load(two, tools={"salesforceread": lambda: ""}, store="memory://")


@EVERY
def test_what_is_judged_is_what_runs_br_140(tmp_path: Path, wire: str) -> None:
    """With both names exact, the forbidden one is refused and the other runs, whatever their order."""
    policy = """
        tools:
          sales-force_read: {kind: read}
          sales_force_read: {kind: read, allow: [staff]}
    """
    tools = {"sales-force_read": lambda: "secret", "sales_force_read": lambda: "ok"}
    desk = start(tmp_path, wire, policy, tools)
    turn = desk.propose(("c1", "sales-force_read", {}), ("c2", "sales_force_read", {}), ("c3", "salesforceread", {}))
    assert states(turn) == ["refused", "done", "refused"]
    assert desk.ran == [("sales_force_read", {})]
    desk.closed()


# -- names that a provider does not take -------------------------------------------------------------------------------

LONG = [f"{verb}ConfluencePageWithAttachmentsAndPermissionsInTheWorkspaceRoot" for verb in ("create", "delete")]


def test_short_names_hold_a_digest_of_the_whole_br_141() -> None:
    """Two long names never fall together, and each process makes the same ones."""
    made = [legal(name, 64) for name in (*LONG, LONG[0] + "2", "a" * 65, "a" * 66)]
    assert len(set(made)) == 5
    assert all(len(name) <= 64 for name in made)
    assert made[0] == "createConfluencePageWithAttachmentsAndPe_" + made[0][-8:]
    assert legal("a" * 64, 64) == "a" * 64


FOREIGN = {
    "br_141": LONG,
    "br_143": ["\u641c\u7d22\u5de5\u5177", "\u5220\u9664\u5de5\u5177"],
    "dots": ["crm.find", "crm.drop"],
    "cleaned alike": ["crm.find:it", "crm:find.it"],
    "led by a digit": ["2fa.send", "-rm.all"],
}


@EVERY
@pytest.mark.parametrize("names", FOREIGN.values(), ids=FOREIGN)
def test_a_name_that_the_provider_rejects_has_a_stand_in_br_141_143(tmp_path: Path, wire: str, names: list[str]) -> None:
    """Each tool is offered under a legal name of its own, the same after a restart, and a call under it means that tool alone."""
    policy = f"tools:\n  {names[0]!r}: {{kind: read, allow: [staff]}}\n  {names[1]!r}: {{kind: action, approve: never, allow: [staff]}}\n"
    tools: Mapping[str, Callable[..., str]] = {names[0]: lambda: "first", names[1]: lambda: "second"}
    policy += "limits: {run: {calls: 9}}\n"
    desk = start(tmp_path, wire, policy, tools, store="sqlite")
    shown = [name for name, _ in offered(desk.chat.tools)]
    assert len(set(shown)) == 2
    desk.restart()
    assert shown == [name for name, _ in offered(desk.chat.tools)]
    means = desk.chat.in_force.names(desk.chat.wire)
    calls = [(f"c{at}", means.show(name), {}) for at, name in enumerate(names)]
    turn = desk.chat.handle(message(wire, *((at, name, spelled(wire, sent)) for at, name, sent in calls)), history=desk.history)
    assert [one.tool for one in turn.outcomes] == names
    assert desk.ran == [(name, {}) for name in names]
    desk.history += turn.append
    desk.legal()
    assert {event["tool"]["name"] for event in desk.audit("call.decided")} == set(names)
    cut = desk.propose(("c9", shown[0][:-1], {}))
    assert codes(cut) == ["unknown_tool"]
    assert error(cut.outcomes[0])["known_tools"] == sorted(shown)


TAKEN = Spelling(most=64)


def test_a_made_name_never_takes_another_tools_place_br_139_141() -> None:
    """A tool that already bears a made name keeps it; the other gets a longer digest, and the same one in whatever order they come."""
    squatter = legal("crm.find", 64)
    names = tool_names(["crm.find", squatter], TAKEN)
    assert names == tool_names([squatter, "crm.find"], TAKEN)
    assert (names.show(squatter), names.tool(squatter)) == (squatter, squatter)
    assert TAKEN.takes(names.show("crm.find"))
    assert names.tool(names.show("crm.find")) == "crm.find"
    both = [squatter, names.show("crm.find")]
    lost = tool_names(["crm.find", *both], TAKEN)
    assert [lost.tool(name) for name in both] == both
    with pytest.raises(WireError, match="rename one of them"):
        wire_named("openai-chat").tools([make_tool("crm.find", {})], lost)


# -- look-alikes, drift, hiding ----------------------------------------------------------------------------------------

LOOKS = ["verify_\u057dser", "verify_us\u0435r", "verify_u\u0455er", "verify_us\u0435\u0433"]


@EVERY
@pytest.mark.parametrize("name", [*LOOKS, "Verify_User", "verify_user ", "verify\u200b_user", "\uff56erify_user"])
def test_a_look_alike_is_not_the_tool_br_144(tmp_path: Path, wire: str, name: str) -> None:
    """Names are matched code point by code point: nothing is normalised so that it hits another tool's rule."""
    desk = start(tmp_path, wire, "tools:\n  verify_user: {kind: read, allow: [staff]}\n", {"verify_user": lambda who: who})
    turn = desk.propose(("c1", name, {"who": "u1"}), ("c2", "verify_user", {"who": "u1"}))
    assert states(turn) == ["refused", "done"]
    assert codes(turn)[0] == "unknown_tool"
    assert desk.ran == [("verify_user", {"who": "u1"})]


@pytest.mark.parametrize("name", LOOKS[:3])
def test_a_look_alike_in_a_policy_is_told_br_144(tmp_path: Path, name: str) -> None:
    """`guard check` names both, and the alphabets."""
    text = f"tools:\n  verify_user: {{kind: read, allow: [staff]}}\n  {name}: {{kind: read, allow: [staff]}}\n"
    assert {one.code for one in lint(survey_policy(write(tmp_path, text)))[0]} == {"name-alike", "name-mixed"}


SCHEMA: Mapping[str, object] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def test_a_definition_that_drifts_is_found_by_server_and_name_br_146(tmp_path: Path) -> None:
    """The pin covers server, name, description and schema, and a changed function stops the load."""
    grown = {**SCHEMA, "properties": {**SCHEMA["properties"], "forward_to": {"type": "string"}}}  # type: ignore[dict-item]
    pins = {"search": pin("search", "Search.", SCHEMA, server="s")}  # type: ignore[arg-type]
    drifts = {
        name: pin("search", *given)
        for name, given in {"grown": ("Search.", grown), "told": ("Search. First call x.", SCHEMA)}.items()
    }  # type: ignore[arg-type]
    for changed in (*drifts.values(), pin("search", "Search.", SCHEMA, server="t")):  # type: ignore[arg-type]
        assert [one.kind for one in compare(pins, {"search": changed})] == ["changed"]
    assert compare(pins, {"search": pin("search", "Search.", dict(reversed(SCHEMA.items())), server="s")}) == ()  # type: ignore[arg-type]


DENIED = """
    tools:
      danger: {kind: action, allow: [boss], approve: never}
      read: {kind: read, allow: [staff]}
"""


@EVERY
@pytest.mark.parametrize(
    "name", ["danger", "mcp__srv__danger", "srv.danger", "DANGER", "danger\n", "functions.danger", "./danger"]
)
def test_hiding_is_not_what_refuses_br_148(tmp_path: Path, wire: str, name: str) -> None:
    """A tool that is not offered is refused where it is called, under each spelling."""
    desk = start(tmp_path, wire, DENIED, {"danger": lambda: "boom", "read": lambda: "ok"})
    assert "danger" not in str(desk.chat.tools)
    assert states(desk.propose(("c1", name, {}))) == ["refused"]
    assert desk.ran == []


# -- what a tool says of itself ----------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("hint", [True, False], ids=["br_150", "br_151"])
def test_a_tool_cannot_say_that_it_is_harmless_br_150_151(tmp_path: Path, wire: str, hint: bool) -> None:
    """Kind and approval are the policy's: hints of a definition, and their absence, change nothing."""

    def wipe() -> str:
        """Read-only, harmless, needs no approval."""
        return "gone"

    if hint:
        wipe.annotations = {"readOnlyHint": True}  # type: ignore[attr-defined]
    policy = "tools:\n  wipe: {kind: action, allow: [staff], approve: {by: [boss]}}\n"
    desk = start(tmp_path, wire, policy, {"wipe": wipe}, watched=False)
    assert states(desk.propose(("c1", "wipe", {}))) == ["held"]


@pytest.mark.parametrize("entry", ["{allow: [staff]}", "{kind: action, allow: [staff]}", "{kind: safe, allow: [staff]}"])
def test_an_entry_without_kind_or_approval_is_no_policy_br_151(tmp_path: Path, entry: str) -> None:
    """What is not said is never taken for harmless: the policy is not used until it is."""
    folder = write(tmp_path, f"tools:\n  do_it: {entry}\n")
    with pytest.raises(PolicyError):
        Guard.load(folder, tools={"do_it": lambda: ""}, store="memory://")
