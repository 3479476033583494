"""Tampering: whatever is done to a log is found, with the first broken record, and an untouched log is never reported."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tampering_kit as kit
from stores_kit import Clock, url_of

from guard.proof import keys
from guard.proof.alone import check_files
from guard.proof.chains import Record, changed
from guard.proof.checking import Asked, check
from guard.proof.exports import read_line
from guard.proof.notes import leaves_of, read_checkpoints, read_key, root_of
from guard.proof.verifier import source
from guard.stores import open_store

LASTING = ("sqlite", "postgres")
ROUNDS = 4  # random places for each way of tampering


@pytest.fixture(scope="module", params=LASTING)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kit.Scene]:
    folder, clock = tmp_path_factory.mktemp(request.param), Clock()
    with url_of(request.param, folder) as url:
        store = open_store(url, clock=clock)
        yield kit.scene(store, url, folder, clock)
        store.close()


def rounds(name: str) -> Iterator[random.Random]:
    yield from (random.Random(f"{name} {number}") for number in range(ROUNDS))


def test_an_untouched_log_holds(made: kit.Scene) -> None:
    """In the store and in an export, with and without checkpoints; how far each proof goes is said."""
    kit.put(made, made.log)
    for report in (made.verified(), made.exported(made.log)):
        assert report.problems == []
        assert (report.newest and report.newest.number, report.covered, report.records) == (3, 110, 147)
        assert not report.unsigned
    for report in (made.verified(outside=False), made.exported(made.log, outside=False)):
        assert report.problems == []
        assert report.unsigned


@pytest.mark.parametrize("name", kit.SEEN)
def test_what_the_chain_shows(made: kit.Scene, name: str) -> None:
    """Found without any checkpoint, in the store and in an export, at the record where it begins."""
    for rng in rounds(name):
        log, chain, seq = kit.SEEN[name](made.log, rng)
        kit.put(made, log)
        for report in (made.verified(outside=False), made.exported(log, outside=False), made.verified()):
            first = report.problems[0]
            assert (first.chain, first.seq) in {(chain, seq), (chain, seq + 1)}, first  # a gap shows at the record behind it


def test_records_under_another_chain(made: kit.Scene) -> None:
    """The number of a chain stands in each hash: what stands under another is noticed."""
    for rng in rounds("moved"):
        log, chain, seq = kit.moved_to_another_chain(made.log, rng)
        kit.put(made, log)
        for report in (made.verified(), made.exported(log)):
            assert any((one.chain, one.seq) == (chain, seq) for one in report.problems), report.problems


@pytest.mark.parametrize("name", kit.UNSEEN)
def test_what_only_a_checkpoint_shows(made: kit.Scene, name: str) -> None:
    """The chain holds, so that nothing is found without checkpoints and nothing is claimed; one that was kept elsewhere shows it."""
    for rng in rounds(name):
        log, chain, seq = kit.UNSEEN[name](made.log, rng)
        kit.put(made, log)
        for report in (made.verified(), made.exported(log)):
            found = next(one for one in report.problems if one.chain == chain)
            assert found.seq is not None
            assert found.seq <= seq
            assert "checkpoint" in found.what
        kit.put(made, kit.without_checkpoints(log))  # those in the log may be written anew as well
        places = all(chain < made.store.chains for chain in log)  # a store knows how many chains it has
        assert made.verified(outside=False).ok is places
        assert not made.verified().ok


def test_what_was_written_behind_the_newest_checkpoint_is_not_claimed(made: kit.Scene) -> None:
    """Records behind it may be replaced by whoever writes the store: the report counts them as not proved."""
    chain = max(made.log, key=lambda one: len(made.log[one]))
    records = made.log[chain]
    kit.put(
        made, kit.with_(made.log, chain, [*records[:-1], *kit.resealed(records[-1:], last=(records[-2].seq, records[-2].hash))])
    )
    report = made.verified()
    assert report.ok
    assert report.records - report.covered > 0


def forged(made: kit.Scene, log: kit.Log) -> list[str]:
    """Checkpoints that agree with another log, made with another key of the same name."""
    key = keys.make(made.folder / f"forged-{random.random()}.key")
    lines = []
    previous = "0" * 64
    for note in read_checkpoints(made.checkpoints, []):
        heads = [(c, min(s, len(log.get(c, []))), "") for c, s, _ in note.heads]
        heads = [(c, s, log[c][s - 1].hash if s else "0" * 64) for c, s, _ in heads]
        text = note.text.split("chain ")[0].replace(note.root, root_of(leaves_of(heads))).replace(note.previous, previous)
        text = text.replace(f"records {note.records}", f"records {sum(s for _, s, _ in heads)}")
        text += "".join(f"chain {c} {s} {h}\n" for c, s, h in heads)
        previous = note._replace(text=text).digest
        lines.append(json.dumps({"number": note.number, "note": f"{text}\n{key.sign(text)}\n"}))
    return lines


def test_a_forged_checkpoint_is_found(made: kit.Scene, tmp_path: Path) -> None:
    """Whoever writes log and checkpoints anew lacks the key: the forged ones are named by their line, with the store as with an export."""
    log, _, _ = kit.rewritten(made.log, random.Random())
    path = tmp_path / "export.jsonl"
    path.write_text("".join(f"{kit.line(one)}\n" for records in log.values() for one in records), "utf-8")
    (tmp_path / "forged.jsonl").write_text("\n".join(forged(made, log)) + "\n", "utf-8")
    report = check_files([str(path)], [str(tmp_path / "forged.jsonl")], read_key(made.key.public))
    named = [one.where for one in report.problems if "forged or of another key" in one.what]
    assert {f"{tmp_path / 'forged.jsonl'}, line {number}" for number in (1, 2, 3)} <= set(named)
    assert check_files([str(path)], [str(tmp_path / "forged.jsonl")], None).unsigned == "no public key was named"
    kit.put(made, kit.without_checkpoints(log))
    report = made.checked([str(tmp_path / "forged.jsonl")], made.key.public)
    assert {f"{tmp_path / 'forged.jsonl'}, line {number}" for number in (1, 2, 3)} <= {one.where for one in report.problems}


@pytest.mark.parametrize("part", ["number 2", "records", "root", "previous", "chain ", "time"])
def test_a_changed_line_of_a_checkpoint_is_found(made: kit.Scene, tmp_path: Path, part: str) -> None:
    """Every line of a checkpoint is signed."""
    kit.put(made, made.log)
    first, second, _ = Path(made.checkpoints).read_text("utf-8").splitlines()
    note = json.loads(second)["note"]
    at = note.index(part) + len(part) + 1
    other = note[:at] + ("7" if note[at] != "7" else "8") + note[at + 1 :]
    path = tmp_path / "checkpoints.jsonl"
    path.write_text(f"{first}\n{json.dumps({'number': 2, 'note': other})}\n", "utf-8")
    assert not made.checked([str(path)], made.key.public).ok


def test_a_missing_checkpoint_is_found(made: kit.Scene) -> None:
    """Each names the one before it, so that one which was taken out, or put in from elsewhere, is noticed."""
    one, two, three = read_checkpoints(made.checkpoints, [])
    told = {
        "2, is missing": [one, three],
        "it does not follow checkpoint 1": [one, two._replace(previous="ab" * 32)],
        "another checkpoint 2 than": [one, two, two._replace(text=three.text), three],
        "of another log": [one, two._replace(log="0" * 16)],
    }
    for what, notes in told.items():
        found = check(Asked(read=lambda: iter(()), notes=notes)).problems
        assert any(what in problem.what for problem in found), (what, found)


def test_a_cut_export_is_found(made: kit.Scene) -> None:
    """Cut within a line: by the line; at the end of one: by a checkpoint, as far as it reaches."""
    size = sum(len(kit.line(one)) + 1 for records in made.log.values() for one in records)
    for rng in rounds("cut"):
        assert not made.exported(made.log, cut=rng.randrange(1, size - 1)).ok
    lines = [len(kit.line(one)) + 1 for records in made.log.values() for one in records]
    covered = 1 if len(made.log) == 1 else 3
    assert not made.exported(made.log, cut=sum(lines[: len(lines) // covered // 2])).ok


def test_the_verifier_alone_says_the_same(made: kit.Scene, tmp_path: Path) -> None:
    """The printed program, without the guard: the same exit code and the same report, on a good log and on a changed one."""
    (tmp_path / "verify_alone.py").write_text(source(), "utf-8")
    for way in (lambda log, _: (log, 0, 0), kit.changed, kit.truncated):
        log, _, _ = way(made.log, random.Random(1))
        report = made.exported(log)
        words = ["export.jsonl", "--checkpoints", "checkpoints.jsonl", "--public-key", made.key.public, "--json"]
        command = [sys.executable, "-I", str(tmp_path / "verify_alone.py"), *words]
        ran = subprocess.run(command, cwd=made.folder, capture_output=True, text=True, check=False)
        told = json.loads(ran.stdout)
        assert ran.returncode == (0 if report.ok else 1)
        assert told["ok"] is report.ok
        assert [(one["chain"], one["seq"]) for one in told["problems"]] == [(one.chain, one.seq) for one in report.problems]


@pytest.mark.parametrize("text", ["plain", "\u202e\u200b", "\\u202e as text", "\ud83d", "\U0001f600\x00\n", "é\x7f"])
def test_a_line_of_the_audit_command_is_read_back_as_it_was_sealed(text: str) -> None:
    """What a terminal's copy spells out as escapes is the record's own text again; a record that holds escapes keeps them."""
    from guard.cli.records import Entry, json_line
    from guard.stores.chain import GENESIS, seal

    sealed = seal({"kind": "k", "text": text}, chain=3, seq=1, prev=GENESIS, ts="t", record_id="r")
    found = read_line(json_line(Entry(sealed, json.loads(sealed.body))), "")
    assert found == Record(3, 1, GENESIS, sealed.hash, sealed.body, "")
    assert changed(found) == ""


def test_files_that_go_on_in_each_other_are_one_log(made: kit.Scene, tmp_path: Path) -> None:
    """Each begins with a line that says behind which record of each chain it goes on: a cut, missing or swapped file is noticed without checkpoints."""
    records = [one for part in made.log.values() for one in part]
    paths: list[str] = []
    heads: dict[int, tuple[int, str]] = {}
    for number in range(3):
        path = tmp_path / f"audit.{number + 1}.jsonl"
        after = {str(chain): [seq, own] for chain, (seq, own) in heads.items()}
        lines = [json.dumps({"v": 1, "guard": "audit-export", "file": number + 1, "after": after})]
        for one in records[number * 50 : (number + 1) * 50]:
            lines.append(f'{one.body[:-1]},"prev":"{one.prev}","hash":"{one.hash}"}}')
            heads[one.chain] = (one.seq, one.hash)
        path.write_text("\n".join(lines) + "\n", "utf-8")
        paths.append(str(path))
    assert check_files(paths, [made.checkpoints], read_key(made.key.public)).problems == []
    assert check_files(paths[1:], [], None, partial=True).ok
    for broken in (paths[1:], [paths[0], paths[2]], [paths[0], paths[2], paths[1]]):
        assert not check_files(broken, [], None).ok
    assert not check_files(
        paths[:2], [made.checkpoints], read_key(made.key.public)
    ).ok  # the newest is missing: only a checkpoint shows it
    text = Path(paths[0]).read_text("utf-8").splitlines()
    Path(paths[0]).write_text("\n".join(text[:-1]) + "\n", "utf-8")
    found = check_files(paths, [], None).problems[0]
    assert "file 2 goes on behind record" in found.what
