"""Actors: who caused a record, where that is a person: the reference to them, whose word it is, by which way it came, and from where.

A network address is personal data, and a log is kept for years: what stands in a record is a tag of it under the tenant's key. So equal addresses are
seen to be equal, and whoever suspects one can look for it (`guard audit hash --field addr`), and nobody reads one off. Comes after persons; pure.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from guard.core.approval import Assurance, Via
from guard.core.model import Session
from guard.core.persons import opaque
from guard.core.ports import Redactor
from guard.core.tags import SIZE, key_of
from guard.core.values import JsonObject, keyed

_LONGEST = 200  # characters of what a server calls the other end


def human(who: Session, redactor: Redactor, *, assurance: Assurance | None = None, via: Via | None = None) -> JsonObject:
    """The `actor` of what a person did. Without `assurance` and `via` the session's own way counts; no `via` is the program itself."""
    way = who.way
    found: JsonObject = {"type": "human", "ref": who.who, "assurance": assurance or way.assurance}
    came = way.via if via in (None, "program") else via
    if came != "program":
        found["via"] = came
    if way.account:
        found["account"] = opaque(redactor, "person", way.account)
    if way.addr:
        found["addr"] = address_tag(key_of(redactor, who.tenant), way.addr)
    return found


def address_tag(key: bytes, address: str) -> str:
    """The tag of a network address, however it is written; `key` is the tenant's."""
    return keyed(key, f"guard-addr-v1\0{_plain(address)}")[:SIZE]


def _plain(address: str) -> str:
    try:
        found = ip_address(address.strip().strip("[]"))
    except ValueError:
        return address.strip()[:_LONGEST]
    inner = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(inner or found)
