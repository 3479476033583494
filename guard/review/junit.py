"""JUnit: the results of cases as the XML that build servers read: one suite, a testcase for each case. Text only; writes no file.

What XML cannot hold (controls, lone surrogates) is spelled out as `[U+001B]`, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from guard.review.suite import Result

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Sequence[Result], folder: str) -> str:
    """The document. A broken case is an error, one that went otherwise a failure; `folder` names the suite."""
    broken = sum(result.broken for result in results)
    failed = sum(not result.passed for result in results) - broken
    head = (
        f'<testsuite name={_attribute(folder)} tests="{len(results)}" failures="{failed}" errors="{broken}" skipped="0" time="0">'
    )
    cases = [line for result in results for line in _case(result, folder)]
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases, "</testsuite>", "</testsuites>", ""]
    )


def _case(result: Result, folder: str) -> list[str]:
    spot = result.case.spot
    file = f"{folder.rstrip('/')}/{spot.file}"
    line = f' line="{spot.line}"' if spot.line is not None else ""
    head = f"<testcase name={_attribute(result.case.name)} classname={_attribute(spot.file)} file={_attribute(file)}{line}"
    if result.passed:
        return [f'{head} time="0"/>']
    kind = "error" if result.broken else "failure"
    text = "\n".join(f"{one.spot}: {one.text}" for one in result.differences)
    message = _attribute(result.differences[0].text)
    return [f'{head} time="0">', f'<{kind} message={message} type="{kind}">{escape(_clean(text))}</{kind}>', "</testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
