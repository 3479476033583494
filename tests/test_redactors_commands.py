"""Commands: the password that a program is given in its own way is hidden, with google-re2 and without; what is no password stays."""

from __future__ import annotations

import json

import pytest

from guard.core.hiding import hide
from guard.core.ports import Redactor
from guard.redactors import redactor

BOTH = [redactor(), redactor(fast=False)]
GIVEN = [
    "sshpass -p ~ ssh root@db",
    "sshpass -p~ ssh -p 2222 db",
    "sshpass -p '~' scp a db:",
    "mysql -u root -p~ shop",
    "mysqldump --all-databases -p'~' > all.sql",
    "mariadb-dump -uroot -p~ shop",
    "redis-cli -h cache -a ~ ping",
    "mongosh -u admin -p ~ --authenticationDatabase admin",
    'mongodump --db shop -p "~"',
    "docker login -u bob -p ~ registry.example.com",
    "podman login -p ~ quay.io",
    "ldapsearch -x -D cn=admin,dc=example -w ~ -b dc=example",
    "sqlcmd -S srv -U sa -P ~ -Q 'select 1'",
    "smbclient //srv/share -U bob%~",
    "lftp -u bob,~ ftp.example.com",
    "openssl enc -aes256 -pass pass:~ -in a",
    "openssl pkcs12 -in a.p12 -passin pass:~ -nodes",
]
SPOKEN = [
    "mysql -u root -p shop",
    "mysql -p --host db",
    "mysql -P 3306 -h db",
    "the -p flag of docker login -p flag is not safe",
    "docker run -p 8080:80 web",
    "mongosh -u admin -p $MONGO_PASSWORD",
    "redis-cli -p 6379 -a ${REDIS_PASSWORD} ping",
    "redis-cli -a <password> ping",
    "docker login --username bob --password-stdin",
    "mysql shop < a.sql; mkdir -p hunter/q22x",
    "ssh -p 2222 db",
    "openssl x509 -in cert.pem -noout",
    "ldapsearch -x -b dc=example",
    "sshpass -e ssh -p 2222 db",
    "smbclient -L srv -U bob",
]


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
@pytest.mark.parametrize("line", GIVEN)
def test_the_password_of_a_command_is_hidden(line: str, one: Redactor) -> None:
    """In a line, among others, in JSON, and once: hiding it again changes nothing."""
    for secret in ("hunter22x", "Tr0ub4dor&3" if line.find("~'") + line.find('~"') > -2 else "Tr0ub4dor3", "correcthorse"):
        given, shown = line.replace("~", secret), line.replace("~", "[secret]")
        for form in ("{}", "$ {}\nok", "cd /srv && {}", "# {}"):
            assert hide(form.format(given), one, set()) == form.format(shown)
            assert hide(form.format(shown), one, set()) == form.format(shown)
        assert hide({"cmd": given, "n": [given]}, one, set()) == {"cmd": shown, "n": [shown]}
        assert not one.quiet(json.dumps({"cmd": given}))


@pytest.mark.parametrize("one", BOTH, ids=["with google-re2", "without"])
@pytest.mark.parametrize("line", SPOKEN)
def test_what_is_no_password_stays(line: str, one: Redactor) -> None:
    """Ports, folders, variables, and words that speak of the flag."""
    assert hide(line, one, set()) == line
    assert hide({"cmd": f"$ {line}\n"}, one, set()) == {"cmd": f"$ {line}\n"}
