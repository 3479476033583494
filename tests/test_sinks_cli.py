"""`guard sinks`: the file of sinks and every mistake in it, what is sent, how it stands, what was set aside, and the watch of approvals."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, environment, waiting
from http_service_kit import Service, says
from opentelemetry.sdk.trace import TracerProvider
from sinks_kit import checked

from guard import Guard
from guard.cli.sinks_file import read_sinks
from guard.errors import PolicyError
from guard.sinks.table import BOUNDS, KINDS

FILES = "sinks: {archive: {to: jsonl, path: out/audit.jsonl}}\n"


def test_sinks_send_what_there_is_and_say_how_they_stand(run: Run, asked: Guard, tmp_path: Path) -> None:
    """From a file of one line; what was written verifies."""
    (tmp_path / "sinks.yaml").write_text(FILES, "utf-8")
    count = len(asked.store.audit())
    before = run("sinks", "status")
    assert (before.code, before.out.splitlines()[2].split()[:3]) == (0, ["archive", "never", str(count)])
    ran = run("sinks", "run", "--once")
    told = [json.loads(one.body)["export"] for one in asked.store.audit() if '"audit.export"' in one.body]
    assert told[0] == {"step": "begin", "to": "archive", "form": "JsonLines", "kinds": [], "behind": {}}
    assert told[1] == {"step": "end", "to": "archive", "form": "JsonLines", "count": count, "upto": {"0": count + 1}}
    count += 1  # the record of the beginning
    assert (ran.code, ran.out) == (0, f"archive: {count} sent\n")
    after = run("sinks", "status", "--json").json
    assert [(one["state"], one["waiting"], one["sent"]) for one in after] == [("ok", 0, count + 1)]
    assert checked((tmp_path / "out").iterdir()).records == count + 1
    assert run("sinks", "run", "--once").out == ""


def test_what_was_set_aside_is_shown_and_sent_again(
    run: Run, asked: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that refuses; status says so with exit code 1; once it takes them, retry empties the letters."""
    answer = [422]

    def answers(to: Any) -> None:
        says(answer[0])(to)

    with Service(answers) as service:
        text = f"sinks: {{hook: {{to: webhook, url: 'http://127.0.0.1:{service.port}/', keys: [{{env: KEY}}], kinds: [call.begin, approval.]}}}}\n"
        (tmp_path / "sinks.yaml").write_text(text, "utf-8")
        monkeypatch.setenv("KEY", "k" * 20)
        assert run("sinks", "run", "--once").code == 1
        shown = run("sinks", "status")
        assert shown.code == 1
        assert "it was answered with status 422" in shown.out
        assert run("sinks", "retry").code == 1
        answer[0] = 200
        ran = run("sinks", "retry", "hook")
        assert (ran.code, ran.out) == (0, "hook: 1 sent, 0 still set aside\n")
        assert run("sinks", "retry", "nobody").code == 2


