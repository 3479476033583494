"""Syslog over TLS (RFC 5425) to a real server on loopback: what arrives, whom it goes to, and what is told where it does not."""

from __future__ import annotations

import socketserver
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from receivers_kit import Hanging, Papers
from sinks_kit import QUICK, follower, write
from stores_kit import Clock, a_store
from test_sinks_syslog import HOSTILE, Reader, seqs, tcp, waited

from guard.cli.sinks_file import read_sinks
from guard.core.ports import Store
from guard.errors import PolicyError
from guard.sinks.port import SinkError
from guard.sinks.syslog import Address, Syslog, trusted


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from a_store("memory", tmp_path, Clock())


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path)


@contextmanager
def tls(context: ssl.SSLContext, port: int = 0) -> Iterator[Any]:
    """A receiver that shakes hands first, and remembers who came and who took their leave: a connection that is cut raises."""

    class Server(socketserver.ThreadingTCPServer):
        who: list[Any] = []  # noqa: RUF012 - one server
        left: list[bool] = []  # noqa: RUF012 - as above

        def finish_request(self, request: Any, client_address: Any) -> None:
            ways = {"server_side": True, "do_handshake_on_connect": False, "suppress_ragged_eofs": False}
            with suppress(OSError), context.wrap_socket(request, **ways) as link:
                link.do_handshake()
                self.who.append(link.getpeercert())
                Reader(link, client_address, self)
                self.left.append(True)

    with tcp(Server, ("127.0.0.1", port)) as server:
        yield server


def sink(port: int, *papers: Path, host: str = "localhost", seconds: float = 60.0) -> Syslog:
    return Syslog("log", Address.of(f"tls://{host}:{port}"), seconds=seconds, trust=trusted(*papers))


def failure(log: Syslog, store: Store) -> str:
    try:
        log.send(store.audit())
    except SinkError as error:
        return str(error)
    return ""


def test_messages_arrive_encrypted_and_in_order(store: Store, papers: Papers) -> None:
    """With a certificate of an authority that is named; a receiver that was started anew gets what comes next, and the sender takes its leave."""
    write(store, 5, text=HOSTILE)
    with tls(papers.server()) as server:
        port = server.server_address[1]
        log = sink(port, papers.ca)
        assert follower(store, log).step().sent == 5
        assert seqs(waited(server.got, 5)) == [1, 2, 3, 4, 5]
    with tls(papers.server(), port) as server:
        write(store, 200)
        log.send(store.audit(after=5))
        log.close()
        assert seqs(waited(server.got, 200)) == [*range(6, 206)]
        assert waited(server.left, 1) == [True]


def test_a_receiver_may_ask_who_sends(store: Store, papers: Papers) -> None:
    """With a certificate of the sender's own it takes the messages, without one none."""
    write(store, 2)
    with tls(papers.server(asks=True)) as server:
        known = sink(server.server_address[1], papers.ca, *papers.sender())
        known.send(store.audit())
        assert seqs(waited(server.got, 2)) == [1, 2]
        known.close()
        nobody = sink(server.server_address[1], papers.ca)
        told, late = "", time.monotonic() + 60  # the receiver's answer may come behind the first messages
        while not told and time.monotonic() < late:
            told = failure(nobody, store)
            time.sleep(0.01)
        assert told.startswith("it cannot be reached: ")
        nobody.close()
        assert seqs(server.got) == [1, 2]


@pytest.mark.parametrize("wrong", ["authority", "host", "plain", "hanging"])
def test_nothing_goes_to_anybody_else(store: Store, papers: Papers, tmp_path: Path, wrong: str) -> None:
    """Another authority, a certificate for another host, a receiver without TLS, and one that never answers the greeting: told, and nothing was sent."""
    write(store, 1)
    ca = papers.ca
    if wrong == "authority":
        trustme.CA().cert_pem.write_to_path(ca)
    listening: Any = {
        "authority": lambda: tls(papers.server()),
        "host": lambda: tls(papers.server(host="other.example")),
        "plain": tcp,
        "hanging": Hanging,
    }[wrong]()
    with listening as server:
        port = server.port if wrong == "hanging" else server.server_address[1]
        log = sink(port, ca, seconds=0.3 if wrong in ("plain", "hanging") else 60.0)
        with pytest.raises(SinkError, match="it cannot be reached: ") as told:
            log.send(store.audit())
        assert ("its certificate is not accepted (" in str(told.value)) == (wrong in ("authority", "host"))
        assert "call.decided" not in str(told.value)
        assert not getattr(server, "got", None)


def test_the_file_of_sinks_names_certificates_beside_it(papers: Papers, store: Store, tmp_path: Path) -> None:
    """Paths are relative to the file; what cannot be used is told with its line."""
    certificate, key = papers.sender()
    write(store, 1)
    with tls(papers.server(asks=True)) as server:
        address = f"tls://localhost:{server.server_address[1]}"
        text = f"sinks:\n  log: {{to: syslog, address: '{address}', ca: {papers.ca.name}, certificate: {certificate.name}, certificate_key: {key.name}}}\n"
        (tmp_path / "sinks.yaml").write_text(text, "utf-8")
        [planned] = read_sinks(str(tmp_path / "sinks.yaml"), {}, Clock())
        assert follower(store, planned.sink, QUICK).step().sent == 1
        assert seqs(waited(server.got, 1)) == [1]
        planned.sink.close()
    mistakes = {
        text.replace("tls://", "tcp://"): "only for an address of tls://",
        text.replace(f"ca: {papers.ca.name}", "ca: none.pem"): "ca: No such file",
        text.replace(f"ca: {papers.ca.name}", f"ca: {key.name}"): "ca: ",
        text.replace(f", certificate: {certificate.name}", ""): "certificate_key: the certificate is missing",
        text.replace(f"certificate_key: {key.name}", f"certificate_key: {papers.ca.name}"): "certificate: TLS failed",
    }
    for mistake, told in mistakes.items():
        assert mistake != text
        (tmp_path / "sinks.yaml").write_text(mistake, "utf-8")
        with pytest.raises(PolicyError, match=r"sinks\.yaml:2: log: ") as raised:
            read_sinks(str(tmp_path / "sinks.yaml"), {}, Clock())
        assert told in str(raised.value)
