"""Language: which keys may stand where in a policy file, and typed readers for what stands behind them.

The tables are the language: a key that is missing here is a mistake in every policy, and the editor's schema is tested against them.
Readers report what is wrong and give back a harmless value, so that the caller goes on and finds the next mistake. Comes after source.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from guard.core.paths import Path, parse_path
from guard.core.values import is_number
from guard.policy.problems import Problems, meant, nearest
from guard.policy.source import Item

KEYS: Mapping[str, tuple[str, ...]] = {
    "file": ("tools", "limits", "ceilings", "prices", "people", "layers", "redact"),
    "tool": (
        "kind",
        "description",
        "schema",
        "allow",
        "bind",
        "checks",
        "coerce",
        "unwrap",
        "repeat",
        "timeout",
        "effect",
        "unknown",
        "lease",
        "ground",
        "after",
        "resource",
        "require",
        "refuse",
        "limits",
        "ceilings",
        "approve",
        "result",
        "http",
        "trust",
        "handles",
        "masks",
    ),
    "http": ("method", "url", "query", "headers", "body", "redirects", "hosts", "networks", "max_bytes"),
    "effect": ("probe", "compensate"),
    "probe": ("dedupes",),
    "unknown": ("blocks", "target"),
    "binding": ("from", "strict"),
    "source": ("returned_by", "at_most", "at_least", "written_by", "held_by", "same", "latest", "once", "verified", "enforce"),
    "any_of": ("any_of", "enforce"),
    "after": ("tool", "where", "same", "latest", "once", "verified", "enforce"),
    "check": ("name", "enforce"),
    "rule": ("when", "say", "enforce"),
    "tool_limits": ("calls", "equal", "sum", "at_most", "same", "per", "of", "enforce"),
    "tool_ceilings": ("arguments_bytes", "arguments_depth", "arguments_items"),
    "result": (
        "keep",
        "drop",
        "mask",
        "hash",
        "handle",
        "blocks",
        "roles",
        "empty",
        "max_bytes",
        "max_tokens",
        "schema",
        "units",
    ),
    "redact": ("region", "detectors", "names", "seconds"),
    "detector": ("pattern", "words", "mask", "check"),
    "role_result": ("keep", "drop", "mask", "hash", "handle", "blocks", "show"),
    "blocks": ("text", "structured", "resources", "images"),
    "approval": (
        *("by", "when", "expires", "show", "assurance", "need", "use_within", "edit", "secret", "effect"),
        *("escalate", "on_message", "grants"),
    ),
    "grant": ("scope", "amount", "at_most", "sum", "same", "uses", "until"),
    "escalate": ("after", "to"),
    "limits": ("turn", "run", "conversation", "windows"),
    "window": ("calls", "per", "of", "enforce"),
    "count": ("at_most", "enforce"),
    "turn": ("calls", "whole", "result_bytes", "result_tokens"),
    "run": ("steps", "calls", "seconds", "tokens", "cost", "equal"),
    "conversation": ("calls", "tokens", "cost", "result_bytes", "result_tokens"),
    "ceilings": (
        "arguments_bytes",
        "arguments_depth",
        "arguments_items",
        "message_calls",
        "user_words",
        "result_bytes",
        "result_depth",
        "result_items",
        "result_text",
        "open_approvals",
        "approval_expires",
        "message_bytes",
        "listed_tools",
    ),
    "price": ("in", "out"),
    "person": ("principal", "tenant", "roles", "attributes"),
    "layers": ("closed",),
}
"""Every mapping with fixed keys. `schema`, `where`, `when`, `bind`, `ground`, `resource`, `prices`, `people` and `detectors` have free keys."""

UNITS: Mapping[str, Decimal] = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86_400),
}
"""Units of a duration, in seconds."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h|d)?")
_SESSION = "session."
FACTS = ("principal", "tenant", "roles")
"""What every session has; other facts are attributes that the host gives."""


def mapping(
    item: Item, table: str, problems: Problems, also: tuple[str, ...] = (), *, keys: Mapping[str, tuple[str, ...]] = KEYS
) -> dict[str, Item]:
    """The known fields of a mapping; each unknown key is a mistake. `also` are keys that are not in the table but make sense here."""
    if not entries(item, f"{table.replace('_', ' ')} settings", problems):
        return {}
    for key, below in item.fields.items():
        if key not in keys[table]:
            known = (*keys[table], *also)
            problems.error(below, f"unknown key {key}", _cure(key, known))
    return {key: below for key, below in item.fields.items() if key in keys[table]}


def _cure(key: str, known: tuple[str, ...]) -> str:
    if key == "shadow" and "enforce" in known:
        return "write enforce: shadow"
    near = nearest(key, known)
    return f"did you mean {near}?" if near else f"known: {', '.join(known)}"


def shadow(fields: Mapping[str, Item], problems: Problems) -> bool:
    """Whether a rule only records what it would refuse: `enforce: shadow` stands beside it."""
    if "enforce" not in fields:
        return False
    meant_so: bool = fields["enforce"].value == "shadow"
    if not meant_so:
        problems.error(fields["enforce"], "enforce: must be shadow", "leave it out: a rule is in force unless it is a shadow")
    return meant_so


