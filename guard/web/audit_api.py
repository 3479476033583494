"""Audit API: a search in the audit records over HTTP, for people with the scope `admin`, within the tenant of their credential. Only reads.

    GET /api/v1/audit    records, newest first, by the filters of the console's page, in pages

A record is its body as it is stored, with `prev` and `hash` behind it, as `guard audit --json` writes it; arguments and results stand in it as digests and redacted
copies. Comes after asking and `audit_search`; before the app.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.auditing import left
from guard.auditing.entry import Entry
from guard.core.values import JsonObject
from guard.web import audit_search
from guard.web.answers import answer
from guard.web.asking import Asked, asking
from guard.web.bodies import RequestError
from guard.web.site import site

MOST: Final = 200
SHOWN: Final = 100
"""Records of one page, at most and unless told otherwise."""
MARKS: Final = tuple(name for name, _ in audit_search.MARKS)
FIELDS: Final = tuple(name for name, _ in audit_search.FIELDS)
_KNOWN: Final = (*FIELDS, *MARKS, "limit", "behind")


def routes() -> list[BaseRoute]:
    """See the module."""
    return [Route("/api/v1/audit", asking("admin", listed), methods=["GET"])]


async def listed(asked: Asked) -> Response:
    """Records that meet every filter."""
    query, limit = _query(asked.request.query_params)
    tenant, store = asked.person.session.tenant, site(asked.request).guard.store
    try:
        found = await asyncio.to_thread(audit_search.found, query, tenant, store, limit + 1)
    except ValueError as error:
        raise RequestError(str(error)) from None
    more = len(found) > limit
    gone = () if more else await asyncio.to_thread(audit_search.gone, query, tenant, store)
    return answer(
        {
            "records": [plain(one) for one in found[:limit]],
            "next": audit_search.onward(found[limit - 1]) if more else None,
            "left": [left.plain(one) for one in gone],
        }
    )


def plain(one: Entry) -> JsonObject:
    """A record; one whose body cannot be read has it as the text that it is."""
    sealed = one.sealed
    body: JsonObject = one.body or {"chain": sealed.chain, "seq": sealed.seq, "body": sealed.body}
    return {**body, "prev": sealed.prev, "hash": sealed.hash}


def _query(given: QueryParams) -> tuple[dict[str, str], int]:
    """The filters, and how many records are asked for. Raises RequestError."""
    if not {*given} <= {*_KNOWN} or len(given.multi_items()) > len(given):
        raise RequestError(f"filters, each once: {', '.join(_KNOWN)}")
    if any(len(value) > audit_search.LONGEST for value in given.values()):
        raise RequestError(f"a filter has at most {audit_search.LONGEST} characters")
    if any(given.get(name, "1") != "1" for name in MARKS):
        raise RequestError(f"{', '.join(MARKS)}: write 1, or leave it out")
    if "refused" in given and "held" in given:
        raise RequestError("refused and held: no decision is both; write one")
    limit = given.get("limit", str(SHOWN))
    if not (limit.isascii() and limit.isdecimal()) or not 0 < int(limit[:9]) <= MOST:
        raise RequestError(f"limit must be 1 to {MOST}")
    if "behind" in given and audit_search.behind(given["behind"]) is None:
        raise RequestError("behind: write what next of the page before says")
    return {name: value.strip() for name, value in given.items() if name != "limit"}, int(limit)
