"""Benchmark of redaction: recall and precision of each kind on the labelled texts, what is touched in clean records, and what it costs.

    GUARD_CASES=DIR python tests/bench/redaction.py          # the tables, beside the peers that are installed
    GUARD_CASES=DIR python tests/bench/redaction.py iban ip  # and what was missed or wrongly hidden of these kinds
    GUARD_CASES=DIR python tests/bench/redaction.py --speed  # only what it costs, beside the peers
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile  # only how the time grows with adversarial text, to 10 MB: see redaction_hostile.py
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --quick  # the same, to 10 MB only of the worst of each; add --to 1000000 for minutes

Found: nine tenths of the letters and digits of a labelled span are covered, or anything of a labelled line. Wrong: a finding of a kind that the
text is labelled for, over no label. National phone numbers are looked for with the region that their source names. Times are CPU time, as multiples of
`json.loads` on the same records: the median of rounds in each of which reading, ours with google-re2 and ours without run in turns, each warm; the last
column is the second by the first. Documents that are seen once are read once and looked at once, on both sides alike. Each case says from where to
where. Peers are given the JSON text; of an object they are given the one that is written of it first.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from redaction_cost import cost
from redaction_hostile import hostile
from redaction_peers import Finding, Peer, peers

from guard.core.redaction import Redaction
from guard.redactors import DETECTORS, REDACTOR
from guard.redactors.added import added
from guard.redactors.find import Finder

CASES = Path(os.environ.get("GUARD_CASES", "cases")) / "redaction"
NAMES = {"card": "credit_card", "ssn": "us_ssn"}
KINDS = ("email", "credit_card", "iban", "ip", "us_ssn", "cn_resident_id", "+phone", "phone", "mac", "id.*", "secret")
_REGION = re.compile(r"region ([A-Z]{2})")
_SOURCES = (("zh_CN", "CN"), ("test_ph_", "PH"), ("test_tr_", "TR"))
_WORDS = (("Israeli", "IL"), ("CN number", "CN"))


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


def kind_of(text: str, span: dict[str, Any]) -> str:
    """The row of the table that a label belongs to."""
    name = family(span["type"])
    return "+phone" if name == "phone" and text[span["start"] : span["end"]].lstrip("( ").startswith("+") else name


def covered(text: str, span: dict[str, Any], found: list[Finding]) -> bool:
    """Whether a labelled span is hidden."""
    if span.get("line"):
        return any(start < span["end"] and end > span["start"] for start, end, _ in found)
    signs = [at for at in range(span["start"], span["end"]) if text[at].isalnum()]
    return sum(any(start <= at < end for start, end, _ in found) for at in signs) >= 0.9 * len(signs)


def region(record: dict[str, Any], text: str) -> str:
    """The region whose national numbers a text holds, as its source says."""
    note = _REGION.search(record.get("note") or "")
    if note is not None:
        return note[1]
    told = (name for word, name in _SOURCES if word in record["source"])
    return next(told, next((name for word, name in _WORDS if word in text), "US"))


@cache
def finder(name: str) -> Finder:
    """Our detectors, with the phone numbers of one region."""
    return Finder((*DETECTORS, *added(Redaction(regions=(name,)))), own=True)


def guard(record: dict[str, Any], text: str) -> list[Finding]:
    """What we find."""
    found = []
    for start, end, row in finder(region(record, text)).found(None, text):
        own = "cn_resident_id" if "cn_resident_id" in record["scope"] else "id.*"
        found.append((start, end, own if row.name == "id" else NAMES.get(row.name, row.name)))
    return found


class Score:
    """Counts of one tool."""

    def __init__(self) -> None:
        self.every, self.hit, self.right, self.wrong = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        self.kept = self.touched = 0

    def add(self, record: dict[str, Any], text: str, found: list[Finding], shown: list[str]) -> None:
        """Count what was found in one text; `shown` kinds are printed where they are missed or wrong."""
        if record["scope"] == ["*"]:
            self.kept, self.touched = self.kept + 1, self.touched + bool(found)
            return
        for span in record["spans"]:
            if not span.get("weak"):
                name, ok = kind_of(text, span), covered(text, span, found)
                self.every[name] += 1
                self.hit[name] += ok
                if not ok and name in shown:
                    print("missed", name, repr(text[max(0, span["start"] - 30) : span["end"] + 10]))
        self._judge(record, text, found, shown)

    def _judge(self, record: dict[str, Any], text: str, found: list[Finding], shown: list[str]) -> None:
        scope = {family(label) for label in record["scope"]}
        for start, end, name in found:
            if name in scope:
                over = [span for span in record["spans"] if span["start"] < end and start < span["end"]]
                ok = any(family(span["type"]) == name for span in over)
                (self.right if ok else self.wrong)[name] += 1
                if not ok and name in shown:
                    print("wrong ", name, repr(text[max(0, start - 20) : end + 20]))

    def cell(self, name: str) -> str:
        """Recall and precision of one kind."""
        recall = f"{100 * self.hit[name] / self.every[name]:.0f}" if self.every[name] else "-"
        named = "phone" if name == "+phone" else name
        judged = self.right[named] + self.wrong[named]
        return f"{recall:>4} /{f'{100 * self.right[named] / judged:.0f}' if judged else '-':>4}"


def table(tools: dict[str, Callable[[dict[str, Any], str], list[Finding]]], shown: list[str]) -> None:
    """Recall and precision of each kind and tool, in per cent."""
    scores = {name: Score() for name in tools}
    for record, text in texts():
        for name, find in tools.items():
            scores[name].add(record, text, find(record, text), shown if name == "guard" else [])
    first = scores["guard"]
    print(f"{'recall / precision, %':22}{'labels':>7}" + "".join(f"{name:>18}" for name in tools))
    for kind in KINDS:
        print(f"{kind:22}{first.every[kind]:7}" + "".join(f"{scores[name].cell(kind):>18}" for name in tools))
    print(f"{'must stay, touched':22}{first.kept:7}" + "".join(f"{scores[name].touched:18}" for name in tools))


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


def over(tools: dict[str, Callable[[str | None, str], bool]]) -> None:
    """What is hidden in the records of tools, and what is touched that should stay."""
    for tool, touches in tools.items():
        want = found = stay = touched = 0
        for record in records():
            redact = {item["path"] for item in record["redact"]}
            free = tuple(record["field_pii"])
            for path, key, text in leaves(record["doc"]):
                if path in redact:
                    want, found = want + 1, found + touches(key, text)
                elif path not in free and not path.startswith(tuple(f"{item}/" for item in free)):
                    stay, touched = stay + 1, touched + touches(key, text)
        print(f"records, {tool}: {found} of {want} hidden, {touched} of {stay} others touched")


def main(arguments: list[str]) -> None:
    """Everything, in one run."""
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return
    if "--hostile" in arguments:
        hostile(arguments)
        return
    others: list[Peer] = list(peers())
    tools: dict[str, Callable[[dict[str, Any], str], list[Finding]]] = {"guard": guard}
    tools |= {peer.name: (lambda _, text, peer=peer: peer.find(text)) for peer in others}
    if "--speed" in arguments:
        cost([record["doc"] for record in records()], others)
        return
    table(tools, [name for name in arguments if not name.startswith("-")])
    touching: dict[str, Callable[[str | None, str], bool]] = {"guard": lambda key, text: bool(REDACTOR.detect(key, text)[1])}
    over(touching | {peer.name: (lambda _, text, peer=peer: bool(peer.find(text))) for peer in others})
    cost([record["doc"] for record in records()], others)


if __name__ == "__main__":
    main(sys.argv[1:])
