"""Episode: the demo's conversation as data, and the policy folder that guards it.

`episode.json` holds who asks, what the scripted model says, what the company's systems hold, and the attacks. Numbers keep their digits.
Comes before everything else in this package.
"""

from __future__ import annotations

import json
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from guard.core.model import Session
from guard.core.values import JsonObject
from guard.errors import GuardError

SCRIPT = "travel"
"""The name under which the model server knows the conversation without attacks."""


def load_episode() -> JsonObject:
    """The whole episode; amounts are Decimals."""
    text = (resources.files("guard.cli.travel") / "episode.json").read_text("utf-8")
    found: JsonObject = json.loads(text, parse_float=Decimal)
    return found


def session_of(episode: JsonObject) -> Session:
    """The employee who asks."""
    who: Any = episode["session"]
    return Session(
        principal=who["principal"], tenant=who["tenant"], roles=tuple(who["roles"]), attributes=dict(who["attributes"])
    )


def policy_path() -> Path:
    """The folder of the travel policy: package data of a wheel, `policies/` of a checkout. Raises GuardError when neither is there."""
    packaged = Path(str(resources.files("guard.cli.travel") / "policies"))
    checkout = Path(__file__).parents[3] / "policies"
    for folder in (packaged, checkout):
        if (folder / "tools.yaml").is_file():
            return folder
    raise GuardError("the demo's policy files are missing from this installation; install guard-middleware again")


def script_of(episode: JsonObject, turns: list[JsonObject] | None = None) -> JsonObject:
    """What the model server plays: the turns in order, and what the model says once a call did not go through."""
    return {"turns": episode["model_turns"] if turns is None else turns, "otherwise": episode["otherwise"]}


def ending(episode: JsonObject) -> JsonObject:
    """The model's last message, for a conversation that ends early."""
    last: JsonObject = episode["model_turns"][-1]
    return last
