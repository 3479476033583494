"""The file of sinks (`sinks.yaml`): read with the reader of policy files, checked whole, every mistake told with file, line and cure.

    sinks:
      archive: {to: jsonl, path: exports/audit.jsonl}
      people: {to: slack, url: {env: SLACK_URL}, link: "https://guard.example/approvals/{approval}"}

Secrets come from the environment alone. Used by `sinks` and `serve_http`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.core.ports import Sealed
from guard.errors import PolicyError
from guard.extras import install
from guard.policy import language
from guard.policy.problems import Problems, meant
from guard.policy.source import File, Item, read_yaml
from guard.sinks import Bounds, Planned
from guard.sinks.formats import FORMATS
from guard.sinks.port import POLICIES, SinkError
from guard.sinks.table import BOUNDS, KINDS, Kind

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ENV = {"env": ("env",)}
LEAST_QUEUE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What a file is read with: where it lies, the environment, a clock, and where mistakes go."""

    folder: Path
    environment: Mapping[str, str]
    clock: Callable[[], float]
    problems: Problems
    only_read: bool = False


class Unmade:
    """The name of a sink, where nothing is sent."""

    def __init__(self, name: str) -> None:
        self.name = name

    def send(self, batch: Sequence[Sealed]) -> None:
        """See `Sink`."""
        raise SinkError(f"{self.name} was only read: {len(batch)} records are not sent")

    def close(self) -> None:
        """Nothing is held open."""


def read_sinks(
    path: str, environment: Mapping[str, str], clock: Callable[[], float], *, only_read: bool = False
) -> list[Planned]:
    """The sinks of a file. Raises UsageError where there is none, PolicyError with every mistake in it.

    `only_read`: their names and bounds, for whoever asks how they stand; nothing can be sent, and no secret or package is needed.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{spell(path)}: {error.strerror} (name the file of sinks with --sinks)") from None
    problems = Problems()
    item = read_yaml(File(Path(path).name, data), problems)
    reader = Reader(folder=Path(path).parent, environment=environment, clock=clock, problems=problems, only_read=only_read)
    found = [] if item is None else _sinks(item, reader)
    if item is None and not problems.errors:
        problems.error(Item(Path(path).name, 1), "the file is empty", "write sinks: and below it NAME: {to: jsonl, path: …}")
    if problems.errors:
        raise PolicyError(problems.errors, of=spell(Path(path).name))
    return found


def _sinks(item: Item, reader: Reader) -> list[Planned]:
    fields = language.mapping(item, "file", reader.problems, keys={"file": ("sinks",)})
    if "sinks" not in fields:
        reader.problems.error(item, "there is no sinks:", "write sinks: and below it NAME: {to: jsonl, path: …}")
        return []
    found = [_sink(name, below, reader) for name, below in language.entries(fields["sinks"], "sinks", reader.problems).items()]
    return [one for one in found if one is not None]


def _sink(name: str, item: Item, reader: Reader) -> Planned | None:
    problems = reader.problems
    if not _NAME.fullmatch(name):
        problems.error(item, f"{name}: not a name of a sink", "write lower-case letters, digits, - and _, at most 64")
    to = item.fields.get("to")
    kind = KINDS.get(to.value) if to is not None and isinstance(to.value, str) else None
    if kind is None:
        known = ", ".join(KINDS)
        cure = meant(to.value, KINDS) if to is not None and isinstance(to.value, str) else ""
        problems.error(
            to or item, f"{name}: where records go is not said, or not known", cure or f"write to: with one of {known}"
        )
        return None
    keys = {"sink": ("to", *kind.keys, *BOUNDS)}
    fields = language.mapping(item, "sink", problems, keys=keys)
    before = len(problems.errors)
    for key in kind.needs:
        if key not in fields:
            problems.error(item, f"{name}: {key} is missing", f"write {key}:")
    bounds = _bounds(name, fields, kind, reader)
    settings = {key: _READ[type_](fields[key], f"{name}.{key}", reader) for key, type_ in kind.keys.items() if key in fields}
    if len(problems.errors) > before:
        return None
    return _made(name, item, kind, ({**settings, "timeout": bounds.timeout}, bounds), reader)


def _made(name: str, item: Item, kind: Kind, given: tuple[dict[str, Any], Bounds], reader: Reader) -> Planned | None:
    if reader.only_read:
        return Planned(sink=Unmade(name), bounds=given[1])
    try:
        return Planned(sink=kind.make(name, given[0], reader.clock), bounds=given[1])
    except ImportError as error:
        reader.problems.error(item, f"{name}: needs one more package ({error.name})", install("otel"))
    except ValueError as error:
        reader.problems.error(item, f"{name}: {error}")
    return None


def _bounds(name: str, fields: Mapping[str, Item], kind: Kind, reader: Reader) -> Bounds:
    """The bounds as they are written, the kind's own for the rest."""
    problems, usual = reader.problems, kind.usual
    for key in ("kinds", "since") if kind.whole else ():
        if key in fields:
            problems.error(fields[key], f"{name}.{key}: every record goes to such a sink", "leave it out")
    policy: Any = language.choice(fields.get("policy"), problems, f"{name}.policy", POLICIES, usual.policy)
    if policy not in kind.policies:
        problems.error(fields["policy"], f"{name}.policy: records stay in order here", f"write {' or '.join(kind.policies)}")
    since = language.choice(fields.get("since"), problems, f"{name}.since", ("start", "now"), "now" if usual.newest else "start")
    queue = _whole(fields, "queue", name, reader) or usual.queue
    if queue < LEAST_QUEUE:
        problems.error(fields["queue"], f"{name}.queue: at least {LEAST_QUEUE}", f"write {LEAST_QUEUE}")
    age = language.duration(fields.get("age"), problems, f"{name}.age")
    if age is not None and policy != "drop":
        problems.error(fields["age"], f"{name}.age: only a sink that drops looks at it", "write policy: drop, or leave it out")
    return replace(
        usual,
        policy=policy,
        kinds=language.texts(fields.get("kinds"), problems, f"{name}.kinds") or usual.kinds,
        batch=_whole(fields, "batch", name, reader) or usual.batch,
        queue=queue,
        age=age,
        timeout=language.duration(fields.get("timeout"), problems, f"{name}.timeout") or usual.timeout,
        attempts=_whole(fields, "attempts", name, reader) or usual.attempts,
        newest=since == "now",
    )


