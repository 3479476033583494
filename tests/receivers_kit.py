"""Receivers on loopback that misbehave as real ones do, and one that takes what OpenTelemetry's own exporters send."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

import trustme
from http_service_kit import Service, says
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from guard.sinks.otel import OTel


@dataclass
class Collector:
    """What came in over OTLP/HTTP, read as the protocol says."""

    service: Service
    wrong: list[str] = field(default_factory=list)

    def _bodies(self, path: str) -> Iterator[bytes]:
        for one in self.service.asked:
            if one.target == path:
                assert one.headers["content-type"] == "application/x-protobuf"
                yield gzip.decompress(one.body) if one.headers.get("content-encoding") == "gzip" else one.body

    def spans(self) -> list[Any]:
        found = [ExportTraceServiceRequest.FromString(body) for body in self._bodies("/v1/traces")]
        return [span for one in found for of in one.resource_spans for scope in of.scope_spans for span in scope.spans]

    def events(self) -> list[Any]:
        found = [ExportLogsServiceRequest.FromString(body) for body in self._bodies("/v1/logs")]
        return [one for request in found for of in request.resource_logs for scope in of.scope_logs for one in scope.log_records]


def attributes(one: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in one.attributes}


@contextmanager
def exporting(port: int, *, seconds: float = 5.0) -> Iterator[OTel]:
    """The sink behind a program's own providers, with OpenTelemetry's exporters to this port."""
    spans, logs = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
    place = f"http://127.0.0.1:{port}/v1"
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{place}/traces", timeout=seconds)))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{place}/logs", timeout=seconds)))
    try:
        yield OTel("traces", tracer_provider=spans, logger_provider=logs)
    finally:
        spans.shutdown()
        logs.shutdown()


class Hanging:
    """Takes connections, and what is sent as far as the system buffers it, and never answers; `touched` once somebody came."""

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.touched = threading.Event()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._open.append(self._socket.accept()[0])
                self.touched.set()

    def __exit__(self, *_: object) -> None:
        for one in [self._socket, *self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def resets(to: BaseHTTPRequestHandler) -> None:
    """Closes the connection in place of an answer, so that the sender is told of a reset."""
    to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.connection.close()
    to.close_connection = True


def busy(status: int, **headers: str) -> Any:
    """Asks to be left alone."""
    return says(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@dataclass
class Papers:
    """Certificates of the test's own: an authority, the receiver's and a sender's."""

    folder: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    @property
    def ca(self) -> Path:
        path = self.folder / "ca.pem"
        self.authority.cert_pem.write_to_path(path)
        return path

    def server(self, *, host: str = "localhost", asks: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(host).configure_cert(context)
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            self.authority.configure_trust(context)
        return context

    def sender(self) -> tuple[Path, Path]:
        made = self.authority.issue_cert("sender.example")
        certificate, key = self.folder / "sender.pem", self.folder / "sender.key"
        made.cert_chain_pems[0].write_to_path(certificate)
        made.private_key_pem.write_to_path(key)
        return certificate, key
