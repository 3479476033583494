"""Fields lint: further spellings of arguments that say on whose behalf a tool acts, at any depth, in several languages.

The loader itself warns of the plainest names (`user_id`, `tenant`, …) at the root. Here are the others: where the session should own the field
and the model chooses it. A field that a binding, a ground, a record or `equals: session.x` ties down is owned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.rules import Tool
from guard.core.values import Json
from guard.errors import Problem
from guard.policy.identities import is_identity
from guard.policy.problems import squash
from guard.review.view import View, finding

_NOUNS = (
    *("user", "customer", "employee", "account", "member", "staff", "client", "owner", "requester", "requestor", "caller"),
    *("tenant", "organization", "organisation", "org", "workspace", "person", "patient", "student", "subscriber"),
    *("benutzer", "kunde", "kunden", "mitarbeiter", "mandant", "mandanten", "antragsteller"),
    *("utilisateur", "employe", "locataire", "demandeur", "usuario", "cliente", "empleado", "inquilino", "solicitante"),
    *("utente", "dipendente", "funcionario", "inquilino"),
)
_PARTS = ("id", "no", "nr", "num", "number", "nummer", "uuid", "email", "mail", "name", "key", "ref")
_ALONE = (
    *("uid", "username", "login", "tenant", "user", "customer", "account", "requester", "requestedby", "requested_for"),
    *(
        "onbehalfof",
        "actingas",
        "actas",
        "runas",
        "impersonate",
        "currentuser",
        "loggedinuser",
        "myemail",
        "submittedby",
        "createdby",
    ),
    *(
        "用户id",
        "用户",
        "用户编号",
        "员工id",
        "员工号",
        "工号",
        "员工编号",
        "客户id",
        "客户编号",
        "租户",
        "租户id",
        "账号",
        "申请人",
    ),
    *("ユーザーid", "社員番号", "顧客id", "テナント", "사용자id", "고객id", "직원번호", "идпользователя", "пользователь"),
)
_WHOLE = frozenset(squash(name) for name in (*_ALONE, *(f"{noun}_{part}" for noun in _NOUNS for part in _PARTS[:7])))
_MAIL = frozenset(
    squash(f"{noun}_{part}") for noun in ("user", "customer", "employee", "requester") for part in ("email", "mail")
)
NAMES = _WHOLE | _MAIL


def identities(view: View) -> Iterator[Problem]:
    """An argument that says on whose behalf a tool acts, which the model chooses."""
    for name, tool in view.tools.items():
        owned = _owned(tool)
        for path in _fields(tool.schema, (), 0):
            tied = any(path[: len(steps)] == steps or steps[: len(path)] == path for steps in owned)
            named = is_identity(path[-1])  # at the root the loader has said so
            if not tied and (len(path) > 1 if named else squash(path[-1]) in NAMES):
                spelled = ".".join(path)
                message = f"{name}: nobody owns the argument {spelled}, so the model chooses it"
                cure = f"bind: {{{path[0]}: session.principal}}, or ground it"
                yield finding(view.entries[name], "identity-unbound", message, cure)


def _owned(tool: Tool) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = {(binding.field,) for binding in tool.bindings} | {(name,) for name in tool.supplied}
    found |= {ground.argument.steps for ground in tool.grounds} | {rule.argument.steps for rule in tool.resources}
    for rule in tool.rules:
        found |= {test.path.steps for test in rule.when.tests if test.equals is not None and test.equals.root == "session"}
    return found


def _fields(schema: Json, at: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    if not isinstance(schema, Mapping) or depth > 6:
        return
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield (*at, name)
        yield from _fields(inner, (*at, name), depth + 1)
    yield from _fields(schema.get("items"), (*at, "[*]"), depth + 1)
