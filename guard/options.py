"""Options: what `Guard.load` may be told besides folder, tools and store, by name. What each means stands there. Data only; comes before `compose`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from guard.redactors import Detector
from guard.runner.patience import Checks
from guard.stores.payload_keys import Key

if TYPE_CHECKING:
    from guard.proof.keeper import Checkpoints

Clock: TypeAlias = Callable[[], float]
Probes: TypeAlias = Mapping[str, Callable[[str], Any]]

Folder: TypeAlias = str | os.PathLike[str]
Folders: TypeAlias = Folder | Sequence[Folder]
"""One policy folder, or several as layers, the widest first."""


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
    checkpoints: Checkpoints | None
    payload_key: Key | None
    keep_payloads: float | None
    batch_reads: float | None
