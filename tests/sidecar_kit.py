"""A running `guard serve`, in a process of its own, and a loop that asks it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

ROOT = Path(__file__).parent.parent
ORDER = {"order_id": "A17", "status": "delivered", "total": 120.50, "email": "ann@example.com"}
WHO = {"principal": "c_123", "roles": ["customer"]}


class Sidecar:
    """`guard serve` on a free port. `ask` is a loop's request, `token` its secret."""

    def __init__(self, folder: Path, *options: str, policy: Path = ROOT / "examples" / "sidecar" / "policies") -> None:
        self.folder, self.options, self.policy = folder, options, policy
        self.token = self.guard("serve", "token", "add", "loop").stdout.strip()

    def guard(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command, in the same folder."""
        return subprocess.run(self._command(words), cwd=self.folder, env=self._env(), capture_output=True, text=True, check=False)

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "guard", *words]

    def _env(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT)}

    def __enter__(self) -> Self:
        words = ("serve", "--policy", str(self.policy), "--port", "0", *self.options)
        self.process = subprocess.Popen(
            self._command(words), cwd=self.folder, env=self._env(), stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = re.search(r"listening on (http://\S+)", line)
            if found:
                self.url = found[1]
                break
        else:
            raise AssertionError("".join(said))
        self.client = httpx.Client(base_url=self.url, timeout=30, trust_env=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.client.close()
        self.stop(signal.SIGTERM)

    def stop(self, how: signal.Signals) -> int:
        """End the server and wait for it."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(30)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def post(self, verb: str, body: Any, **headers: str) -> httpx.Response:
        """A request with the loop's token."""
        kind = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.client.post(f"/{verb}", content=json.dumps(body), headers={**kind, **headers})

    def ask(self, verb: str, **body: Any) -> Any:
        """A request that is answered."""
        answer = self.post(verb, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def decide(self, tool: str, arguments: Any, *, conversation: str = "c", session: Any = WHO, **more: Any) -> Any:
        """One proposed call."""
        call = {"id": "x1", "tool": tool, "arguments": arguments}
        return self.ask("decide", session=session, conversation=conversation, call=call, **more)
