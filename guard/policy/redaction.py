"""Redaction: `redact:` of a policy: what is hidden besides what always is.

A block can only add: there is no key that turns a kind off. Every pattern is read here in the dialect that RE2 knows too, and where RE2 is missing
only those are admitted that the standard library surely gets through. Comes after language; before load.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable

from guard.core.dialect import fault, least, runaway
from guard.core.redaction import MASKS, NAMED, SECONDS, OwnDetector, Redaction
from guard.extras import install
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item

_NAME = re.compile("[a-z][a-z0-9_]{0,39}")
_MASK = re.compile(r"\[[a-z](?:[a-z ]{0,30}[a-z])?\]")
_REGION = re.compile("[A-Z]{2}")
_CHECK = re.compile("luhn|[a-z_]{2,12}(?:[.][a-z_0-9]{2,20})?")
_OFF = frozenset({"off", "disable", "disabled", "enabled", "exclude", "except", "allow", "ignore", "only", "keep"})


def redaction(blocks: Iterable[Item], problems: Problems) -> Redaction:
    """`redact:` of all files, together."""
    regions: dict[str, None] = {}
    names: dict[str, None] = {}
    own: dict[str, OwnDetector] = {}
    seconds = SECONDS
    for block in blocks:
        _refuse_switches(block, problems)
        fields = language.mapping(block, "redact", problems)
        regions |= dict.fromkeys(_regions(fields.get("region"), problems))
        names |= dict.fromkeys(_names(fields.get("names"), problems))
        seconds = min(seconds, _seconds(fields.get("seconds"), problems))
        detectors = language.entries(fields["detectors"], "detectors", problems) if "detectors" in fields else {}
        for name, item in detectors.items():
            if name in own:
                problems.error(item, f"the detector {name} is written twice", "keep one")
            row = _own(name, item, problems)
            if row is not None:
                own[name] = row
    _masks(own, blocks, problems)
    return Redaction(regions=tuple(regions), names=tuple(names), own=tuple(own.values()), seconds=seconds)


def _refuse_switches(block: Item, problems: Problems) -> None:
    for key, item in block.fields.items():
        if key in _OFF:
            problems.error(
                item,
                f"redact.{key}: what is hidden by default cannot be turned off",
                "leave it out; keep: of a tool says which fields it shows",
            )


def _regions(item: Item | None, problems: Problems) -> list[str]:
    found = []
    for below in language.sequence(item, problems, "region") if item is not None else ():
        region = language.text(below, problems, "region")
        if region and _REGION.fullmatch(region) is None:
            problems.error(below, f"region: {region} is not two capital letters", "write for example CN, US or GB")
        elif region:
            found.append(region)
    if item is not None and found:
        _need(item, "phonenumbers", "region", "phones", problems)
    return found


def _names(item: Item | None, problems: Problems) -> list[str]:
    found = (
        [language.choice(below, problems, "names", NAMED) for below in language.sequence(item, problems, "names")] if item else []
    )
    if item is not None and any(found):
        _need(item, "presidio_analyzer", "names", "names", problems)
    return [name for name in found if name]


def _seconds(item: Item | None, problems: Problems) -> float:
    """The time for one result: the least of all files holds, since more would let through what another withholds."""
    found = language.number(item, problems, "seconds") if item is not None else None
    if item is None or found is None:
        return SECONDS
    if not 0 < found <= SECONDS:
        problems.error(item, f"seconds: {found} is not more than 0 and at most {SECONDS:g}", "write for example seconds: 2")
        return SECONDS
    return float(found)


def _need(item: Item, module: str, key: str, extra: str, problems: Problems) -> None:
    if importlib.util.find_spec(module) is None:
        problems.error(item, f"{key}: needs {module}, which is not installed", install(extra))


def _own(name: str, item: Item, problems: Problems) -> OwnDetector | None:
    """One detector; None where it cannot be used."""
    before = len(problems.errors)
    if _NAME.fullmatch(name) is None:
        problems.error(item, f"{name} cannot be a detector's name", "use small letters, digits and _, a letter first")
    elif name in MASKS:
        problems.error(
            item, f"{name} is always hidden already", "choose another name: a policy adds to it, and cannot replace it"
        )
    fields = language.mapping(item, "detector", problems)
    pattern = _pattern(fields.get("pattern"), item, problems)
    words = language.texts(fields.get("words"), problems, "words")
    mask = language.text(fields.get("mask"), problems, "mask", f"[{name.replace('_', ' ')}]")
    if "mask" in fields and _MASK.fullmatch(mask) is None:
        problems.error(
            fields["mask"], f"mask: {mask} is not a word in square brackets", "write small letters in brackets: '[employee]'"
        )
    check = _check(fields.get("check"), problems)
    if len(problems.errors) > before:
        return None
    return OwnDetector(name=name, pattern=pattern, words=words, mask=mask, check=check)


def _pattern(item: Item | None, whole: Item, problems: Problems) -> str:
    if item is None:
        problems.error(whole, "a detector needs a pattern", "write pattern: 'E[0-9]{6}'")
        return ""
    pattern = language.text(item, problems, "pattern")
    if not pattern:
        return ""
    wrong = fault(pattern)
    if wrong is not None:
        problems.error(item, f"pattern: {pattern} {wrong[0]}", wrong[1])
    elif not least(pattern):
        problems.error(
            item,
            f"pattern: {pattern} matches nothing at all, so it would be found everywhere",
            "let it match a character at least",
        )
    elif importlib.util.find_spec("re2") is None and (why := runaway(pattern)) is not None:
        cure = f"{install('fast')}, or write letters and bounded classes one after the other"
        problems.error(item, f"pattern: {pattern} may never finish without google-re2: {why}", cure)
    return pattern


def _check(item: Item | None, problems: Problems) -> str | None:
    name = language.text(item, problems, "check")
    if item is None or not name:
        return None
    if _CHECK.fullmatch(name) is None:
        problems.error(item, f"check: {name} is no check", "write luhn, or a module of python-stdnum such as pt.nif")
    elif name != "luhn" and importlib.util.find_spec("stdnum") is None:
        problems.error(item, f"check: {name} needs python-stdnum, which is not installed", install("ids"))
    elif name != "luhn" and not _exists(name):
        problems.error(item, f"check: python-stdnum has no {name}", "write the module as there: pt.nif, ro.cnp, ean")
    return name


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(f"stdnum.{name}") is not None
    except ModuleNotFoundError:
        return False


def _masks(own: dict[str, OwnDetector], blocks: Iterable[Item], problems: Problems) -> None:
    """A pattern that finds a mask would hide what is hidden already, again and again."""
    masks = {*MASKS.values(), *NAMED.values(), *(row.mask for row in own.values())}
    for block in blocks:
        for name, item in (block.fields["detectors"].fields if "detectors" in block.fields else {}).items():
            caught = sorted(mask for mask in masks if name in own and re.search(own[name].pattern, mask))
            if caught:
                problems.error(
                    item, f"the pattern of {name} finds the mask {caught[0]}", "make it narrower, or choose another mask"
                )
