"""Tools: Python functions made ready to be called with JSON, and what they return made ready to go back.

`registry` turns what the host passes as `tools=` into `RegisteredTool`s; `normalise` turns whatever a tool returned into JSON. May not
import the policy, stores, wires or the runner. Before it stands the host's code, after it the policy loader and the runner.
"""

from guard.tools.registry import RegisteredTool, Registry, registry, tool
from guard.tools.results import Normal, normalise

__all__ = ["Normal", "RegisteredTool", "Registry", "normalise", "registry", "tool"]
