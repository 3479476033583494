"""`guard.reload()`: a changed folder is in force at once or not at all, and a turn is judged by one version."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from reload_kit import BASE, BOSS, BROKEN, CLERK, CLOSED, asks, load, pay, write

from guard import AsyncGuard, GuardError, PolicyError, Reloaded, ToolCall, compose


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "policies")


def test_a_changed_folder_is_in_force_after_a_reload(folder: Path) -> None:
    """The call that was allowed is refused, the tool is not shown any more, and the version is another one."""
    with load(folder) as guard:
        chat, before = guard.open(CLERK, wire="openai-chat", conversation="c"), guard.policy_state.version
        assert asks(guard) == ("done", None)
        write(folder, CLOSED)
        assert asks(guard) == ("done", None)

        done = guard.reload()

        assert done.changed
        assert done.version == guard.policy_state.version != before
        assert asks(guard) == ("refused", "not_authorized")
        assert [one["function"]["name"] for one in chat.tools] == ["pay"]


def test_the_same_contents_change_nothing(folder: Path) -> None:
    """A folder that was written again with the same bytes gives the policy that is in force."""
    with load(folder) as guard:
        policy = guard.policy
        write(folder)

        assert guard.reload() == Reloaded(version=policy.version, changed=False)
        assert guard.policy is policy


def _gone(folder: Path) -> None:
    shutil.rmtree(folder)


def _cut(folder: Path) -> None:
    write(folder, BASE[:60])


def _link(folder: Path) -> None:
    (folder / "tools.yaml").unlink()
    (folder / "tools.yaml").symlink_to("nowhere.yaml")


def _file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("tools: {}")


BREAKS = {
    "a mistake": lambda folder: write(folder, BROKEN),
    "two mistakes": lambda folder: write(folder, BROKEN, "p, clerk, *, nothing, call, dney\n"),
    "an unregistered tool": lambda folder: write(folder, BASE.replace("  look:", "  wipe:")),
    "no UTF-8": lambda folder: (folder / "tools.yaml").write_bytes(b"\xff\xfe"),
    "nothing in it": lambda folder: (folder / "tools.yaml").unlink(),
    "a file cut off": _cut,
    "a link to nothing": _link,
    "the folder is gone": _gone,
    "a file in its place": _file,
}


@pytest.mark.parametrize("break_it", BREAKS.values(), ids=BREAKS.keys())
def test_a_broken_policy_leaves_the_old_one_in_force_and_says_so(folder: Path, break_it, caplog) -> None:
    """Every kind of broken folder raises PolicyError, keeps what is in force, and stands in the state and once in the log."""
    with load(folder) as guard:
        policy = guard.policy
        break_it(folder)

        for _ in range(2):
            with pytest.raises(PolicyError):
                guard.reload()

        assert guard.policy is policy
        assert asks(guard) == ("done", None)
        assert guard.policy_state.failure
        assert sum("stays in force" in record.message for record in caplog.records) == 1


def test_every_problem_is_named_and_a_good_policy_ends_the_failure(folder: Path) -> None:
    """All mistakes at once; after the next good policy nothing is left of them."""
    with load(folder) as guard:
        write(folder, BROKEN, "p, clerk, *, nothing, call, dney\n")
        with pytest.raises(PolicyError) as raised:
            guard.reload()
        assert {problem.file for problem in raised.value.problems} == {"tools.yaml", "rules.csv"}

        write(folder, CLOSED, "")

        assert guard.reload().changed
        assert guard.policy_state.failure is None


def test_a_failure_is_told_without_secrets(folder: Path, caplog) -> None:
    """What the log and the state say is redacted like everything else."""
    with load(folder) as guard:
        write(folder, BASE.replace("kind: read", "kind: jane.roe@example.com"))
        write(folder, BASE + "jane.roe@example.com: 1\n")
        with pytest.raises(PolicyError):
            guard.reload()

        assert "jane.roe" not in (guard.policy_state.failure or "")
        assert "jane.roe" not in caplog.text


CASES = """sessions:
  clerk: {principal: E1, roles: [clerk]}
cases:
  - name: a clerk looks
    session: clerk
    call: {look: {n: 1}}
    returns: {n: 1}
    expect: allow
