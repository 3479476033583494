"""Tools: one entry of `tools:` and what is known about its function, compiled to a `Tool`.

Everything that a call needs is compiled here, once, at load. Comes after grounds, limits, schemas, prepare and hints; before load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from guard.core.ceilings import CEILINGS, Ceilings
from guard.core.paths import Path
from guard.core.rules import Binding, Issue, Kind, Prepared, ResourceRule, Tool
from guard.core.values import JsonObject, canonical, digest
from guard.policy import language
from guard.policy.approvals import approvals, argument_rules
from guard.policy.ceilings import tool_ceilings
from guard.policy.checks import CheckFunction, checks
from guard.policy.effects import Around, Life, life
from guard.policy.fields import normal, takes, visible, with_fields
from guard.policy.filled import Own, check_records, filled, warn_targets
from guard.policy.grounds import Context, grounds, prerequisites
from guard.policy.hints import warn_identities, warn_untyped
from guard.policy.limits import tool_limits
from guard.policy.placed import behind
from guard.policy.prepare import preparer
from guard.policy.problems import Problems, meant
from guard.policy.results import result_rule
from guard.policy.reveals import mask_places, reveals
from guard.policy.schemas import Schema, compile_schema
from guard.policy.source import Item
from guard.policy.targets import target

KINDS = ("read", "compute", "action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One registered tool, without its executable.

    `schema` comes from the signature (None when nothing is known), `parameters` are the names that the function takes (None: anything),
    `accepts` is the signature's own further validation, `origin` is "module.function".
    """

    name: str
    description: str = ""
    schema: JsonObject | None = None
    parameters: frozenset[str] | None = None
    accepts: Callable[[JsonObject], tuple[Issue, ...]] | None = None
    origin: str = ""
    trouble: str = ""  # why nothing is known of its arguments, though it has a signature
    silent: frozenset[str] = (
        frozenset()
    )  # arguments that may be left out, where `schema` does not say what the function then takes
    keyed: bool = False  # the function takes idempotency_key
    known: bool = True  # False: it runs elsewhere, and only the policy tells its definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tool of the policy with its place, its registered counterpart (None: no program at hand), and the names around it."""

    name: str
    item: Item
    declared: Declared | None
    tools: frozenset[str]
    checks: Mapping[str, CheckFunction] | None  # None: no program at hand
    probes: Collection[str] | None = None  # tools that the host has a probe for; None: no program at hand
    ceilings: Ceilings = CEILINGS
    shapes: Mapping[str, Item] = field(default_factory=dict)  # the folder's schema files by name


def compile_tool(entry: Entry, problems: Problems) -> Tool | None:
    """Compile one entry. None when its schema is unusable; other mistakes are reported and compiling goes on."""
    try:
        return _compile(entry, problems)
    except RecursionError:
        problems.error(
            entry.item, f"the schema of {entry.name} refers to itself without end or is nested too deeply", "flatten it"
        )
        return None


def _compile(entry: Entry, problems: Problems) -> Tool | None:
    fields = language.mapping(entry.item, "tool", problems)
    if not fields:
        return None
    kind = _kind(entry, fields, problems)
    bindings = _bindings(fields.get("bind"), problems)
    schema = _schema(entry, fields, bindings, problems)
    if schema is None:
        return None
    context = Context(
        tool=entry.name,
        schema=schema.source,
        tools=entry.tools,
        problems=problems,
        ceilings=entry.ceilings,
        records="resource" in fields,
    )
    keyed = True if "http" in fields else entry.declared.keyed if entry.declared else None
    around = Around(name=entry.name, tools=entry.tools, keyed=keyed, probes=entry.probes)
    lived = life(fields, kind, around, problems)
    tool = behind(_assemble(entry, fields, kind, schema, bindings, context, lived), fields, problems)
    tool = replace(tool, reveals=reveals(fields.get("handles"), context), masks=mask_places(fields.get("masks"), context))
    tool = replace(tool, target=target(fields, kind, context))
    fill = filled(tool, schema, _own(entry.declared), entry.item, problems)
    if entry.declared is not None or schema.source:  # without a program and a schema nothing is known of the arguments
        check_records(tool, schema, fill, fields.get("resource", entry.item), problems)
        warn_targets(tool, schema, fill, fields.get("unknown", entry.item), problems)
    lossless = language.choice(fields.get("coerce"), problems, "coerce", ("lossless",)) == "lossless"
    supplied = ("idempotency_key",) if keyed and "http" not in fields else ()
    bounds = tool_ceilings(fields.get("ceilings"), entry.ceilings, problems)
    foreign = language.choice(fields.get("trust"), problems, "trust", ("untrusted",)) == "untrusted"
    tool = replace(
        tool, untrusted=foreign, supplied=supplied, ceilings=bounds, prepare=preparer(schema, lossless=lossless, fill=fill)
    )
    warn_identities(tool, entry.item, problems)
    if "schema" not in fields and entry.declared is not None:
        warn_untyped(tool, entry.declared.schema or {}, entry.item, problems)
    return tool


