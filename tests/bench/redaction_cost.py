"""What redaction costs: clean values of two kilobytes beside `json.loads`, the peers, and how the time grows with adversarial text."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

from redaction_peers import Peer

from guard.core.hiding import hide, shown_text
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import DETECTORS, REDACTOR, redactor
from guard.redactors.find import Finder

UNITS = (
    "@", "a@", "a@a.", "a." * 30 + "@", '"@', "%40", "1", "1 ", "1-", "4111 ", "4111 1111 1111 1111 ", "+1", "(415) ", "+1 ( ( ( ",
    "phone: ", "phone number is 1", "password=", "password: '", "api_key=a1", "bearer ", "bearer abcdefghijklmnop", "userPhone number no ",
    "sk-", "eyJ.", "eyJaaaaaaaaaaa.eyJ", "eyJ" + "a" * 300 + ".", "eyJaaaaaaaaaa-", "\u200b@", "{[", "138 1234 ", "a_b-c.", "1.1.1.", "1:1:", "::1 ",
    "00:11:22:33:44:", "aa:bb:cc:dd:ee:ff:", "DE89 ", "DE89370400440532013000", "078-05-", "ssn pesel nhs 078051120 ", "AB 12 34 56 ",
    "-----BEGIN PRIVATE KEY-----", "curl -u a ", "a_key = ", "a_token='a1", "xoxb-aaaaaaaaaaaaaaaaaaaa", "aQ~", '{"a":', "[1,", '"\\"', "QUJD", "6162",
    "ghp_", "https://a:", "https://a:b@", "123-45-678", "11010519491231002",
)  # fmt: skip
"""Pieces of text that a rule nearly takes, repeated."""


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def ratio(work: Callable[[], object], base: Callable[[], object], times: int = 31) -> float:
    """How many times as long one thing takes as another, both at their best: other work on the machine only makes them slower."""
    pairs = [(timed(work), timed(base)) for _ in range(times)]
    return min(one for one, _ in pairs) / min(other for _, other in pairs)


def clean(docs: list[Any]) -> list[Any]:
    """Values of about two kilobytes in which nothing is to be hidden, put together from the records of tools."""
    found: list[Any] = []
    some: list[Any] = []
    for doc in docs:
        if len(encode(doc)) < 2200 and hide(doc, REDACTOR, set()) is doc:
            some.append(doc)
        if len(encode(some)) > 2000:
            found.append(some)
            some = []
    return found


def cost(docs: list[Any], others: list[Peer]) -> None:
    """What looking through clean results costs beside reading their JSON, with google-re2 and without, and beside the peers.

    `written`: from the value to the text that goes to the model. `looked`: what hiding adds to writing it.
    """
    values = clean(docs)
    lines = [encode(value) for value in values]
    with_, without = (redactor(fast=fast) for fast in (True, False))

    def write(one: Redactor, some: list[Any]) -> Callable[[], object]:
        return lambda: [shown_text(value, one, set()) for value in some]

    def look(one: Redactor, some: list[Any], texts: list[str]) -> Callable[[], object]:
        return lambda: [one.quiet(text) or hide(value, one, set()) for value, text in zip(some, texts, strict=True)]

    def read() -> None:
        for line in lines:
            json.loads(line)

    size = sum(map(len, lines)) // len(lines)
    print(f"clean values of {size} bytes, json.loads of them = 1, with google-re2 / without / how many times as long:")
    for name, work in (("looked", lambda one: look(one, values, lines)), ("written", lambda one: write(one, values))):
        work(with_)(), work(without)()
        fast, slow, times = ratio(work(with_), read), ratio(work(without), read), ratio(work(without), work(with_))
        print(f"  {name:8} {fast:5.1f} {slow:6.1f} {times:6.1f}")
    for peer in others:
        some = 5 if peer.slow else len(lines)
        times = 1 if peer.slow else 7
        against(peer, lines[:some], [look(with_, values[:some], lines[:some]), write(with_, values[:some])], times)


def against(peer: Peer, lines: list[str], ours: list[Callable[[], object]], times: int) -> None:
    """How many times as long a peer takes on the same JSON texts."""
    find = getattr(peer, "timed", None) or peer.find
    find(lines[0])
    found = [ratio(lambda: [find(line) for line in lines], work, times) for work in ours]
    print(f"  {peer.name}: {found[0]:.0f} times as long as looked, {found[1]:.0f} times as long as written, with google-re2")


def hostile() -> None:
    """How the time of each piece grows from 640 kB to 10 MB, as a power of the size; and the slowest in MB a second."""
    worst = []
    finder = Finder(DETECTORS, seconds=math.inf)  # a result would be withheld long before
    for unit in UNITS:
        times = {}
        for size in (640_000, 10_240_000):
            text = unit * (size // len(unit))
            begin = time.thread_time()
            finder.detect(None, text)
            times[size] = time.thread_time() - begin
        power = math.log(times[10_240_000] / max(times[640_000], 1e-4)) / math.log(16)
        worst.append((power, 10.24 / times[10_240_000], unit))
    for power, speed, unit in sorted(worst, reverse=True)[:12]:
        print(f"n^{power:.2f}  {speed:6.1f} MB/s  {unit[:40]!r}")
    print(f"slowest: {min(speed for _, speed, _ in worst):.1f} MB/s of {len(worst)} hostile texts of 10 MB")
