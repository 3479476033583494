"""Numbers with a form of their own: accounts, addresses of networks and national ids, and what only looks like them."""

from __future__ import annotations

import pytest

from guard.redactors import detect

HIDDEN = [
    pytest.param(None, "DE89370400440532013000", "[iban]", id="account"),
    pytest.param(None, "to IBANDE89370400440532013000.", "to IBAN[iban].", id="account right behind its word"),
    pytest.param(None, "to GB82 WEST 1234 5698 7654 32 by Friday", "to [iban] by Friday", id="account in groups"),
    pytest.param(None, "fr14-2004-1010-0505-0001-3m02-606", "[iban]", id="account in lower case with dashes"),
    pytest.param(None, "IBAN:NL91ABNA0417164300.", "IBAN:[iban].", id="account after a word"),
    pytest.param(None, "IBANDE89370400440532013000 BIC", "IBAN[iban] BIC", id="account glued to the word"),
    pytest.param(None, "ibanFR1420041010050500013M02606", "iban[iban]", id="account glued to the word in small letters"),
    pytest.param(None, "KontoNL91ABNA0417164300", "Konto[iban]", id="account glued to another word"),
    pytest.param(None, "card 4111.1111.1111.1111.", "card [card].", id="card with dots"),
    pytest.param(None, "from 203.0.113.7:443", "from [ip address]:443", id="address and port"),
    pytest.param(None, "203.0.113.0/24, 198.51.100.9", "[ip address], [ip address]", id="network and address"),
    pytest.param("version", "2001:db8::7", "[ip address]", id="long address under any key"),
    pytest.param(None, "http://[2001:db8::7]:80/", "http://[[ip address]]:80/", id="long address in a URL"),
    pytest.param(None, "fe80::1%eth0", "[ip address]", id="address with a zone"),
    pytest.param(None, "addr:2001:db8::/32", "addr:[ip address]", id="long network after a label"),
    pytest.param(None, "::ffff:192.0.2.1", "[ip address]", id="old address in a long one"),
    pytest.param(None, "mac:00:1a:2b:3c:4d:5e", "mac:[mac address]", id="hardware address after a label"),
    pytest.param(None, "AA-BB-CC-DD-EE-FF", "[mac address]", id="hardware address of letters"),
    pytest.param(None, "0012.3456.789A up", "[mac address] up", id="hardware address with dots"),
    pytest.param(None, "SSN 078-05-1120.", "SSN [ssn].", id="SSN"),
    pytest.param(None, "ssn 987-65-4321", "ssn [ssn]", id="an SSN that was never issued, after the word"),
    pytest.param("employeeSsn", "078051120", "[ssn]", id="SSN of digits under a key"),
    pytest.param(None, '{"social_security": "078051120"}', '{"social_security": "[ssn]"}', id="SSN in JSON text"),
    pytest.param(None, "号码11010519491231002X。", "号码[id number]。", id="Chinese resident"),
    pytest.param(None, "身份证 110105491231002", "身份证 [id number]", id="Chinese resident of the old kind"),
    pytest.param(None, "131052-308T", "[id number]", id="Finland"),
    pytest.param(None, "x9613851n", "[id number]", id="resident of Spain"),
    pytest.param("nif", "12345678Z", "[id number]", id="citizen of Spain under a key"),
    pytest.param(None, "RSSMRA85T10A562S", "[id number]", id="Italy"),
    pytest.param(None, "YZ 61 48 68 B", "[id number]", id="British insurance"),
    pytest.param(None, "NINO: PR123612C", "NINO: [id number]", id="British insurance after a word"),
    pytest.param(None, "NHS number 401 023 2137", "NHS number [id number]", id="British health"),
    pytest.param(None, "529.982.247-25", "[id number]", id="Brazil"),
    pytest.param("cpf", "52998224725", "[id number]", id="Brazil under a key"),
    pytest.param(None, "756.9217.0769.85", "[id number]", id="Switzerland"),
    pytest.param(None, "PESEL 44051401458", "PESEL [id number]", id="Poland"),
    pytest.param("aadhaar_number", "3998 7654 3211", "[id number]", id="India"),
    pytest.param(None, "S1234567D", "[id number]", id="Singapore"),
    pytest.param(None, "A123456(3)", "[id number]", id="Hong Kong"),
    pytest.param(None, "1EG4-TE5-MK73", "[id number]", id="Medicare"),
    pytest.param("tcKimlik", "10000000146", "[id number]", id="Turkey"),
    pytest.param(None, "85.07.30-033.28", "[id number]", id="Belgium"),
    pytest.param(None, "112-233-445 95", "[id number]", id="Russia"),
    pytest.param(None, "12.345.678-5", "[id number]", id="Chile"),
    pytest.param(None, "20-12345678-6", "[id number]", id="Argentina"),
]
KEPT = [
    pytest.param(None, "DE88370400440532013000", id="wrong check digits"),
    pytest.param(None, "DE893704004405320130001", id="longer than an account"),
    pytest.param(None, "XX89370400440532013000", id="no such country"),
    pytest.param(None, "aB3kontoNL91ABNA0417164300 and KontonL91ABNA0417164300", id="account inside something longer"),
    pytest.param(None, "4111.1111.1111.1112 and 1.4111.1111.1111.1111", id="no card with dots"),
    pytest.param(None, "v1.2.3.4", id="version"),
    pytest.param(None, "version 10.0.19.4", id="version after a word"),
    pytest.param("version", "10.0.19.4", id="version under a key"),
    pytest.param(None, "1.2.3.4.5", id="too many parts"),
    pytest.param(None, "see section 4.1.2.3", id="section"),
    pytest.param(None, "numpy-1.2.3.4.tar.gz and Chrome/91.0.4.12", id="versions of packages"),
    pytest.param(None, "300.1.1.1 and 01.02.03.04", id="no octets"),
    pytest.param(None, "12:30:45 and 12::30 and x[::2] and a::b", id="times, slices and names"),
    pytest.param(None, "2024-05-01 12:30:45", id="timestamp"),
    pytest.param(None, "20-24-05-01-12-30", id="pairs of plain digits"),
    pytest.param(None, "00:1a:2b:3c:4d:5e:6f:70", id="eight pairs"),
    pytest.param(None, "078051120", id="nine bare digits"),
    pytest.param(None, "000-12-3456 and 078-00-1120 and 078-05.1120", id="no SSN"),
    pytest.param(None, "110105194912310029", id="wrong check digit of a resident"),
    pytest.param(None, "44051401458", id="eleven bare digits that pass a check"),
    pytest.param(None, "order 240501-1234", id="a date and a number"),
    pytest.param(None, "AB123456C", id="an id that looks like British insurance"),
    pytest.param(None, "business routing 3998 7654 3211", id="groups of four"),
    pytest.param("order_id", "12345678Z", id="eight digits and a letter"),
    pytest.param(None, "10:2F:33-AC-29-C3", id="mixed separators"),
]


@pytest.mark.parametrize(("key", "text", "shown"), HIDDEN)
def test_hidden(key: str | None, text: str, shown: str) -> None:
    """The number alone is replaced by the name of its kind; once more changes nothing."""
    assert detect(key, text)[0] == shown
    assert detect(key, shown)[0] == shown


@pytest.mark.parametrize(("key", "text"), KEPT)
def test_kept(key: str | None, text: str) -> None:
    """What only looks like such a number is the same object."""
    assert detect(key, text)[0] is text
