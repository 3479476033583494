"""`guard init` reads OpenAPI 3.0 and 3.1 from a file or a real server: one tool an operation, one schema for everything it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from init_kit import Desk, desk, guesses, kinds, refusing

SHOP = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /orders/{order_id}:
    parameters:
      - {name: order_id, in: path, required: true, description: The order., schema: {type: integer, format: int64}}
      - $ref: '#/components/parameters/Tenant'
    get: {operationId: getOrder, summary: One order., responses: {200: {description: ok}}}
    delete: {responses: {204: {description: gone}}}
  /orders:
    post:
      operationId: orders/create
      parameters: [{name: note, in: query, schema: {type: string}}]
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}
      responses: {}
  /tree:
    put: {operationId: putTree, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Node'}}}}}
  /labels:
    put: {operationId: putLabels, requestBody: {required: true, content: {application/json: {schema: {type: array, items: {type: string}}}}}}
  /pets:
    get:
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true, nullable: true}}
        - {name: Authorization, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
    post: {operationId: getOrder, requestBody: {content: {application/octet-stream: {}}}}
components:
  parameters:
    Tenant: {name: tenant_id, in: header, schema: {type: string}}
  schemas:
    Order:
      type: object
      required: [id, items]
      properties:
        id: {type: integer, readOnly: true}
        items: {type: array, items: {$ref: '#/components/schemas/Item'}}
        note: {type: string, nullable: true, example: hi}
    Item: {type: object, properties: {sku: {type: string}, parent: {$ref: '#/components/schemas/Item', description: ignored}}}
    Node: {type: object, properties: {name: {type: string}, children: {type: array, items: {$ref: '#/components/schemas/Node'}}}}
"""
FASTAPI = {
    "openapi": "3.1.0",
    "info": {"title": "FastAPI", "version": "0.1.0"},
    "paths": {
        "/items/{item_id}": {
            "put": {
                "summary": "Update Item",
                "operationId": "update_item_items__item_id__put",
                "parameters": [
                    {"name": "item_id", "in": "path", "required": True, "schema": {"type": "integer", "title": "Item Id"}}
                ],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}},
                    "required": True,
                },
                "responses": {
                    "422": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}}}
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Item": {
                "type": "object",
                "title": "Item",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "title": "Name"},
                    "tax": {"anyOf": [{"type": "number"}, {"type": "null"}], "title": "Tax"},
                    "size": {"$ref": "#/components/schemas/Size", "description": "kept"},
                },
            },
            "Size": {"type": "string", "enum": ["s", "l"]},
            "HTTPValidationError": {"type": "object"},
        }
    },
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return desk(tmp_path, monkeypatch, capfd)


def one(operation: Any, **more: Any) -> dict[str, Any]:
    """A document of one operation."""
    return {"openapi": "3.1.0", "paths": {"/x": {"post": {"operationId": "x", **operation}}}, **more}


def test_a_document_of_3_0_becomes_a_folder_that_refuses(here: Desk) -> None:
    """Every operation is a tool by its legal name; methods say what it does; nothing is allowed."""
    told = here.init(SHOP)

    assert kinds(told) == {
        "getOrder": "read",
        "delete_orders_by_order_id": "action",
        "orders_create": "action",
        "putTree": "action",
        "putLabels": "action",
        "get_pets": "read",
        "getOrder_2": "action",
    }
    assert told["left_out"] == []
    assert guesses(told, "getOrder")["bind.tenant_id"] == ("session.tenant", True)
    assert refusing(here.path / "policies").keys() <= {"not_authorized", "invalid_arguments"}


def test_everything_that_an_operation_takes_is_one_schema(here: Desk) -> None:
    """Parameters of path, operation and body by name; what collides gets another one; only what is needed is copied."""
    here.init(SHOP)

    order, made, tree = here.schema("getOrder"), here.schema("orders_create"), here.schema("putTree")
    assert order["properties"] == {
        "order_id": {"type": "integer", "format": "int64", "description": "The order."},
        "tenant_id": {"type": "string"},
    }
    assert order["required"] == ["order_id"]
    assert made["properties"].keys() == {"note", "items", "body_note"}
    assert made["required"] == ["items"]
    assert made["properties"]["body_note"] == {"type": ["string", "null"], "example": "hi"}
    assert made["$defs"] == {
        "Item": {"type": "object", "properties": {"sku": {"type": "string"}, "parent": {"$ref": "#/$defs/Item"}}}
    }
    assert tree["$defs"].keys() == {"Node"}
    assert here.schema("putLabels")["required"] == ["body"]
    assert here.schema("get_pets")["properties"] == {"limit": {"type": ["integer", "null"], "exclusiveMinimum": 0}}
    assert here.schema("getOrder_2")["properties"] == {"body": {"type": "string"}}


