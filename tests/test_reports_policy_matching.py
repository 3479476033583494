"""Reported failures: rules that compare spellings in place of what will really happen."""

from __future__ import annotations

from pathlib import Path

import pytest
from reports import BOTH, U1, codes, start, states, write

from guard import Guard, PolicyError, PolicyWarning

ASKS = """
    tools:
      bash:
        kind: action
        allow: [staff]
        approve: [{when: {cmd: {not: {pattern: "cd [A-Za-z0-9/_.-]+"}}}, by: [boss]}, never]
"""
ONLY = """
    tools:
      bash: {kind: action, allow: [staff], approve: never, require: {cmd: {command: {programs: [cd, ls, git]}}}}
"""

COMPOUND = [
    "cd /w && python3 x.py",
    "cd /w; python3 x.py",
    "cd /w | sh",
    "cd /w & sh",
    "cd /w || sh",
    "cd /w\npython3 x.py",
    "cd $(python3 x.py)",
    "cd `python3 x.py`",
    "cd /w > /etc/passwd",
    "cd <(sh)",
    "(cd /w; sh)",
    "cd '/w' && 'sh'",
    "cd /w && X=1 sh",
    "PATH=/opt cd /w",
    "cd /w #\nsh",
    "cd ${IFS}",
    "cd /w \\\n&& sh",
    "./cd /w",
    "/opt/cd /w",
    "cdx /w",
    "cd 'unbalanced",
    "c\\d /w",
    "cd /w &&",
    "",
]


@BOTH
@pytest.mark.parametrize("cmd", [*COMPOUND, " cd /w", "cd\u00a0/w"])
def test_a_prefix_covers_nothing_behind_it_br_129(tmp_path: Path, wire: str, cmd: str) -> None:
    """Whatever is not wholly the permitted form is asked about; nothing chained, quoted or hidden behind it runs by itself."""
    desk = start(tmp_path, wire, ASKS, {"bash": lambda cmd: "ok"})
    assert states(desk.propose(("c1", "bash", {"cmd": cmd}), ("c2", "bash", {"cmd": "cd /w"}))) == ["held", "done"]
    assert desk.ran == [("bash", {"cmd": "cd /w"})]
    desk.closed()


@BOTH
@pytest.mark.parametrize("cmd", COMPOUND)
def test_every_part_of_a_command_br_129b(tmp_path: Path, wire: str, cmd: str) -> None:
    """With a list of programs each part must start one of them, and text that cannot be split with certainty is refused."""
    desk = start(tmp_path, wire, ONLY, {"bash": lambda cmd: "ok"})
    fine = "cd /w && ls -la 'a b' | git diff"
    turn = desk.propose(("c1", "bash", {"cmd": cmd}), ("c2", "bash", {"cmd": fine}))
    assert codes(turn) == ["rule_refused", None]
    assert desk.ran == [("bash", {"cmd": fine})]
    desk.closed()


FORMS_OF_RM = [
    "rm -rf /",
    "rm -fr /",
    "rm -r -f /",
    "rm --recursive --force /",
    "rm  -rf  /",
    "/bin/rm -rf /",
    "'rm' -rf /",
    "ls; rm -rf /",
    "sudo rm -rf /",
    "env rm -rf /",
    "find / -delete",
]


@BOTH
@pytest.mark.parametrize("cmd", FORMS_OF_RM)
def test_other_spellings_of_a_forbidden_command_br_131(tmp_path: Path, wire: str, cmd: str) -> None:
    """A list of permitted programs refuses every spelling of what is not on it."""
    desk = start(tmp_path, wire, ONLY, {"bash": lambda cmd: "ok"}, store="sqlite")
    assert codes(desk.propose(("c1", "bash", {"cmd": cmd}))) == ["rule_refused"]
    assert not desk.ran
    desk.closed()


