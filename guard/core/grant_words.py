"""Grant words: what a grant permits, in sentences that a person reads before giving it. Built only from the grant itself.

Nothing is shortened; values stand as JSON, and characters that nobody could see are spelled out. Comes after unseen and grants; pure.
"""

from __future__ import annotations

from datetime import UTC, datetime

from guard.core import grants
from guard.core.grants import Grant
from guard.core.names import real
from guard.core.presented import mask
from guard.core.unseen import spelled, unseen
from guard.core.values import Json, canonical, digest, encode, keyed


def words(grant: Grant, *, stored: bool = False) -> tuple[str, ...]:
    """Whose calls, which arguments, where, how often, how much and until when. `stored`: the person as they are kept, not their real name."""
    whose = f"{plain(str(grant.principal) if stored else real(grant.principal))} (tenant {plain(grant.tenant)})"
    return (
        f"Calls of {plain(grant.tool)} for {whose} run without a further question{_people(grant)}:",
        *_arguments(grant),
        f"- {_where(grant)}",
        f"- {_often(grant)}",
        f"- {_until(grant)}",
        "A policy that no longer offers this ends it, and it can be revoked; what a policy refuses stays refused.",
    )


def _people(grant: Grant) -> str:
    return f", once {grant.need} people have given this" if grant.need > 1 else ""


def promised(grant: Grant) -> str:
    """The digest of what a person reads before giving it: the same for the same permission, whenever it is given and by whomever.

    Whoever shows the words of a draft hands this on, and what is given then is that, or nothing. It is made under the key of the grant's masks, so that
    nobody can try values.
    """
    given = grant.constraint if grant.veil else grants.shown(grant, mask)  # without a key, nothing that nobody is shown
    bounds: list[Json] = [given, grant.uses, None if grant.until is None else repr(grant.until), grant.need]
    parts = (grant.approval, grant.definition, grant.rule, grant.scope, canonical(bounds))
    made = digest("guard-grant-words-v1", *parts, *words(grant, stored=True))
    return keyed(bytes.fromhex(grant.veil), made) if grant.veil else made


def _arguments(grant: Grant) -> list[str]:
    if grant.erased:
        return ["- with arguments that were erased: it covers nothing any more"]
    if grant.scope == "same_call":
        return ["- only with exactly the arguments of the call that was approved, none more, none less"]
    if grant.scope == "tool_here":
        return ["- with ANY arguments, whatever they are"]
    given = grant.constraint
    field, held = given["field"], grants.shown(grant, mask)["where"]
    total = "" if grant.sum is None else f", and {shown(grant.sum)} in all calls together"
    deeper = dict.fromkeys(path.partition(".")[0] for path in (field, *held) if "." in path)
    others = [*map(plain, given.get("others", ())), *(f"what else stands in {plain(name)}" for name in deeper)]
    return [
        f"- {plain(field)} is at most {shown(given['at_most'])} in one call{total}",
        *(f"- {plain(name)} is exactly {shown(value)}" for name, value in held.items()),
        "- every other argument may be ANYTHING"
        + (f": {', '.join(others)}, and any that this call did not have" if others else ""),
    ]


def _where(grant: Grant) -> str:
    if grant.conversation is None:
        return "in any conversation of this person"
    below = f", and only below {plain(grant.branch)} in it" if grant.branch else ""
    return f"only in the conversation {plain(grant.conversation)}{below}"


def _often(grant: Grant) -> str:
    return "any number of times" if grant.uses is None else "once" if grant.uses == 1 else f"{grant.uses} times at most"


def _until(grant: Grant) -> str:
    if grant.until is None:
        return "without an end of its own"
    return f"until {datetime.fromtimestamp(grant.until, UTC):%A, %Y-%m-%d %H:%M:%S} UTC"


def shown(value: Json) -> str:
    """A value in full, as JSON."""
    return plain(encode(value))


def plain(text: str) -> str:
    """Text on one line, with what nobody could see in it spelled out."""
    return "".join(spelled(char) if unseen(char) else char for char in text)