"""


def test_a_policy_that_does_not_pass_its_cases_is_not_published(folder: Path) -> None:
    """The folder's own cases are played on the new policy before anybody is judged by it, at load and at reload; mended cases count."""
    (folder / "cases.yaml").write_text(CASES)
    with load(folder) as guard:
        write(folder, CLOSED)
        with pytest.raises(PolicyError, match=r"cases\.yaml:\d+: the case 'a clerk looks'"):
            guard.reload()
        assert asks(guard) == ("done", None)
        with pytest.raises(PolicyError, match="a clerk looks"):
            load(folder)
        (folder / "cases.yaml").write_text(
            CASES.replace("    returns: {n: 1}\n    expect: allow", "    expect: refuse\n    reason: not_authorized")
        )
        assert guard.reload().changed
        assert asks(guard) == ("refused", "not_authorized")


def test_a_held_call_is_judged_by_the_policy_of_the_day(folder: Path) -> None:
    """A yes under the old policy runs nothing that the reloaded one refuses, and an unchanged rule keeps its yes."""
    with load(folder) as guard:
        held = guard.call(ToolCall("1", "pay", {"n": 9}), CLERK, conversation="c")
        other = guard.call(ToolCall("2", "pay", {"n": 2}), CLERK, conversation="c")
        for one in (held, other):
            guard.approvals.approve(one.approval, approver=BOSS)
        write(folder, BASE + "# a word\n")
        guard.reload()
        assert asks(guard, "pay", 9) == ("done", None)

        write(folder, BASE, "p, clerk, *, pay, call, deny\n")
        guard.reload()

        assert asks(guard, "pay", 2) == ("refused", "not_authorized")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BASE.replace("{n: {type: integer}}, required", "{n: {type: integer}, why: {type: string}}, required"), "held"),
        (BASE.split("  pay:")[0] + "limits: {run: {calls: 9}}\n", "refused"),
    ],
    ids=["another definition", "the tool is gone"],
)
def test_a_yes_to_another_tool_is_no_yes(folder: Path, text: str, found: str) -> None:
    """A changed definition is asked about anew; a tool that is gone is refused."""

    def paid(n: int, why: str = "") -> dict[str, int]:
        return {"paid": n}

    with load(folder, tools={"look": pay, "pay": paid}) as guard:
        held = guard.call(ToolCall("1", "pay", {"n": 9}), CLERK, conversation="c")
        guard.approvals.approve(held.approval, approver=BOSS)
        write(folder, text)
        guard.reload()

        assert asks(guard, "pay", 9)[0] == found


def test_a_turn_ends_under_the_version_that_it_began_with(folder: Path) -> None:
    """A tool that reloads changes nothing for its own turn: the calls behind it are judged and run as they were decided."""
    loaded = []

    def look(n: int = 0) -> dict[str, object]:
        if n == 1:
            write(folder, CLOSED)
            loaded.append(guard.reload().changed)
        return {"n": n}

    guard = load(folder, tools={"look": look, "pay": pay})
    with guard:
        calls = [{"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {n}}}'}} for n in (1, 2)]
        turn = guard.open(CLERK, wire="openai-chat", conversation="c").handle({"role": "assistant", "tool_calls": calls})
        assert [one.status for one in turn.outcomes] == ["done", "done"]
        assert loaded == [True]
        assert asks(guard) == ("refused", "not_authorized")


def test_what_checks_a_policy_cannot_reload_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload from inside a reload is misuse, not a deadlock."""
    guard = load(folder)
    with guard:
        monkeypatch.setattr(compose, "VERIFY", (lambda *_: [guard.reload()],))
        write(folder, CLOSED)
        with pytest.raises(GuardError, match="being run to check it"):
            guard.reload()
        assert asks(guard) == ("done", None)


def test_a_plain_guard_takes_no_policy_with_an_async_tool(folder: Path) -> None:
    """A tool that only AsyncGuard can run is no tool of a reloaded policy either."""

    async def wipe() -> None: ...

    with load(folder, tools={"look": pay, "pay": pay, "wipe": wipe}) as guard:
        write(folder, BASE.replace("limits:", "  wipe: {kind: read, allow: [clerk]}\nlimits:"))
        with pytest.raises(PolicyError, match="AsyncGuard"):
            guard.reload()


def test_an_asyncio_program_awaits_it(folder: Path) -> None:
    """The same for AsyncGuard, in a thread, so that the loop goes on."""

    async def run() -> None:
        guard = load(folder, AsyncGuard)
        write(folder, CLOSED)
        assert (await guard.reload()).changed
        outcome = await guard.call(ToolCall("1", "look", {"n": 1}), CLERK, conversation="c")
        assert (outcome.status, outcome.reason) == ("refused", "not_authorized")
        guard.close()

    asyncio.run(run())
