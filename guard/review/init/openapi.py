"""OpenAPI: the operations of a 3.0 or 3.1 document as tools, everything that an operation takes merged into one schema of arguments.

Path, query and header parameters and the fields of a JSON body become arguments by their names. GET and HEAD read, everything else acts. An
operation that cannot be read is left out with the reason; the others go on. Pure: nothing is fetched. Comes after references and dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guard.core.values import Json, JsonObject
from guard.review.init.dialect import translated
from guard.review.init.found import Found, LeftOut, SourceError, Sources
from guard.review.init.references import Collector, UnreadableError, follow

MAX_OPERATIONS = 10_000
_METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
_SENT = frozenset({"accept", "content-type", "authorization"})  # header parameters that OpenAPI itself ignores
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\b")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


def operations_of(document: Json, what: str) -> Sources | None:
    """The operations of an OpenAPI document; None when this is none. Raises SourceError for a version that is not read."""
    if not isinstance(document, Mapping) or not {"openapi", "swagger"} & document.keys():
        return None
    version = str(document.get("openapi", document.get("swagger")))
    if not version.startswith("3."):
        raise SourceError(f"{what}: OpenAPI {version[:20]} is not read (convert the document to OpenAPI 3.0 or 3.1)")
    found = [_operation(document, *place) for place in _operations(document, what)]
    _tell_apart(found)
    tools = tuple(one for one in found if isinstance(one, Found))
    return Sources(what="an OpenAPI document", tools=tools, left_out=tuple(one for one in found if isinstance(one, LeftOut)))


def _operations(document: Mapping[str, Any], what: str) -> Iterator[tuple[str, str, Mapping[str, Any], Sequence[Any]]]:
    paths = document.get("paths")
    if not isinstance(paths, Mapping):
        raise SourceError(f"{what}: the document has no paths, so there are no operations")
    number = 0
    for path, raw in paths.items():
        try:
            item = follow(document, raw)
        except UnreadableError:
            item = {"get": {"operationId": path, "requestBody": raw}}  # left out below, with the reason
        for method in _METHODS if isinstance(item, Mapping) else ():
            operation = item.get(method)
            if isinstance(operation, Mapping):
                number += 1
                if number > MAX_OPERATIONS:
                    raise SourceError(f"{what}: more than {MAX_OPERATIONS} operations (split the document)")
                yield path, method, operation, _list(item.get("parameters"))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _operation(
    root: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any], shared: Sequence[Any]
) -> Found | LeftOut:
    given = operation.get("operationId")
    name = given if isinstance(given, str) and given.strip() else f"{method}_{path.strip('/')}"
    legal = _ILLEGAL.sub("_", name.replace("{", "by_")).strip("_") or method
    notes = (
        []
        if legal == given
        else [f"{method.upper()} {path}, called {given}" if isinstance(given, str) else f"{method.upper()} {path}"]
    )
    collector = Collector(root, siblings=not str(root["openapi"]).startswith("3.0"))
    try:
        schema, more = _arguments(root, collector, [*shared, *_list(operation.get("parameters"))], operation)
    except UnreadableError as error:
        return LeftOut(name=legal, why=str(error))
    except RecursionError:
        return LeftOut(name=legal, why="its schemas are nested too deeply")
    summary, description = operation.get("summary"), operation.get("description")
    told = next((text for text in (description, summary) if isinstance(text, str) and text.strip()), "")
    return Found(name=legal, description=told, schema=schema, method=method.upper(), notes=(*notes, *more))


def _tell_apart(found: list[Found | LeftOut]) -> None:
    """Operations of one name are all kept, the later ones under a number."""
    taken = {one.name for one in found}
    seen: set[str] = set()
    for index, one in enumerate(found):
        if isinstance(one, Found) and one.name in seen:
            number = 2
            while f"{one.name}_{number}" in taken:
                number += 1
            name = f"{one.name}_{number}"
            note = f"a second operation called {one.name}"
            found[index] = Found(
                name=name, description=one.description, schema=one.schema, method=one.method, notes=(note, *one.notes)
            )
            taken.add(name)
        seen.add(one.name)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(
    root: Mapping[str, Any], collector: Collector, parameters: Sequence[Any], operation: Mapping[str, Any]
) -> tuple[JsonObject, tuple[str, ...]]:
    """The schema of everything that the operation takes, and what a person should know about it."""
    notes: list[str] = []
    fields: JsonObject = {}
    needed: list[str] = []
    for parameter in _last_of_each(root, parameters):
        if parameter["in"] == "cookie":
            notes.append(f"the cookie {parameter['name']} is no argument: your program sends it")
            continue
        name = _free(str(parameter["name"]), str(parameter["in"]), fields, notes)
        fields[name] = _parameter_schema(collector, parameter)
        if parameter["in"] == "path" or parameter.get("required") is True:
            needed.append(name)
    _add_body(root, collector, operation.get("requestBody"), fields, needed, notes)
    schema: JsonObject = {"type": "object", "properties": fields}
    if needed:
        schema["required"] = list(dict.fromkeys(needed))
    used = collector.used(schema)
    if used:
        schema["$defs"] = used
    done, more = translated(schema, request=True)
    return done, (*notes, *more)


def _last_of_each(root: Json, parameters: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The parameters, those of the operation in the place of those of its path."""
    found = {}
    for raw in parameters:
        parameter = follow(root, raw)
        if not isinstance(parameter, Mapping) or not isinstance(parameter.get("name"), str):
            raise UnreadableError("one of its parameters has no name")
        where = str(parameter.get("in"))
        if not (where == "header" and parameter["name"].lower() in _SENT):
            found[where, parameter["name"]] = {**parameter, "in": where}
    return list(found.values())


