"""Revisions: a policy folder as it is on the disk, or as it was in a revision of the git repository around the current folder.

    policies/                 the folder
    git:HEAD~1:policies/      the folder policies/ of that revision, read with git; nothing is checked out
    policies/org,policies/app layers, the widest first; each may come from git

Reads only. Used by `diff`.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

from guard.cli.places import UsageError, existing_folder
from guard.cli.show import spell
from guard.policy import Loaded, load_policy
from guard.policy.problems import Problems
from guard.policy.rule_shape import model_text
from guard.policy.source import read_folder

GIT = "git:"
_MOST_SECONDS = 60
_MOST_BYTES = 200_000_000


def load_side(name: str) -> tuple[Loaded, str]:
    """The policy and the text of its matcher. Raises UsageError where there is no such folder or revision, PolicyError with every problem."""
    parts = [name] if Path(name).is_dir() else name.split(",")
    with ExitStack() as opened:
        folders = [opened.enter_context(_extracted(one)) if one.startswith(GIT) else one for one in parts]
        for one in folders:
            existing_folder(one)
        return load_policy(folders), "\n".join(dict.fromkeys(map(_model, folders)))


def _model(folder: str) -> str:
    problems = Problems()
    return model_text(read_folder(folder, problems, alone=False), problems)


@contextmanager
def _extracted(name: str) -> Iterator[str]:
    """The folder of a revision, in a place of its own that is removed again."""
    revision, colon, path = name.removeprefix(GIT).partition(":")
    if not colon or not revision or not path.strip("/"):
        raise UsageError(f"{spell(name)}: write git:REVISION:FOLDER, such as git:HEAD~1:policies/")
    if revision.startswith("-"):
        raise UsageError(f"{spell(name)}: a revision does not begin with -")
    inside = str(PurePosixPath(path))
    _git(name, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", what="there is no such revision")
    packed = _git(name, "archive", "--format=tar", f"{revision}:./{inside}", what="that revision has no such folder here")
    with tempfile.TemporaryDirectory(prefix="guard-diff-") as place:
        folder = str(Path(place, PurePosixPath(path).name))  # layers are called by their last names
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise UsageError(f"{spell(name)}: this folder cannot be read from git ({spell(str(error))})") from error
        yield folder


def _git(name: str, *words: str, what: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the revision cannot be an option
            ["git", *words],  # noqa: S607 - the git of the person who asks
            capture_output=True,
            check=False,
            timeout=_MOST_SECONDS,
            cwd=Path.cwd(),
        )
    except FileNotFoundError as error:
        raise UsageError(f"{spell(name)}: git is not installed here") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{spell(name)}: git did not answer") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"{spell(name)}: {what}" + (f" ({spell(said[0])})" if said else ""))
    if len(done.stdout) > _MOST_BYTES:
        raise UsageError(f"{spell(name)}: larger than a policy folder may be")
    return done.stdout
