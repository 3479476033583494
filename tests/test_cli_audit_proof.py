"""`guard audit key | checkpoint | verify | verifier` as a person uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import Run
from test_cli_audit import tamper

from guard import Guard
from guard.proof.alone import check_files


def test_from_a_key_to_a_proof(run: Run, asked: Guard, tmp_path: Path) -> None:
    """Make a key, a checkpoint, an export; each says what it did, and verify says up to where."""
    made = run("audit", "key", "--out", "k")
    assert (tmp_path / "k.pub").read_text("utf-8") == made.out
    assert made.out.startswith("guard-audit+")
    assert "--help" not in run("audit", "verify").out
    number = len(asked.store.audit())
    assert (
        run("audit", "checkpoint", "--key", "k", "--to", "c.jsonl").out
        == f"checkpoint 1 over {number} records, signed and sent\n"
    )
    assert run("audit", "checkpoint", "--key", "k", "--to", "c.jsonl").out == "nothing new since checkpoint 1\n"
    assert run("audit", "checkpoint", "--key", "k", "--to", "c.jsonl", "--json").json == {"made": None, "newest": 1}
    words = ("--checkpoints", "c.jsonl", "--public-key", "k.pub")
    proved = run("audit", "verify", "--no-record", *words)
    assert proved.code == 0
    assert f"proved       the first {number} records are what they were since checkpoint 1 was signed" in proved.out
    (tmp_path / "e.jsonl").write_text(run("audit", "--json").out, "utf-8")
    assert run("audit", "verify", "e.jsonl", *words).out == proved.out
    (tmp_path / "v.py").write_text(run("audit", "verifier").out, "utf-8")
    command = [sys.executable, "-I", "v.py", "e.jsonl", *words]
    alone = subprocess.run(command, cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=True)
    assert alone.stdout == proved.out


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_the_first_broken_record_is_named(run: Run, asked: Guard, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit code 1, in the store and in an export of it."""
    asked.close()
    tamper(tmp_path / "guard.db", body='{"v":1,"chain":0,"seq":2,"kind":"x"}')
    ran = run("audit", "verify", *words)
    assert ran.code == 1
    if words:
        assert ran.json["problems"][0] == {"chain": 0, "seq": 2, "where": None, "what": "the record was changed"}
    else:
        assert ran.out.startswith("BROKEN       record 2 of chain 0: the record was changed\n")
        assert "proved       that something is broken" in ran.out


def test_what_cannot_be_proved_is_said(run: Run, asked: Guard) -> None:
    """Without checkpoints nothing is claimed about the end of the log or about records written anew."""
    ran = run("audit", "verify")
    assert ran.code == 0
    assert "checkpoints  none" in ran.out
    assert "not proved   whoever can write the log could have written it anew or cut off its end" in ran.out
    found = run("audit", "verify", "--json").json
    assert (found["ok"], found["signatures"], found["up_to"]) == (True, "none", None)


def test_a_part_of_an_export_is_taken_as_one_only_when_it_is_said(run: Run, asked: Guard, tmp_path: Path) -> None:
    """A file that begins later is broken, unless --partial says so; then that is in the report."""
    lines = run("audit", "--json").out.splitlines()
    (tmp_path / "late.jsonl").write_text("\n".join(lines[2:]) + "\n", "utf-8")
    assert "record 3 stands where number 1 must stand" in run("audit", "verify", "late.jsonl").out
    ran = run("audit", "verify", "--partial", "late.jsonl")
    assert ran.code == 0
    assert "begin later than with record 1" in ran.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("verify", "none.jsonl"), "cannot be read"),
        (("verify", "--checkpoints", "none"), "cannot be read"),
        (("verify", "--public-key", "x+y+z"), "no public key"),
        (("verify", "--store", "sqlite:///none.db"), "there is no such store"),
        (("checkpoint", "--key", "none", "--to", "c"), "there is no such file (name another one with --key)"),
        (("checkpoint", "--key", "people.yaml", "--to", "c"), "key"),
    ],
    ids=["export", "checkpoints", "key", "store", "no-key", "not-a-key"],
)
def test_misuse_says_what_to_do(run: Run, asked: Guard, words: tuple[str, ...], told: str) -> None:
    """A file that is not there, a text that is no key: one plain line, and no exit code 0."""
    ran = run("audit", *words)
    assert ran.code in (1, 2)
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_json_lines_of_the_command_are_what_verify_reads(run: Run, asked: Guard, tmp_path: Path) -> None:
    """What `guard audit --json` prints is enough, whatever characters a terminal's copy spells out."""
    asked.store.record((), ({"kind": "x.y", "tenant": "t", "text": "\u202e \u200b \\u202e é \ud83d"},))
    (tmp_path / "e.jsonl").write_text(run("audit", "--json").out, "utf-8")
    assert json.loads((tmp_path / "e.jsonl").read_text("utf-8").splitlines()[-1])["text"].startswith("\u202e")
    assert run("audit", "verify", "e.jsonl").code == 0


def test_a_file_of_another_version_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    """Its first line says in which form the rest is; another form is a problem, not a guess."""
    line = '{"v":%d,"guard":"audit-export","file":1,"after":{}}\n'
    for version, fits in ((1, True), (2, False)):
        (tmp_path / "audit.jsonl").write_text(line % version, "utf-8")
        assert check_files([str(tmp_path / "audit.jsonl")], [], None).ok is fits
