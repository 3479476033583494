"""Validate: the third room. `BoundCall` → `ValidCall`: the arguments fit the schema and passed the checks; they are final now.

Null on an optional field counts as absent and a lossless conversion happens only where the tool asks for it, both before the schema
judges; nothing changes afterwards. The fingerprint is taken here. Comes after bind and before ground; the schema's validator is
compiled elsewhere and arrives in the `Tool`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from guard.core.model import BoundCall, ConversationRef, Origin, Refusal, ValidCall
from guard.core.reasons import Reason
from guard.core.rules import Check, Tool
from guard.core.values import JsonObject, canonical, copy, sha

MAX_ISSUES = 20


def validate(bound: BoundCall, ref: ConversationRef, derive: Callable[[str], str], salt: str = "") -> ValidCall | Refusal:
    """Judge the bound arguments. An exception in the validator or in a check refuses.

    `derive` makes digests that tell nothing; `salt` is the call's own, which is kept with its raw values.
    """
    tool = bound.tool
    prepared = tool.prepare(bound.arguments)
    arguments = prepared.arguments
    issues = tool.validate(arguments)
    if issues:
        return Refusal(reason=Reason.INVALID_ARGUMENTS, issues=issues[:MAX_ISSUES])
    shadowed: list[str] = []
    for check in tool.checks:
        refusal = _checked(check, arguments)
        if refusal is not None and not check.shadow:
            return refusal
        if refusal is not None:
            shadowed.append(f"check {check.name}" + (" (error)" if refusal.reason is Reason.CHECK_FAILED else ""))
    text = canonical(arguments)
    mark = derive(text)  # an object's text begins with a brace, as no label of a key does
    return ValidCall(
        call=bound.call,
        tool=tool,
        arguments=arguments,
        spoofed=bound.spoofed,
        origins=_origins(bound, arguments, prepared.defaulted),
        canonical=text,
        digest=mark,
        fingerprint=fingerprint(tool, mark, ref),
        mark=sha(_prefix(tool.name, "", ref) + mark) if tool.acts else "",
        shadowed=tuple(shadowed),
        revealed=bound.revealed,
        veil=_veil(derive, ref.tenant, salt) if tool.approval else "",
    )


def fingerprint(tool: Tool, mark: str, ref: ConversationRef) -> str:
    """What an approval is bound to: tool, definition, final arguments (by digest), person, tenant and conversation."""
    return sha(_prefix(tool.name, tool.definition, ref) + mark)


def _veil(derive: Callable[[str], str], tenant: str, salt: str) -> str:
    """The call's key for what is shown of secret arguments: nobody can try values, not even in calls of their own, and all revisions of it share it."""
    return derive(f"guard-veil-v2\0{salt}\0{tenant}")


@lru_cache(maxsize=1024)
def _prefix(name: str, definition: str, ref: ConversationRef) -> str:
    parts = ("guard-call-v1", name, definition, ref.tenant, ref.principal, ref.conversation)
    return ",".join([*(str(len(part)) for part in parts), "64"]) + ":" + "".join(parts)


def _origins(bound: BoundCall, arguments: JsonObject, defaulted: tuple[str, ...]) -> dict[str, Origin]:
    origins: dict[str, Origin] = dict.fromkeys(arguments, "model")
    origins |= dict.fromkeys((one.argument for one in bound.revealed if one.argument in origins), "handle")
    for name in defaulted:
        origins[name] = "default"
    for binding in bound.tool.bindings:
        origins[binding.field] = "session"
    return origins


def _checked(check: Check, arguments: JsonObject) -> Refusal | None:
    """Run one check on a copy. Only None passes; text refuses; anything else, an exception included, is no answer."""
    try:
        answer: object = check.run(copy(arguments))
    except KeyboardInterrupt:
        raise  # says whoever runs the program, not the check
    except BaseException as error:  # noqa: BLE001 - a check is foreign code: whatever it raises is a refusal
        return Refusal(
            reason=Reason.CHECK_FAILED, detail=f"Check: {check.name}.", note=f"{check.name} raised {type(error).__name__}"
        )
    if answer is None:
        return None
    if isinstance(answer, str):
        return Refusal(reason=Reason.CHECK_REFUSED, detail=answer, rules=(f"check {check.name}",))
    return Refusal(
        reason=Reason.CHECK_FAILED, detail=f"Check: {check.name}.", note=f"{check.name} gave a {type(answer).__name__}"
    )