def _whole(fields: Mapping[str, Item], key: str, name: str, reader: Reader) -> int | None:
    found = language.whole(fields.get(key), reader.problems, f"{name}.{key}")
    if found == 0:
        reader.problems.error(fields[key], f"{name}.{key}: at least 1", "write 1 or more")
    return found


# -- what a setting can be ---------------------------------------------------------------------------------------------


def _text(item: Item, what: str, reader: Reader) -> str:
    return language.text(item, reader.problems, what)


def _secret(item: Item, what: str, reader: Reader) -> str:
    """A text of the environment."""
    if not isinstance(item.value, dict):
        reader.problems.error(item, f"{what}: a secret does not stand in a file", "write {env: NAME}")
        return ""
    fields = language.mapping(item, "env", reader.problems, keys=_ENV)
    name = language.text(fields.get("env"), reader.problems, what)
    found = reader.environment.get(name, "")
    if name and not found and not reader.only_read:
        reader.problems.error(
            item, f"{what}: {spell(name)} is not in the environment", f"set {spell(name)} before the program starts"
        )
    return found


def _url(item: Item, what: str, reader: Reader) -> str:
    """A URL, written here or, where it is secret itself, taken from the environment."""
    return _secret(item, what, reader) if isinstance(item.value, dict) else _text(item, what, reader)


def _secrets(item: Item, what: str, reader: Reader) -> list[str]:
    found = [_secret(one, what, reader) for one in language.sequence(item, reader.problems, what)]
    if len(found) > 2:
        reader.problems.error(item, f"{what}: two keys at most", "keep the new one and the one before it")
    return found


def _path(item: Item, what: str, reader: Reader) -> Path:
    spelled = language.text(item, reader.problems, what)
    if spelled and not spelled.endswith(".jsonl"):
        reader.problems.error(item, f"{what}: the name ends in .jsonl", "write for example exports/audit.jsonl")
    return reader.folder / spelled


def _file(item: Item, what: str, reader: Reader) -> Path:
    return reader.folder / language.text(item, reader.problems, what)


def _words(item: Item, what: str, reader: Reader) -> dict[str, str]:
    return {key: language.text(below, reader.problems, f"{what}.{key}") for key, below in item.fields.items()}


_READ: dict[str, Callable[[Item, str, Reader], Any]] = {
    "text": _text,
    "path": _path,
    "file": _file,
    "url": _url,
    "secret": _secret,
    "secrets": _secrets,
    "texts": lambda item, what, reader: language.texts(item, reader.problems, what),
    "whole": lambda item, what, reader: language.whole(item, reader.problems, what),
    "flag": lambda item, what, reader: language.flag(item, reader.problems, what),
    "words": _words,
    "format": lambda item, what, reader: language.choice(item, reader.problems, what, FORMATS, "record"),
}