def test_a_document_of_fastapi_keeps_what_stands_beside_a_reference(here: Desk) -> None:
    """OpenAPI 3.1 is JSON Schema 2020-12 already."""
    here.init(FASTAPI)

    schema = here.schema("update_item_items__item_id__put")
    assert schema["required"] == ["item_id", "name"]
    assert schema["properties"]["size"] == {"$ref": "#/$defs/Size", "description": "kept"}
    assert schema["$defs"] == {"Size": {"type": "string", "enum": ["s", "l"]}}


BODY = {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}
LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "another host": (
        one({"requestBody": {"content": {"application/json": {"schema": {"$ref": "http://127.0.0.1:9/x"}}}}}),
        "nothing is fetched",
    ),
    "another file": (one({"parameters": [{"$ref": "other.yaml#/a"}]}), "nothing is fetched"),
    "file of the machine": (one({"requestBody": {"$ref": "file:///etc/passwd"}}), "nothing is fetched"),
    "nowhere": (one(BODY), "not in the document"),
    "no name": (one({"parameters": [{"in": "query"}]}), "no name"),
    "circle of parameters": (
        one(
            {"parameters": [{"$ref": "#/components/parameters/A"}]},
            components={"parameters": {"A": {"$ref": "#/components/parameters/A"}}},
        ),
        "round in a circle",
    ),
    "circle of schemas": (one(BODY, components={"schemas": {"A": {"$ref": "#/components/schemas/A"}}}), ""),
    "path elsewhere": ({"openapi": "3.1.0", "paths": {"/x": {"$ref": "paths.yaml#/x"}}}, "nothing is fetched"),
}


@pytest.mark.parametrize(("document", "why"), LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_an_operation_that_cannot_be_read_is_left_out(document: dict[str, Any], why: str, here: Desk) -> None:
    """The others are written; nothing outside of the document is looked at."""
    document = {**document, "paths": {"/ok": {"get": {"operationId": "ok"}}, **document["paths"]}}
    done = here.guard("init", here.file("api.json", document), "--json")
    told = json.loads(done.out)

    assert done.code == 0
    assert kinds(told) == {"ok": "read"}
    assert why in told["left_out"][0]["why"]


ODD: dict[str, Any] = {
    "no paths": {"openapi": "3.1.0"},
    "paths of another form": {"openapi": "3.1.0", "paths": [1]},
    "empty": {"openapi": "3.1.0", "paths": {}},
    "texts for mappings": {
        "openapi": "3.0.0",
        "paths": {"/x": "y", "/z": {"get": "w", "post": {"parameters": "p", "requestBody": 3}}},
    },
    "version that is a number": {"openapi": 3.1, "paths": {"/x": {"get": {}}}},
    "version 2": {"swagger": "2.0", "paths": {"/x": {"get": {}}}},
    "version 4": {"openapi": "4.0", "paths": {"/x": {"get": {}}}},
    "odd body": one({"requestBody": {"content": {"application/json": "x"}}}),
    "odd schema": one({"parameters": [{"name": "a", "in": "query", "schema": "x"}]}),
}


@pytest.mark.parametrize("document", ODD.values(), ids=ODD.keys())
def test_an_odd_document_ends_in_words(document: Any, here: Desk) -> None:
    """A folder or a reason, never a traceback."""
    done = here.guard("init", here.file("api.json", document))

    assert done.code in (0, 1)
    assert "Traceback" not in done.err
    assert (here.path / "policies").exists() == (done.code == 0)


# -- from a real server --------------------------------------------------------------------------------------------------


@contextmanager
def served(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A real server on the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, code: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_running_program_is_asked_for_its_document(here: Desk) -> None:
    """Redirects on the way are followed; the address in the file holds no secret."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.startswith("/old"):
            send(handler, 307, Location="/openapi.json?key=secret")
        else:
            send(handler, 200, json.dumps(FASTAPI).encode())

    with served(answer) as url:
        done = here.guard("init", url.replace("//", "//user:secret@") + "/old?key=secret")

    assert done.code == 0, done.err
    assert "update_item" in done.out
    assert "secret" not in here.text() + done.out + done.err


REFUSED: dict[str, tuple[int, bytes, dict[str, str], str]] = {
    "not there": (404, b"", {}, "answers 404"),
    "web page": (200, b"<html>", {}, "/openapi.json"),
    "to a file": (302, b"", {"Location": "file:///etc/passwd"}, "not followed"),
    "round and round": (302, b"", {"Location": "/again"}, "redirected more than"),
    "huge": (200, b" " * 20_000_001, {}, "larger than"),
    "nothing": (200, b"", {}, "empty"),
}


@pytest.mark.parametrize(("code", "body", "headers", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_server_may_answer_instead(code: int, body: bytes, headers: dict[str, str], said: str, here: Desk) -> None:
    """Said in one line; nothing is written."""
    with served(lambda handler: send(handler, code, body, **headers)) as url:
        done = here.guard("init", f"{url}/openapi.json")

    assert done.code == 1
    assert said in done.err
    assert not (here.path / "policies").exists()


def test_a_server_that_is_not_there_is_said(here: Desk) -> None:
    """No traceback of the HTTP library."""
    assert "cannot be fetched" in here.guard("init", "http://127.0.0.1:9/openapi.json").err
