"""Options: what `Guard.load` may be told besides folder, tools and store, by name. What each means stands there. Data only; comes before `compose`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

from guard.redactors import Detector
from guard.runner.patience import Checks
from guard.stores.payload_keys import Key

Clock: TypeAlias = Callable[[], float]
Probes: TypeAlias = Mapping[str, Callable[[str], Any]]


class Options(TypedDict, total=False):
    """What `load` may be told besides; see `Guard.load`."""

    checks: Checks | None
    probes: Probes | None
    clock: Clock | None
    patience: float | None
    watch: bool | float
    stale_after: float | None
    rules: Any
    signal: Any
    count_tokens: Callable[[str], int] | str
    detectors: Sequence[Detector]
    payload_key: Key | None
    keep_payloads: float | None
    batch_reads: float | None
