"""Sections: secrets in blocks whose names say secret, in YAML, INI, TOML, HCL and Secrets of Kubernetes; what only stands beside them stays."""

from __future__ import annotations

import json

import pytest

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
IDS = ["with google-re2", "without"]
HIDDEN = [
    "secrets:\n  db: ~\n  smtp: ~\nport: 8080",
    "app:\n  api_key:  # rotated\n    prod: ~\n    dev: '~'\n  name: shop1234",
    "credentials:\n  user: kim12345\n  pass: ~",
    "credentials:\n- host: db1.example\n  pass: ~\nhost: db1-a2b3c4",
    "[password]\nprod = ~\ndev=~\n[other]\nprod = kim12345",
    '[db.password]\nvalue = "~"',
    '[[secrets]]\ndb = "~"\nname = "kim12345"',
    'password {\n  value = "~"\n}\nvalue = "kim12345"',
    'variable "db_password" {\n  type = string\n  default = "~"\n}',
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: kim12345\ndata:\n  db: ~\n  other: ~\ntype: Opaque",
    "apiVersion: v1\nstringData:\n  db: ~\nkind: Secret\nmetadata: {}",
    "kind: ConfigMap\ndata:\n  a: kim12345\n---\nkind: Secret\ndata:\n  a: ~",
]
KEPT = [
    "secrets:\n  - name: db\n    path: /run/secrets/db1",
    "secrets:\n  inherit: true",
    "tokens:\n  input: 1234567\n  output: 13",
    "secret:\n  secretName: db-creds1\n  mountPath: /run/x1",
    "kind: ConfigMap\ndata:\n  a: aHVudGVyMjJ4",
    "credentials:\n  region: eu-west-1\n  url: https://x.example/a1b2c3",
    "the password:\nask kim for order 1a2b3c4d",
    "password:\n  rule: at least 8 signs",
    "[tokens]\ncount = 12345678",
    "rows [secret]\ndb = a1b2c3d4e5",
    "[secret]\ndb = a1b2c3d4e5",
    "secrets:\n- source: tls_cert2024\n  target: /etc/ssl/cert2.pem",
    '[tokens]\nmax_tokens = 4096\nmodel = "gpt-4o-mini-2024-07-18"\nencoding = cl100k_base',
    "secret:\n  secretName: db-creds-v2\n  items:\n  - key: username1\n    path: my-group1/my-username1",
    "secret:\n  ref: secretref1234\n  fingerprint: SHA256:abcdef1234567890\n  checksum: d41d8cd98f00b204e9800998ecf8427e",
    'secret {\n  title = "Chapter12"\n  book = "isbn9783161484100"\n}',
    "secrets:\n- db_password1\n- tls-cert-2024",
    "secrets:\n  tls_cert2024:\n    external: true\n  db_password1:\n    file: ./secrets/db_password1.txt",
    "secret_santa:\n  anna1990: ben1985x",
    "token_ring:\n  node1: 10a2b3c4",
    "api_key:\n  env: OPENAI_API_KEY_2\n  header: X-Api-Key-2",
    "token {\n  length = 32\n  ttl = 3600s\n}",
]


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("text", HIDDEN)
def test_a_secret_in_a_block_whose_name_says_so(text: str, one: Redactor) -> None:
    """As a text, with other ends of lines, in a value and in its JSON; once more changes nothing."""
    for secret in ("hunter22x", "Tr0ub4dor_3xy", "aHVudGVyMjJ4cQ=="):
        for end in ("\n", "\r\n"):
            given, shown = (part.replace("\n", end) for part in (text.replace("~", secret), text.replace("~", "[secret]")))
            assert hide(given, one, set()) == shown
            assert hide(shown, one, set()) == shown
            assert hide({"out": [given]}, one, set()) == {"out": [shown]}
            assert hide(json.dumps({"out": given}), one, set()) == json.dumps({"out": shown})
            assert not one.quiet(json.dumps({"out": given}))


@pytest.mark.parametrize("one", BOTH, ids=IDS)
@pytest.mark.parametrize("text", KEPT)
def test_what_stands_beside_it_stays(text: str, one: Redactor) -> None:
    """Names, places, counts, sentences, and what is left where something was hidden."""
    assert hide(text, one, set()) == text
