"""What an error tells to install: a command that works from where this guard came, a clone, a file, a repository or an index."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guard.extras

ROOT = Path(__file__).resolve().parents[1]
ORIGINS: dict[str, tuple[Any, str]] = {
    "a clone": ({"url": "file:///srv/guard", "dir_info": {}}, "pip install '/srv/guard[crypto]'"),
    "a clone with a blank": ({"url": "file:///srv/the%20guard", "dir_info": {}}, "pip install '/srv/the guard[crypto]'"),
    "a wheel": ({"url": "file:///srv/g-1.whl", "archive_info": {}}, "pip install '/srv/g-1.whl[crypto]'"),
    "a repository": (
        {"url": "https://example.com/g.git", "vcs_info": {"vcs": "git", "commit_id": "0"}},
        "pip install 'guard-middleware[crypto] @ git+https://example.com/g.git'",
    ),
    "an index": (None, "pip install 'guard-middleware[crypto]'"),
    "what cannot be read": ("{", "pip install 'guard-middleware[crypto]'"),
    "something else": ([1], "pip install 'guard-middleware[crypto]'"),
}


@pytest.mark.parametrize(("origin", "told"), ORIGINS.values(), ids=list(ORIGINS))
def test_the_command_is_for_where_it_was_installed_from(tmp_path: Path, origin: Any, told: str) -> None:
    """As pip wrote it down beside the package."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "__init__.py").touch()
    shutil.copy(guard.extras.__file__, tmp_path / "guard" / "extras.py")
    beside = tmp_path / "guard_middleware-0.1.0.dist-info"
    beside.mkdir()
    (beside / "METADATA").write_text("Metadata-Version: 2.1\nName: guard-middleware\nVersion: 0.1.0\n", "utf-8")
    if origin is not None:
        (beside / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin), "utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from guard.extras import install; print(install('crypto'))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{told}\n"


def test_from_a_clone_it_is_the_clone() -> None:
    """Whoever works in it gets the extra into the same environment, still editable."""
    assert guard.extras.install("server") == f"pip install -e '{ROOT}[server]'"


def test_no_other_text_says_what_to_install() -> None:
    """Nobody writes the command by hand, and every extra that is named is one of the project."""
    named: set[str] = set()
    for path in sorted((ROOT / "guard").rglob("*.py")):
        text = path.read_text("utf-8")
        assert "guard-middleware[" not in text or path.name == "extras.py", path
        named |= set(re.findall(r"install\(['\"]([a-z-]+)['\"]\)", text))
    project = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]")[2]
    assert {"postgres", "server", "crypto"} <= named <= set(re.findall(r"^([a-z-]+) = \[", project, re.MULTILINE))
