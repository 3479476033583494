"""Results: `result:` of a tool's entry, compiled: which fields and which kinds of content go back, for everybody and for named roles.

Mistakes are what cannot be meant: two rules that say different things about one path, a rule that `keep` leaves nothing to do for, a `show` of
something that nobody hides. Comes after language and before tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.ceilings import Ceilings
from guard.core.handles import HASH, TYPE
from guard.core.keytree import FieldRule
from guard.core.paths import ANY, DEEP, Path, parse_field
from guard.core.rules import ResultRule
from guard.core.values import JsonObject
from guard.core.views import Blocks, Rules
from guard.policy import language
from guard.policy.approvals import check_role
from guard.policy.ceilings import bounded
from guard.policy.fields import Gap, gap
from guard.policy.problems import Problems, nearest
from guard.policy.result_form import form
from guard.policy.source import Item

MASKS = ("last4", "initials", "domain", "year", "fixed")
"""Kinds of masks: the last four letters or digits, the first letter of each word, what stands behind the @, the year of a date, nothing."""
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")


def result_rule(item: Item | None, ceilings: Ceilings, shapes: Mapping[str, Item], problems: Problems) -> ResultRule:
    """What of a tool's results goes back. `shapes` are the schema files of the folder by name."""
    if item is None:
        return ResultRule(max_bytes=ceilings.result_bytes)
    fields = language.mapping(item, "result", problems)
    size = bounded(fields.get("max_bytes"), "result_bytes", problems, "max_bytes")
    base = _rules(fields, "result", problems)
    made = ResultRule(
        rules=base,
        roles=_roles(fields["roles"], base, problems) if "roles" in fields else {},
        empty=language.text(fields.get("empty"), problems, "empty") or None,
        max_bytes=int(size or ceilings.result_bytes),
        **form(fields, base.keep, shapes, problems),
    )
    if made.shape is not None:
        warn_fields(made, item, made.shape, problems)
    return made


def _roles(item: Item, base: Rules, problems: Problems) -> Mapping[str, Rules]:
    found: dict[str, Rules] = {}
    for name, below in language.entries(item, "roles", problems).items():
        role = name.removeprefix("role:")
        check_role(role, below, problems)
        fields = language.mapping(below, "role_result", problems)
        found[role] = _rules(fields, f"roles.{role}", problems, base)
    return found


def _rules(fields: Mapping[str, Item], what: str, problems: Problems, base: Rules | None = None) -> Rules:
    """The rules of everybody, or those of a role beside them (`base`)."""
    kept = list(_paths(fields["keep"], f"{what}.keep", problems)) if "keep" in fields else []
    keep = tuple(path for path, _ in kept) if "keep" in fields else None
    spots = [*_hiding(fields, what, problems)]
    _warn_idle(keep if keep is not None or base is None else base.keep, spots, problems)
    _refuse_twice(kept, spots, problems)
    return Rules(
        keep=keep,
        hide=tuple(rule for rule, _ in spots),
        show=_shown(fields["show"], what, base, problems) if "show" in fields and base else (),
        blocks=_blocks(fields["blocks"], problems) if "blocks" in fields else Blocks(),
    )


def _paths(item: Item, what: str, problems: Problems) -> Iterator[tuple[Path, Item]]:
    for spot in language.sequence(item, problems, what):
        spelled = language.text(spot, problems, what)
        path = _path(spelled, spot, problems) if spelled else None
        if path is not None:
            yield path, spot


def _path(spelled: str, spot: Item, problems: Problems) -> Path | None:
    try:
        return parse_field(spelled)
    except ValueError as failure:
        problem, _, cure = str(failure).partition("; ")
        problems.error(spot, problem, cure)
        return None


def _hiding(fields: Mapping[str, Item], what: str, problems: Problems) -> Iterator[tuple[FieldRule, Item]]:
    for path, spot in _paths(fields["drop"], f"{what}.drop", problems) if "drop" in fields else ():
        yield FieldRule("drop", path), spot
    for path, spot in _paths(fields["hash"], f"{what}.hash", problems) if "hash" in fields else ():
        yield FieldRule("hash", path), spot
    for spelled, spot in language.entries(fields["mask"], f"{what}.mask", problems).items() if "mask" in fields else ():
        found, kind = _path(spelled, spot, problems), language.choice(spot, problems, f"mask {spelled}", MASKS, "fixed")
        if found is not None:
            yield FieldRule("mask", found, kind), spot
    for spelled, spot in language.entries(fields["handle"], f"{what}.handle", problems).items() if "handle" in fields else ():
        found, name = _path(spelled, spot, problems), type_name(spot, f"handle {spelled}", problems)
        if found is not None and name:
            yield FieldRule("handle", found, name), spot


