"""Reading: the case files of a policy folder, as cases, or every mistake in them at once with file, line and cure.

Names of tools, sessions, checks and records are compared with the policy, so that a misspelt one is a mistake and not a case that passes for
the wrong reason. Comes after `keys` and `calls`, before `suite`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from guard.core.model import Session
from guard.core.values import Json
from guard.policy import Loaded, language
from guard.policy.problems import Problems, meant
from guard.policy.source import File, Item, read_case_files, read_yaml
from guard.review.calls import Around, place, proposals, usage
from guard.review.cases import START, Case, Step
from guard.review.keys import MOST_CALLS, fields, moment, seconds, times
from guard.review.view import known_roles

_ALIKE = 0.8  # from here on two names of roles are taken for one


def read_cases(folder: str | os.PathLike[str] | Sequence[File], loaded: Loaded, problems: Problems) -> list[Case]:
    """Every case of the folder, or of files that were read before, in the order of the files.

    Mistakes are told to `problems`; what is given back then is not to be played.
    """
    files = read_case_files(folder, problems) if isinstance(folder, str | os.PathLike) else folder
    documents = [read_yaml(file, problems) for file in files]
    tops = [fields(document, "cases_file", problems) for document in documents if document is not None]
    people = loaded.policy.people
    own = _sessions([top["sessions"] for top in tops if "sessions" in top], people, problems)
    around = Around(
        sessions={**people, **own},
        tools=frozenset(loaded.policy.tools),
        checks=frozenset(check.name for tool in loaded.policy.tools.values() for check in tool.checks),
        records=frozenset(rule.name for tool in loaded.policy.tools.values() for rule in tool.resources),
        problems=problems,
    )
    found = [case for top in tops if "cases" in top for case in _of_file(top, around)]
    _check_names(found, problems)
    _check_roles([top["sessions"] for top in tops if "sessions" in top], own, loaded, problems)
    return found


def _check_roles(blocks: Sequence[Item], own: Mapping[str, Session], loaded: Loaded, problems: Problems) -> None:
    """A role that the policy does not know is no mistake: a case may be about somebody without rights. One that is nearly a known one is probably misspelt."""
    known = known_roles(loaded.book, loaded.policy.people.values())
    places = {name: item for block in blocks for name, item in block.fields.items()}
    for name, session in own.items():
        for role in session.roles:
            near = [] if role in known else get_close_matches(role, sorted(known), n=1, cutoff=_ALIKE)
            if near:
                spot = places[name].fields.get("roles", places[name])
                problems.warn(
                    spot, f"the session {name}: no rule names the role {role}", f"did you mean {near[0]}?", code="case-role"
                )


def _of_file(top: Mapping[str, Item], around: Around) -> list[Case]:
    items = language.sequence(top["cases"], around.problems, "cases")
    found = [_case(item, top, around) for item in items]
    return [case for case in found if case is not None]


def _check_names(found: Sequence[Case], problems: Problems) -> None:
    first: dict[str, Case] = {}
    for case in found:
        other = first.setdefault(case.name, case)
        if other is not case:
            problems.error(case.spot, f"two cases are called {case.name}", f"the first stands at {other.spot}; rename one")


def _sessions(blocks: Sequence[Item], people: Mapping[str, Session], problems: Problems) -> dict[str, Session]:
    found: dict[str, Session] = {}
    for block in blocks:
        for name, item in language.entries(block, "sessions", problems).items():
            if name in people:
                problems.error(item, f"{name} is a person of the policy already", "use that one, or choose another name")
            if name in found:
                problems.error(item, f"the session {name} is written twice", "keep one")
            session = _session(name, item, problems)
            if session is not None:
                found[name] = session
    return found


def _session(name: str, item: Item, problems: Problems) -> Session | None:
    known = fields(item, "session", problems)
    principal = language.text(known.get("principal"), problems, "principal")
    if known and "principal" not in known:
        problems.error(item, f"the session {name} has no principal", "write principal: the id of the person")
    tenant = language.text(known.get("tenant"), problems, "tenant", "default")
    roles = language.texts(known.get("roles"), problems, "roles") if known.get("roles", item).value != [] else ()
    facts = language.entries(known["attributes"], "attributes", problems) if "attributes" in known else {}
    if not principal:
        return None
    return Session(principal=principal, roles=roles, tenant=tenant, attributes={key: below.value for key, below in facts.items()})


# -- one case --------------------------------------------------------------------------------------------------------------


def _case(item: Item, top: Mapping[str, Item], around: Around) -> Case | None:
    problems = around.problems
    known = fields(item, "case", problems)
    if not known:
        return None
    name = language.text(known.get("name"), problems, "name")
    if "name" not in known:
        problems.error(item, "a case has no name", "write name: what must hold")
    session = around.session(known.get("session"), item)
    talk = language.text(known.get("conversation"), problems, "conversation")
    history = language.sequence(known["history"], problems, "history") if "history" in known else []
    steps = [_step(one, session, talk, around) for one in history]
    said = _words(known.get("user"), problems)
    first = (Step(session=session, conversation=talk, words=said, spot=place(item)),) if said else ()
    last = Step(
        session=session,
        conversation=talk,
        proposals=proposals(item, known, around, history=False),
        usage=usage(known.get("usage"), problems),
        spot=place(item),
    )
    if sum(step.times * len(step.proposals) for step in steps) + len(last.proposals) > MOST_CALLS:
        problems.error(item, f"more than {MOST_CALLS} calls in one case", "set the limit lower where this is about one")
    at = known.get("at", top.get("at"))
    return Case(
        name=name,
        sessions=around.sessions,
        steps=(*first, *steps, last),
        at=START if at is None else moment(at, problems) or START,
        checks=_checks([top.get("checks"), known.get("checks")], around),
        facts=_facts([top.get("facts"), known.get("facts")], around),
        spot=place(item),
    )


def _step(item: Item, session: str, talk: str, around: Around) -> Step:
    problems = around.problems
    known = fields(item, "step", problems)
    calls = any(key in known for key in ("call", "calls"))
    if known and not calls and not any(key in known for key in ("user", "wait", "facts")):
        problems.error(item, "nothing happens in this step", "write user, wait, facts, call or calls")
    return Step(
        session=around.session(known["session"], item) if "session" in known else session,
        conversation=language.text(known.get("conversation"), problems, "conversation", talk),
        wait=seconds(known.get("wait"), problems, "wait"),
        facts=_facts([known.get("facts")], around),
        words=_words(known.get("user"), problems),
        proposals=proposals(item, known, around, history=True) if calls or not known else (),
        usage=usage(known.get("usage"), problems),
        times=times(known.get("times"), problems),
        spot=place(item),
    )


def _words(item: Item | None, problems: Problems) -> tuple[str, ...]:
    return (
        () if item is None else tuple(language.text(one, problems, "user") for one in language.sequence(item, problems, "user"))
    )


def _checks(items: Sequence[Item | None], around: Around) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items:
        for name, below in language.entries(item, "checks", around.problems).items() if item else ():
            if name not in around.checks:
                around.problems.error(below, f"no tool of this policy has the check {name}", meant(name, around.checks))
            found[name] = language.text(below, around.problems, f"checks.{name}", "fail")
    return found


def _facts(items: Sequence[Item | None], around: Around) -> dict[str, dict[str, Json]]:
    """A case's own records stand beside those of the file and in the place of those with the same id."""
    found: dict[str, dict[str, Json]] = {}
    for item in items:
        for name, below in language.entries(item, "facts", around.problems).items() if item else ():
            if name not in around.records:
                around.problems.error(below, f"no tool of this policy has the resource {name}", meant(name, around.records))
            records = language.entries(below, f"facts.{name}", around.problems) if below.value != {} else {}
            found.setdefault(name, {}).update({key: record.value for key, record in records.items()})
    return found