def test_run_sends_until_it_is_stopped(asked: Guard, tmp_path: Path) -> None:
    """What is written later goes out as well; SIGTERM ends it with 0."""
    (tmp_path / "sinks.yaml").write_text(FILES, "utf-8")
    command = [sys.executable, "-m", "guard", "sinks", "run", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        asked.store.record((), [{"kind": "call.end", "tenant": "acme"}])
        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (first["sink"], first["did"], second["did"]) == ("archive", "sent", "sent")


MISTAKES = {
    "": "sinks.yaml:1: the file is empty (write sinks:",
    "sink: {}\n": "unknown key sink (did you mean sinks?)",
    "sinks: {a: {to: jsonl}}\n": "a: path is missing (write path:)",
    "sinks: {a: {to: jsnol, path: x.jsonl}}\n": "(did you mean jsonl?)",
    "sinks: {a: {path: x.jsonl}}\n": "a: where records go is not said",
    "sinks: {A B: {to: jsonl, path: x.jsonl}}\n": "A B: not a name of a sink",
    "sinks:\n  a:\n    to: jsonl\n    path: x.txt\n": "sinks.yaml:4: a.path: the name ends in .jsonl",
    "sinks: {a: {to: jsonl, path: x.jsonl, policy: spool}}\n": "a.policy: records stay in order here (write block or drop)",
    "sinks: {a: {to: jsonl, path: x.jsonl, kinds: [call.end]}}\n": "a.kinds: every record goes to such a sink",
    "sinks: {a: {to: jsonl, path: x.jsonl, since: now}}\n": "a.since: every record goes to such a sink",
    "sinks: {a: {to: jsonl, path: x.jsonl, age: 1h}}\n": "a.age: only a sink that drops looks at it",
    "sinks: {a: {to: jsonl, path: x.jsonl, queue: 5}}\n": "a.queue: at least 100",
    "sinks: {a: {to: jsonl, path: x.jsonl, batch: 0}}\n": "a.batch: at least 1",
    "sinks: {a: {to: jsonl, path: x.jsonl, timeout: soon}}\n": "a.timeout: not a duration",
    "sinks: {a: {to: jsonl, path: x.jsonl, format: xml}}\n": "a.format: must be record",
    "sinks: {a: {to: webhook, url: 'http://example.com/'}}\n": "a: write https://",
    "sinks: {a: {to: webhook, url: 'https://e.com/', keys: [abc]}}\n": "a.keys: a secret does not stand in a file (write {env: NAME})",
    "sinks: {a: {to: webhook, url: 'https://e.com/', keys: [{env: NOT_THERE}]}}\n": "NOT_THERE is not in the environment",
    "sinks: {a: {to: webhook, url: 'https://e.com/', keys: [{env: SHORT}]}}\n": "a: a key has at least 16 bytes",
    "sinks: {a: {to: webhook, url: 'https://e.com/', keys: [{env: K}, {env: K}, {env: K}]}}\n": "a.keys: two keys at most",
    "sinks: {a: {to: slack, url: {env: K}, link: 'https://e.com/'}}\n": "a: write https://HOST/PATH",
    "sinks: {a: {to: slack, url: 'https://e.com/', link: 'https://e.com/'}}\n": "a: link: write https://HOST/approvals/{approval}",
    "sinks: {a: {to: notify, url: 'https://e.com/', keys: {env: K}, link: x, linkkey: y}}\n": "unknown key linkkey (did you mean link_key?)",
    "sinks: {a: {to: jsonl, path: x.jsonl}, a: {to: jsonl, path: y.jsonl}}\n": "a is written twice",
    "sinks: [a\n": "not YAML",
}


@pytest.mark.parametrize("text", MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_a_mistake_in_the_file_is_told_with_its_place_and_cure(text: str, tmp_path: Path) -> None:
    """Nothing is sent before the whole file is right; a secret's value stands in no message."""
    (tmp_path / "sinks.yaml").write_text(text, "utf-8")
    with pytest.raises(PolicyError) as raised:
        read_sinks(str(tmp_path / "sinks.yaml"), {"K": "k" * 20, "SHORT": "hunter2"}, time.time)
    assert MISTAKES[text] in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert all(problem.line for problem in raised.value.problems)


def test_a_missing_file_is_misuse(run: Run, asked: Guard) -> None:
    """Exit code 2, and how to name one."""
    ran = run("sinks", "status")
    assert (ran.code, ran.err) == (2, "guard: sinks.yaml: No such file or directory (name the file of sinks with --sinks)\n")


def test_every_setting_of_sinks_stands_in_the_readme() -> None:
    """Each kind and each key, in an example or in the text."""
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    section = readme.partition("## Notifications")[2].partition("\n## Reasons")[0]
    words = {*KINDS, *BOUNDS, *(key for kind in KINDS.values() for key in kind.keys)}
    assert {word for word in words if not re.search(rf"\b{word}:|`{word}`|to: {word}\b", section)} == set()


def test_the_files_of_the_readme_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sink of both is made; traces need a provider, which a program sets."""
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", TracerProvider)
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    given = dict.fromkeys(("PAGER_KEY", "PAGER_KEY_BEFORE", "LINK_KEY", "SIEM_KEY"), "k" * 32)
    given["SLACK_URL"] = "https://hooks.slack.example/services/x"
    made = []
    for text in re.findall(r"```yaml\n# (?:alerts/)?(sinks.yaml\n.*?)```", readme, re.DOTALL):
        (tmp_path / "sinks.yaml").write_text(text.partition("\n")[2], "utf-8")
        made += read_sinks(str(tmp_path / "sinks.yaml"), given, time.time)
    assert [one.sink.name for one in made] == ["support", "pager", "siem", "traces", "log", "archive"]


def test_the_watch_prints_each_approval_once(asked: Guard, tmp_path: Path) -> None:
    """What waits already and what comes, each in full with how to decide; SIGINT ends it with 0."""
    command = [sys.executable, "-u", "-m", "guard", "approvals", "watch", "--poll", "0.1"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        name, lines = waiting(asked), []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("decide:"):
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert lines[0].split() == ["approval", name]
    assert any('"bob[U+202E]"   <- written by the model' in line for line in lines)
    assert lines[-1] == f"decide: guard approvals approve {name}  |  guard approvals reject {name} --reason TEXT"
    assert rest.strip() == ""


def test_the_watch_shows_what_waits_once(run: Run, asked: Guard) -> None:
    """With --once it does not stay; as JSON a line each."""
    found = run("approvals", "watch", "--once", "--json")
    assert (found.code, [json.loads(line)["id"] for line in found.out.splitlines()]) == (0, [waiting(asked)])
