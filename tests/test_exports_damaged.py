"""Exported files, damaged at random in every way: the command's check and the program that an auditor runs without the guard say the same.

What is undamaged is never reported. What files do not show, only a checkpoint does: that is in `test_tampering`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores_kit import Clock, event

from guard.core.exported import first_line, record_line
from guard.core.log import Sealed
from guard.proof import exports
from guard.proof.alone import check_files
from guard.proof.checking import plain, told
from guard.proof.verifier import source
from guard.stores import open_store

Files = list[bytes]
Damage = Callable[[Files, random.Random], Files]


def a_log(word: str) -> list[Sealed]:
    """Records of one store, as of three chains."""
    store = open_store("memory://", clock=Clock())
    for number in range(40):
        store.record((), (event("call.end", n=number, text=f"{word} \u202e \U0001f600 \\u202e"),))
    return list(store.audit())


def exported(log: list[Sealed], sizes: tuple[int, ...] = (12, 9, 1, 18)) -> Files:
    """A log in files that go on in each other."""
    made: Files = []
    heads: dict[int, tuple[int, str]] = {}
    rest = iter(log)
    for number, size in enumerate(sizes, 1):
        lines = [first_line(number, heads)]
        for _, one in zip(range(size), rest, strict=False):
            lines.append(record_line(one))
            heads[one.chain] = (one.seq, one.hash)
        made.append("".join(f"{line}\n" for line in lines).encode())
    return made


def a_file(files: Files, rng: random.Random) -> tuple[int, list[bytes]]:
    number = rng.randrange(len(files))
    return number, files[number].splitlines(True)


def with_file(files: Files, number: int, lines: list[bytes] | bytes) -> Files:
    return [*files[:number], lines if isinstance(lines, bytes) else b"".join(lines), *files[number + 1 :]]


def cut(files: Files, rng: random.Random) -> Files:
    """Within a line: that the newest lines are missing only a checkpoint shows."""
    number = rng.randrange(len(files))
    kept = files[number][: rng.randrange(2, len(files[number]) - 1)]
    return with_file(files, number, kept[:-1] if kept.endswith(b"\n") else kept)


def doubled(files: Files, rng: random.Random) -> Files:
    number, lines = a_file(files, rng)
    at = rng.choice([0, len(lines) - 1, rng.randrange(len(lines))])
    return with_file(files, number, [*lines[: at + 1], lines[at], *lines[at + 1 :]])


def line_left_out(files: Files, rng: random.Random) -> Files:
    number, lines = a_file(files[:-1], rng)
    at = rng.randrange(len(lines))
    return with_file(files, number, lines[:at] + lines[at + 1 :])


def lines_swapped(files: Files, rng: random.Random) -> Files:
    number, lines = a_file(files, rng)
    one, two = rng.sample(range(len(lines)), 2)
    lines[one], lines[two] = lines[two], lines[one]
    return with_file(files, number, lines)


def files_swapped(files: Files, rng: random.Random) -> Files:
    one, two = rng.sample(range(len(files)), 2)
    made = list(files)
    made[one], made[two] = files[two], files[one]
    return made


def file_left_out(files: Files, rng: random.Random) -> Files:
    number = rng.randrange(len(files) - 1)
    return files[:number] + files[number + 1 :]


def file_twice(files: Files, rng: random.Random) -> Files:
    return [*files[: (at := rng.randrange(len(files)) + 1)], rng.choice(files), *files[at:]]


def of_another_store(files: Files, rng: random.Random) -> Files:
    """Lines, or a whole file, of a store beside it."""
    number, lines = a_file(files, rng)
    other = OTHER[number].splitlines(True)
    start = rng.randrange(1, len(lines))
    return with_file(files, number, [*lines[:start], *other[start : start + rng.choice([1, 99])], *lines[start + 1 :]])


def emptied(files: Files, rng: random.Random) -> Files:
    return with_file(files, rng.randrange(len(files)), b"")


def line_ends(files: Files, rng: random.Random) -> Files:
    number = rng.randrange(len(files))
    return with_file(files, number, files[number].replace(b"\n", b"\r\n", rng.choice([1, -1])))


def marked(files: Files, rng: random.Random) -> Files:
    number = rng.randrange(len(files))
    return with_file(files, number, b"\xef\xbb\xbf" + files[number])


def recoded(files: Files, rng: random.Random) -> Files:
    number = rng.randrange(len(files))
    return with_file(files, number, files[number].decode().encode("utf-16"))


def character_cut(files: Files, rng: random.Random) -> Files:
    """One byte out of a character of several."""
    number = rng.choice([number for number, file in enumerate(files) if not file.isascii()])
    at = rng.choice([at for at, byte in enumerate(files[number]) if byte > 0x7F])
    return with_file(files, number, files[number][:at] + files[number][at + 1 :])


def a_byte(files: Files, rng: random.Random) -> Files:
    """Another byte within a record."""
    number, lines = a_file(files, rng)
    at = rng.randrange(1, len(lines))
    place = rng.randrange(len(lines[at]))
    lines[at] = lines[at][:place] + bytes([lines[at][place] ^ rng.choice([1, 2, 32, 128])]) + lines[at][place + 1 :]
    return with_file(files, number, lines)


def a_line_between(files: Files, rng: random.Random) -> Files:
    number, lines = a_file(files, rng)
    at = rng.randrange(len(lines) + 1)
    return with_file(files, number, [*lines[:at], rng.choice(STRANGE), *lines[at:]])


def renumbered(files: Files, rng: random.Random) -> Files:
    number = rng.randrange(len(files))
    return with_file(
        files, number, files[number].replace(b'"file":%d' % (number + 1), b'"file":%d' % rng.choice([0, number + 2, 10**30]), 1)
    )


STRANGE = (
    *(b"\n", b"{}\n", b"[]\n", b"null\n", b"{\n", b'"text"\n', b"\xff\xfe\n", b"[" * 20_000 + b"\n", b"9" * 5000 + b"\n"),
    *(
        b'{"guard":"audit-export","v":1,"file":%s,"after":%s}\n' % pair
        for pair in ((b"2", b"{}"), (b"true", b"{}"), (b"1", b'{"\xd9\xa3":[1,"a"]}'))
    ),
    b'{"chain":%s,"seq":1,"prev":"","hash":"","body":"{}"}\n' % (b"9" * 4300),
    b'{"chain":-1,"seq":1,"prev":"","hash":"","body":"\\ud83d"}\n',
)
DAMAGES: dict[str, Damage] = {
    one.__name__.replace("_", "-"): one
    for one in (
        *(
            cut,
            doubled,
            line_left_out,
            lines_swapped,
            files_swapped,
            file_left_out,
            file_twice,
            of_another_store,
            emptied,
            line_ends,
        ),
        *(marked, recoded, character_cut, a_byte, a_line_between, renumbered),
    )
}
WHOLE, OTHER = exported(a_log("here")), exported(a_log("there"))


@pytest.fixture(scope="module")
def alone() -> Any:
    """The printed program as a module of its own."""
    module = types.ModuleType("verify_alone")
    sys.modules["verify_alone"] = module
    exec(compile(source(), "verify_alone.py", "exec"), module.__dict__)  # noqa: S102 - the program under test
    yield module
    del sys.modules["verify_alone"]


def put(folder: Path, files: Files) -> list[str]:
    for old in folder.glob("*.jsonl"):
        old.unlink()
    paths = [folder / f"{number}.jsonl" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return [str(path) for path in paths]


def both(alone: Any, paths: list[str], *, partial: bool = False) -> dict[str, Any]:
    """What both say, which is the same."""
    report = check_files(paths, [], None, partial=partial)
    other = alone.check_files(paths, [], None, partial=partial)
    found = plain(report)
    assert alone.plain(other) == found
    assert alone.told(other) == told(report)
    return found


def test_what_is_whole_holds(alone: Any, tmp_path: Path) -> None:
    """In files, in one file, as lines of the command, and a part of it that is said to be one."""
    assert both(alone, put(tmp_path, WHOLE)) == both(alone, put(tmp_path, exported(a_log("here"), (40,))))
    lines = b"".join(line for file in WHOLE for line in file.splitlines(True)[1:])
    assert both(alone, put(tmp_path, [lines]))["records"] == 40
    for start in range(len(WHOLE)):
        found = both(alone, put(tmp_path, WHOLE[start:]), partial=True)
        assert found["ok"]
    assert found["records"] == 18


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_every_damage_is_found_by_both(alone: Any, tmp_path: Path, damage: Damage, seed: int) -> None:
    """Wherever it is: with a file and a line, or a record; also in a part of a log, from its second file on."""
    damaged = damage(list(WHOLE), random.Random(seed))
    if damaged == WHOLE:
        return
    found = both(alone, put(tmp_path, damaged))
    assert not found["ok"]
    assert all(one["where"] and one["what"] for one in found["problems"])
    part = damage(WHOLE[1:], random.Random(seed)) if damage is not renumbered else WHOLE[1:]
    if damage not in (
        file_left_out,
        of_another_store,
    ):  # of a part, the first file may be missing; the kit's other store is whole
        assert both(alone, put(tmp_path, part), partial=True)["ok"] == (part == WHOLE[1:])


def test_damage_upon_damage_is_said_alike(alone: Any, tmp_path: Path) -> None:
    """Whatever is left: both read it, neither raises."""
    for number in range(60):
        rng, files = random.Random(number), list(WHOLE)
        for _ in range(rng.randrange(2, 5)):
            if len(files) > 1 and all(len(file.splitlines()) > 2 for file in files):
                files = rng.choice([cut, doubled, files_swapped, a_byte, a_line_between, line_ends, file_twice])(files, rng)
        if files != WHOLE:
            assert not both(alone, put(tmp_path, files))["ok"]


def test_a_line_without_an_end_does_not_fill_the_memory(alone: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in pieces and named; what comes behind it is read on."""
    lines = WHOLE[0].splitlines(True)
    files = with_file(WHOLE, 0, [*lines[:3], b"x" * 50_000 + b"\n", *lines[3:]])
    for module in (exports, alone):
        monkeypatch.setattr(module, "LONGEST", 2000)
    found = both(alone, put(tmp_path, files))
    assert [one["what"] for one in found["problems"]] == ["this line is longer than any record"]
    assert found["records"] == 40