def test_a_list_of_forbidden_programs_is_called_weak_br_131b(tmp_path: Path) -> None:
    """Loading says that forbidding programs is easily evaded and what to write instead; it is never the only protection by default."""
    policy = """
        tools:
          bash: {kind: action, allow: [staff], approve: {by: [boss]}, refuse: {when: {cmd: {command: {programs: [rm]}}}}}
        limits: {run: {calls: 5}}
    """

    def bash(cmd: str) -> str:
        return "ok"

    with pytest.warns(PolicyWarning, match="easily evaded"):
        Guard.load(write(tmp_path, policy), tools=[bash], store="memory://").close()
    bare = "tools: {bash: {kind: action, allow: [staff], refuse: {when: {cmd: {command: {programs: [rm]}}}}}}"
    with pytest.raises(PolicyError, match="does not say who approves it"):
        Guard.load(write(tmp_path, bare), tools=[bash], store="memory://")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a protected part and links into it."""
    root = tmp_path / "t"
    for name in ("work", "protected", "protected-not"):
        (root / name).mkdir(parents=True)
    (root / "work" / "link").symlink_to("../protected")
    (root / "work" / "loop").symlink_to("loop")
    (root / "alias").symlink_to("protected")
    return root


PATHS = {
    "plain": ("work/f", "done"),
    "new-directory": ("work/a/b/c", "done"),
    "name-that-begins-alike": ("protected-not/f", "done"),
    "protected": ("protected/f", "refused"),
    "the-directory-itself": ("protected", "refused"),
    "dot-dot": ("work/../protected/f", "refused"),
    "dot-dot-through-new": ("work/new/../../protected/f", "refused"),
    "through-a-link": ("work/link/f", "refused"),
    "new-below-a-link": ("work/link/a/b", "refused"),
    "another-link": ("alias/f", "refused"),
    "double-slash": ("work//..//protected//f", "refused"),
    "dot": ("./protected/./f", "refused"),
    "outside": ("../elsewhere", "refused"),
    "prefix-only": ("../t2/f", "refused"),
    "zero-byte": ("work/f\0/../../protected/f", "refused"),
}


@BOTH
@pytest.mark.parametrize(("path", "status"), PATHS.values(), ids=PATHS.keys())
def test_what_a_path_really_names_br_132(tmp_path: Path, wire: str, place: Path, path: str, status: str) -> None:
    """A path is judged as spelled and as it really is, for new files by the nearest parent that exists."""
    policy = f"""
        tools:
          write:
            kind: action
            allow: [staff]
            approve: never
            require: {{path: {{path: {{inside: {place}}}}}}}
            refuse: {{when: {{path: {{path: {{inside: {place}/protected}}}}}}}}
    """
    desk = start(tmp_path, wire, policy, {"write": lambda path: "ok"})
    assert states(desk.propose(("c1", "write", {"path": f"{place}/{path}"}))) == [status]
    assert desk.times("write") == (status == "done")
    desk.closed()


@BOTH
@pytest.mark.parametrize("path", ["work/f", "~/f", "", "file:///etc/passwd", "C:\\f", "%2e%2e/f"])
def test_paths_that_name_no_place_br_132b(tmp_path: Path, wire: str, place: Path, path: str) -> None:
    """What is not an absolute path is never inside a directory, and may be inside one that is forbidden."""
    policy = f"""
        tools:
          read: {{kind: read, allow: [staff], require: {{path: {{path: {{inside: {place}}}}}}}}}
          peek: {{kind: read, allow: [staff], refuse: {{when: {{path: {{path: {{inside: {place}/protected}}}}}}}}}}
    """
    desk = start(tmp_path, wire, policy, {"read": lambda path: "ok", "peek": lambda path: "ok"})
    turn = desk.propose(("c1", "read", {"path": path}), ("c2", "peek", {"path": path}))
    assert codes(turn) == ["rule_refused", "rule_refused"]
    desk.closed()


@BOTH
@pytest.mark.parametrize("named", ["h/.zshrc", "h/dot/.zshrc"])
@pytest.mark.parametrize("asked", ["h/.zshrc", "h/dot/.zshrc", "h/dot/../.zshrc", "h/other"])
def test_a_forbidden_link_and_its_target_br_134(tmp_path: Path, wire: str, named: str, asked: str) -> None:
    """A rule that names a link covers its target, one that names the target covers the link, in every spelling of the request."""
    (tmp_path / "h" / "dot").mkdir(parents=True)
    (tmp_path / "h" / "dot" / ".zshrc").write_text("x")
    (tmp_path / "h" / ".zshrc").symlink_to("dot/.zshrc")
    policy = (
        f"tools: {{read: {{kind: read, allow: [staff], refuse: {{when: {{path: {{path: {{inside: {tmp_path / named}}}}}}}}}}}}}"
    )
    desk = start(tmp_path, wire, policy, {"read": lambda path: "ok"})
    turn = desk.propose(("c1", "read", {"path": str(tmp_path / asked)}))
    assert codes(turn) == [None if asked == "h/other" else "rule_refused"]
    desk.closed()


SPOKEN = """
    tools:
      mcp__tts__say: {kind: action, approve: never}
      mcp__tts__list: {kind: read}
      mcp__tts_evil__say: {kind: action, approve: never}
      mcp__ttsx: {kind: read}
