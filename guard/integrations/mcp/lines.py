"""Lines: MCP over pipes, a message a line: the client's side on our own standard input and output, the server's in a child process.

The child is a group of processes of its own and is gone when `close` returns, whatever it does. Its error output is ours. Decides nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import BinaryIO

from guard.core.ceilings import CEILINGS
from guard.core.values import JsonObject, encode
from guard.errors import GuardError
from guard.integrations.mcp.messages import UnfitError, read
from guard.integrations.mcp.peer import GoneError

_PATIENCE = 2.0  # seconds that a child has to end by itself, and again after it was told to
_LAST_WORDS = 0.2  # seconds in which what a server wrote before it ended is read
_LOOK = 0.1  # seconds between two looks whether it has ended, while nobody waits for that
_CHUNK = 1 << 16


class Lines:
    """Messages, one a line."""

    answers_cancelled = False

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, trusted: bool, most: int = CEILINGS.message_bytes
    ) -> None:
        self._reader, self._writer, self._trusted, self._most = reader, writer, trusted, most

    async def send(self, message: JsonObject, about: object = None) -> None:  # noqa: ARG002 - one pipe for all
        """Write one line."""
        try:
            self._writer.write(f"{encode(message)}\n".encode("utf-8", "backslashreplace"))
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise GoneError("nobody reads on") from error

    async def messages(self) -> AsyncIterator[JsonObject | UnfitError]:
        """Read to the end. Blank lines are nothing; a last line without an end was cut off and is dropped."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                if self._trusted:
                    raise GoneError(f"a message of more than {self._most} bytes") from None
                await self._skip(error.consumed)
                yield UnfitError(f"a message of more than {self._most} bytes")
                continue
            except (asyncio.IncompleteReadError, OSError):
                return
            if not line.isspace():
                try:
                    yield read(line, strict=not self._trusted)
                except UnfitError as error:
                    yield error

    async def _skip(self, seen: int) -> None:
        """Throw the rest of a line away without keeping it."""
        while True:
            await self._reader.readexactly(seen)
            try:
                await self._reader.readuntil(b"\n")
                return
            except asyncio.LimitOverrunError as error:
                seen = error.consumed
            except asyncio.IncompleteReadError:
                return

    async def close(self) -> None:
        """Stop writing."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()


async def own_lines(most: int) -> Lines:
    """Our own standard input and output, as the client's side; a longer message than `most` bytes is refused.

    From here on nothing else may write to standard output.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=most)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print is no message
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    if _waits(source.fileno()):
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    else:  # a plain file, or a device such as /dev/null
        threading.Thread(target=_pour, args=(source, reader, loop), daemon=True).start()
    try:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, out)
    except ValueError:
        return _Filed(reader, out, most)
    transport.set_write_buffer_limits(high=0)  # what was sent has left when `send` returns
    return Lines(reader, asyncio.StreamWriter(transport, protocol, None, loop), trusted=False, most=most)


def _waits(number: int) -> bool:
    """Whether the loop can wait for what comes in there: a pipe, a socket or a terminal."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)


class _Filed(Lines):
    """Standard output is a plain file."""

    def __init__(self, reader: asyncio.StreamReader, out: BinaryIO, most: int) -> None:
        self._reader, self._out, self._trusted, self._most = reader, out, False, most

    async def send(self, message: JsonObject, about: object = None) -> None:  # noqa: ARG002 - as above
        """Write one line."""
        self._out.write(f"{encode(message)}\n".encode("utf-8", "backslashreplace"))

    async def close(self) -> None:
        """Stop writing."""
        self._out.close()


def _pour(source: BinaryIO, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    while data := source.read(_CHUNK):
        loop.call_soon_threadsafe(reader.feed_data, data)
    loop.call_soon_threadsafe(reader.feed_eof)


# -- a server that is started ------------------------------------------------------------------------------------------


class Child(Lines):
    """A server in a child process."""

    def __init__(self, process: asyncio.subprocess.Process, most: int) -> None:
        if process.stdin is None or process.stdout is None:
            raise GuardError("the server has no pipes")
        super().__init__(process.stdout, process.stdin, trusted=True, most=most)
        self._process = process
        self._watch = asyncio.ensure_future(self._over())

    async def code(self, seconds: float) -> int | None:
        """Its exit code; None where there is none within so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended(), seconds)
        return self._process.returncode

    async def close(self) -> None:
        """Close its input; whoever of its group is still there after a while is told to end, and then ended."""
        self._watch.cancel()
        await super().close()
        for wish in (None, signal.SIGTERM, signal.SIGKILL):
            if wish is not None:
                self._signal(wish)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended(), _PATIENCE)
                break
        self._signal(signal.SIGKILL)  # what the server itself has started and left behind
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - a grandchild may hold the pipe open

    async def _over(self) -> None:
        """A server that ended says nothing more, even where something that it has started holds its output open."""
        await self._ended(_LOOK)
        await asyncio.sleep(_LAST_WORDS)
        self._reader.set_exception(GoneError("the server ended"))

    async def _ended(self, pause: float = 0.01) -> None:
        while self._process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the pipes too, which a grandchild may hold
            await asyncio.sleep(pause)

    def _signal(self, which: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, which)


async def start(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    most: int = CEILINGS.message_bytes,
) -> Child:
    """Start a server; after a message of more than `most` bytes the connection ends. Raises GuardError when it cannot be started."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,
            env=dict(env),
            cwd=cwd,
            limit=most,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise GuardError(f"the MCP server cannot be started: {getattr(error, 'strerror', None) or error}") from None
    return Child(process, most)
