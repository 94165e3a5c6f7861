"""The Pythons of this machine, and the tests on each: `make test-all`.

    python -m tools.pythons                           lists them
    python -m tools.pythons test                      every test but the long runs, on each
    python -m tools.pythons test tests/unit -x        pytest's arguments

Each has an environment of its own in `.venvs`, made once from the pins of development.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.distributions import FOLDERS, ROOT, editable

OLDEST, NEWEST = 11, 15
"""Minor versions of Python 3 that are looked for."""
_ASKED = """
import sys
from importlib.machinery import PathFinder
if PathFinder.find_spec("ensurepip"):
    print(sys.version.split()[0], int("t" in sys.abiflags))
"""
"""Each run that collects the tests asks all of them: nothing slow is imported."""
_USUAL = ["-m", "not soak", "-n", os.environ.get("WORKERS", "2"), "--dist", "loadfile"]


@dataclass(frozen=True)
class Python:
    path: str
    version: str
    is_free_threaded: bool = False

    @property
    def release(self) -> tuple[int, ...]:
        """(3, 13, 0), to be compared."""
        return tuple(map(int, re.findall(r"\d+", self.version)))

    @property
    def name(self) -> str:
        """`3.13`, or `3.13t` without the global lock."""
        return f"{self.version.rpartition('.')[0]}{'t' if self.is_free_threaded else ''}"


def pythons() -> list[Python]:
    """One of each minor version that can make environments: on PATH, of pyenv, of uv, or this one."""
    found: dict[str, Python] = {}
    for path in _paths():
        python = _asked(path)
        if python is not None and OLDEST <= python.release[1] <= NEWEST:
            found.setdefault(python.name, python)
    return sorted(found.values(), key=lambda each: (each.release, each.is_free_threaded))


def _paths() -> Iterator[str]:
    yield sys.executable
    names = [f"python3.{minor}{threads}" for minor in range(OLDEST, NEWEST + 1) for threads in ("", "t")]
    yield from filter(None, map(shutil.which, names))
    for root in (os.environ.get("PYENV_ROOT", "~/.pyenv") + "/versions", "~/.local/share/uv/python"):
        folders = sorted(Path(root).expanduser().glob("*3.*"), key=_number, reverse=True)
        yield from (str(folder / "bin" / "python3") for folder in folders if (folder / "bin" / "python3").exists())


def _number(folder: Path) -> tuple[int, ...]:
    """The newest release of a version goes first."""
    return tuple(map(int, re.findall(r"\d+", folder.name)))


def _asked(path: str) -> Python | None:
    try:
        told = subprocess.run([path, "-I", "-S", "-c", _ASKED], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if told.returncode or not told.stdout:
        return None
    version, disabled = told.stdout.split()
    return Python(path, version, disabled == "1")


def environment_of(python: Python, *more: str) -> Path:
    """Its environment of development, with the pinned packages and the library of this checkout. `more` names lists of
    `requirements` whose packages are installed beside them."""
    folder = ROOT / ".venvs" / python.name
    lists = [ROOT / "requirements" / f"{name}.txt" for name in ("dev", *more)]
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not _is_newer(folder / ".ready", lists[0], *(project / "pyproject.toml" for project in FOLDERS)):
        subprocess.run([python.path, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([*install, "--require-hashes", "--requirement", str(lists[0])], check=True)
        subprocess.run([*install, "--no-deps", "--no-build-isolation", *editable()], check=True)
        (folder / ".ready").touch()
    ready = folder / "-".join((".ready", *more))
    if more and not _is_newer(ready, folder / ".ready", *lists):
        given = [part for path in lists for part in ("--requirement", str(path))]  # together: their versions must agree
        subprocess.run([*install, "--require-hashes", *given], check=True)
        ready.touch()
    return folder


def _is_newer(made: Path, *made_from: Path) -> bool:
    return made.exists() and made.stat().st_mtime >= max(path.stat().st_mtime for path in made_from)


def test(given: Sequence[str]) -> int:
    """Runs pytest on each; the number of Pythons on which it failed."""
    failed: list[str] = []
    for python in pythons():
        sys.stdout.write(f"== Python {python.version}\n")
        sys.stdout.flush()
        folder = environment_of(python)
        ran = subprocess.run([str(folder / "bin" / "python"), "-m", "pytest", *_USUAL, *given], cwd=ROOT, check=False)
        failed += [python.name] if ran.returncode else []
    sys.stdout.write(f"failed on {', '.join(failed)}\n" if failed else "passed on every Python at hand\n")
    return len(failed)


def main() -> int:
    if sys.argv[1:2] == ["test"]:
        return test(sys.argv[2:])
    for python in pythons():
        sys.stdout.write(f"{python.name:6} {python.version:10} {python.path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
