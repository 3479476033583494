"""Redactors on the shared records: what is labelled is hidden, and the rest comes out identical."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

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


@pytest.mark.cases
def test_recorded_records_stay_as_they_are() -> None:
    """In records as tools return them, what is labelled is hidden and everything else comes out identical."""
    folder = os.environ.get("GUARD_CASES")
    if folder is None:
        pytest.skip("GUARD_CASES does not name the folder of shared cases")
    kinds = {"email": "email", "phone": "phone", "credit_card": "card"}
    for line in (pathlib.Path(folder) / "redaction" / "docs_json.jsonl").read_text().splitlines():
        record = json.loads(line)
        wanted = {item["path"]: item["type"] for item in record["redact"]}
        free = tuple(record["field_pii"])
        for path, key, text in leaves(record["doc"]):
            shown, found = detect(key, text)
            if path in wanted:
                assert kinds.get(wanted[path]) in (None, *found), path
            elif path not in free and not path.startswith(tuple(f"{item}/" for item in free)):
                assert shown is text, path
