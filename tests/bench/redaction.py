"""Benchmark of redaction: recall and precision of each kind on the labelled texts, what is touched in clean records, and what it costs.

    GUARD_CASES=DIR python tests/bench/redaction.py          # the tables
    GUARD_CASES=DIR python tests/bench/redaction.py iban ip  # and what was missed or wrongly hidden of these kinds

Found: nine tenths of the letters and digits of a labelled span are hidden, or anything of a labelled line. Wrong: a finding of a kind that the
text is labelled for, over no label. Times are CPU time, medians of one run, as multiples of `json.loads` on the same records.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import DETECTORS, REDACTOR, detect, redactor
from guard.redactors.find import Finder

CASES = Path(os.environ.get("GUARD_CASES", "cases")) / "redaction"
NAMES = {"card": "credit_card", "ssn": "us_ssn"}
FINDER = Finder(DETECTORS)
Finding = tuple[int, int, str]


def texts() -> Iterator[tuple[dict[str, Any], str]]:
    """Every labelled text with its record."""
    for name in ("spans_pii.jsonl", "spans_secrets.jsonl"):
        for line in (CASES / name).read_text("utf-8").splitlines():
            record = json.loads(line)
            if not any(part.endswith(":whole") for part in record["scope"]):
                yield record, record.get("text") or "".join(record["text_parts"])


def family(label: str) -> str:
    """`secret/jwt` counts as secret; the many national ids as one."""
    return "id.*" if label.startswith("id.") else label.split("/", maxsplit=1)[0]


def covered(text: str, span: dict[str, Any], found: list[Finding]) -> bool:
    """Whether a labelled span is hidden."""
    if span.get("line"):
        return any(start < span["end"] and end > span["start"] for start, end, _ in found)
    signs = [at for at in range(span["start"], span["end"]) if text[at].isalnum()]
    return sum(any(start <= at < end for start, end, _ in found) for at in signs) >= 0.9 * len(signs)


def kind(name: str, scope: list[str]) -> str:
    """The label that a finding stands for in a text of this scope."""
    if name == "id":
        return "cn_resident_id" if "cn_resident_id" in scope else "id.*"
    return NAMES.get(name, name)


def score(shown: list[str]) -> None:
    """The table of recall and precision."""
    every, hit, right, wrong = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    kept = touched = 0
    for record, text in texts():
        found = [(start, end, kind(row.name, record["scope"])) for start, end, row in FINDER.found(None, text)]
        if record["scope"] == ["*"]:
            kept, touched = kept + 1, touched + bool(found)
            continue
        scope = {family(label) for label in record["scope"]}
        for span in record["spans"]:
            name = family(span["type"])
            if not span.get("weak"):
                ok = covered(text, span, found)
                every[name] += 1
                hit[name] += ok
                if not ok and name in shown:
                    print("missed", name, repr(text[max(0, span["start"] - 30) : span["end"] + 10]))
        for start, end, name in found:
            if name in scope:
                ok = any(span["start"] < end and start < span["end"] and family(span["type"]) == name for span in record["spans"])
                (right if ok else wrong)[name] += 1
                if not ok and name in shown:
                    print("wrong ", name, repr(text[max(0, start - 20) : end + 20]))
    print(f"{'kind':16}{'labelled':>9}{'recall':>8}{'precision':>11}")
    for name in sorted(set(every) & (set(right) | set(wrong))):
        print(f"{name:16}{every[name]:9}{hit[name] / every[name]:8.3f}{right[name] / (right[name] + wrong[name]):11.3f}")
    print(f"texts that must stay: {touched} of {kept} touched")


def leaves(value: Any, path: str = "", key: str | None = None) -> Iterator[tuple[str, str | None, str]]:
    """Every text and number of a record with its pointer and the key that it stands under."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}/{name.replace('~', '~0').replace('/', '~1')}", name)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, f"{path}/{at}", key)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, key, str(value)


def records() -> list[dict[str, Any]]:
    """The records of tools, with what must change in them."""
    return [json.loads(line) for line in (CASES / "docs_json.jsonl").read_text("utf-8").splitlines()]


def over() -> None:
    """What is hidden in the records of tools, and what is touched that should stay."""
    want = found = stay = touched = 0
    for record in records():
        redact = {item["path"] for item in record["redact"]}
        free = tuple(record["field_pii"])
        for path, key, text in leaves(record["doc"]):
            changed = bool(detect(key, text)[1])
            if path in redact:
                want, found = want + 1, found + changed
            elif path not in free and not path.startswith(tuple(f"{item}/" for item in free)):
                stay, touched = stay + 1, touched + changed
    print(f"records: {found} of {want} hidden, {touched} of {stay} others touched")


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def ratio(work: Callable[[], object], base: Callable[[], object], times: int = 21) -> float:
    """Median of how many times as long one thing takes as another right before it."""
    return statistics.median(timed(work) / timed(base) for _ in range(times))


def clean() -> list[Any]:
    """Values of about two kilobytes in which nothing is to be hidden, put together from the records of tools."""
    found: list[Any] = []
    some: list[Any] = []
    for record in records():
        if len(encode(record["doc"])) < 2200 and hide(record["doc"], REDACTOR, set()) is record["doc"]:
            some.append(record["doc"])
        if len(encode(some)) > 2000:
            found.append(some)
            some = []
    return found


def cost() -> None:
    """What looking through clean values costs beside reading their JSON, with google-re2 and without."""
    docs = clean()
    lines = [encode(doc) for doc in docs]
    with_, without = (redactor(fast=fast) for fast in (True, False))

    def look(redactor: Redactor) -> None:
        for doc in docs:
            hide(doc, redactor, set())

    def read() -> None:
        for line in lines:
            json.loads(line)

    fast, slow = ratio(lambda: look(with_), read), ratio(lambda: look(without), read)
    twice = ratio(lambda: look(without), lambda: look(with_))
    size = sum(map(len, lines)) // len(lines)
    print(f"clean values of {size} bytes, json.loads = 1: with google-re2 {fast:.1f}, without {slow:.1f} ({twice:.1f} times)")


if __name__ == "__main__":
    score(sys.argv[1:])
    over()
    cost()
