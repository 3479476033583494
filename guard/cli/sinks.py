"""`guard sinks`: what leaves the audit for other places: how each sink stands, sending in a process of its own, and what was set aside.

Reads the file of sinks and the store; who sends is `guard.sinks`. Decides nothing.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from guard.cli.places import DEFAULT_STORE, UsageError, existing_store
from guard.cli.show import json_text, spell
from guard.cli.sinks_file import read_sinks
from guard.cli.sinks_waiting import line, untold
from guard.cli.tables import table
from guard.cli.views import utc
from guard.core.outbox import Outbox, SinkState
from guard.core.ports import Store
from guard.core.values import JsonObject
from guard.errors import StoreError
from guard.sinks import Follower, Planned, Relay, Step
from guard.stores.outbox import outbox_of

FILE = "sinks.yaml"
EXAMPLES = """examples:
  guard sinks status                          how far each sink of sinks.yaml is, and what it did not take
  guard sinks run                             send until it is stopped; `guard serve --sinks sinks.yaml` does the same beside the server
  guard sinks run --waiting                   tell people also of the approvals that wait since before their sink began
  guard sinks run --once                      send what there is, then stop: exit code 1 where something is left
  guard sinks retry siem                      send again what was set aside for siem
  guard sinks status --json                   for a monitor: state is ok, behind, failing or never

Sending is at least once and in the order of each chain. No decision waits for it."""
_HEADS = ("sink", "state", "waiting", "sent", "set aside", "dropped", "last sent", "last failure")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "sinks",
        help="send the audit on: files, webhooks, messages, traces; how that stands",
        description="What leaves the audit for other places, as a file of sinks says.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for name, (text, run) in _VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text.capitalize() + ".")
        if name == "retry":
            verb.add_argument("sink", nargs="?", metavar="SINK", help="only of this sink")
        if name == "run":
            verb.add_argument("--once", action="store_true", help="stop when nothing is left that could be sent now")
            told = "first send notices of approvals that wait since before a sink began"
            verb.add_argument("--waiting", action="store_true", help=told)
        verb.add_argument("--sinks", default=FILE, metavar="FILE", help="default: %(default)s")
        verb.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help="default: %(default)s")
        verb.add_argument("--json", action="store_true", help="JSON instead of text")
        verb.set_defaults(run=run)


def status(arguments: argparse.Namespace) -> int:
    """Exit code 1 where a sink fails, is too far behind, or has something set aside."""
    with existing_store(arguments.store, locked=True) as store:
        box = outbox_of(store)
        planned = read_sinks(arguments.sinks, {}, box.now, only_read=True)
        newest = box.ends()
        found = [_standing(one, box, newest) for one in planned]
    if arguments.json:
        print(json_text(found))
    else:
        print("\n".join(table(_HEADS, [_row(one) for one in found])))
    return 1 if any(one["state"] in ("failing", "behind") or one["set_aside"] for one in found) else 0


def _standing(one: Planned, box: Outbox, newest: Mapping[int, int]) -> JsonObject:
    known = box.standing(one.sink.name)
    here = known or SinkState(sink=one.sink.name)
    waiting = sum(max(0, seq - here.cursors.get(chain, 0)) for chain, seq in newest.items())
    state = "never" if known is None else "failing" if here.failures else "behind" if waiting > one.bounds.queue else "ok"
    return {
        "sink": here.sink,
        "state": state,
        "policy": one.bounds.policy,
        "waiting": waiting,
        "sent": here.sent,
        "set_aside": here.letters,
        "dropped": here.dropped,
        "last_sent": None if here.sent_at is None else utc(here.sent_at),
        "last_failure": here.error or None,
        "failures": here.failures,
        "next_try": utc(here.due) if here.failures else None,
    }


def _row(one: JsonObject) -> list[object]:
    return [one[key] for key in ("sink", "state", "waiting", "sent", "set_aside", "dropped", "last_sent", "last_failure")]


def run(arguments: argparse.Namespace) -> int:
    """Send until told to stop; with --once until nothing is left. Exit code 1 where `--once` leaves something."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="guard: %(message)s")
    with existing_store(arguments.store, locked=True) as store:
        box = outbox_of(store)
        planned = read_sinks(arguments.sinks, os.environ, box.now)
        relay = Relay(box, planned, said=lambda name, step: _say(name, step, as_json=arguments.json))
        print(f"guard: sending to {', '.join(one.sink.name for one in planned)}", file=sys.stderr, flush=True)
        try:
            relay.begin()
            left = _before(store, relay, planned, sends=arguments.waiting)
            return max(left, _once(relay, stop) if arguments.once else _forever(relay, stop))
        finally:
            relay.close()


