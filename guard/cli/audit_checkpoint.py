"""`guard audit checkpoint` and `guard audit key`: signed checkpoints over a store's records, kept outside of it.

    guard audit key           make the key that signs
    guard audit checkpoint    make a checkpoint and send it, once or time and again

The work is `guard.proof`'s.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from guard.cli.places import existing_file, existing_store
from guard.cli.show import json_text, spell
from guard.core.log import Checkpoint
from guard.core.ports import Store
from guard.proof import keys
from guard.proof.keeper import Checkpoints, Keeper

EXAMPLES = """examples:
  guard audit key --out /elsewhere/guard-audit.key                  once: prints the public key
  guard audit checkpoint --key /elsewhere/guard-audit.key --to /mnt/other/checkpoints.jsonl
  guard audit checkpoint --key … --to https://witness.example/guard --every 60
  guard audit checkpoint --key … --to "command:git-commit-checkpoint"   gets one line of JSON on standard input

A checkpoint protects what was recorded before it, as far as whoever can write the store can neither reach the key nor the places it went to."""


def add_key(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `key`."""
    parser = verbs.add_parser(
        "key",
        help="make a key that signs checkpoints",
        description="Make a key that signs checkpoints, in a new file that only you may read; print its public half.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", default="guard-audit.key", metavar="FILE", help="default: %(default)s; the public half goes to FILE.pub"
    )
    parser.add_argument("--name", default=keys.NAME, help="the name of the key in checkpoints; default: %(default)s")
    parser.set_defaults(run=key)


def key(arguments: argparse.Namespace) -> int:
    """Make the key."""
    made = keys.make(arguments.out, arguments.name)
    Path(f"{arguments.out}.pub").write_text(f"{made.public}\n", "utf-8")
    print(made.public)
    note = f"{spell(arguments.out)} signs checkpoints: keep it where whoever can write the store cannot read it"
    print(note, file=sys.stderr)
    return 0


def add_checkpoint(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `checkpoint`."""
    parser = verbs.add_parser(
        "checkpoint",
        help="make a signed checkpoint over all records and send it elsewhere",
        description="Sign where each chain of records stands, record that, and send it to every place named.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", default=argparse.SUPPRESS, metavar="URL", help="default: that of guard audit")
    parser.add_argument("--key", required=True, metavar="FILE", help="the key that guard audit key made")
    parser.add_argument(
        "--to", action="append", required=True, metavar="PLACE", help="a file, https://…, or command:PROGRAM; may be repeated"
    )
    parser.add_argument(
        "--every", type=_seconds, metavar="SECONDS", help="go on: one after so many seconds, or after 1000 records"
    )
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one object for each checkpoint")
    parser.set_defaults(run=checkpoint)


def _seconds(text: str) -> float:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number of seconds from 1 on")
    return float(text)


def checkpoint(arguments: argparse.Namespace) -> int:
    """Make checkpoints. One that cannot be sent is an error; the next one sends it, too."""
    existing_file(arguments.key, "--key")
    with existing_store(arguments.store, locked=True) as store:
        plan = Checkpoints(key=arguments.key, to=arguments.to, every=arguments.every or 60.0)
        keeper = Keeper(store, plan, start=False)
        if arguments.every:
            return _go_on(keeper, arguments)
        made = keeper.look(now=True)
        print(_line(made, store, json=arguments.json))
    return 0


def _go_on(keeper: Keeper, arguments: argparse.Namespace) -> int:
    while True:
        made = keeper.try_(now=False)
        if made is not None:
            print(_line(made, None, json=arguments.json), flush=True)
        time.sleep(min(arguments.every, 5.0))


def _line(made: Checkpoint | None, store: Store | None, *, json: bool) -> str:
    if made is None:
        known = store.checkpoints() if store is not None else ()
        number = known[-1].number if known else 0
        return json_text({"made": None, "newest": number}) if json else f"nothing new since checkpoint {number}"
    if json:
        return json_text({"made": made.number, "records": made.records, "note": made.note})
    return f"checkpoint {made.number} over {made.records} records, signed and sent"
