"""Each distribution beside the library, alone: installed from its wheel with what it pins, it passes its own tests.
Each application of `examples`: installed from its folder, it starts.

The tests are copied, so that no source of this checkout is in reach. Beside the distribution there are the engine that
tests run on, and the tools of tests in the versions of development.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from requirements.pins import pins_of
from tools.distributions import ROOT
from tools.pythons import Python
from tools.release.environments import bare, install

TESTS: Mapping[str, Sequence[str]] = {
    "deploy": ("tests/deploy",),
    "local": ("tests/unit/local", "tests/engine/local"),
    "mcp": ("tests/mcp",),
}
"""By the folder in `packages`."""
NEEDED: Mapping[str, Sequence[str]] = {
    "deploy": ("click", "rich", "fastapi", "httpx", "itsdangerous"),
    "local": (),
    "mcp": (),
}
"""What the tests import besides: the program, and the applications of `examples`."""
TOOLS = ("botocore", "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist")
_COPIED = ("benchmarks", "docs", "examples", "tests", "tools")
_COPIED_FILES = ("conftest.py", "pyproject.toml")
_UNSET = ("PYTHONPATH", "SINGLETABLE_ENGINE")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", "cassettes")


def try_alone(python: Python, environment: Path, wheels: Path, distribution: str) -> None:
    """Install it into an environment of its own, and run its tests there. SystemExit where one fails."""
    install(python, environment, wheels, f"singletable-{distribution}")
    install(python, environment, wheels, "singletable[local]")
    add_tools(environment / "bin" / "python", distribution)
    run_tests(environment / "bin" / "python", distribution)


def try_application(python: Python, environment: Path, wheels: Path, application: str) -> None:
    """Install an application of `examples` into an environment of its own, and import all of it elsewhere. SystemExit
    where that fails."""
    folder = ROOT / "examples" / application
    install(python, environment, wheels, str(folder))
    names = [
        ".".join(path.relative_to(folder / "src").with_suffix("").parts) for path in (folder / "src").rglob("*.py")
    ]
    needing_no_extra = [name for name in sorted(names) if not name.endswith(("__main__", ".deployment"))]
    code = f"import {', '.join(needing_no_extra)}"
    for command in (["-c", code], ["-m", application, "--help"]):
        ran = subprocess.run(
            [environment / "bin" / "python", *command],
            cwd=environment,
            env=bare(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"examples/{application} fails alone\n{ran.stderr}")


def add_tools(python: Path, distribution: str) -> None:
    """Install what its tests need into its environment."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        pinned = pins_of((ROOT / "requirements" / "dev.txt").read_text())
        constraints.write("".join(f"{name}=={version}\n" for name, version in pinned.items()))
        constraints.flush()
        options = ["--quiet", "--disable-pip-version-check", "--constraint", constraints.name]
        subprocess.run([python, "-m", "pip", "install", *options, *TOOLS, *NEEDED[distribution]], check=True)


def run_tests(python: Path, distribution: str) -> None:
    """Run its tests by its environment. SystemExit where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _COPIED:
            shutil.copytree(ROOT / name, Path(folder, name), ignore=_LEFT_OUT)
        for name in _COPIED_FILES:
            shutil.copy(ROOT / name, folder)
        Path(folder, ".venv-tools").symlink_to(ROOT / ".venv-tools")  # with the linter of templates
        environ = {name: value for name, value in os.environ.items() if name not in _UNSET}
        command = [str(python), "-m", "pytest", "--quiet", "-m", "not soak", *TESTS[distribution]]
        if subprocess.run(command, cwd=folder, env=environ, check=False).returncode:
            raise SystemExit(f"singletable-{distribution} fails its tests alone")
