"""Sinks: what leaves the audit for other places: files, webhooks, messages to people, traces, a system's log.

The audit table is the outbox. A `Follower` reads behind its cursor, in the order of each chain, and sends; nothing in a decision waits for it. What
arrives twice after a crash has the same id; what does not arrive is kept as a letter or counted on record. A sink gets bodies of records only,
which hold redacted copies and digests; it never sees a payload. Comes after the ports; may not know stores, policies or the runner.

A sink is one class in one file and one row in `table.KINDS`.
"""

from guard.sinks.follower import Follower, Step
from guard.sinks.notice import NOTICES
from guard.sinks.port import Bounds, Sink, SinkError
from guard.sinks.relay import Planned, Relay

__all__ = ["NOTICES", "Bounds", "Follower", "Planned", "Relay", "Sink", "SinkError", "Step"]
