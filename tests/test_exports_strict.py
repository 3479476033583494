"""Exported lines that say more than their hash covers, or the same twice: another program would read the one, and the check the other. Both checks find all of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores_kit import Clock, event
from test_exports_damaged import WHOLE, alone, both, exported, put

from guard.core.exported import read_first, read_record
from guard.core.log import Sealed
from guard.proof import keys
from guard.proof.chains import Problem
from guard.proof.keeper import Checkpoints, Keeper
from guard.proof.notes import read_checkpoints
from guard.stores import open_store
from guard.stores.chain import GENESIS, seal

__all__ = ["alone"]
MORE = [*"abcdefg", "body", "prev", "hash", "chain", "seq", "kind", "decision", "actor", "guard", "v", "file", "after", "é"]


def apart(body: str, tail: dict[str, str]) -> dict[str, Any]:
    """The other form of a line: the body as text beside its place."""
    said = json.loads(body)
    return {"chain": said["chain"], "seq": said["seq"], **tail, "body": body}


def taken(line: str) -> tuple[str, dict[str, str]]:
    """A line's body and its two members behind it."""
    head, prev, own = line.rsplit(',"', 2)
    return head + "}", {"prev": json.loads("{" + f'"{prev}' + "}")["prev"], "hash": json.loads("{" + f'"{own}')["hash"]}


TEXTS = [line for file in WHOLE for line in file.decode().splitlines()]
APART = [
    "".join(
        f"{json.dumps(apart(*taken(line))) if number else line}\n" for number, line in enumerate(file.decode().splitlines())
    ).encode()
    for file in WHOLE
]
FORMS = {"behind-the-body": WHOLE, "beside-the-body": APART}


def spelled(name: str, rng: random.Random) -> str:
    """A name as JSON, with some characters as escapes."""
    return '"' + "".join(f"\\u{ord(char):04x}" if rng.random() < 0.3 else char for char in name) + '"'


def objects(text: str) -> list[int]:
    """Behind which characters an object of this line begins, those within texts left out."""
    found, within, escaped = [], False, False
    for at, char in enumerate(text):
        if char == '"' and not escaped:
            within = not within
        escaped = within and char == "\\" and not escaped
        if char == "{" and not within:
            found.append(at + 1)
    return found


def with_a_member(line: str, rng: random.Random) -> str:
    """One member more, new or again, first or last in some object of the line."""
    names = list(json.loads(line))
    value = rng.choice(["1", "null", '"x"', "{}", json.dumps(line)])
    member = f"{spelled(rng.choice([*names, *MORE]), rng)}:{value}"
    if rng.random() < 0.3:
        return f"{line[:-1]},{member}}}"
    at = rng.choice(objects(line))
    return f"{line[:at]}{member}{'' if line[at] == '}' else ','}{line[at:]}"


@pytest.mark.parametrize("files", FORMS.values(), ids=FORMS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_member_more_is_found_wherever_it_stands(alone: Any, tmp_path: Path, files: list[bytes], seed: int) -> None:
    """In a record's line or the first of a file, new or a second time, whatever is in it; before it both say that all holds."""
    rng = random.Random(seed)
    number = rng.randrange(len(files))
    lines = files[number].decode().splitlines()
    at = rng.randrange(len(lines))
    lines[at] = with_a_member(lines[at], rng)
    damaged = [*files[:number], "".join(f"{line}\n" for line in lines).encode(), *files[number + 1 :]]
    found = both(alone, put(tmp_path, damaged))
    assert not found["ok"]
    assert found["problems"][0]["where"]


@pytest.mark.parametrize("files", FORMS.values(), ids=FORMS)
def test_both_forms_hold_as_they_are(alone: Any, tmp_path: Path, files: list[bytes]) -> None:
    """A line of either form is a record."""
    found = both(alone, put(tmp_path, files))
    assert (found["ok"], found["records"]) == (True, 40)


def test_what_others_read_cannot_be_forged_beside_the_true_record(alone: Any, tmp_path: Path) -> None:
    """The visible members of another decision, with the true record in `body`, before it or behind it."""
    body, tail = taken(TEXTS[5])
    forged = {**json.loads(body), "kind": "approval.resolved", "actor": {"ref": "somebody"}}
    for line in ({**forged, "body": body, **tail}, {"body": body, **tail, **forged}, {**apart(body, tail), "kind": "x"}):
        lines = [*TEXTS[:5], json.dumps(line, separators=(",", ":")), *TEXTS[6:13]]
        found = both(alone, put(tmp_path, ["".join(f"{one}\n" for one in lines).encode()]))
        assert "says something besides its body" in found["problems"][0]["what"]
        assert found["problems"][0]["where"].endswith("line 6")


def test_an_escape_is_read_back_only_where_it_says_the_same(alone: Any, tmp_path: Path) -> None:
    """A line may spell what cannot be seen; a quotation mark as an escape would hide members from everybody else."""
    sealed = seal({"kind": "k", "a": "x", "decision": "no"}, chain=0, seq=1, prev=GENESIS, ts="t", record_id="r")
    true = exported([sealed], (1,))[0].decode()
    hidden = true.replace('"x","decision":"no"', '"x\\u0022,\\u0022decision\\u0022:\\u0022no"')
    assert json.loads(hidden.splitlines()[1]).keys() != json.loads(true.splitlines()[1]).keys()
    assert both(alone, put(tmp_path, [true.encode()]))["ok"]
    assert not both(alone, put(tmp_path, [hidden.encode()]))["ok"]


def test_a_record_that_says_something_twice_is_broken(alone: Any, tmp_path: Path) -> None:
    """Also where its hash is right: whoever wrote it may write hashes, and each reader would take another of the two."""
    body = '{"v":1,"chain":0,"seq":1,"kind":"call.end","a":{"b":1,"\\u0062":2}}'
    from guard.proof.chains import record_hash

    one = Sealed(chain=0, seq=1, prev=GENESIS, hash=record_hash(0, 1, GENESIS, body), body=body)
    found = both(alone, put(tmp_path, exported([one], (1,))))
    assert not found["ok"]


def test_the_writer_of_files_reads_them_as_strictly() -> None:
    """A file that it goes on with says each thing once."""
    first = TEXTS[0]
    for line in (f'{first[:-1]},"file":7}}', f'{first[:-1]},"more":7}}'):
        with pytest.raises(ValueError, match=r"twice|does not begin"):
            read_first(line)
    with pytest.raises(ValueError, match="twice"):
        read_record(TEXTS[1].replace('{"', '{"seq":5,"', 1))


def test_a_line_of_a_checkpoint_says_nothing_but_its_note(tmp_path: Path) -> None:
    """Only the note is signed: a number that differs, a member more, or one that stands twice makes it no checkpoint."""
    key = keys.make(tmp_path / "k.key")
    path = tmp_path / "c.jsonl"
    store = open_store("memory://", clock=Clock())
    store.record((), (event("call.end"),))
    assert Keeper(store, Checkpoints(key=tmp_path / "k.key", to=[str(path)]), start=False).look(now=True)
    line = path.read_text("utf-8").strip()
    note = json.dumps(json.loads(line)["note"])
    wrong = (line.replace('"number":1', '"number":2'), f'{line[:-1]},"x":1}}', f'{line[:-1]},"note":{note}}}')
    for text, good in ((line, 1), (f'{{"made":1,"records":1,"note":{note}}}', 1), *((one, 0) for one in wrong)):
        problems: list[Problem] = []
        path.write_text(f"{text}\n", "utf-8")
        assert len(read_checkpoints(str(path), problems)) == good
        assert len(problems) == 1 - good
    assert key.public
