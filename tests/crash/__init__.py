"""The crash test: processes that are killed at every seam of a call, and what must be true afterwards. See `run`."""