def _assemble(
    entry: Entry,
    fields: dict[str, Item],
    kind: Kind,
    schema: Schema,
    bindings: tuple[Binding, ...],
    context: Context,
    lived: Life,
) -> Tool:
    problems, bound = context.problems, frozenset(binding.field for binding in bindings)
    description = _description(entry, fields, problems)
    rules, resolved = argument_rules(fields, context)
    approval, shown = approvals(entry.item, fields, kind, context, bound)
    return Tool(
        name=entry.name,
        kind=kind,
        definition=digest(entry.name, kind, description, canonical(schema.source)),
        description=description,
        schema=schema.source,
        visible=visible(schema.source, bound),
        validate=_validator(schema, entry.declared),
        prepare=_as_given,
        checks=checks(fields.get("checks"), entry.checks, problems),
        bindings=bindings,
        grounds=grounds(fields["ground"], context) if "ground" in fields else (),
        after=prerequisites(fields["after"], context) if "after" in fields else (),
        resources=_resources(fields.get("resource"), context),
        rules=rules,
        resolves=tuple(dict.fromkeys((*resolved, *shown))),
        limits=tool_limits(fields.get("limits"), context),
        approval=approval,
        result=result_rule(fields.get("result"), entry.ceilings, entry.shapes, problems),
        timeout=language.duration(fields.get("timeout"), problems, "timeout"),
        effect=lived.effect,
        dedupes=lived.dedupes,
        compensation=lived.compensation,
        lease=lived.lease,
        repeat=language.choice(fields.get("repeat"), problems, "repeat", ("allow",)) == "allow",
        unwrap=language.flag(fields.get("unwrap"), problems, "unwrap"),
    )


def _as_given(arguments: JsonObject) -> Prepared:
    """Stands in until the whole tool says which arguments are judged."""
    return Prepared(arguments=arguments)


def _own(declared: Declared | None) -> Own:
    shapes = ((declared.schema if declared else None) or {}).get("properties", {})
    told = {name: shape["default"] for name, shape in shapes.items() if isinstance(shape, Mapping) and "default" in shape}
    return Own(told, declared.silent if declared else frozenset())


def _description(entry: Entry, fields: dict[str, Item], problems: Problems) -> str:
    own = language.text(fields.get("description"), problems, "description")
    return own or (entry.declared.description if entry.declared else "")


def _kind(entry: Entry, fields: dict[str, Item], problems: Problems) -> Kind:
    if "kind" not in fields:
        problems.error(entry.item, f"{entry.name} has no kind", "write kind: read, compute or action")
    # in the place of a kind that is wrong, the one that asks for nothing more: the policy is not used, and one problem is enough
    return cast("Kind", language.choice(fields.get("kind"), problems, "kind", KINDS, "read"))


def _validator(schema: Schema, declared: Declared | None) -> Callable[[JsonObject], tuple[Issue, ...]]:
    accepts = declared.accepts if declared else None
    if accepts is None:
        return schema.validate

    def validate(arguments: JsonObject) -> tuple[Issue, ...]:
        return schema.validate(arguments) or accepts(arguments)

    return validate


