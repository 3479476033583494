"""Redactors on the shared records: what is labelled is hidden, and the rest comes out identical."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from corpora import CASES, needed

from guard.redactors import detect


def leaves(value: Any, path: str = "", key: str | None = None) -> Iterator[tuple[str, str | None, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}/{name.replace('~', '~0').replace('/', '~1')}", name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}/{index}", key)
    elif isinstance(value, str):
        yield path, key, value


@needed("redaction")
def test_recorded_records_stay_as_they_are() -> None:
    """In records as tools return them, what is labelled is hidden and everything else comes out identical."""
    kinds = {"email": "email", "phone": "phone", "credit_card": "card"}
    for line in (CASES / "redaction" / "docs_json.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        wanted = {item["path"]: item["type"] for item in record["redact"]}
        free = tuple(record["field_pii"])
        for path, key, text in leaves(record["doc"]):
            shown, found = detect(key, text)
            if path in wanted:
                assert kinds.get(wanted[path]) in (None, *found), path
            elif path not in free and not path.startswith(tuple(f"{item}/" for item in free)):
                assert shown is text, path