def background(item: Item, case: Case, loaded: Loaded, problems: Problems) -> Case:
    """`case` with what a file of its own says came before: a list of steps, or a mapping with the keys history, facts and checks of a case."""
    keys = item.fields if isinstance(item.value, dict) else {"history": item}
    for key, below in keys.items():
        if key not in ("history", "facts", "checks"):
            problems.error(below, f"unknown key {key}", meant(key, ("history", "facts", "checks")))
    tools = loaded.policy.tools.values()
    around = Around(
        sessions=case.sessions,
        tools=frozenset(loaded.policy.tools),
        checks=frozenset(check.name for tool in tools for check in tool.checks),
        records=frozenset(rule.name for tool in tools for rule in tool.resources),
        problems=problems,
    )
    last = case.steps[-1]
    history = language.sequence(keys["history"], problems, "history") if "history" in keys else []
    steps = [_step(one, last.session, last.conversation, around) for one in history]
    return replace(
        case,
        steps=(*steps, *case.steps),
        checks={**case.checks, **_checks([keys.get("checks")], around)},
        facts=_beside(case.facts, _facts([keys.get("facts")], around)),
    )


def _beside(known: Mapping[str, Mapping[str, Json]], more: Mapping[str, Mapping[str, Json]]) -> dict[str, dict[str, Json]]:
    return {name: {**known.get(name, {}), **more.get(name, {})} for name in {**known, **more}}