# -- schema and bindings ---------------------------------------------------------------------------------------------


def _schema(entry: Entry, fields: dict[str, Item], bindings: Sequence[Binding], problems: Problems) -> Schema | None:
    """The full schema of the arguments, bound fields included."""
    declared = entry.declared
    written = fields.get("schema")
    source = _source(entry, written, problems)
    if source is None:
        return None
    spot = written or entry.item
    own = normal(source, signature=written is None and declared is not None)
    bound = [binding.field for binding in bindings if not takes(own, binding.field)]
    for name in bound:
        if not _has_room(source, declared, name) or (own and fields["bind"].at([name]).added):
            cure = "give the function the argument, or leave the field out of bind"
            problems.error(fields["bind"].at([name]), f"{entry.name} cannot take the bound field {name}", cure)
    if written is not None and declared is not None and declared.parameters is not None:
        for name in own.get("properties", {}):
            if name not in declared.parameters:
                spot_here = written.at(["properties", name])
                problems.error(spot_here, f"the function takes no argument {name}", meant(name, declared.parameters))
    compiled = compile_schema(with_fields(own, bound), spot, problems, f"schema of {entry.name}")
    hidden = frozenset(binding.field for binding in bindings)
    return None if compiled is None else replace(compiled, hidden=hidden)


def _source(entry: Entry, written: Item | None, problems: Problems) -> JsonObject | None:
    if written is None:
        known = entry.declared.schema if entry.declared else None
        if known is None and entry.declared is not None and entry.declared.trouble:
            problems.error(entry.item, entry.declared.trouble, f"write schema: below {entry.name}")
        elif known is None and entry.declared is not None:
            cure = f"write schema: below {entry.name}"
            problems.warn(entry.item, f"nothing is known about the arguments of {entry.name}: all are accepted", cure)
        return known if known is not None else {}
    if written.value is True:
        return {}
    if not isinstance(written.value, dict):
        problems.error(written, f"schema of {entry.name}: a mapping is needed, not {language.kind_of(written)}")
        return None
    return written.value


def _has_room(source: JsonObject, declared: Declared | None, name: str) -> bool:
    if declared is not None and declared.parameters is not None:
        return name in declared.parameters
    return source.get("additionalProperties", True) is not False and source.get("unevaluatedProperties", True) is not False


def _bindings(item: Item | None, problems: Problems) -> tuple[Binding, ...]:
    if item is None:
        return ()
    found = []
    for name, below in language.entries(item, "bind", problems).items():
        fields = language.mapping(below, "binding", problems) if isinstance(below.value, dict) else {"from": below}
        if "from" not in fields:
            problems.error(below, f"bind: {name} does not say from where", "write {from: session.principal, strict: true}")
            continue
        strict = language.flag(fields.get("strict"), problems, "strict")
        source = language.session_path(fields["from"], problems, f"bind.{name}")
        if source is not None:
            found.append(Binding(field=name, source=source, strict=strict, vouches=not below.added))
    return tuple(found)


# -- the small keys --------------------------------------------------------------------------------------------------


def _resources(item: Item | None, context: Context) -> tuple[ResourceRule, ...]:
    if item is None:
        return ()
    found = [_resource(one, context) for one in language.sequence(item, context.problems, "resource")]
    return tuple(rule for rule in found if rule is not None)


def _resource(item: Item, context: Context) -> ResourceRule | None:
    problems = context.problems
    fields = language.entries(item, "resource", problems)
    names = [name for name in fields if name != "owner"]
    if len(names) != 1:
        problems.error(item, "resource: one record name is needed", "write {order: order_id, owner: customer_id}")
        return None
    spelled = language.text(fields[names[0]], problems, f"resource.{names[0]}")
    argument = context.argument(spelled, fields[names[0]]) if spelled else None
    owner: Path | None = None
    if "owner" in fields:
        field = language.text(fields["owner"], problems, "resource.owner")
        owner = language.path(field, "resource", fields["owner"], problems) if field else None
    return None if argument is None else ResourceRule(name=names[0], argument=argument, owner=owner)
