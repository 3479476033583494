"""Trim: how the histories of each wire are shortened, by the wire's name. What is replaced is decided in `guard.runner.trim`.

No message is removed or moved: every call keeps its result, and what the guard recognises turns by stays as it is. A new wire is one class in
`trim_wires` and one row in `TRIMMERS`. Pure; comes after the wires.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from guard.errors import WireError
from guard.wires.trim_parts import Place, Trimmer
from guard.wires.trim_wires import AnthropicTrimmer, BedrockTrimmer, GeminiTrimmer, OpenAIChatTrimmer, OpenAIResponsesTrimmer

__all__ = ["TRIMMERS", "Place", "Trimmer", "trimmer"]

TRIMMERS: Mapping[str, Trimmer] = MappingProxyType(
    {
        "openai-chat": OpenAIChatTrimmer(),
        "openai-responses": OpenAIResponsesTrimmer(),
        "anthropic": AnthropicTrimmer(),
        "gemini": GeminiTrimmer(),
        "bedrock-converse": BedrockTrimmer(),
    }
)
"""How the histories of each wire are shortened, by the wire's name."""


def trimmer(name: str) -> Trimmer:
    """How a wire's histories are shortened. Raises WireError for a wire that has no way yet."""
    if name not in TRIMMERS:
        raise WireError(f"histories of the wire {name!r} cannot be shortened yet; known are {', '.join(sorted(TRIMMERS))}")
    return TRIMMERS[name]
