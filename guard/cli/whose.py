"""Whose: under which name whoever uses the command line stands on record: the person that the policy's `people` has for the operating-system user, else that user.

So one person has one name, whether they vote, set a kill, erase, close a month or verify. These commands need no policy: without a folder, or with one that cannot be
read, the operating-system user is named. Used by the commands that write a record by themselves.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from guard.cli.places import DEFAULT_POLICY, policy_folder, system_user
from guard.core.persons import known, opaque
from guard.core.ports import Store
from guard.core.redactor import under
from guard.core.values import Json
from guard.errors import PolicyError
from guard.redactors import REDACTOR, redactor


def add(parser: argparse.ArgumentParser) -> None:
    """Add `--policy`."""
    told = f"the folder whose people.yaml says who you are on record; default: {DEFAULT_POLICY}, where that is"
    parser.add_argument("--policy", default=None, metavar="DIR", help=told)


def name(store: Store, policy: str | None) -> str:
    """The name. Raises UsageError where a folder is named that is not there, PolicyError where that one cannot be read."""
    user = system_user()
    if policy is None and not Path(DEFAULT_POLICY).is_dir():
        return opaque(under(REDACTOR, store.secret), "person", user)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever checks the policy is told of them
            found = policy_folder(policy or DEFAULT_POLICY).policy
    except PolicyError:
        if policy is not None:
            raise
        return opaque(under(REDACTOR, store.secret), "person", user)
    detectors = under(redactor(found.redaction), store.secret)
    who = found.people.get(user)
    return opaque(detectors, "person", user) if who is None else known(detectors, who).who


def actor(store: Store, policy: str | None) -> dict[str, Json]:
    """The same as the `actor` of a record."""
    return {"type": "human", "ref": name(store, policy), "assurance": "os-user", "via": "cli"}
