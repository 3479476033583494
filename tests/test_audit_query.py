"""`guard audit`: which records it shows for which options, in which form, and that it only reads."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audit_month_kit import fill
from cli_kit import Ran, Run, environment, in_process
from search_kit import log, record
from stores_kit import Clock

from guard.auditing import kinds, persons
from guard.stores import open_store

SOURCE = "\n".join(path.read_text("utf-8") for path in Path(kinds.__file__).parents[1].rglob("*.py") if path.name != "kinds.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which the small log lies, a record a day, and a mail address by its keyed hash."""
    made = tmp_path_factory.mktemp("audit")
    clock = Clock(1_793_000_000.0)  # 26 October 2026
    with closing(open_store(f"sqlite:///{made}/guard.db", clock=clock)) as store:
        (tag,) = persons.tags("ann@example.com", store.secret, ("acme",))
        for event in [
            *log(),
            record("call.decided", conversation="c9", args={"hmac": {"/mail": tag}}, decision={"verdict": "allow"}),
        ]:
            store.record((), [event])
            clock.now += 86400
    return made


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(folder, monkeypatch, capfd)


def shown(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


CHOICES: dict[str, tuple[tuple[str, ...], list[int]]] = {
    "refused": (("--refused",), [9, 13, 15]),
    "held": (("--held",), [3]),
    "spoof": (("--spoof",), [9]),
    "shadow": (("--shadow",), [10]),
    "approved by": (("--approved-by", "boss"), [5, 6]),
    "approved by nobody": (("--approved-by", "E1"), []),
    "actor": (("--actor", "boss"), [5, 6, 12]),
    "principal": (("--principal", "E2"), [11, 12]),
    "person by principal": (("--person", "E2"), [11, 12]),
    "person by address": (("--person", "ann@example.com"), [16]),
    "person by address as somebody types it": (("--person", " Ann@Example.com "), [16]),
    "person of a tenant": (("--person", "ann@example.com", "--tenant", "acme"), [16]),
    "person of another tenant": (("--person", "ann@example.com", "--tenant", "other"), []),
    "nobody": (("--person", "bob@example.com"), []),
    "tool": (("--tool", "look"), [9, 10]),
    "reason": (("--reason", "timeout"), [11]),
    "kind": (("--kind", "approval.*"), [4, 5, 6]),
    "tenant": (("--tenant", "other"), [15]),
    "conversation": (("--conversation", "c2"), [11, 12]),
    "approval": (("--approval", "ap_1"), [3, 4, 5, 6, 7, 8]),
    "two": (("--tool", "pay", "--refused"), [15]),
    "month": (("--since", "2026-11", "--refused"), [9, 13, 15]),
    "until a day": (("--until", "2026-10-28"), [1, 2, 3]),
    "between": (("--since", "2026-10-27", "--until", "2026-10-27"), [2]),
    "newest": (("--limit", "2"), [15, 16]),
    "newest refusal": (("--refused", "--limit", "1"), [15]),
    "long ago": (("--since", "9999w"), list(range(1, 17))),
}


@pytest.mark.parametrize("name", CHOICES)
def test_options_choose_records(run: Run, name: str) -> None:
    """Every option that is written must be met; records come oldest first, the newest of them where there is a limit."""
    words, wanted = CHOICES[name]
    assert [one["seq"] for one in shown(run("audit", "--json", *words))] == wanted


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--since", "yesterday"), "--since 'yesterday': write 7d"),
        (("--until", "2026-13"), "--until '2026-13': write"),
        (("--refused", "--held"), "no decision is both"),
        (("--approved-by", "a", "--actor", "b"), "write one"),
        (("--json", "--csv"), "write one"),
        (("--csv", "--follow"), "a CSV file has an end"),
        (("show", " "), "name a call"),
        (("report", "--month", "11/2026"), "write a month as 2026-11"),
        (("report", "-o", "no/such/folder.html"), "no/such/folder.html: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)  # fmt: skip
def test_misuse_is_told_with_its_cure(run: Run, words: tuple[str, ...], told: str) -> None:
    """Exit code 2, one line, nothing on standard output."""
    ran = run("audit", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--reason", "not_groundd"), "--reason not_groundd: there is no such code (did you mean not_grounded?)"),
        (("--kind", "approval.vot"), "--kind approval.vot: there is no such kind of record (did you mean approval.vote?)"),
        (("--kind", "aproval.*"), "--kind aproval.*: there is no such kind of record (did you mean approval."),
        (("--kind", "zzz"), "--kind zzz: there is no such kind of record\n"),
        (("--reason", "not_groundd", "--follow"), "did you mean not_grounded?"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_misspelt_code_or_kind_is_not_an_empty_answer(run: Run, words: tuple[str, ...], told: str) -> None:
    """What no version of the guard writes and this store does not hold is misuse, with the word that was probably meant."""
    ran = run("audit", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize(
    "words", [("--reason", "not_owner"), ("--kind", "grant.*"), ("--tool", "look", "--reason", "timeout")], ids=" ".join
)
def test_an_empty_answer_says_so(run: Run, words: tuple[str, ...]) -> None:
    """People read that nothing matches; a program gets no line, or a head alone, and it is said beside."""
    ran = run("audit", *words)
    assert (ran.code, ran.out.splitlines()) == (0, ["no record matches", "16 records, the chain holds"])
    beside = "no record matches\n16 records, the chain holds\n"
    plain, rows = run("audit", *words, "--json"), run("audit", *words, "--csv")
    assert (plain.out, plain.err) == ("", beside)
    assert (len(rows.out.splitlines()), rows.err) == (1, beside)


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_every_listed_kind_is_written_somewhere(kind: str) -> None:
    """The list names nothing that the source does not; what a store holds besides is found as well."""
    group, _, own = kind.partition(".")
    assert f'"{kind}' in SOURCE or f'"{own}"' in SOURCE
    assert kinds.known(kind)
    assert kinds.known(f"{group}.*")


def test_every_kind_of_a_record_in_the_source_is_listed() -> None:
    """A kind that is written as such cannot be missing from the list."""
    found = set(re.findall(r'"kind\\?": ?\\?"([a-z]+\.[a-z_]+)"|record\("([a-z]+\.[a-z_]+)"', SOURCE))
    assert len(found) > 8
    assert {one for pair in found for one in pair if one} <= set(kinds.KINDS)


def test_a_table_ends_with_the_check_and_says_what_it_leaves_out(run: Run, tmp_path: Path) -> None:
    """A table shows the newest ones of a long log; whoever wants more is told how."""
    assert run("audit", "--refused").out.splitlines()[-1] == "16 records, the chain holds"
    fill(tmp_path / "long.db", conversations=60)
    ran = run("audit", "--store", f"sqlite:///{tmp_path}/long.db")
    lines = ran.out.splitlines()
    assert len(lines) == 2 + 200 + 2
    assert lines[-2] == "older ones are not shown: narrow the search, or write --limit N"
    assert lines[-1].endswith("records, the chain holds")


def test_csv_is_parseable_and_names_what_it_changed(run: Run) -> None:
    """A head, a row for each record, and a last column that names what is not the record's own text."""
    ran = run("audit", "--csv", "--approval", "ap_1")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [(row["seq"], row["kind"], row["actor"], row["changed"]) for row in rows][-2:] == [
        ("7", "call.begin", "", ""),
        ("8", "call.end", "", ""),
    ]
    assert ran.err == "16 records, the chain holds\n"


def test_reading_changes_nothing_beside_a_program_that_writes(run: Run, folder: Path) -> None:
    """The file is the same byte for byte while another connection holds the write lock, and the newest committed record is seen."""
    before = (folder / "guard.db").read_bytes()
    with closing(sqlite3.connect(folder / "guard.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert len(shown(run("audit", "--json"))) == 16
        assert run("audit", "show", "ap_1").code == 0
        assert run("audit", "report", "--json").code == 0
        writer.execute("ROLLBACK")
    assert (folder / "guard.db").read_bytes() == before


def test_a_store_of_an_earlier_version_is_searched_as_it_is(run: Run, folder: Path, tmp_path: Path) -> None:
    """Without what is filed every record is read; that is said, and nothing is migrated."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(folder / "guard.db")) as old, closing(sqlite3.connect(path)) as copy:
        old.backup(copy)
        for view in ("v_calls", "v_approvals", "v_refusals", "v_unknown"):
            copy.execute(f"DROP VIEW {view}")
        copy.execute("DROP TABLE filed")
        copy.execute("DROP TABLE tags")
        copy.commit()
    before = path.read_bytes()
    ran = run("audit", "--json", "--refused", "--store", f"sqlite:///{path}")
    assert [one["seq"] for one in shown(ran)] == [9, 13, 15]
    assert "guard serve migrate" in ran.err
    assert path.read_bytes() == before


@pytest.fixture
def following(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A store, and a process that follows its refusals."""
    with closing(open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())) as store:
        store.record((), log())
        command = [sys.executable, "-m", "guard", "audit", "--refused", "--follow", "--json"]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )
        yield process, store
        process.kill()
        process.communicate()


def test_following_shows_each_record_as_it_comes(following: tuple[subprocess.Popen[str], Any]) -> None:
    """First the newest ones, then those that are written meanwhile and meet the options; Ctrl-C ends it well."""
    process, store = following
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["seq"] for _ in range(3)] == [9, 13, 15]
    store.record((), [record("call.end"), record("call.decided", decision={"verdict": "refuse", "code": "late"})])
    assert json.loads(process.stdout.readline())["decision"]["code"] == "late"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


# -- one call ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ap_1", "c1/1/0", "3", "0:8"], ids=["approval", "place", "record", "record of a chain"])
def test_a_call_is_found_by_each_of_its_names(run: Run, name: str) -> None:
    """All of them lead to the same life: proposal, question, vote, run, end."""
    told = run("audit", "show", name, "--tenant", "acme", "--json").json
    assert told["call"] == "c1/1/0"
    assert [step["told"] for step in told["steps"]] == [
        "proposed by the model",
        "held for a person's approval",
        "a person asked to decide",
        "approved",
        "approved",
        "started",
        "ended well",
    ]
    assert told["facts"]["tool"] == "pay"
    assert told["facts"]["in the end"] == "ended well"


def test_a_record_is_found_by_its_id(run: Run, folder: Path) -> None:
    """The id of any record of a call leads to the call; a record that belongs to none is shown alone."""
    with closing(open_store(f"sqlite:///{folder}/guard.db")) as store:
        bodies = [json.loads(one.body) for one in store.audit()]
    assert run("audit", "show", bodies[6]["id"], "--json").json["call"] == "c1/1/0"
    alone = run("audit", "show", bodies[13]["id"], "--json").json
    assert (alone["call"], [step["kind"] for step in alone["steps"]]) == (None, ["policy.loaded"])


def test_an_id_of_several_calls_lists_them(run: Run) -> None:
    """Which one is meant is for the person to say: exit code 1, the commands that can be written next, and what each call came to."""
    ran = run("audit", "show", "call_1")
    assert ran.code == 1
    rows = [line.split("  ") for line in ran.out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["guard audit show c1/1/0", "guard audit show c2/1/0"]
    assert (rows[0][1], rows[0][-1]) == ("pay", "ended well")
    assert ran.err == "guard: call_1 is a name of 2 calls; show one of them:\n"
    assert run("audit", "show", "call_1", "--json").json == {
        "candidates": [{"id": "c1/1/0", "tenant": "acme"}, {"id": "c2/1/0", "tenant": "acme"}]
    }
    assert run("audit", "show", "c2/1/0", "--tenant", "acme").code == 0
    assert run("audit", "show", "c2/1/0", "--tenant", "other").code == 1


def test_what_is_not_there_is_told(run: Run) -> None:
    """Exit code 1 and one line."""
    ran = run("audit", "show", "nothing\x1b[31m")
    assert (ran.code, ran.out, ran.err) == (1, "", "guard: no record is about nothing[U+001B][31m\n")
    assert (
        run("audit", "show", "ap_123").err
        == "guard: no record is about ap_123; write the whole id, guard approvals list --all has it\n"
    )


def test_a_life_is_text_that_a_person_reads(run: Run) -> None:
    """Facts first, then each record with who, what, and its number and hash."""
    lines = run("audit", "show", "ap_1").out.splitlines()
    assert lines[0].split() == ["place", "c1/1/0"]
    assert any(line.split()[1:] == ["approval.vote", "approved"] for line in lines)
    assert any(line.split() == ["by", "boss", "(host)"] for line in lines)
