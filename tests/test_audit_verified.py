"""That somebody verified the log is on record: who, up to where, on what it rests and with which verdict. It changes nothing of what was verified."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, program
from record_kit import fitting
from record_walk_kit import BOSS, Walk
from stores_kit import Clock, event, url_of
from test_cli_audit import tamper

from guard import Guard
from guard.cli import whose
from guard.cli.audit_verify import stored_report
from guard.cli.verifying import recorded
from guard.stores import open_store
from guard.stores.payload_keys import keyring, new_key


def told(path: Path) -> list[dict[str, Any]]:
    """The records of verifications in a file, oldest first."""
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT body FROM audit WHERE body LIKE '%audit.verify%' ORDER BY seq").fetchall()
    return [fitting(body) for (body,) in rows]


def test_who_verified_up_to_where_with_which_verdict(run: Run, asked: Guard, tmp_path: Path) -> None:
    """First by the chain alone, then by a signed checkpoint; the record names the policy's person and stands behind what was verified; the log still holds."""
    newest = asked.store.audit()[-1]
    assert run("audit", "verify").code == 0
    run("audit", "key", "--out", "k")
    run("audit", "checkpoint", "--key", "k", "--to", "c.jsonl")
    assert run("audit", "verify", "--checkpoints", "c.jsonl", "--public-key", "k.pub").err == ""
    first, second = told(tmp_path / "guard.db")
    assert first["actor"] == {"type": "human", "ref": "E2", "assurance": "os-user", "via": "cli"}
    assert first["verify"] == {
        "verdict": "whole",
        "proved": "chain",
        "records": newest.seq,
        "signatures": "none",
        "heads": {"0": [newest.seq, newest.hash]},
    }
    assert (second["verify"]["proved"], second["verify"]["signatures"]) == ("checkpoint", "checked")
    assert second["verify"]["checkpoint"]["number"] == 1
    assert second["verify"]["heads"]["0"][0] == second["seq"] - 1
    assert run("audit", "verify", "--json").json["ok"]
    assert "the log was verified and holds, up to checkpoint 1" in run("audit", "report").out
    assert "audit.verify" in run("audit", "--kind", "audit.verify").out


def test_a_broken_log_is_on_record_as_broken(run: Run, asked: Guard, tmp_path: Path) -> None:
    """The verdict and the first broken record, without any text of it; the exit code says it, too."""
    asked.close()
    tamper(tmp_path / "guard.db", body='{"v":1,"chain":0,"seq":2,"kind":"x"}')
    assert run("audit", "verify").code == 1
    (one,) = told(tmp_path / "guard.db")
    verdict = one["verify"]
    assert (verdict["verdict"], verdict["proved"], verdict["first"]) == ("broken", "nothing", {"chain": 0, "seq": 2})
    assert verdict["heads"]["0"][0] == 1


def test_whoever_only_reads_leaves_no_record(run: Run, asked: Guard, tmp_path: Path) -> None:
    """`--no-record` changes no byte of the file, nor is a check of exported files on record anywhere."""
    (tmp_path / "e.jsonl").write_text(run("audit", "--json").out, "utf-8")
    asked.close()
    before = (tmp_path / "guard.db").read_bytes()
    ran = run("audit", "verify", "--no-record")
    assert (ran.code, ran.err) == (0, "")
    assert run("audit", "verify", "e.jsonl").code == 0
    assert (tmp_path / "guard.db").read_bytes() == before
    assert told(tmp_path / "guard.db") == []
    assert run("audit", "verify").out == ran.out


PROGRAM = """
import os, sys
from guard.cli.main import main
first, second = sys.argv[1:]
main(["audit", "verify", "--store", first, "--json"])  # whatever is imported is imported by now
main(["audit", "verify", "--store", first, "--json", "--no-record"])
print("---", flush=True)
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everything
sys.exit(main(["audit", "verify", "--store", second, "--json"]))
"""


def test_a_file_that_nobody_can_write_is_verified_all_the_same(asked: Guard, tmp_path: Path) -> None:
    """In a folder that cannot be written either: exit code 0, and one line that says that no record was made."""
    asked.close()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "guard.db")
        copy.write_bytes((tmp_path / "guard.db").read_bytes())
        copy.chmod(0o444)
        Path(folder).chmod(0o555)
        done = program(PROGRAM, f"sqlite:///{tmp_path}/guard.db", f"sqlite:///{copy}", cwd=tmp_path)
        Path(folder).chmod(0o755)
    assert done.err.count("guard: no record says that this was verified: the file cannot be written\n") == 1, done
    assert done.code == 0
    assert json.loads(done.out.partition("---")[2])["ok"]


@pytest.mark.parametrize("kind", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_record_names_the_heads_of_all_chains(kind: str, tmp_path: Path) -> None:
    """On every store; verified again, what was verified before is still whole."""
    with url_of(kind, tmp_path) as url, closing(open_store(url, clock=Clock())) as store:
        store.record((), [event("call.end", conversation=f"c{number}") for number in range(40)])
        heads = {str(chain): [seq, own] for chain, (seq, own) in store.heads().items() if seq}
        assert recorded(store, stored_report(store, [], None), whose.actor(store, None)) == ""
        (body,) = [one.body for one in store.audit() if "audit.verify" in one.body]
        assert fitting(body)["verify"]["heads"] == heads
        assert stored_report(store, [], None).ok


def test_a_store_whose_payloads_are_encrypted_needs_no_key_for_its_log(run: Run, tmp_path: Path) -> None:
    """Verified with a record of it, signed, closed and sent without the key of the payloads: no command of the log reads one."""
    walk = Walk.begin(tmp_path, f"sqlite:///{tmp_path}/guard.db", payload_key=keyring(new_key()))
    asked = walk.propose("pay", 1).approval
    walk.guard.approvals.approve(asked, approver=BOSS)
    walk.guard.grants.give(asked, by=BOSS, scope="tool_here")
    walk.settle()
    walk.guard.close()
    (tmp_path / "sinks.yaml").write_text("sinks: {archive: {to: jsonl, path: out/audit.jsonl}}\n", "utf-8")
    (tmp_path / "out").mkdir()
    verified = run("audit", "verify", "--json")
    assert (verified.code, verified.json["ok"], verified.err) == (0, True, "")
    assert [one["verify"]["verdict"] for one in told(tmp_path / "guard.db")] == ["whole"]
    assert run("audit", "key", "--out", "k").code == 0
    assert run("audit", "checkpoint", "--key", "k", "--to", "c.jsonl").code == 0
    for words in (("sinks", "run", "--once"), ("sinks", "status"), ("sinks", "retry", "archive")):
        assert run(*words, "--sinks", "sinks.yaml").code == 0, words
    assert "no record of 2025-01 or before" in run("audit", "close", "--month", "2025-01", "--export", "x.jsonl").err
    assert run("audit", "verify").code == 0
