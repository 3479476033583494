"""Stage: what a run of the demo needs, put together: a guarded desk, its store, the model server and a client.

The store lies in a temporary folder that is gone afterwards, or in a folder to keep. Everything is given back at the end.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from guard.cli.places import UsageError
from guard.cli.travel.episode import load_episode, policy_path, session_of
from guard.cli.travel.model_server import ModelServer
from guard.cli.travel.play import Model
from guard.cli.travel.tools import TravelDesk
from guard.compose import Guard
from guard.core.model import Session
from guard.core.values import JsonObject
from guard.errors import GuardError


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One run. `run` is part of every conversation's name, so that runs on one kept store stay apart."""

    episode: JsonObject
    guard: Guard
    desk: TravelDesk
    session: Session
    approver: Session
    server: ModelServer
    http: httpx.Client
    store: str
    folder: Path
    run: str

    def model(self, name: str) -> Model:
        """A client of one script."""
        return Model(self.http, self.server.url, name)

    def conversation(self, name: str) -> str:
        """The name of a conversation of this run."""
        return f"{name}-{self.run}"


@contextmanager
def stage(scripts: Mapping[str, JsonObject], keep: str | None) -> Iterator[Stage]:
    """Set everything up. Raises UsageError when the folder to keep cannot be made."""
    with ExitStack() as stack:
        where = stack.enter_context(tempfile.TemporaryDirectory(prefix="guard-demo-")) if keep is None else _made(keep)
        episode, folder = load_episode(), policy_path()
        desk = TravelDesk(episode["systems"])
        store = f"sqlite:///{Path(where).absolute() / 'guard.db'}"
        guard = stack.enter_context(closing(Guard.load(folder, tools=desk.tools, store=store)))
        approver = guard.policy.people.get(episode["approver"])
        if approver is None:
            raise GuardError(f"{folder / 'people.yaml'}: nobody is called {episode['approver']} here; the demo asks that person")
        yield Stage(
            episode=episode,
            guard=guard,
            desk=desk,
            session=session_of(episode),
            approver=approver,
            server=stack.enter_context(ModelServer(scripts)),
            http=stack.enter_context(httpx.Client(trust_env=False, timeout=30)),
            store=store,
            folder=folder,
            run=uuid.uuid4().hex[:8],
        )


def _made(keep: str) -> str:
    try:
        Path(keep).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{keep}: this folder cannot be made ({error.strerror})") from error
    return keep
