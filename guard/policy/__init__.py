"""Policy: plain files that a reviewer can read, turned into one frozen, compiled `Policy` for the core.

May import the core's model and third-party readers (ruamel.yaml, jsonschema, pycasbin, each on first use); never rooms, stores, tools or
wires. Everything that can be wrong is found at load, all of it at once, with file, line and cure. Comes before compose.
"""

from __future__ import annotations

from guard.policy.load import Loaded, Survey, load_policy, survey_policy
from guard.policy.tools import Declared

__all__ = ["Declared", "Loaded", "Survey", "load_policy", "survey_policy"]
