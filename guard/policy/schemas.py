"""Schemas: one JSON Schema compiled into what judges arguments, every mistake in it reported at load.

Checked before use: the schema itself against its draft, patterns, references (local only; nothing is fetched), formats that nobody can
assert, keywords that are probably misspelt. May not swallow what the validator raises at call time: the core makes a refusal of it.
Comes after dialects, keywords and issues; before fields, prepare and tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from guard.core.rules import Issue
from guard.core.values import Json, JsonObject
from guard.extras import install
from guard.policy import dialects
from guard.policy.endless import CURE, Circles
from guard.policy.formats import ANNOTATIONS
from guard.policy.issues import issues
from guard.policy.keywords import ASSERTIONS, KNOWN, MANY, NAMED, ONE, below, exact_copy, float_copy, strict_copy, walk
from guard.policy.patterns import warn_slow
from guard.policy.plain_schemas import is_plain
from guard.policy.problems import Problems, nearest
from guard.policy.quick import Accepts, quick
from guard.policy.source import Item


@dataclass(frozen=True, slots=True)
class Schema:
    """A compiled schema. `source` is as its author wrote it, `strict` the copy that values are judged by."""

    source: JsonObject
    strict: JsonObject
    validator: Any
    accepts: Accepts | None  # a quick yes, where the schema is plain
    hidden: frozenset[str] = frozenset()  # fields that the session owns: never suggested to the model

    def validate(self, value: Json) -> tuple[Issue, ...]:
        """Everything that is wrong with `value`, at most twenty issues."""
        if self.accepts is not None and self.accepts(value):
            return ()
        return self.explain(value)

    def explain(self, value: Json) -> tuple[Issue, ...]:
        """The validator's own verdict, which has the last word about everything that is not plainly right."""
        return issues(self.validator.iter_errors(value), self.hidden)

    def fits(self, part: Json) -> Callable[[Json], bool]:
        """A judge for one subschema of `strict`."""
        judge: Callable[[Json], bool] = self.validator.evolve(schema=part).is_valid
        return judge


def compile_schema(source: JsonObject, spot: Item, problems: Problems, where: str) -> Schema | None:
    """Compile `source`; `spot` is where it stands, `where` names it in messages. None when a mistake was found."""
    before = len(problems.errors)
    name = _dialect(source, spot, problems, where)
    if name is None:
        return None
    _check(source, name, spot, problems, where)
    if len(problems.errors) > before:
        return None
    _check_words(source, spot, problems, where)
    try:
        strict = strict_copy(exact_copy(source))
    except (re.error, OverflowError, RecursionError) as failure:
        problems.error(spot, f"{where}: a pattern cannot be compiled: {failure}", "write a regular expression of Python's re")
        return None
    _check_patterns(source, spot, problems, where)
    _check_references(strict, name, spot, problems, where)
    validator = dialects.dialect(name)(strict, registry=dialects.registry(), format_checker=dialects.format_checker())
    return (
        Schema(source, strict, validator, None if name in dialects.FLAGGED else quick(strict))
        if len(problems.errors) == before
        else None
    )


def _dialect(source: Json, spot: Item, problems: Problems, where: str) -> str | None:
    if not isinstance(source, Mapping):
        problems.error(spot, f"{where}: a schema is a mapping", "write type: object and properties: below it")
        return None
    named = str(source.get("$schema", dialects.NEWEST)).removesuffix("#")
    for at, inner in walk(source):
        if at and str(inner.get("$schema", named)).removesuffix("#") != named:
            problems.error(spot.at(list(at)), f"{where}: a second $schema inside a schema", "use one draft")
    if named not in dialects.DRAFTS:
        problems.error(spot.at(["$schema"]), f"{where}: unknown draft {named}", f"write {dialects.NEWEST}")
        return None
    return named


def _check(source: JsonObject, name: str, spot: Item, problems: Problems, where: str) -> None:
    """Report what the draft's own meta-schema finds."""
    if is_plain(source):
        return
    checker = dialects.meta(name)
    for error in checker.iter_errors(float_copy(source)):
        at = spot.at(list(error.absolute_path))
        place = ".".join(str(step) for step in error.absolute_path)
        problems.error(at, f"{where}: not a valid schema{' at ' + place if place else ''}: {_short(error.message)}")


def _short(message: str) -> str:
    line = message.splitlines()[0]
    return line if len(line) <= 160 else line[:160] + "…"


def _check_words(source: JsonObject, spot: Item, problems: Problems, where: str) -> None:
    checkable = dialects.format_checker().checkers
    for at, inner in walk(source):
        here = spot.at(list(at))
        for word in inner:
            near = None if word in KNOWN or word.startswith(("x-", "$")) else nearest(word, ASSERTIONS | ONE | MANY | NAMED)
            if near is not None:
                problems.warn(here.at([word]), f"{where}: {word} is not a keyword and has no effect", f"did you mean {near}?")
        form = inner.get("format")
        if isinstance(form, str) and form not in checkable and form not in ANNOTATIONS:
            cure = f"{install('formats')}, or write a pattern"
            problems.warn(here.at(["format"]), f"{where}: the format {form} is not checked", cure)


def _check_patterns(source: JsonObject, spot: Item, problems: Problems, where: str) -> None:
    for at, inner in walk(source):
        here = spot.at(list(at))
        if isinstance(inner.get("pattern"), str):
            warn_slow(inner["pattern"], here.at(["pattern"]), problems, where)
        for pattern in inner.get("patternProperties", ()):
            warn_slow(pattern, here.at(["patternProperties", pattern]), problems, where)


def _check_references(strict: JsonObject, name: str, spot: Item, problems: Problems, where: str) -> None:
    from referencing import exceptions, jsonschema  # noqa: PLC0415 - loaded with the first schema

    specification = jsonschema.specification_with(name)
    resource = specification.create_resource(strict)
    root = dialects.registry().resolver_with_root(resource)

    circles = Circles(specification)

    def visit(schema: Json, resolver: Any, at: tuple[str | int, ...]) -> None:
        way = circles.through(schema, resolver)
        if way is not None:
            problems.error(spot.at([*at, *way]), f"{where}: the schema refers to itself about the same value, without end", CURE)
        for steps, inner in below(schema):
            if isinstance(inner, Mapping):
                visit(inner, resolver.in_subresource(specification.create_resource(inner)), (*at, *steps))
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(key)
            if isinstance(reference, str):
                try:
                    resolver.lookup(reference)
                except (exceptions.Unresolvable, ValueError):
                    problems.error(spot.at([*at, key]), *_dangling(where, reference, strict))

    visit(strict, root, ())


def _dangling(where: str, reference: str, strict: JsonObject) -> tuple[str, str]:
    if not reference.startswith("#"):
        return f"{where}: {reference} is a remote reference, and nothing is fetched", "copy it into $defs and refer to #/$defs/…"
    known = [f"#/{table}/{name}" for table in ("$defs", "definitions") for name in strict.get(table, {})]
    near = nearest(reference, known)
    return f"{where}: the reference {reference} points nowhere", f"did you mean {near}?" if near else "add it to $defs"
