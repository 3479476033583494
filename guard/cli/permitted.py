"""Permitted: who may do what, as tables: everybody for one tool, everything for one role or person, or all of it. Used by `explain`."""

from __future__ import annotations

import argparse
from pathlib import Path

from guard.cli.places import UsageError
from guard.cli.progress import Progress
from guard.cli.show import json_text, spell
from guard.cli.tables import table
from guard.core.values import JsonObject
from guard.policy import Loaded
from guard.policy.problems import meant
from guard.policy.rule_files import PERSON, ROLE
from guard.review.cells import axes, tenant_label
from guard.review.matrix import REFUSE, Matrix, Square, matrix
from guard.review.matrix_page import page

MOST_SQUARES = 300_000
"""Squares of one page."""


def run(arguments: argparse.Namespace, loaded: Loaded) -> int:
    """Show it."""
    tools = (known_tool(arguments.who, loaded),) if arguments.who else ()
    subject = _known_subject(arguments.what, loaded) if arguments.what else ""
    with Progress("tools judged") as progress:
        found = matrix(loaded, progress.told, tools=tools, subject=subject)
    if arguments.html:
        if found.size > MOST_SQUARES:
            raise UsageError(
                f"{found.size} squares are no page that a browser shows: add --who TOOL or --what NAME, or ask for --json"
            )
        _write(arguments.html, page(found, arguments.policy))
        print(f"{spell(arguments.html)}: tools: {len(found.tools)}, roles and persons: {len(found.over.subjects)}")
    elif arguments.json:
        print(json_text(_plain(found)))
    else:
        _tell(found, whole=arguments.matrix)
    return 0


def known_tool(name: str, loaded: Loaded) -> str:
    """The name; raises UsageError, with the nearest one, where the policy has no such tool."""
    if name not in loaded.policy.tools:
        near = meant(name, loaded.policy.tools)
        raise UsageError(f"{spell(name)}: no tool of this policy is called so" + (f" ({spell(near)})" if near else ""))
    return name


def _known_subject(name: str, loaded: Loaded) -> str:
    """The label of a role or person. A name that is both means the role; a person is written with user: before it."""
    known = axes(loaded).subjects
    users = {user: PERSON + one.principal for user, one in loaded.policy.people.items()}
    for label in (name.removeprefix(ROLE), PERSON + name, users.get(name, "")):
        if label in known:
            return label
    near = meant(name, known)
    raise UsageError(f"{spell(name)}: the policy knows no such role or person" + (f" ({spell(near)})" if near else ""))


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{spell(name)}: cannot be written ({error.strerror})") from error


def _tell(found: Matrix, *, whole: bool) -> None:
    heads = ("tool", "who", "tenant", "call", "by", "approves", "by")
    kept = [one for one in found.said if one.call != REFUSE or one.approves]
    for line in table(heads, [_row(one) for one in kept]):
        print(line)
    for name in () if whole else found.tools:
        if found.conditions[name] and any(one.tool == name and one.call != REFUSE for one in kept):
            print(f"{spell(name)}: every call must meet: {spell('; '.join(found.conditions[name]))}")
    print(f"policy {found.version}; whoever and whatever is not listed is refused")


def _row(one: Square) -> tuple[object, ...]:
    approves = "yes" if one.approves else ""
    return (one.tool, one.subject, one.tenant, one.call, _by(one), approves, ", ".join(one.approve_places))


def _by(one: Square) -> str:
    where = f" ({', '.join(one.places)})" if one.places else ""
    return "; ".join(one.rules) + where if one.rules else ""


def _plain(found: Matrix) -> JsonObject:
    return {
        "policy": found.version,
        "conditions": {name: list(texts) for name, texts in found.conditions.items()},
        "cells": [
            {
                "tool": one.tool,
                "who": one.subject,
                "kind": one.kind,
                "tenant": one.tenant,
                "call": one.call,
                "rules": list(one.rules),
                "places": list(one.places),
                "approves": one.approves,
                "approve_rules": list(one.approve_rules),
                "approve_places": list(one.approve_places),
            }
            for one in found.said
        ],
        "tools": list(found.tools),
        "who": list(found.over.subjects),
        "tenants": list(map(tenant_label, found.over.tenants)),
        "others": REFUSE,
    }
