"""Shapes of texts: a name counts in whatever way a text gives it something; texts that only speak of secrets stay, letter by letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import redactor
from guard.redactors.written import written_spans
from guard.tools.walk import Walk

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
V = "Tr0ub4dor22"
SHAPES: dict[str, str] = {
    "CSV": "id,user,{n},at\n1,kim,{v},x\n2,lee,none,y\n3,jo,{v},z\n",
    "CSV in quotes": '"id","{n}"\r\n"1","{v}"\r\n"2","{v}"\r\n',
    "CSV with semicolons": "id;{n}\n1;{v}\n",
    "CSV with tabs": "id\t{n}\n1\t{v}\n",
    "CSV after a sentence": "Export of users:\n\nid,{n}\n1,{v}\n",
    "names and values": "key,value\nhost,db1\n{n},{v}\n",
    "Markdown": "Users:\n\n| id | {n} |\n|----|---:|\n| 1 | {v} |\n| 2 | `{v}` |\n\nDone.",
    "Markdown without bars around": "user | {n}\n--- | ---\nkim | {v}\n",
    "Markdown of names and values": "| Setting | Value |\n|---|---|\n| Host | db1 |\n| {n} | {v} |\n",
    "a frame of signs": "+----+------+\n| id | {n} |\n+----+------+\n|  1 | {v} |\n+----+------+\n",
    "a frame of lines": "│ id │ {n} │\n├────┼─────┤\n│ 1  │ {v} │\n",
    "psql": " id | {n} | at\n----+-----+----\n  1 | {v} | x\n(1 row)\n",
    "psql, one field a line": "-[ RECORD 1 ]--\nid | 1\n{n} | {v}\n",
    "XML": "<db><user>kim</user><{n}>{v}</{n}></db>",
    "XML with a prefix": '<ns:{n} xsi:type="xsd:string">\n  {v}\n</ns:{n}>',
    "XML, uncut": "<{n}><![CDATA[{v}]]></{n}>",
    "an attribute": '<db user="kim" {n}="{v}" port="1"/>',
    "a setting": '<add key="{n}" value="{v}" />',
    "a setting, turned": '<add value="{v}" key="{n}" />',
    "a property": '<property name="{n}"><value>{v}</value></property>',
    "a property list": "<dict><key>{n}</key>\n<string>{v}</string></dict>",
    "an input": '<input type="hidden" name="{n}" value="{v}">',
    "a table of a page": "<table><tr><th>id</th><th>{n}</th></tr><tr><td>1</td><td>{v}</td></tr></table>",
    "YAML": "db:\n  host: h\n  {n}: {v}\n",
    "YAML, a block": "db:\n  {n}: |\n    {v}\n  port: 1\n",
    "YAML, the next line": "{n}:\n  {v}\nport: 1\n",
    "YAML, a list": "{n}:\n  - {v}\n  - {v}\n",
    "YAML, an anchor": "{n}: &pw {v}\n",
    "YAML, turned": "- value: {v}\n  name: {n}\n",
    "YAML, with a field between": "- name: {n}\n  type: string\n  value: {v}\n",
    "INI": "[db]\nhost = h\n{n} = {v}\n",
    "an environment": "A=b\n{n}='{v}'\nC=d\n",
    "Docker": "FROM x\nENV {n} {v}\n",
    "fish": "set -gx {n} '{v}'",
    "a header": "GET / HTTP/1.1\r\nHost: h\r\n{n}: {v}\r\nAccept: */*\r\n",
    "a header of curl": "curl -H '{n}: p@ss,{v}' https://h/",
    "a cookie": "Cookie: theme=dark; {n}={v}; lang=en",
    "a query": "https://h.example/x?user=kim&{n}={v}&z=1",
    "an encoded query": "https%3A%2F%2Fh.example%2Fx%3Fuser%3Dkim%26{n}%3D{v}%26z%3D1",
    "a form in parts": '--b1\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n--b1--\r\n',
    "INSERT": "INSERT INTO users (id, name, {n}) VALUES (1, 'kim', '{v}'), (2, 'lee', '{v}');",
    "INSERT with signs": "insert into `users` (`id`,`{n}`) values (1,N'{v}')",
    "UPDATE": "UPDATE users SET {n} = '{v}' WHERE id = 1",
    "COPY": "COPY users (id, {n}) FROM stdin;\n1\t{v}\n2\t{v}\n\\.\n",
    "JSON in a sentence": 'got {"{n}": ["{v}"]} from h',
    "a table of JSON in a sentence": 'got {"columns": ["id", "{n}"], "rows": [[1, "{v}"]]}',
    "JSON that was cut off": '[{"value": "{v}", "type": "t", "name": "{n}"}, {"a',
    "JSON in a URL": "/x?body=%7B%22{n}%22%3A%20%22{v}%22%7D",
    "JSON in a page": "{&quot;{n}&quot;: &quot;{v}&quot;}",
    "JSON in a string": 'body="{\\"{n}\\": \\"{v}\\"}"',
    "Python": "connect(host='h', {n}={q})",
    "a pair": "headers = [('{n}', '{v}')]",
    "bytes": "cfg = {'{n}': b'{v}'}",
    "with a type": "{n}: str = '{v}'",
    "JavaScript": "const c = {host: 'h', {n}: `{v}`};",
    "a call": "localStorage.setItem('{n}', '{v}')",
    "a default": "process.env.{n} || '{v}'",
    "PHP": 'array(1) {\n  ["{n}"]=>\n  string(11) "{v}"\n}',
    "a flag": "run --{n} {v} -v",
    "a flag in quotes": "run --{n} '{v}' -v",
    "a connection": "Server=h;Database=d;User Id=kim;{n}=p@ss,{v};Encrypt=yes",
    "a sentence": "The {n} is {v}.",
    "a change": "{n} changed to '{v}'",
    "a heading": "{n}:\n{v}\n",
    "bold": "**{n}:** {v}\n",
}
NAMES = ["password", "DB_PASSWORD", "apiKey", "client_secret", "X-Api-Key", "access_token", "smtpPass", "db.password"]


def written(shape: str, name: str, value: str = V) -> str:
    """A text of one shape."""
    return SHAPES[shape].replace("{n}", name).replace("{v}", value).replace("{q}", repr(value))


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_name_counts_in_every_shape(shape: str, one: Redactor) -> None:
    """Whatever the name and the value are, nothing of it is left; the name is, and looking twice changes nothing."""
    for name in NAMES:
        text = written(shape, name)
        shown = hide({"out": [text]}, one, set())
        told = encode(shown)
        assert V[:6] not in told, name
        assert "[secret]" in told
        assert name in told
        assert hide(shown, one, set()) == shown


@pytest.mark.parametrize(
    "shape", ["CSV in quotes", "Markdown", "XML", "INSERT", "YAML, a block", "a connection", "a form in parts"]
)
@pytest.mark.parametrize("value", ["correct horse", "letmeinplease", "pä55wörter", "p@ss+w0rd/=="])
def test_where_only_a_value_can_stand_it_may_be_words(shape: str, value: str) -> None:
    """In a cell, an element or a statement a password of plain words is one as well."""
    told = encode(hide(written(shape, "password", value), BOTH[0], set()))
    assert value not in told
    assert "[secret]" in told


SESSIONS = {
    "cookies": "Cookie: theme=dark; sessionid=Tr0ub4dor22; lang=en",
    "a cookie that is set": "Set-Cookie: connect.sid=s%3ATr0ub4dor22; Path=/",
    "another scheme": "Authorization: SSWS 00Tr0ub4dor22xyzq",
    "a token's scheme": "curl -H 'Authorization: Token Tr0ub4dor22Tr0ub4' https://h/",
}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("name", SESSIONS)
def test_what_logs_in_is_a_secret(name: str, one: Redactor) -> None:
    """Cookies of a session and whatever scheme a header names; other cookies stay."""
    told = encode(hide({"out": SESSIONS[name]}, one, set()))
    assert "Tr0ub4" not in told
    assert "[secret]" in told
    assert name != "cookies" or "theme=dark; sessionid=[secret]; lang=en" in told


H = "0a1b2c3d4e5f6a7b"
SERVICES = {
    "Neon": "napi_" + "aB3dE6gH9j" * 5,
    "E2B": "e2b_" + H * 2 + H[:8],
    "Firecrawl": "fc-" + H * 2,
    "Honeycomb": "hcaik_01" + "a1b2c3d4" * 7,
    "ElevenLabs": "sk_" + H * 3,
    "Airtable": "patAbC1dEfG2hIjK3." + H * 4,
    "PASETO": "v4.local." + "aB3dE6gH9j" * 6,
    "Zapier": "https://hooks.zapier.com/hooks/catch/123456/hdIGnJX",
}


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("name", SERVICES)
def test_keys_of_more_services(name: str, one: Redactor) -> None:
    """By their own signs, wherever they stand."""
    for value in (SERVICES[name], {"out": [f"see {SERVICES[name]} now"]}):
        told = encode(hide(value, one, set()))
        assert "[secret]" in told
        assert SERVICES[name][-7:] not in told


def test_several_names_of_one_field_count() -> None:
    """What a tuple names stays told, so that a secret under it is hidden."""
    assert Walk().json({("password", 1): V, ("a", 2): V}, 0) == {"password, 1": V, "a, 2": V}
    assert hide(Walk().json({("password", 1): V}, 0), BOTH[0], set()) == {"password, 1": "[secret]"}


KEPT: list[Any] = [
    "your password was changed on 2026-10-01",
    "password: required",
    "token: string",
    "Password must be at least 8 characters.",
    "  --password TEXT      Password for the account  [required]\n  --token-file PATH    File with a token\n",
    "Use --password to set the password, or --password-stdin to read it.",
    "export API_KEY=your_api_key_here",
    {
        "type": "object",
        "properties": {"password": {"type": "string", "description": "The user's password", "format": "password"}},
    },
    {"securitySchemes": {"ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}},
    "properties:\n  password:\n    type: string\n    format: password\n    minLength: 8\n  token:\n    type: string\n",
    "| Field | Type | Description |\n|---|---|---|\n| password | string | At least 8 characters |\n| api_key | string | See /docs/keys2 |\n",
    "field,type,description\npassword,string,The user's password\napi_key,string,Key of the account\n",
    "key,en,de\npassword,Password,Passwort\nforgot_password,Forgot your password?,Passwort vergessen?\n",
    "symbol,token,price\nETH,Ethereum,3000.12\n",
    "user,password\nkim,********\nlee,<hidden>\n",
    "username,password\nand click on login, then wait\n",
    "CREATE TABLE users (id INT, password VARCHAR(255) NOT NULL, token TEXT);",
    '<label for="password">Password</label><input type="password" name="password" placeholder="Enter it">',
    '<string name="password">Password</string><xs:element name="password" type="xs:string"/>',
    "def login(user: str, password: str, token: str | None = None) -> bool: ...",
    "password = os.environ['DB_PASSWORD']; token = request.headers.get('Authorization')",
    "fetch(url, { credentials: 'include', headers })",
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-creds-2\n      key: password\n",
    "password: ${DB_PASSWORD}\nsecret: !Ref MySecret\napi_key: $API_KEY\n",
    "password_file=/run/secrets/db_password2",
    "max_tokens: 4096\ntokens_used=1532\nprompt_tokens=1200 total_tokens=1540",
    "Access denied for user 'kim42'@'localhost' (using password: YES)",
    "The password is case-sensitive and base64-encoded.",
    {"errors": {"password": ["This field is required."], "token": ["Invalid token."]}},
    {"password": "required", "token": "string"},
    "TypeError: login() missing 1 required positional argument: 'password'",
    "getPassword(userId2); setPassword(newPassword); user.setPassword(encoder.encode(raw))",
    "boarding_pass: LH1234, tests pass: 1234567",
    "Payment authorization: 123456789",
    "order,Authorization\n1,AUTH20261130\n2,AUTH-123456\n",
    "<order><token>T-2026-001</token><authorization>12345678</authorization></order>",
    "INSERT INTO t (id, token, amount) VALUES (1, 'T-2026-001', 12.5)",
    "100 of the token to 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "Token,Price,Date\nUSDT-ERC20,1.00,2026-01-01\n",
    "secrets:\n  - db-password-2026\n",
    "Set-Cookie: auth_time=1700000000\nCookie: sessions=12345678; session_expires=1700000000",
]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("value", KEPT, ids=[str(at) for at in range(len(KEPT))])
def test_what_speaks_of_secrets_stays(value: Any, one: Redactor) -> None:
    """Schemas, help, messages, code, labels and counts are the same object, further inside as well."""
    for given in (value, {"out": value}, json.dumps({"out": value})):
        assert hide(given, one, set()) is given


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_comes_again_and_again_is_read_in_one_go(shape: str) -> None:
    """Each of many copies is found, and no span reaches from one over the next: nothing is read twice."""
    text = written(shape, "password") + "\n\n"
    found = set(written_spans(text * 40))
    assert all(end - start <= len(text) for start, end in found)


COLUMNS = [f"c{at}" for at in range(600)]
WIDE = {
    "CSV": (",".join([*COLUMNS, "password"]), ",".join(["1"] * 600 + [V])),
    "Markdown": (f"| {' | '.join([*COLUMNS, 'password'])} |", f"| {' | '.join(['1'] * 600 + [V])} |"),
    "columns of blanks": ("  ".join([*COLUMNS, "password"]), "  ".join(["1".ljust(len(name)) for name in COLUMNS] + [V])),
    "INSERT": (f"INSERT INTO users ({', '.join([*COLUMNS, 'password'])}) VALUES", f"({', '.join(['1'] * 600)}, '{V}')"),
    "COPY": (f"COPY users ({', '.join([*COLUMNS, 'password'])}) FROM stdin;", "\t".join(["1"] * 600 + [V])),
}


@pytest.mark.parametrize("shape", WIDE)
def test_a_table_of_hundreds_of_columns_is_a_table(shape: str) -> None:
    """However many columns stand before it, what stands in that of a secret is hidden."""
    text = "\n".join(WIDE[shape])
    assert [text[start:end] for start, end in set(written_spans(text))] == [V]


def test_a_statement_of_ten_thousands_of_rows_is_read_to_its_end() -> None:
    """What stands in its last row is hidden as well."""
    rows = ["('kim', 'none')"] * 12_000 + [f"('lee', '{V}')"]
    text = " ".join(["INSERT INTO users (name, password) VALUES", ", ".join(rows)])
    assert [text[start:end] for start, end in written_spans(text)] == [V]