"""
SPEAKING = {name: (lambda t="": "ok") for name in ("mcp__tts__say", "mcp__tts__list", "mcp__tts_evil__say", "mcp__ttsx")}


@BOTH
def test_a_wildcard_covers_its_own_server_br_136(tmp_path: Path, wire: str) -> None:
    """`*` at the end covers exactly the names that begin with what stands before it, separator included."""
    desk = start(tmp_path, wire, SPOKEN, SPEAKING, files={"rules.csv": "p, staff, *, mcp__tts__*, call, allow\n"}, store="sqlite")
    turn = desk.propose(*((f"c{number}", name, {"t": "hi"}) for number, name in enumerate(SPEAKING)))
    assert codes(turn) == [None, None, "not_authorized", "not_authorized"]
    assert [name for name, _ in desk.ran] == ["mcp__tts__say", "mcp__tts__list"]
    assert len(desk.chat.tools) == 2
    desk.closed()


@pytest.mark.parametrize(
    "rule",
    ["mcp__sst__*", "mcp__*__say", "*__say", "mcp__tts__?", "mcp__tts__.*", "mcp__tts__sa", "MCP__tts__*", "mcp__tts__say*x"],
)
def test_a_rule_that_matches_nothing_stops_loading_br_136b(tmp_path: Path, rule: str) -> None:
    """A wildcard in another form, or for no known tool, is a mistake with file and line, never a rule without effect."""
    folder = write(tmp_path, SPOKEN, {"rules.csv": f"p, staff, *, {rule}, call, allow\n"})
    with pytest.raises(PolicyError, match=r"rules\.csv:1"):
        Guard.load(folder, tools=SPEAKING, store="memory://")


MAIL = "tools: {mail: {kind: action, allow: [staff], approve: never, require: {to: {email: {domain: example.com}}}}}"
ADDRESSES = {
    "sub-domain": ("a@evil.example.com", False),
    "ends-alike": ("a@notexample.com", False),
    "other-case": ("A@EXAMPLE.com", True),
    "two-addresses": ("x@example.com,y@evil.test", False),
    "two-with-semicolon": ("x@evil.test;y@example.com", False),
    "plain": ("a@example.com", True),
    "tagged": ("a+b@example.com", True),
    "display-name": ("Boss <x@evil.test> a@example.com", False),
    "quoted-local": ('"x@evil.test"@example.com', False),
    "two-at": ("x@evil.test@example.com", False),
    "percent-route": ("x%evil.test@example.com", True),
    "header-injection": ("a@example.com\nBcc: x@evil.test", False),
    "trailing-dot": ("a@example.com.", False),
    "look-alike-letter": ("a@ex\u0430mple.com", False),
    "space": (" a@example.com", False),
    "domain-only": ("@example.com", False),
    "longer": ("a@example.com.evil.test", False),
    "comment": ("a@example.com(evil.test)", False),
}


@BOTH
@pytest.mark.parametrize(("to", "fine"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_whole_domains_br_138(tmp_path: Path, wire: str, to: str, fine: bool) -> None:
    """One address is read, and its whole domain compared without case."""
    desk = start(tmp_path, wire, MAIL, {"mail": lambda to: "sent"}, session=U1)
    assert codes(desk.propose(("c1", "mail", {"to": to}))) == [None if fine else "rule_refused"]
    assert desk.times("mail") == fine
    desk.closed()
