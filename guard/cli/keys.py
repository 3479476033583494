"""Keys: the option that names the file of payload keys, on every command that opens a store, and `guard audit payload-key`, which makes such a file.

The environment may name the file instead (GUARD_PAYLOAD_KEY_FILE), never hold a key. Used by `main` and the commands.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.errors import StoreError
from guard.stores.payload_keys import Keyring, key_file, keyring, new_key

VARIABLE = "GUARD_PAYLOAD_KEY_FILE"
EXAMPLES = f"""examples:
  guard audit payload-key payload.key              make the file; programs take it with Guard.load(…, payload_key="payload.key")
  guard audit payload-key payload.key --rotate     put a new key on top; the old ones go on reading what was written under them

Keep the file outside of the store and its backups. Commands take it with --payload-key-file or from {VARIABLE}."""


def everywhere(parser: argparse.ArgumentParser) -> None:
    """Add the option to every command below that names a store."""
    for action in list(parser._actions):  # noqa: SLF001 - argparse has no other way to walk a tree of parsers
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for one in action.choices.values():
                everywhere(one)
        if "--store" in action.option_strings:
            told = f"the keys of encrypted payloads; default: the file that {VARIABLE} names"
            parser.add_argument("--payload-key-file", default=argparse.SUPPRESS, metavar="FILE", help=told)


def keys_of(arguments: argparse.Namespace) -> Keyring | None:
    """The keys that a command was given; None where it was given none. Raises UsageError for a file that is no such file."""
    return _read(getattr(arguments, "payload_key_file", None) or os.environ.get(VARIABLE))


def key_from_environment() -> Keyring | None:
    """The keys of the file that the environment names. Raises UsageError."""
    return _read(os.environ.get(VARIABLE))


def _read(name: str | None) -> Keyring | None:
    try:
        return key_file(name) if name else None
    except StoreError as error:
        raise UsageError(str(error)) from error


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `guard audit payload-key`."""
    parser = verbs.add_parser(
        "payload-key",
        help="make a file of payload keys, or put a new key into it",
        description="Make the file of keys under which programs encrypt the payloads of their store.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="readable by its owner only")
    parser.add_argument("--rotate", action="store_true", help="the file is there: a new key writes from now on")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0; the key is never printed."""
    place, shown = Path(arguments.file), spell(arguments.file)
    if place.exists() != arguments.rotate:
        raise UsageError(
            f"{shown}: it is there already (--rotate puts a new key on top)" if place.exists() else f"{shown}: no file"
        )
    old = place.read_text("ascii", "replace") if arguments.rotate else ""
    if old:
        keyring(old, shown)
    key = new_key()
    fresh = place.with_name(f"{place.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{key}\n{old}")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place)
    print(f"{shown}: key {keyring(key).current} writes from now on; programs take it when they start", file=sys.stderr)
    return 0
