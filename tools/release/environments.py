"""Environments that a release is tried in, as a user makes them: from its wheels, without npm or a compiler."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tools.pythons import Python


def install(python: Python, environment: Path, wheels: Path, what: str = "singletable[local]") -> None:
    """What a user does, with a PATH that has no npm and no compiler."""
    subprocess.run([python.path, "-m", "venv", str(environment)], check=True)
    asked = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    command = [str(environment / "bin" / "python"), *asked, "--find-links", str(wheels), what]
    subprocess.run(command, env=bare(environment), check=True)


def bare(home: Path) -> dict[str, str]:
    """The variables of a new user: a home, and what pip needs to reach an index."""
    kept = {name: value for name, value in os.environ.items() if name.lower().startswith(("pip_", "http", "ssl"))}
    return {**kept, "HOME": str(home), "PATH": "/nowhere", "LANG": "C.UTF-8"}
