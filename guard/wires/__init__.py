"""Wires: one file a message format, all with the same verbs (`guard.wires.common.Wire`), and the table of them.

Pure functions from and to messages. Imports no provider's SDK; an SDK object is read by its looks. A new wire is one file here,
one row in `WIRES` and one test row.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from guard.errors import WireError
from guard.wires.anthropic import Anthropic
from guard.wires.bedrock import Bedrock
from guard.wires.common import Reply, Wire
from guard.wires.gemini import Gemini
from guard.wires.openai_chat import OpenAIChat
from guard.wires.openai_responses import OpenAIResponses

__all__ = ["WIRES", "Reply", "Wire", "wire"]

WIRES: Mapping[str, Wire] = MappingProxyType(
    {
        "openai-chat": OpenAIChat(),
        "openai-responses": OpenAIResponses(),
        "anthropic": Anthropic(),
        "gemini": Gemini(),
        "bedrock-converse": Bedrock(),
    }
)
"""The wires by the name that `guard.open(…, wire=…)` takes."""


def wire(name: str) -> Wire:
    """The wire of this name. Raises WireError, naming the known ones, when there is none."""
    if name not in WIRES:
        raise WireError(f"there is no wire {name!r}; known are {', '.join(sorted(WIRES))}")
    return WIRES[name]