@contextmanager
def beside(file: str | None, store: Store) -> Iterator[tuple[bytes, ...]]:
    """Send as a file says while something else runs; without a file nothing is sent. Gives the keys that sign links in what is sent."""
    if file is None:
        yield ()
        return
    box = outbox_of(store)
    planned = read_sinks(file, os.environ, box.now)
    links = [getattr(one.sink, "links", None) for one in planned]
    with Relay(box, planned) as relay:
        _before(store, relay, planned, sends=False)
        yield tuple(one.key for one in links if one is not None and one.key is not None)


def _before(store: Store, relay: Relay, planned: Sequence[Planned], *, sends: bool) -> int:
    """Tell of what waits since before a sink began, and send it where that is asked. Exit code 1 where something did not go."""
    left = 0
    try:
        found = untold(store, planned)
    except StoreError as error:
        print(f"guard: {error}", file=sys.stderr, flush=True)
        return 1
    for follower in relay.followers:
        old = found.get(follower.sink.name, ())
        if old:
            print(f"guard: {line(follower.sink.name, old, sends=sends)}", file=sys.stderr, flush=True)
        step = follower.besides([asked for _, asked in old]) if old and sends else Step("idle")
        if step.error:
            print(f"guard: {follower.sink.name}: {spell(step.error)}", file=sys.stderr, flush=True)
        left = max(left, int(step.did in ("failed", "elsewhere")))
    return left


def _forever(relay: Relay, stop: threading.Event) -> int:
    relay.start()
    stop.wait()
    return 0


def _once(relay: Relay, stop: threading.Event) -> int:
    relay.begin()
    return max([_through(relay, one, stop) for one in relay.followers], default=0)


def _through(relay: Relay, follower: Follower, stop: threading.Event) -> int:
    """Exit code 1 where the sink did not take everything."""
    while not stop.is_set():
        step = relay.stepped(follower)
        if step.did in ("failed", "waiting", "elsewhere", "down"):
            return 1
        if step.did == "idle" and step.wait:
            _ended(follower)
            return 0
    return 1


def _ended(follower: Follower) -> None:
    """Put on record what was sent, and send that record as well: nothing waits afterwards."""
    with suppress(StoreError):
        follower.end()
        follower.step()


def _say(name: str, step: Step, *, as_json: bool) -> None:
    if as_json:
        print(json_text({"sink": name, "did": step.did, "sent": step.sent, "error": step.error or None}), flush=True)
    elif step.error:
        print(f"{name}: {spell(step.error)}", flush=True)
    elif step.sent:
        print(f"{name}: {step.sent} sent", flush=True)


def retry(arguments: argparse.Namespace) -> int:
    """Send again what was set aside. Exit code 1 where something is refused again."""
    with existing_store(arguments.store, locked=True) as store:
        box = outbox_of(store)
        planned = read_sinks(arguments.sinks, os.environ, box.now)
        names = [one.sink.name for one in planned]
        if arguments.sink is not None and arguments.sink not in names:
            raise UsageError(
                f"{spell(arguments.sinks)}: there is no sink {spell(arguments.sink)} (there are: {', '.join(names)})"
            )
        found = [_again(one, box) for one in planned if arguments.sink in (None, one.sink.name)]
    for one in found:
        print(json_text(one) if arguments.json else _retried(one))
    return 1 if any(one["error"] for one in found) else 0


def _again(one: Planned, box: Outbox) -> JsonObject:
    follower, sent, error = Follower(box, one.sink, one.bounds), 0, None
    while True:
        step = follower.retry()
        sent += step.sent
        if step.did != "sent":
            break
    error = "another process is sending; try again" if step.did == "elsewhere" else step.error or None
    follower.end()
    follower.close()
    left = box.standing(one.sink.name)
    return {"sink": one.sink.name, "sent": sent, "left": 0 if left is None else left.letters, "error": error}


def _retried(one: JsonObject) -> str:
    why = f" ({spell(one['error'])})" if one["error"] else ""
    return f"{one['sink']}: {one['sent']} sent, {one['left']} still set aside{why}"


_VERBS = {
    "status": ("how far each sink is, and what it did not take", status),
    "run": ("send until it is stopped", run),
    "retry": ("send again what was set aside", retry),
}
