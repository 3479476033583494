"""Who is signed in at `guard mcp`: from options, the environment, the operating-system user, or (over HTTP) each client's token.

A client cannot say who it is: nothing here is read from a message. Used by `mcp`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal

from guard.cli.places import UnknownPersonError, UsageError, person
from guard.cli.show import spell
from guard.core.model import Session
from guard.core.ports import Policy
from guard.core.values import Json, JsonObject

ENVIRONMENT = ("GUARD_PRINCIPAL", "GUARD_ROLES", "GUARD_TENANT", "GUARD_ATTRIBUTES")
_JWT = ("jwt_issuer", "jwt_audience", "jwt_algorithm", "claim")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who is signed in."""
    who = parser.add_argument_group("who is signed in")
    who.add_argument("--principal", metavar="ID", help="the person; or GUARD_PRINCIPAL")
    who.add_argument("--role", action="append", default=[], metavar="ROLE", help="may be repeated; or GUARD_ROLES, with commas")
    who.add_argument("--tenant", metavar="ID", help="the organisation; or GUARD_TENANT")
    who.add_argument(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="session.NAME; a VALUE that is JSON counts as that; or GUARD_ATTRIBUTES, a JSON object",
    )
    token = parser.add_argument_group(
        "who is signed in, over HTTP", "each client sends a bearer token, a JWT; without one the answer is 401"
    )
    token.add_argument("--jwt-keys", metavar="FILE|URL", help="the issuer's keys as a JWK set; needs the extra jwt")
    token.add_argument("--jwt-issuer", metavar="ISS", help="what the claim iss must be")
    token.add_argument("--jwt-audience", metavar="AUD", help="what must be in the claim aud")
    token.add_argument(
        "--jwt-algorithm",
        action="append",
        default=[],
        metavar="ALG",
        help="default: RS256, PS256, ES256 and EdDSA; may be repeated",
    )
    token.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="FIELD=CLAIM",
        help="principal=sub and roles=roles unless said otherwise; also tenant=org, attributes.level=profile.level",
    )


def session_of(arguments: argparse.Namespace, policy: Policy) -> Session | None:
    """Who is signed in; None where each client's token will say. Raises UsageError."""
    fixed = arguments.principal or arguments.role or arguments.tenant or arguments.attribute
    if arguments.jwt_keys:
        _check_token(arguments, fixed=bool(fixed))
        return None
    if any(getattr(arguments, name) for name in _JWT):
        raise UsageError("--jwt-issuer, --jwt-audience, --jwt-algorithm and --claim are for --jwt-keys")
    principal = arguments.principal or os.environ.get("GUARD_PRINCIPAL")
    if principal:
        return _session(arguments, principal)
    if fixed:
        raise UsageError("--role, --tenant and --attribute belong to a person: add --principal ID (or GUARD_PRINCIPAL)")
    try:
        return person(policy, arguments.policy)
    except UnknownPersonError as error:
        raise UsageError(
            f"nobody is signed in: write --principal ID --role ROLE, or set GUARD_PRINCIPAL and GUARD_ROLES;\n{error}"
        ) from None


def _check_token(arguments: argparse.Namespace, *, fixed: bool) -> None:
    if not arguments.http:
        raise UsageError("--jwt-keys is for --http: over standard input there is no token (use --principal)")
    if fixed:
        raise UsageError(
            "--jwt-keys: the token says who is signed in, so leave --principal, --role, --tenant and --attribute out"
        )
    if not arguments.jwt_issuer or not arguments.jwt_audience:
        raise UsageError("--jwt-keys needs --jwt-issuer and --jwt-audience: a token for somebody else is no token for this")


def _session(arguments: argparse.Namespace, principal: str) -> Session:
    roles = arguments.role or [name.strip() for name in os.environ.get("GUARD_ROLES", "").split(",")]
    tenant = arguments.tenant or os.environ.get("GUARD_TENANT") or "default"
    return Session(
        principal=principal,
        roles=tuple(role for role in roles if role),
        tenant=tenant,
        attributes=_attributes(arguments.attribute),
    )


def _attributes(given: Sequence[str]) -> JsonObject:
    found = _environment(os.environ)
    for one in given:
        name, sign, text = one.partition("=")
        if not sign or not name:
            raise UsageError(f"--attribute {spell(one)}: write NAME=VALUE")
        found[name] = _value(text)
    return found


def _environment(environment: Mapping[str, str]) -> JsonObject:
    text = environment.get("GUARD_ATTRIBUTES")
    found = _value(text) if text else {}
    if not isinstance(found, dict):
        raise UsageError("GUARD_ATTRIBUTES: a JSON object is needed")
    return found


def _value(text: str) -> Json:
    """The value that a text says: JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return text


def claims_of(given: Sequence[str]) -> dict[str, str]:
    """Which claim says which field of the session. Raises UsageError."""
    found = {"principal": "sub", "roles": "roles"}
    for one in given:
        field, sign, claim = one.partition("=")
        known = field in {"principal", "roles", "tenant"} or (field.startswith("attributes.") and field != "attributes.")
        if not sign or not claim or not known:
            raise UsageError(f"--claim {spell(one)}: write principal=CLAIM, roles=CLAIM, tenant=CLAIM or attributes.NAME=CLAIM")
        found[field] = claim
    return found