def _free(name: str, where: str, fields: JsonObject, notes: list[str]) -> str:
    if name not in fields:
        return name
    other, number = f"{where}_{name}", 2
    while other in fields:
        other, number = f"{where}_{name}_{number}", number + 1
    notes.append(f"the {where} field {name} is called {other} here, since another argument has its name")
    return other


def _parameter_schema(collector: Collector, parameter: Mapping[str, Any]) -> Json:
    schema = parameter.get("schema")
    if schema is None and isinstance(parameter.get("content"), Mapping):
        schema = next((one.get("schema") for one in parameter["content"].values() if isinstance(one, Mapping)), None)
    found = collector.copy({} if schema is None else schema)
    told = parameter.get("description")
    plain = isinstance(found, dict) and "description" not in found and "$ref" not in found
    return {**found, "description": told} if plain and isinstance(told, str) and told.strip() else found


def _add_body(root: Json, collector: Collector, raw: Json, fields: JsonObject, needed: list[str], notes: list[str]) -> None:
    """The fields of an object in JSON beside the parameters; any other body is one argument called `body`."""
    body = follow(root, raw)
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return
    kind = next((one for one in content if _JSON.match(one)), next((one for one in _FORMS if one in content), ""))
    media = content[kind] if kind else {}
    whole = collector.copy(media.get("schema", {}) if isinstance(media, Mapping) else {})
    must = isinstance(body, Mapping) and body.get("required") is True
    opened = _object(collector, whole)
    if not kind or opened is None:
        name = _free("body", "request", fields, notes)
        fields[name] = whole if kind else {"type": "string"}
        needed += [name] if must else []
        if not kind:
            notes.append(f"its body is {next(iter(content))}, a text here")
        return
    names = {field: _free(field, "body", fields, notes) for field in opened["properties"]}
    fields |= {names[field]: shape for field, shape in opened["properties"].items()}
    if must:
        needed += [names[field] for field in _list(opened.get("required")) if field in names]


def _object(collector: Collector, schema: Json) -> Mapping[str, Any] | None:
    """The schema of a plain object with named fields, which can be merged; None for any other."""
    for _ in range(20):
        if not isinstance(schema, Mapping) or schema.keys() - {"$ref", "description"} or "$ref" not in schema:
            break
        schema = collector.defs[schema["$ref"].rpartition("/")[2]]
    said = {
        "type",
        "properties",
        "required",
        "title",
        "description",
        "additionalProperties",
        "example",
        "examples",
        "xml",
        "externalDocs",
    }
    plain = isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping) and schema.keys() <= said
    return schema if plain and schema.get("additionalProperties", False) in (False, True) else None