def type_name(item: Item, what: str, problems: Problems) -> str:
    """The name of a type of values that stand behind handles."""
    name = language.text(item, problems, what)
    if name and (not TYPE.fullmatch(name) or name == HASH):
        problems.error(
            item, f"{what}: {name} cannot name a type of values", "write a short lower-case word such as email or phone"
        )
        return ""
    return name


def _refuse_twice(keep: list[tuple[Path, Item]], spots: list[tuple[FieldRule, Item]], problems: Problems) -> None:
    """Two rules of one file about the very same path: only one of them would ever hold. What another layer adds may be stricter."""
    seen = {(path.steps, spot.file): "keep" for path, spot in keep}
    for rule, spot in spots:
        place = (rule.path.steps, spot.file)
        known = seen.get(place)
        if known is not None and (known != "keep" or rule.does == "drop"):  # kept, and not as it is, makes sense
            problems.error(spot, f"{rule.path} stands under {known} and under {rule.does}", "keep one of them")
        seen[place] = rule.does


def _warn_idle(keep: tuple[Path, ...] | None, spots: list[tuple[FieldRule, Item]], problems: Problems) -> None:
    """A rule about a field that is not kept hides what nobody sees anyway."""
    for rule, spot in spots:
        if keep is None:
            return
        steps = rule.path.steps
        if any(step.startswith(DEEP) for path in keep for step in path.steps) or any(step.startswith(DEEP) for step in steps):
            continue
        if not any(_along(steps, path.steps) for path in keep):
            problems.warn(
                spot,
                f"{rule.does} {rule.path} never matches: keep leaves this field out",
                "take the rule away",
                code="result-idle",
            )


def _along(steps: tuple[str, ...], kept: tuple[str, ...]) -> bool:
    """Whether one of two paths leads to the other. A first `[*]` may be left out where the result is a list of records."""
    bare = [path[1:] if path[0] == ANY else path for path in (steps, kept)]
    return all(one == other or "[" in (one[0], other[0]) for one, other in zip(*bare, strict=False))


def _shown(item: Item, what: str, base: Rules, problems: Problems) -> tuple[Path, ...]:
    """Paths of rules for everybody that do not hold for a role: the very same ones, so that a new rule holds for every role."""
    hidden = {str(rule.path): rule.path for rule in base.hide}
    found = []
    for path, spot in _paths(item, f"{what}.show", problems):
        if str(path) in hidden:
            found.append(path)
            continue
        near = nearest(str(path), hidden)
        cure = f"did you mean {near}?" if near else "show takes the paths of drop, mask, hash and handle, letter by letter"
        problems.error(spot, f"{what}.show: no rule for everybody hides {path}", cure)
    return tuple(found)


def _blocks(item: Item, problems: Problems) -> Blocks:
    fields = language.mapping(item, "blocks", problems)
    seen = {
        key: language.choice(fields.get(key), problems, f"blocks.{key}", ("keep", "drop"), "keep") == "keep"
        for key in ("text", "structured", "resources")
    }
    return Blocks(images=_images(fields.get("images"), problems), **seen)


def _images(item: Item | None, problems: Problems) -> frozenset[str] | None:
    if item is None or item.value == "keep":
        return None
    if item.value == "drop":
        return frozenset()
    if not isinstance(item.value, list):
        problems.error(item, "blocks.images: must be keep, drop or a list of types", f"write [{IMAGES[0]}]")
        return frozenset()
    return frozenset(language.choice(spot, problems, "blocks.images", IMAGES, IMAGES[0]) for spot in item.items)


def warn_fields(rule: ResultRule, item: Item, schema: JsonObject, problems: Problems) -> None:
    """Warn about each rule whose path the output schema cannot hold: the field is probably called otherwise."""
    for rules, spot in ((rule.rules, item), *((rules, item.at(["roles", name])) for name, rules in rule.roles.items())):
        paths = [(path, "keep") for path in rules.keep or ()] + [(one.path, one.does) for one in rules.hide]
        for path, key in paths:
            missing = _missing(path, schema)
            if missing is not None:
                told = f"{key} {path}: the output schema has no {missing.step}"
                problems.warn(spot.at([key]), told, missing.cure, code="result-field")


def _missing(path: Path, schema: JsonObject) -> Gap | None:
    """The first step that no result of this schema has. Of a name at any depth nothing can be told."""
    if any(step.startswith(DEEP) for step in path.steps):
        return None
    steps = tuple(ANY if step.startswith("[") else step for step in path.steps)
    whole = gap(schema, steps)
    records = schema.get("type") == "array" and steps[0] != ANY
    return gap(schema, (ANY, *steps)) if records else whole
