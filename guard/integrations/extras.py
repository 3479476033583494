"""Extras: the one framework that an integration is for, loaded when it is used. Where it is missing, the error names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from guard.errors import GuardError
from guard.extras import install


def needed(module: str, extra: str) -> ModuleType:
    """The module of a framework. Raises GuardError when the framework, or a version that has it, is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        lacking = error.name or module
        if lacking.partition(".")[0] not in (module.partition(".")[0], extra.partition("-")[0]):
            raise
        raise GuardError(f"this needs the extra {extra}: {install(extra)}") from None
