"""Sinks whose process is killed, that run twice, and that run beside the server: nothing is lost, nothing is out of order, nobody sends at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment
from http_service_kit import Service, says
from sidecar_kit import Sidecar
from sinks_kit import QUICK, box, follower, in_order, write
from stores_kit import STORES, url_of

from guard.sinks import Bounds, Planned, Relay
from guard.sinks.formats import FORMATS
from guard.sinks.post import Post
from guard.sinks.webhook import Webhook
from guard.stores import open_store

KILLED = """
import os, random, sys, threading, time
sys.path.insert(0, {tests!r})
from dataclasses import replace
from sinks_kit import QUICK, follower, write
from test_sinks_crash import hook
from guard.stores import open_store

def life(number):
    store = open_store({url!r})
    for conversation in range(3):
        write(store, 6, conversation=f"conv-{{conversation}}")
    if number < {lives} - 1:
        pause = random.Random(number).random() * 0.25
        threading.Thread(target=lambda: (time.sleep(pause), os.kill(os.getpid(), 9)), daemon=True).start()
    one = follower(store, hook({port}), replace(QUICK, batch=3, first=1e-9))
    while True:
        step = one.step()
        if step.did == "idle" and number == {lives} - 1:
            break
        time.sleep(min(step.wait, 0.05))
    store.close()

for number in range({lives}):
    child = os.fork()
    if not child:
        life(number)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
LIVES = 12


def hook(port: int) -> Webhook:
    return Webhook("hook", Post(f"http://127.0.0.1:{port}/"), (), FORMATS["record"], time.time)


class Receiver:
    """Takes a little time for each request, and counts how many are under way at once."""

    def __init__(self) -> None:
        self.lock, self.open, self.most = threading.Lock(), 0, 0

    def __call__(self, to: Any) -> None:
        with self.lock:
            self.open += 1
            self.most = max(self.most, self.open)
        time.sleep(0.01)
        with self.lock:
            self.open -= 1
        says()(to)


def arrived(service: Service) -> list[tuple[int, int]]:
    return [(one["chain"], one["seq"]) for request in service.asked for one in json.loads(request.body)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_process_that_is_killed_loses_nothing_and_keeps_the_order(tmp_path: Path, kind: str) -> None:
    """At least once: each life is killed somewhere while it sends; the next one takes over at once, since the dead one's lease counts for nothing."""
    with url_of(kind, tmp_path) as url, Service(Receiver()) as service:
        program = KILLED.format(tests=str(Path(__file__).parent), url=url, port=service.port, lives=LIVES)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False, timeout=120
        )
        assert done.stdout.split() == ["-9"] * (LIVES - 1) + ["0"], done.stderr
        with closing(open_store(url)) as store:
            everything = {(chain, one.seq) for chain in range(store.chains) for one in store.audit(chain=chain)}
            assert box(store).standing("hook").letters == 0  # type: ignore[union-attr]
    assert len(everything) == LIVES * 18
    assert set(arrived(service)) == everything
    assert in_order(arrived(service))


@pytest.mark.parametrize("kind", STORES)
def test_several_followers_of_one_sink_share_the_work(tmp_path: Path, kind: str) -> None:
    """Never two requests at once, each record once, each chain in order: over stores opened for each of them where they last."""
    receiver = Receiver()
    with url_of(kind, tmp_path) as url, Service(receiver) as service:
        stores = [open_store(url) for _ in range(1 if kind == "memory" else 3)]
        write(stores[0], 40)
        relays = [
            Relay(box(stores[number % len(stores)]), [Planned(sink=hook(service.port), bounds=Bounds(batch=5))])
            for number in range(3)
        ]
        for one in relays:
            one.start()
        write(stores[0], 20, conversation="conv-2")
        for _ in range(1000):
            if len(arrived(service)) >= 60:
                break
            time.sleep(0.01)
        for one in relays:
            one.close()
        for store in stores:
            store.close()
    assert receiver.most == 1
    assert len(arrived(service)) == 60 == len(set(arrived(service)))
    assert in_order(arrived(service))


def test_a_decision_never_waits_for_a_sink(tmp_path: Path) -> None:
    """A receiver that answers nothing hangs its own follower; a writer's transactions go on as if it were not there."""
    go = threading.Event()
    with Service(lambda _: go.wait(20)) as service, closing(open_store(f"sqlite:///{tmp_path}/guard.db")) as store:
        write(store, 1)
        with Relay(box(store), [Planned(sink=hook(service.port), bounds=Bounds(timeout=15))]):
            while not service.asked:
                time.sleep(0.005)
            for _ in range(50):
                write(store, 1)
            assert len(store.audit()) == 52  # and the one of the beginning
            assert len(service.asked) == 1
            go.set()
    assert follower(open_store("memory://"), hook(1), QUICK).step().did in ("sent", "idle")


def test_the_server_sends_beside_serving(tmp_path: Path) -> None:
    """`guard serve --sinks`: what a loop does arrives at a webhook."""
    with Service(says()) as service:
        text = f"sinks: {{hook: {{to: webhook, url: 'http://127.0.0.1:{service.port}/', keys: [{{env: HOOK}}]}}}}\n"
        (tmp_path / "sinks.yaml").write_text(text, "utf-8")
        os.environ["HOOK"] = "k" * 32
        try:
            with Sidecar(tmp_path, "--sinks", "sinks.yaml") as server:
                server.decide("nothing", {})
                for _ in range(1000):
                    if any(b"call.decided" in one.body for one in service.asked):
                        break
                    time.sleep(0.01)
        finally:
            del os.environ["HOOK"]
    assert any(b"call.decided" in one.body for one in service.asked)
    assert all("webhook-signature" in one.headers for one in service.asked)
