"""Where an HTTP tool may go: which addresses, which redirects, and in whose name. Real servers on loopback, real certificates."""

from __future__ import annotations

import ssl
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import trustme
from http_service_kit import Service, call, guard_with, of, says, schema

from guard.tools.destination import ForbiddenError, addresses

INSIDE = [
    "127.0.0.1",
    "127.8.9.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104 - an address to refuse
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.0.170",
    "192.0.0.192",
    "192.88.99.1",
    "fec0::1",
    "::1",
    "::",
    "fe80::1",
    "fd00::1",
    "fc00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:db8::1",
]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_refused(address: str) -> None:
    """Whatever leads into the house is, in every spelling of it, unless the policy names the network or writes that very address."""
    with pytest.raises(ForbiddenError):
        addresses(address, 443, [], literal=False)
    assert [*map(ip_address, addresses(address, 443, [], literal=True))] == [ip_address(address)]
    if ":" not in address:
        assert addresses(address, 443, [f"{address}/32"], literal=False) == [address]


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::101:101"])
def test_a_public_address_is_permitted(address: str) -> None:
    """Nothing has to be listed for it."""
    assert addresses(address, 443, [], literal=False) == [address]


@pytest.mark.parametrize("name", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_a_name_that_leads_inside_is_refused(name: str) -> None:
    """A name is what it leads to; `localhost` alone may be meant, where the policy writes it."""
    with pytest.raises(ForbiddenError):
        addresses(name, 80, [], literal=False)
    if name != "localhost":
        with pytest.raises(ForbiddenError):
            addresses(name, 80, [], literal=True)
    assert addresses(name, 80, ["127.0.0.0/8", "::1/128"], literal=False)


def redirects(to: str, status: int = 302) -> Any:
    def answer(handler: Any) -> None:
        target = handler.path.startswith("/x")
        says(status if target else 200, b"{}" if target else b'{"there": 1}', headers={"Location": to} if target else {})(handler)

    return answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_at_home_is_followed(status: int, tmp_path: Path) -> None:
    """As often as the policy says, with the same headers; once more is a failure."""
    with Service(redirects("/there?z=1", status)) as service:
        entries = {"one": of(service, redirects=1, headers={"X-Key": "k"}), "none": of(service)}
        with closing(guard_with(tmp_path, entries)) as guard:
            told = [call(guard, "one"), call(guard, "none")]
    assert [(one.status, "there" in one.content) for one in told] == [("done", True), ("failed", False)]
    assert [(one.target, one.headers.get("x-key")) for one in service.asked] == [("/x", "k"), ("/there?z=1", "k"), ("/x", None)]


def test_a_loop_ends(tmp_path: Path) -> None:
    """A service that sends on and on is asked as often as the policy says, and once more."""
    with (
        Service(redirects("/x")) as service,
        closing(guard_with(tmp_path, {"t": of(service, redirects=3)})) as guard,
    ):
        assert call(guard, "t").status == "failed"
    assert len(service.asked) == 4


@pytest.mark.parametrize(
    "place",
    ["http://169.254.169.254/latest", "//127.0.0.2/x", "file:///etc/passwd", "http://[::1]:1/", "https://", "http://a b/"],
)
def test_a_redirect_elsewhere_is_not_followed(place: str, tmp_path: Path) -> None:
    """A server does not choose where a request goes: only hosts that the policy names."""
    with Service(redirects(place)) as service, closing(guard_with(tmp_path, {"t": of(service, redirects=2)})) as guard:
        told = call(guard, "t")
    assert (told.status, len(service.asked)) == ("failed", 1)
    assert "169.254" not in told.content


def test_a_listed_host_gets_no_secrets_and_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that a redirect may lead to gets the target that the service wrote, without the policy's headers; inside only where a network is named."""
    monkeypatch.setenv("GUARD_TEST_KEY", "tk-123456789")
    with Service(says(body='{"there": 1}')) as other:
        place = f"http://localhost:{other.port}/there"
        with Service(redirects(place)) as service:
            http: dict[str, Any] = {
                "redirects": 1,
                "hosts": [f"localhost:{other.port}"],
                "headers": {"Authorization": "${GUARD_TEST_KEY}"},
            }
            entries = {"shut": of(service, **http), "open": of(service, networks=["127.0.0.0/8", "::1/128"], **http)}
            with closing(guard_with(tmp_path, entries)) as guard:
                told = [call(guard, name) for name in entries]
    assert [one.status for one in told] == ["failed", "done"]
    assert ["authorization" in one.headers for one in (*service.asked, *other.asked)] == [True, True, False]


def _tls(name: str, folder: Path) -> tuple[ssl.SSLContext, Path]:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    return context, folder / "ca.pem"


@pytest.mark.parametrize(
    ("name", "known", "status"), [("localhost", True, "done"), ("other.example", True, "failed"), ("localhost", False, "failed")]
)
def test_the_certificate_is_the_hosts(
    name: str, known: bool, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although an address is connected to, the certificate must be for the host's name, by an authority that the machine knows."""
    context, authority = _tls(name, tmp_path)
    if known:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with Service(says(), tls=context) as service:
        entry = {"http": {"url": f"https://localhost:{service.port}/"}, "schema": schema(), "kind": "action"}
        with closing(guard_with(tmp_path / "p", {"t": entry})) as guard:
            told = call(guard, "t")
    assert told.status == status
    assert len(service.asked) == (1 if status == "done" else 0)
