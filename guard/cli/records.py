"""Records: stored audit records read back for a person: parsed bodies, a table, and what the check of the chain found.

May not judge or change a record; a body that cannot be read is shown as text. Used by `audit` and `demo`; pure but for reading the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge

from guard.auditing.entry import Entry, entry
from guard.cli.show import escaped
from guard.cli.tables import table
from guard.core.ports import Store
from guard.core.values import Json, encode
from guard.stores.chain import Verified, verify_chains

__all__ = ["HEADS", "Entry", "entries", "json_line", "of_conversation", "row", "table_lines", "verdict_line"]

HEADS = ("seq", "time", "kind", "tool", "verdict", "code", "who")


def entries(store: Store) -> tuple[list[Entry], Verified]:
    """Every record, and what the check of every chain says. Records of several chains come by time, those of one in its order."""
    chains = {chain: store.audit(chain=chain) for chain in range(store.chains)}
    read = [[entry(one) for one in sealed] for sealed in chains.values()]
    return list(merge(*read, key=lambda one: (str(one.at("ts") or ""), str(one.at("id") or "")))), verify_chains(
        chains, store.beginnings()
    )


def table_lines(found: Sequence[Entry], *, indent: str = "") -> list[str]:
    """The audit table."""
    return table(HEADS, [row(entry) for entry in found], indent=indent)


def row(entry: Entry) -> list[Json]:
    """The cells of one record, as it says them: whoever shows them makes them safe."""
    if not entry.body:
        return [_number(entry), "", "(cannot be read)", "", "", "", ""]
    return [
        _number(entry),
        entry.at("ts"),
        entry.at("kind"),
        entry.at("tool", "name"),
        entry.at("decision", "verdict") or entry.at("exec", "status") or entry.at("approval_state", "status"),
        _code(entry),
        _who(entry),
    ]


def _number(entry: Entry) -> Json:
    """The number of a record, with that of its chain where there are several."""
    sealed = entry.sealed
    return f"{sealed.chain}:{sealed.seq}" if sealed.chain else sealed.seq


def _code(entry: Entry) -> str | None:
    """Why it was refused or failed, in brackets the rules that refused it, and which shadow rules would have."""
    code = entry.at("decision", "code") or entry.at("exec", "error")
    rules = entry.at("decision", "rules") if entry.at("decision", "code") else None
    told = "; ".join(map(str, rules)) if isinstance(rules, list) else ""
    shadow = entry.at("decision", "shadow")
    would = f"shadow: {'; '.join(map(str, shadow))}" if isinstance(shadow, list) else ""
    said = f"{code} ({told})" if told else str(code) if code else ""
    spoof = entry.at("spoof")
    tried = f"spoof: {', '.join(map(str, spoof))}" if isinstance(spoof, list) and spoof else ""
    return ", ".join(part for part in (said, would, tried) if part) or None


def _who(entry: Entry) -> str:
    """Whoever caused the record, and for whom."""
    actor, person = entry.at("actor", "ref") or entry.at("actor", "type") or "", entry.at("principal") or ""
    return str(actor) if actor == person or not person else f"{actor} for {person}"


def json_line(entry: Entry) -> str:
    """The body as stored, with `prev` and `hash` behind it, as one line of JSON; unseen characters are escaped, the values are the same."""
    sealed = entry.sealed
    proof = f'"prev":{encode(sealed.prev)},"hash":{encode(sealed.hash)}'
    if entry.body and min(sealed.body) >= " ":
        return escaped(f"{sealed.body.rstrip()[:-1]},{proof}}}")
    return escaped(f'{{"chain":{sealed.chain},"seq":{sealed.seq},"body":{encode(sealed.body)},{proof}}}')


def verdict_line(verified: Verified) -> str:
    """What the check found, in one line."""
    if verified.ok:
        return f"{verified.records} records, the chain holds"
    chain = f" of chain {verified.chain}" if verified.chain else ""
    return f"THE CHAIN IS BROKEN at record {verified.first_bad_seq}{chain}: {verified.why} ({verified.records} records hold)"


def of_conversation(found: Iterable[Entry], conversation: str) -> list[Entry]:
    """The records of one conversation."""
    return [entry for entry in found if entry.at("conversation") == conversation]
