"""The JSON Schema of a record's body, as it ships beside this file: for those who read exports. Nothing is checked against it while a guard runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "record.schema.json"


def record_schema() -> dict[str, Any]:
    """The schema (draft 2020-12)."""
    found: dict[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return found
