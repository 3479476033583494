"""Text: drafts as the YAML files of a policy folder, with a comment wherever a person has to decide. Pure. Comes after draft; the last step.

Comments may hold words of the source (names, reasons), each on one line without anything invisible, so that nobody outside can write a
line of policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from guard.policy.problems import is_invisible
from guard.policy.source import MAX_NODES
from guard.review.init.draft import Draft, Guess
from guard.review.init.found import LeftOut
from guard.review.init.yaml_text import block, text

FIRST = "tools.yaml"
_NODES = MAX_NODES // 2
_BYTES = 10_000_000
_COLUMN = 56  # where a comment behind a value begins, if the value is short enough

_HEAD = """\
# What an assistant may do with these tools. Written by `guard init` from {what}.
#
# As it stands nobody may call anything. Next:
#   1. Read each entry. What was guessed ends in "# guess:" and the reason; correct it, then delete the mark.
#   2. Where a role may call the tool, uncomment `allow:` and write the role that your sessions have.
#   3. guard check {folder}
#
# Worth adding where it fits (every key stands in guard's README, "Policies"):
#   result: {{keep: [id, status], empty: nothing found}}       # the model sees these fields of a result only
#   limits: {{calls: 3}}                                       # calls of this tool since the user last spoke
#   ground: {{order_id: {{returned_by: order_status.order_id}}}} # the value must come from another tool's result
#   repeat: allow                                            # an equal action runs again although the user said nothing new (behind `guard mcp` nobody is heard)
#   require: {{amount: {{maximum: 50}}}}                         # must hold, or the call is refused
"""
_TALK = """
# Behind `guard mcp` no user is heard, and `run` counts for a whole session: raise steps and calls there, and leave seconds out.
limits:                                                 # guess: enough for an assistant that people talk to
  run: {steps: 8, calls: 20, seconds: 120}              # since the user last spoke
  conversation: {calls: 200}
"""
_SESSION = """
limits:                                                 # guess: enough for a working session
  run: {steps: 200, calls: 400}                         # behind `guard mcp` no user is heard: for the whole session, so without seconds
"""
_TAIL = """
# Who may approve on a terminal (`guard approvals`), by operating-system user (`whoami`):
# people:
#   YOUR-USER: {principal: ID-OF-THE-PERSON, roles: [approver]}
"""


def policy_files(
    made: Sequence[Draft], left_out: Iterable[LeftOut] = (), *, what: str, folder: str, role: str = "", session: bool = False
) -> dict[str, str]:
    """The text of each file by its name. `session`: no user is heard, as behind `guard mcp`. More than one only where a file would hold more than the loader reads."""
    parts = list(_parts([(one, "\n".join(_entry(one, role or "ROLE"))) for one in made]))
    names = [FIRST if number == 1 else f"tools-{number}.yaml" for number in range(1, len(parts) + 1)]
    files, tail = {}, (_SESSION if session else _TALK) + _TAIL
    for name, part in zip(names, parts, strict=True):
        head = _HEAD.format(what=line(what), folder=line(folder)) if name == FIRST else f"# Goes on from {FIRST}.\n"
        gone = "".join(f"{row}\n" for row in _left_out(left_out)) if name == names[-1] else ""
        files[name] = f"{head}\ntools:\n" + "\n\n".join(part) + "\n" + gone + (tail if name == FIRST else "")
    return files


def line(words: str) -> str:
    """Words on one line of a comment: nothing invisible, and not too long."""
    shown = "".join(f"[U+{ord(char):04X}]" if is_invisible(char) or char < " " or char == "\x7f" else char for char in words)
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _parts(entries: Sequence[tuple[Draft, str]]) -> Iterator[list[str]]:
    part: list[str] = []
    nodes = size = 0
    for one, written in entries:
        own = _nodes(one.entry)
        if part and (nodes + own > _NODES or size + len(written) > _BYTES):
            yield part
            part, nodes, size = [], 0, 0
        part.append(written)
        nodes, size = nodes + own, size + len(written)
    yield part


def _nodes(value: object) -> int:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_nodes, below))


def _left_out(left_out: Iterable[LeftOut]) -> Iterator[str]:
    for number, one in zip(count(1), left_out):
        if number == 1:
            yield "\n  # Left out, so that every call is refused:"
        if number > 200:
            yield "  #   … and more"
            return
        yield f"  #   {line(text(one.name))}: {line(one.why)}"


# -- one entry ---------------------------------------------------------------------------------------------------------


def _entry(one: Draft, role: str) -> Iterator[str]:
    """What a person decides first, and the long schema last."""
    guesses = {guess.key: guess for guess in one.guesses}
    yield f"  {text(one.name)}:"
    for note in one.notes:
        yield f"    # {line(note)}"
    yield _guessed(f"    kind: {one.kind}", guesses["kind"])
    yield f"    # allow: [{role}]"
    yield from _bind([guess for key, guess in guesses.items() if key.startswith("bind.")])
    for key in ("approve", "effect", "resource"):
        if key in guesses:
            yield _guessed(f"    {'' if guesses[key].active else '# '}{key}: {guesses[key].value}", guesses[key])
    if one.description:
        yield from block("description", one.description, 4)
    if one.schema is not None:
        yield from block("schema", one.schema, 4)


def _bind(guesses: Sequence[Guess]) -> Iterator[str]:
    """The bindings; the key itself is a comment where none of them is in force, so that uncommenting its lines is enough."""
    if not guesses:
        return
    lead = "    " if any(guess.active for guess in guesses) else "    # "
    yield f"{lead}bind:"
    for guess in sorted(guesses, key=lambda guess: not guess.active):
        mark = "" if guess.active else "# "
        start = f"    {mark}  " if lead == "    # " else f"      {mark}"
        yield _guessed(f"{start}{text(guess.key.removeprefix('bind.'))}: {guess.value}", guess)


def _guessed(start: str, guess: Guess) -> str:
    return f"{start:<{_COLUMN - 1}} # guess: {line(guess.why)}"
