"""Places: the policy folder, the store and the person that a command works with.

Looking may not make anything: a store that is not there is a mistake of the caller, not an empty store. Who somebody is comes from the
operating system's user id, never from an environment variable. Used by the commands.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote

from guard.cli.show import spell
from guard.compose import DEFAULT_STORE
from guard.core.model import Session
from guard.core.ports import Policy, Store
from guard.errors import GuardError, StoreError
from guard.policy import Loaded, load_policy
from guard.stores import open_store, schema
from guard.stores.payload_keys import CODE, Keyring
from guard.stores.reading import to_read

DEFAULT_POLICY = "policies/"
RESTORED = "a backup was put back into this store, so no action starts; say so first: guard serve restored --reason TEXT"


class UsageError(GuardError):
    """The command cannot be carried out as it was written: exit code 2."""


class UnknownPersonError(GuardError):
    """The operating-system user is nobody in the policy folder; the text holds the lines that would say who."""


def policy_folder(folder: str, narrower: Sequence[str] = ()) -> Loaded:
    """The compiled folder with `narrower` layers, without a program. Raises UsageError when one is not there, PolicyError with every problem."""
    for one in (folder, *narrower):
        existing_folder(one)
    return load_policy([folder, *narrower])


def add_layers(parser: argparse.ArgumentParser, *, default: str | None = DEFAULT_POLICY) -> None:
    """Add `--policy` and `--layer`; without `default` nothing is named unless it is written."""
    parser.add_argument("--policy", default=default, metavar="DIR", help=f"default: {DEFAULT_POLICY}")
    told = "a narrower folder on top of --policy; may be repeated, the narrowest last"
    parser.add_argument("--layer", action="append", default=[], metavar="DIR", help=told)


def named_folders(folders: Sequence[str], policy: str | None) -> list[str]:
    """The folders that a command names, the widest first, or --policy, or the usual one. Raises UsageError where one is not there."""
    if folders and policy:
        raise UsageError(f"two folders: {spell(folders[0])} and {spell(policy)} (name one)")
    found = list(folders) or [policy or DEFAULT_POLICY]
    for one in found:
        existing_folder(one)
    return found


def store_of(arguments: argparse.Namespace) -> str:
    """The store that a command works with: that of `--store`, or the one that lies beside the folder of `--policy`, or the usual one."""
    given, folder = str(arguments.store), Path(arguments.policy).absolute()
    if arguments.store is not DEFAULT_STORE or arguments.policy is DEFAULT_POLICY:  # `is`: the same text may have been typed
        return given
    beside = folder.parent / "guard.db"
    return f"sqlite:///{beside}" if beside.is_file() else given


def where(folder: Path, store: str) -> str:
    """The options with which a command finds this folder and store from anywhere; of a server's store without what may be secret."""
    scheme, _, rest = store.partition("://")
    path = Path(rest.removeprefix("/")).absolute()
    url = f"sqlite:///{path}" if scheme == "sqlite" else _without_password(store)
    beside = url == f"sqlite:///{folder.parent / 'guard.db'}"
    return f" --policy {quote(str(folder))}" + ("" if beside else f" --store {quote(url)}")


def existing_folder(folder: str) -> None:
    """Raises UsageError when the policy folder is not there."""
    if Path(folder).is_file():
        raise UsageError(f"{spell(folder)}: name the folder, not a file in it")
    if not Path(folder).is_dir():
        raise UsageError(f"{spell(folder)}: there is no such folder (name the policy folder with --policy)")


def existing_file(path: str, option: str) -> str:
    """The path of a file that an option names. Raises UsageError when it is not there."""
    if not Path(path).is_file():
        raise UsageError(f"{spell(path)}: there is no such file (name another one with {option})")
    return path


@contextmanager
def existing_store(url: str, keys: Keyring | None = None, *, locked: bool = False) -> Iterator[Store]:
    """Open a store that is there already. `locked`: its payloads are not needed. Raises UsageError when it is not there."""
    scheme, _, rest = url.partition("://")
    if scheme == "memory":
        raise UsageError("memory:// keeps nothing between programs (name a file with --store sqlite:///guard.db)")
    if scheme == "sqlite":
        check_file(Path(rest.removeprefix("/")))
    try:
        store = open_store(url, keys=keys, locked=locked)
    except StoreError as error:
        cure = " (name the file with --payload-key-file)" if error.code == CODE and keys is None else ""
        raise UsageError(f"{spell(_without_password(url))}: {error}{cure}") from error
    with closing(store):
        if store.older:
            print(f"guard: {RESTORED}", file=sys.stderr)
        yield store


def _without_password(url: str) -> str:
    """The URL without anything that may be secret: user, password and options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}" if scheme.startswith("postgres") else url


def check_file(path: Path) -> None:
    """Raises UsageError where no store of the guard lies at `path`; changes nothing."""
    shown = spell(str(path))
    if not path.is_file():
        raise UsageError(f"{shown}: there is no such store (run the program first, or name its store with --store)")
    try:
        with closing(to_read(path)) as connection:
            ours = connection.execute(schema.HAS_VERSION).fetchone()[0]
    except sqlite3.OperationalError as error:
        raise UsageError(f"{shown}: this file cannot be read ({error})") from error
    except sqlite3.Error as error:
        raise UsageError(f"{shown}: this is not a store of the guard (name its store with --store)") from error
    if not ours:
        raise UsageError(f"{shown}: this is not a store of the guard (name its store with --store)")


def system_user() -> str:
    """The name of the operating-system user that runs this process, by its real user id."""
    try:
        import pwd  # noqa: PLC0415 - not on every platform
    except ImportError:
        return os.getlogin()
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def person(policy: Policy, folder: str) -> Session:
    """Who the operating-system user is in the policy. Raises UnknownPersonError."""
    user = system_user()
    found = policy.people.get(user)
    if found is None:
        raise UnknownPersonError(
            f"the operating-system user {spell(user)} is nobody in {spell(folder)}; whoever may edit it can add to "
            f"{spell(str(Path(folder, 'people.yaml')))}:\n"
            f"people:\n  {spell(user)}: {{principal: <id of the person>, tenant: <tenant>, roles: [<role>]}}"
        )
    return found


__all__ = [
    "DEFAULT_POLICY",
    "DEFAULT_STORE",
    "UnknownPersonError",
    "UsageError",
    "add_layers",
    "existing_folder",
    "existing_store",
    "named_folders",
    "person",
    "policy_folder",
    "store_of",
    "system_user",
    "where",
]