def entries(item: Item, what: str, problems: Problems) -> dict[str, Item]:
    """The fields of a mapping with free keys; anything else, or an empty one, is a mistake."""
    if not isinstance(item.value, dict):
        problems.error(item, f"{what}: a mapping is needed, not {kind_of(item)}", "write key: value lines below it")
    elif not item.fields:
        problems.error(item, f"{what}: empty", "write an entry, or leave the key out")
    return item.fields


def sequence(item: Item, problems: Problems, what: str) -> list[Item]:
    """The items of a list; a single value counts as a list of one."""
    if not isinstance(item.value, list):
        return [item]
    if not item.items:
        problems.error(item, f"{what}: an empty list has no effect", "write an item, or leave the key out")
    return item.items


def text(item: Item | None, problems: Problems, what: str, default: str = "") -> str:
    """A text that is not empty."""
    if item is None:
        return default
    if isinstance(item.value, str) and item.value.strip():
        return item.value
    problems.error(item, f"{what}: a text is needed, not {kind_of(item)}", "put quotes around it")
    return default


def texts(item: Item | None, problems: Problems, what: str) -> tuple[str, ...]:
    """A list of texts, or one text."""
    if item is None:
        return ()
    found = tuple(text(below, problems, what) for below in sequence(item, problems, what))
    return tuple(dict.fromkeys(name for name in found if name))


def choice(item: Item | None, problems: Problems, what: str, options: Iterable[str], default: str = "") -> str:
    """One of a few words."""
    if item is None:
        return default
    known = tuple(options)
    if item.value in known and isinstance(item.value, str):
        return item.value
    cure = meant(item.value, known) if isinstance(item.value, str) else ""
    problems.error(item, f"{what}: must be {' or '.join(known)}", cure or f"write {known[0]}")
    return default


def flag(item: Item | None, problems: Problems, what: str, *, default: bool = False) -> bool:
    """True or false."""
    if item is None:
        return default
    if isinstance(item.value, bool):
        return item.value
    problems.error(item, f"{what}: true or false is needed, not {kind_of(item)}", "YAML 1.2 knows only true and false")
    return default


def number(item: Item | None, problems: Problems, what: str) -> Decimal | None:
    """A number that is not negative, exactly as written."""
    if item is None:
        return None
    if is_number(item.value) and item.value >= 0:
        return Decimal(item.value)
    problems.error(item, f"{what}: a number from 0 up is needed, not {kind_of(item)}", "write digits without quotes or units")
    return None


def whole(item: Item | None, problems: Problems, what: str) -> int | None:
    """A whole number that is not negative."""
    found = number(item, problems, what)
    if found is None or item is None:
        return None
    if isinstance(item.value, int):
        return item.value
    problems.error(item, f"{what}: a whole number is needed", f"write {int(found)}")
    return None


def duration(item: Item | None, problems: Problems, what: str) -> float | None:
    """Seconds: a plain number, or digits with one of `UNITS`. Zero is a mistake."""
    if item is None:
        return None
    match = _DURATION.fullmatch(str(item.value)) if isinstance(item.value, str) or is_number(item.value) else None
    seconds = Decimal(match[1]) * UNITS[match[2] or "s"] if match else Decimal(0)
    if seconds > 0:
        return float(seconds)
    problems.error(item, f"{what}: not a duration above 0", "write for example 500ms, 90s, 2m, 24h or 7d")
    return None


def spelled(seconds: float) -> str:
    """A duration in its largest whole unit."""
    for unit in ("d", "h", "m", "s"):
        count = Decimal(repr(seconds)) / UNITS[unit]
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{seconds}s"


def has_unit(item: Item) -> bool:
    """Whether a duration says in which unit it is counted."""
    match = _DURATION.fullmatch(str(item.value))
    return match is not None and match[2] is not None


def path(spelled: str, root: str, item: Item, problems: Problems) -> Path | None:
    """A compiled path; `item` is where it stands."""
    try:
        return parse_path(spelled, root)
    except ValueError as failure:
        problems.error(item, str(failure))
        return None


def session_path(item: Item, problems: Problems, what: str) -> Path | None:
    """`session.x`: a fact of the signed-in session. Which facts exist is known only when somebody signs in."""
    spelled = text(item, problems, what)
    if not spelled:
        return None
    if not spelled.startswith(_SESSION):
        problems.error(item, f"{what}: {spelled} is not a fact of the session", f"write session.{spelled.rpartition('.')[2]}")
        return None
    _warn_misspelt(spelled.removeprefix(_SESSION), item, problems, what)
    return path(spelled.removeprefix(_SESSION), "session", item, problems)


def _warn_misspelt(fact: str, item: Item, problems: Problems, what: str) -> None:
    """Say it where an attribute is called almost like a fact that every session has; the attribute may exist, so it is no mistake."""
    name = fact.partition(".")[0].partition("[")[0]
    near = difflib.get_close_matches(name, FACTS, n=1, cutoff=0.8)
    if near and near != [name]:
        message = f"{what}: session.{name} is an attribute that the host must give, not session.{near[0]}"
        problems.warn(item, message, f"did you mean session.{near[0]}?")


def kind_of(item: Item) -> str:
    """What stands there, in a word or two."""
    value = item.value
    words = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return words.get(type(value), "a number") if value != "" else "an empty text"
