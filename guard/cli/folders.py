"""Folders: a policy folder written whole or not at all. The files are staged beside it, judged there, and only then moved in. Used by `init`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.policy.file_names import is_rules, is_yaml

_MORE = re.compile(r"tools-[0-9]+\.yaml")


def policy_names(folder: Path) -> list[str]:
    """The names of the policy files in a folder; none when there is no folder. Raises UsageError when it cannot be read."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise UsageError(f"{spell(str(folder))}: this is a file (name a folder with --into)")
    try:
        return sorted(one.name for one in folder.iterdir() if _is_policy(one.name))
    except OSError as error:
        raise UsageError(f"{spell(str(folder))}: cannot be read: {error.strerror}") from error


def _is_policy(name: str) -> bool:
    return not name.startswith(".") and (is_yaml(name) or is_rules(name) or name == "model.conf")


def check_free(folder: Path, *, force: bool) -> None:
    """Raises UsageError where a policy stands already and nobody said that it may be replaced."""
    there = policy_names(folder)
    if there and not force:
        names = ", ".join(map(spell, there[:5])) + (", …" if len(there) > 5 else "")
        where = spell(str(folder))
        raise UsageError(
            f"{where}: there is a policy already ({names}); name another folder with --into, or replace it with --force"
        )


def write_folder(folder: Path, files: Mapping[str, str], judge: Callable[[Path], None]) -> None:
    """Put `files` into `folder`, in the place of files of the same names; `judge` is asked about the result first and may raise.

    Other policy files stay, but for `tools-2.yaml`, … of an earlier run. Raises UsageError when the folder cannot be written.
    """
    target = folder.resolve()
    kept = [name for name in policy_names(target) if name not in files and not _MORE.fullmatch(name)]
    try:
        with _stage(target) as stage:
            for name, text in files.items():
                (stage / name).write_text(text, "utf-8")
            for name in kept:
                shutil.copyfile(target / name, stage / name)
            judge(stage)
            _move_in(stage, target, files, kept)
    except OSError as error:
        raise UsageError(f"{spell(str(folder))}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A new folder in the target, or beside where it will be; gone afterwards whatever happens. Loaders read no name that begins with a dot."""
    place = target if target.exists() else target.parent
    place.mkdir(parents=True, exist_ok=True)
    for number in count():
        stage = place / f".{target.name}.{os.getpid()}.{number}"
        try:
            stage.mkdir()
        except FileExistsError:
            continue
        break
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _move_in(stage: Path, target: Path, files: Mapping[str, str], kept: list[str]) -> None:
    if not target.exists():
        stage.rename(target)
        return
    for name in kept:
        (stage / name).unlink()
    for name in reversed(list(files)):  # the first file last: until it is there, the others add nothing that is allowed
        (stage / name).replace(target / name)
    for name in policy_names(target):
        if _MORE.fullmatch(name) and name not in files:
            (target / name).unlink()
