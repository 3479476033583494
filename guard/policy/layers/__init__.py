"""Layers: several policy folders (organisation, team, application) that hold together, the widest first.

A narrower layer may only tighten what a wider one says: what would loosen it, and what cannot be compared, is a mistake that names both places.
What the folders write is merged key by key and compiled as one policy; who may call is asked of each layer by itself.
"""

from __future__ import annotations
