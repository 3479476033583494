"""Extras: the command that installs an extra of this very guard, for the errors that name what is missing.

A guard that runs from a clone, or was installed from one, from a file or from a repository, is told where that is: no index need have it. Reads only how the
package was installed, and only once an error is made of it. Imports nothing of ours; whatever needs an extra imports it.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "guard-middleware"


def install(extra: str) -> str:
    """`pip install '/path/to/the/repository[server]'`, or what comes nearest to it for a guard that came from elsewhere."""
    clone = Path(__file__).resolve().parents[1]
    if (clone / "pyproject.toml").is_file():
        return f"pip install -e {quote(f'{clone}[{extra}]')}"
    return f"pip install {quote(_named(_origin(), extra))}"


def _origin() -> dict[str, object]:
    """Where pip took the package from, as it wrote down beside it; empty for an index."""
    try:
        found = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _named(origin: dict[str, object], extra: str) -> str:
    url, vcs = str(origin.get("url", "")), origin.get("vcs_info")
    if isinstance(vcs, dict) and vcs.get("vcs"):
        return f"{DISTRIBUTION}[{extra}] @ {vcs['vcs']}+{url}"
    if url.startswith("file:"):
        return f"{unquote(urlsplit(url).path)}[{extra}]"
    return f"{DISTRIBUTION}[{extra}]"