def test_of_many_bad_lines_some_are_named_and_the_rest_counted(alone: Any, tmp_path: Path) -> None:
    """Another kind of file altogether gives a short report, quickly."""
    found = both(alone, put(tmp_path, [b"no record\n" * 100_000]))
    assert len(found["problems"]) == 11
    assert found["problems"][-1]["what"] == "so are 99990 more of its lines"


def test_a_pipe_is_not_taken_for_an_empty_file(alone: Any, tmp_path: Path) -> None:
    """Files are read twice: what can be read once would prove nothing."""
    for check in (check_files, alone.check_files):
        with pytest.raises(ValueError, match="a pipe will not do"):
            check(["/dev/null"], [], None)


PYTHONS = sorted({sys.executable, "/usr/bin/python3"})


@pytest.fixture(params=[python for python in PYTHONS if Path(python).exists()])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The printed program, in a Python that has nothing of ours."""
    (tmp_path / "verify_alone.py").write_text(source(), "utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [request.param, "-I", "-W", "error", str(tmp_path / "verify_alone.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def test_the_program_on_its_own(program: Any, tmp_path: Path) -> None:
    """Exit codes 0, 1 and 2, and the same report as the command's; a name of a file or a text of a checkpoint is shown, not obeyed."""
    paths = put(tmp_path, WHOLE)
    assert program(*paths).stdout.splitlines() == told(check_files(paths, [], None))
    evil = tmp_path / "\x1b[2J\u202e.jsonl"
    evil.write_bytes(WHOLE[0] + b"\x1b[31m\n")
    ran = program(str(evil))
    assert (ran.returncode, "\x1b" in ran.stdout, "\u202e" in ran.stdout) == (1, False, False)
    assert "[U+001B][2J[U+202E].jsonl, line 14" in ran.stdout
    assert json.loads(program("--json", str(evil)).stdout)["problems"][0]["where"].endswith(", line 14")
    missing = program(str(tmp_path / "\x1b none"))
    assert (missing.returncode, "\x1b" in missing.stderr) == (2, False)
