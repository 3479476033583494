"""Hostile texts: what rules, gates and looks nearly take, at any size; shared by the tests of growth, of both engines, and the benchmark.

`TEXTS` makes a text of about as many characters as are asked for, `VALUES` a value of about that much JSON. Nothing in here is to be found by chance
of a seed: the same size gives the same text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from itertools import count, islice, product
from random import Random
from string import ascii_lowercase
from typing import Any

from hostile_shapes_kit import SHAPED
from hostile_shapes_kit import UNITS as SHAPED_UNITS

from guard.redactors.prefixes import INSIDE, PREFIXES

Make = Callable[[int], str]

UNITS = (
    "@", "a@", "a@a.", "a." * 30 + "@", '"@', "%40", "1", "1 ", "1-", "4111 ", "4111 1111 1111 1111 ", "+1", "(415) ", "+1 ( ( ( ",
    "phone: ", "phone number is 1", "password=", "password: '", "api_key=a1", "bearer ", "bearer abcdefghijklmnop", "userPhone number no ",
    "sk-", "eyJ.", "eyJaaaaaaaaaaa.eyJ", "eyJ" + "a" * 300 + ".", "eyJaaaaaaaaaa-", "\u200b@", "{[", "138 1234 ", "a_b-c.", "1.1.1.", "1:1:", "::1 ",
    "00:11:22:33:44:", "aa:bb:cc:dd:ee:ff:", "DE89 ", "DE89370400440532013000", "078-05-", "ssn pesel nhs 078051120 ", "AB 12 34 56 ",
    "-----BEGIN PRIVATE KEY-----", "secrets:\n  a: b1c2d3e4\n", "[password]\na = b1c2d3e4\n", "token {\n", "\n---\nkind: Secret\ndata:\n", "phone,", "phone,1\n", "|phone|", "phone|01 234 567\n", "\nphone  ", "curl -u a ", "mysql -pa ", "openssl a -pass pass:a ", "docker login -p a ", "a_key = ", "a_token='a1", "xoxb-aaaaaaaaaaaaaaaaaaaa", "aQ~", '{"a":', "[1,", '"\\"', "QUJD", "6162",
    "ghp_", "https://a:", "https://a:b@", "123-45-678", "11010519491231002", "DB_PASSWORD=", "\nA_SECRET=a", "\nPASSWORD_A=b c", "--password ",
    '{"name":"password","value":"x1"},', '["password","a1b2c3"],', '{"columns":["token"],"rows":[["', '"name":"key', "a_key", "phone,[",
    "a@a@a@", "a.a.a.", "@@.", "@a.b.", "a@[", "a@[1.", "%40a%40", '"a"@', "\xe9@", "\u7528@", "=@", "_@_.", "password ", "key=", "key: ", "key=a", "secret\n",
    "x ", "x\n", "\n", " ", "\t", "a ", "a\x00", "'", '"', "\\", "\\\\n", "\\u0041", "(", "[", "{", "<", "<<password>>", "${", "{{", "}", "]", "[]", "{}", "[[", '{"', '","',
    "phone'", "phone\"'", "phone :", "tel=", "fax [", "mobile(+1", "\u624b\u673a\uff1a", "\u8eab\u4efd\u8bc1", "nino AB", "national insurance ", "social ", "social security ", "tax file ", "thai id 1",
    "1/1/1/", "1(1(1(", "00 00 ", "000-000-", "000-00-0000", "000.000.000-", "0-0000-00000-00-", "A1B2", "AA00", "AA00 ", "GB00AA00", "gb82 west ", "0A00-", "1EG4-TE5-MK", "X0000000", "RSSMRA85T10A",
    "::", ":", "a:", "fe80::", "1::", "0:0:0:0:0:0:0:", "::ffff:1.2.3.4", "1.2.3.4/", "1.2.3.4.", "v1.2.3.", "256.256.256.", ".", "..", "0.0", "-", "--", "aa-bb-cc-dd-ee-", "0011.2233.", "aaaa.bbbb.",
    "\u0661", "\uff11", "\uff11\uff12 ", "\u0967\u0968-", "\u200b", "1\u200b", "a\u200b", "\u00ad", "\uff20", "\u3002", "\u00e9", "\u4e2d", "\U0001f600", "\u0301", "\ud800",
    "%", "%4", "%40%40", "%3D", "%3dghp_", "\\nghp_", "\\tAKIA", "&amp;", "&#64;", "ey", "eyJ", ".ey", ".eyJ", "eyJ.eyJ", "eyJaaaaaaaaaaa.eyJaaaaaaa.",
    "://", "://a", "a://b:c", "://a:" + "b" * 300, "https://", "curl ", "curl -u", 'curl -u "a:', "curl --user '", "curl -u a:b", "mysql ", "mysql -p", " -p", "sshpass -p ", "smbclient -U a%", 'ldapsearch -w "', 'curl "::', "-u ", "-----BEGIN RSA PRIVATE KEY-----\n", "PRIVATE KEY", "-----END",
    "Authorization: ", "Basic ", "basic aaaaaaaa", "BEARER A", "bearer " + "a" * 100, "name: key,\nvalue: ", "name: password\n", 'key: "a", value: ', "export A=", "\nTOKEN=", "\nexport DB_PASSWORD=", "A=B&C=D&",
    "passwordpassword", "keykey", "tokentoken", "phonephone", "bearerbearer", "apiKeyApiKey", "PASSWORD", "HTTPServer", "aA", "Aa", "A", "a", "_", "z9", "0x", "0f", "fF", "QUJDREVG", "cGFzc3dvcmQ9", "70617373", "data:;base64,QUJD",
    "true,", "null,", '"a":"b",', '{"a":1}', '{"a":1},', '["a",["b",', '[["password"],["a"]],', '"password":', '"password":"', '{"password":{', "-5e", "1e1,", "1.0,", "4111111111111111.0 ", "- a\n", "key: value\n", "| a | b |\n",
    "a,b,c\n", "<a>", "</a>", "'password': '", '\\"password\\":\\"', "x" * 63 + ".", "a" * 64 + "@", "-a", "_a", "a-", "a b c d ", "\r\n", "\x0b", "\x1f", "\x7f",
)  # fmt: skip
"""Pieces of text that a rule nearly takes, repeated."""


def _repeated(unit: str) -> Make:
    return lambda size: unit * max(1, size // len(unit))


def words() -> Iterator[str]:
    """Words of small letters without end, each other than all before."""
    for length in count(3):
        yield from map("".join, product(ascii_lowercase[:20], repeat=length))


def _counted(template: str) -> Make:
    """The template with another word at each `~` and its number at each `#`."""

    def make(size: int) -> str:
        each = len(template) + 4
        return "".join(
            template.replace("~", word).replace("#", str(at)) for at, word in enumerate(islice(words(), max(1, size // each)))
        )

    return make


COUNTED = (
    "~ ", "~key ", '"~key",', '"~token",\n', '["~secret"],', '"~Password" ', "AKIA~ ", '"ghp_~",', '"xoxb-~",', "sk-~ ", "~Phone ", '"~phone",', '"~Bearer",', '"~ssn",', '"~curl",', "~@", "~@~.", "~: ", "~=# ", '"~":#,',
    '{"~":"#"},', "~key='#", "+# ", "#-#-# ", "# ", "#.#.#.", "DE# ", "A# ", "~_key=#\n", "--~-key ", '"name":"~key",', '"~":"password",', "0x#", "~.~.", "social ~ ", "%40~", '{"key":"~","value":"#"},',
)  # fmt: skip
"""Pieces that are never twice the same: what is done for each word or name of a text is done this often."""


def _one(before: str, fill: str, after: str) -> Make:
    """One beginning, one long run and one end."""
    return lambda size: before + fill * max(1, (size - len(before) - len(after)) // len(fill)) + after


RUNS = tuple(
    (before, fill, after)
    for before in ("", "password=", "phone", "bearer ", "Bearer x", "ssn ", "a@", "+1", "DE89", "://a:", "curl -u ", "-----BEGIN PRIVATE KEY-----", "eyJ", "sk-", '{"password":"', "key ", "0", "password: '")
    for fill, after in (("a", ""), ("1", ""), (" ", "x"), ("'", "1"), ('"', ""), (".", "a"), ("-", "1"), ("aA", "!"), ("1 ", "x"), ("ab1", "\x00"))
)  # fmt: skip
"""What a pattern may go through again from each of its beginnings."""


def _nested(opening: str, inner: str, closing: str) -> Make:
    def make(size: int) -> str:
        times = max(1, (size - len(inner)) // (len(opening) + len(closing)))
        return opening * times + inner + closing * times

    return make


def _coded(unit: str, code: Callable[[bytes], bytes]) -> Make:
    """A run that says a hostile text, in base64 or hexadecimal digits."""
    return lambda size: code((unit * max(1, size // len(unit))).encode()).decode()[:size]


def _listed(unit: str) -> Make:
    """A list of short texts, as JSON."""
    return lambda size: json.dumps([unit] * max(1, size // (len(json.dumps(unit)) + 2)), ensure_ascii=False)


def _fields(size: int) -> str:
    return json.dumps(dict.fromkeys(islice(words(), max(1, size // 14)), "a1"))


SPECIAL: dict[str, Make] = {
    **{f"inside a word: {sign}": _repeated(f"a{sign}") for sign, _ in PREFIXES},
    **{f"after a dash: {sign}": _repeated(f"-{sign}a1") for sign in ("ops_eyJ", "sl.u.", "pypi-AgE", "fm2_", "sntrys_", "dapi", "SK", "sc_")},
    **{f"a sign inside: {sign}": _repeated(f"a1{sign}") for sign, _ in INSIDE},
    **{f"nested {opening}": _nested(opening, "1", closing) for opening, closing in (("[", "]"), ('{"a":', "}"), ('{"password":', "}"), ("[[", "]]"), ('[{"a":', "}]"), ("(", ")"))},
    **{f"base64 of {unit}": _coded(unit, base64.b64encode) for unit in ("a", "@", "password=", "1", '{"a":', "1.1.1.")},
    **{f"base64 of {unit}, blanks": lambda size, unit=unit: " ".join([base64.b64encode((unit * 12).encode()).decode()] * max(1, size // 48)) for unit in ("abc", "1@1")},
    **{f"hexadecimal of {unit}": _coded(unit, lambda raw: raw.hex().encode()) for unit in ("a", "@", "1 ")},
    **{f"a list of {unit}": _listed(unit) for unit in ("a", "a@", "password", "--password", "key=", "1", "4111", "{[", "a1B2c3D4e5F6", "name", "[1,")},
    "names of fields": _fields,
    "names of fields that tell": lambda size: json.dumps({f"{word}_password": "" for word in islice(words(), max(1, size // 21))}),
    "one long name": lambda size: json.dumps({"a" * (size // 2): ["a1"] * max(1, size // 16)}),
    "one long name of other letters": lambda size: json.dumps({"\xe9" * (size // 2): ["a@"] * max(1, size // 16)}, ensure_ascii=False),
    "one long name over fields": lambda size: json.dumps({"a" * (size // 2): dict.fromkeys(islice(words(), max(1, size // 24)), "a1")}),
    "one long name that tells": lambda size: json.dumps({"password" + "a" * (size // 2): ["a1"] * max(1, size // 16)}),
    "an open text": lambda size: '{"a": "' + "b" * size,
    "an open text of escapes": lambda size: '["' + '\\"' * (size // 2),
    "half a JSON text": lambda size: json.dumps([{"name": "password", "value": "a1"}] * max(1, size // 38))[: size // 2],
    "columns of which one tells": lambda size: json.dumps({"columns": [*islice(words(), max(1, size // 24)), "password"], "rows": [["x"] * max(1, size // 12)]}),
    "columns and many lists": lambda size: json.dumps({"columns": [*islice(words(), max(1, size // 24)), "password"], **{word: [[]] for word in islice(words(), max(1, size // 28))}}),
    "rows under columns": lambda size: json.dumps({"columns": ["a", "password"], "rows": [["x", ""]] * max(1, size // 11)}),
    "pairs": lambda size: json.dumps([["password", "x"]] * max(1, size // 19)),
    "names beside values": lambda size: json.dumps([{"name": "password", "value": ""}] * max(1, size // 35)),
    "many names beside one value": lambda size: json.dumps({**{f"{word}name": "password" for word in islice(words(), max(1, size // 24))}, "value": "a1b2"}),
    "one name beside many values": lambda size: json.dumps({"name": "password", **{f"{word}value": "" for word in islice(words(), max(1, size // 18))}}),
    "lists of names": lambda size: json.dumps([["password", "token", "key"]] * max(1, size // 29)),
    "a long row": lambda size: json.dumps([["password"] * max(1, size // 24), ["x"] * max(1, size // 12)]),
    "flags": lambda size: json.dumps(["--password", "x"] * max(1, size // 19)),
    **SHAPED,
    "cells, then ends of rows": lambda size: "<td>" * (size // 8) + "client-secret</tr>" * (size // 36),
    "cells of one row": lambda size: "<tr>" + "<td>" * (size // 8) + "password<td>x" * (size // 26),
    "a head with gaps behind a long text": lambda size: "x " * (size // 4) + "\nname  password\n" + "a     b1c2d3\n" * (size // 26),
    "statements in quotes of statements": lambda size: "insert into t (password) values (\"insert into t (password) values (1),('\"," * (size // 72),
    "a dump of wide lines": lambda size: "\ncopy t (a,password) from stdin;\n" + "a\tb\n" * (size // 8) + "\t" * (size // 2),
    "names over names": lambda size: "password:\n" * (size // 10),
}  # fmt: skip
"""Texts of another form than a repeated piece."""

TEXTS: dict[str, Make] = {
    **{f"{unit[:40]!r} again and again": _repeated(unit) for unit in dict.fromkeys((*UNITS, *SHAPED_UNITS))},
    **{f"{template!r} with other words": _counted(template) for template in COUNTED},
    **{f"{run[0]!r}, then {run[1]!r}, then {run[2]!r}": _one(*run) for run in RUNS},
    **SPECIAL,
}
"""All of them, by name."""


def _many(make: Callable[[int], Any], each: int) -> Callable[[int], list[Any]]:
    return lambda size: [make(at) for at in range(max(1, size // each))]


VALUES: dict[str, Callable[[int], Any]] = {
    "names that are mails": lambda size: {f"a{at}@b.co": 1 for at in range(max(1, size // 16))},
    "mails": _many(lambda at: f"a{at}@b.co", 14),
    "cards as numbers": _many(lambda _at: 4111111111111111, 17),
    "numbers": _many(lambda at: 10_000_000 + at, 9),
    "fractions": _many(lambda at: 10_000_000.5 + at, 11),
    "passwords": _many(lambda at: {"password": f"a{at}"}, 22),
    "one long name over fields": lambda size: {"a" * (size // 2): dict.fromkeys(islice(words(), max(1, size // 24)), "a1")},
    "one long name that tells": lambda size: {"password" + "a" * (size // 2): [f"a{at}" for at in range(max(1, size // 20))]},
    "one long name of other letters": lambda size: {"\xe9password" * (size // 20): [f"a{at}" for at in range(max(1, size // 20))]},
    "columns and many lists": lambda size: {
        "columns": [*islice(words(), max(1, size // 24)), "password"],
        **{word: [[]] for word in islice(words(), max(1, size // 28))},
    },
    "columns and rows of one": lambda size: {"columns": [*islice(words(), max(1, size // 24)), "password"], "rows": [["a1"]] * max(1, size // 16)},
    "columns that are objects": lambda size: {"columns": [{"name": word} for word in islice(words(), max(1, size // 40))] + [{"name": "password"}], "rows": [["a1"]] * max(1, size // 16)},
    "rows": lambda size: {"columns": ["a", "password"], "rows": _many(lambda at: ["x", f"a{at}b"], 18)(size)},
    "a first row": lambda size: [["a", "password", "b"], *_many(lambda at: [1, f"a{at}b", 2], 20)(size)],
    "a first row of thousands": lambda size: [[*islice(words(), max(1, size // 24)), "password"], *[["a1"]] * max(1, size // 16)],
    "pairs": _many(lambda at: ["password", f"a{at}b"], 24),
    "flags": lambda size: [word for at in range(max(1, size // 28)) for word in ("--db-password", f"a{at}b")],
    "names beside values": _many(lambda at: {"name": "DB_PASSWORD", "value": f"a{at}b"}, 44),
    "many names beside one value": lambda size: {**{f"{word}_name": f"{word}password" for word in islice(words(), max(1, size // 36))}, "value": "a1b2"},
    "one name beside many values": lambda size: {"name": "password", **{f"{word}_value": "a1b2" for word in islice(words(), max(1, size // 24))}},
    "words in quotes": lambda size: [f"{word}key" for word in islice(words(), max(1, size // 11))],
    "short texts": _many(lambda at: f"a{at % 7}", 5),
    "texts with a word": _many(lambda at: f"my password is {at}", 24),
    "empty texts": lambda size: [""] * max(1, size // 3),
}  # fmt: skip
"""Values, by name."""

_SOUNDS = ("bdfgklmnprstvz", "aeiou")


def _word(dice: Random, size: int) -> str:
    return "".join(dice.choice(_SOUNDS[at % 2]) for at in range(size))


def invented(dice: Random, *, camel: bool = False) -> dict[str, Any]:
    """A record of words that nobody has seen: names of fields, sentences, ids, times and amounts; nothing in it is to be hidden."""
    found: dict[str, Any] = {}
    while len(found) < 24:
        name = [_word(dice, dice.randrange(4, 9)) for _ in range(2)]
        found["".join((name[0], name[1].capitalize())) if camel else "_".join(name)] = dice.choice(
            [
                " ".join(_word(dice, dice.randrange(2, 9)) for _ in range(8)).capitalize(),
                _word(dice, 6),
                f"2024-05-{dice.randrange(10, 29)}T08:{dice.randrange(10, 59)}:00",
                dice.randrange(10_000),
                f"{_word(dice, 4).upper()}-{dice.randrange(100, 999)}",
                dice.random() < 0.5,
                [_word(dice, 5) for _ in range(3)],
            ]
        )
    return found
