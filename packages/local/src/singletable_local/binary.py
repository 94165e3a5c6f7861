"""The engine's binary: from the environment variable, else its wheel, else the nearest node_modules, else PATH.

Where there is none, `find_emulator` has the folder of the engine in Python.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from zipimport import zipimporter

from singletable.errors import NotConfigured

ENGINE_VARIABLE = "SINGLETABLE_ENGINE"
ENGINE_VERSION = "1.2.1"
PYTHON_ENGINE_VERSION = "1.5.33"
"""ministack's."""
ENGINE_NAME = "dynoxide"
ENGINE_WHEEL = "singletable_engine"
WITH_WHEEL = {"@dynoxide/linux-x64"}
PYTHON_ENGINE = "python"
"""The value of the variable that chooses the engine in Python where there is a binary too."""
PYTHON_ENGINE_WHEEL = "singletable_engine_python"

IS_POSIX = sys.platform != "win32"
"""Elsewhere the binary does not run: its supervisor uses processes, locks and sockets as POSIX has them."""

# npm's names of processors, by uname's.
_PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def find_engine(environ: Mapping[str, str], directory: Path | None = None) -> Path:
    """The engine's binary as an absolute path.

    It is searched in this order: the path in `SINGLETABLE_ENGINE` of `environ`; the package `singletable-engine` of
    this Python; `node_modules` in `directory` (default: the working directory) and in each of its parents; `PATH` of
    `environ`. Raises `NotConfigured`, which names every place that was searched and the command that installs the
    engine.
    """
    named = environ.get(ENGINE_VARIABLE)
    if named:
        return _named_engine(Path(named))
    start = (directory or Path.cwd()).resolve()
    program = _found(environ, start)
    if program is None:
        raise _missing(start)
    return program


def find_emulator(environ: Mapping[str, str]) -> Path | None:
    """The folder of the engine in Python, if it is what `connect("local")` starts: a folder with `ministack`.

    It is, where `SINGLETABLE_ENGINE` is `python` or names such a folder; else where the package
    `singletable-engine-python` is installed, and there is no binary or the system is not POSIX. Raises `NotConfigured`
    if it is asked for, or the only one that runs here, and is not installed.
    """
    named = environ.get(ENGINE_VARIABLE)
    if named and named != PYTHON_ENGINE and (_holds_emulator(Path(named)) or IS_POSIX):
        return Path(named).absolute() if _holds_emulator(Path(named)) else None
    if not named and IS_POSIX and _found(environ, Path.cwd()) is not None:
        return None
    spec = importlib.util.find_spec(PYTHON_ENGINE_WHEEL)
    if spec is not None and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0]) / "emulator"
    if named or not IS_POSIX:
        raise NotConfigured(
            f"the engine in Python is not installed: this Python ({sys.executable}) has no package "
            "singletable-engine-python",
            hint=f"Run `pip install singletable-engine-python=={PYTHON_ENGINE_VERSION}`.",
        )
    return None


def no_file(target: str) -> NotConfigured:
    """The error of a file where only the engine in Python is."""
    install = f"Install the binary, `{_npm_command()}`" if IS_POSIX else "Run your program in WSL"
    return NotConfigured(
        f"{target}: the engine in Python is in memory, and keeps no file",
        hint=f'{install}, or use connect("local").',
    )


def engine_package() -> str:
    """The npm package that holds the engine for this machine: `@dynoxide/linux-x64`."""
    machine = platform.machine().lower()
    return f"@dynoxide/{sys.platform}-{_PROCESSORS.get(machine, machine)}"


def _named_engine(path: Path) -> Path:
    if str(path) == PYTHON_ENGINE or _holds_emulator(path):
        raise NotConfigured(
            f"{ENGINE_VARIABLE} chooses the engine in Python, which has no file and starts with `connect` alone",
            hint=f'Use connect("local"), or unset {ENGINE_VARIABLE} where the binary is installed.',
        )
    if not _is_program(path):
        raise NotConfigured(
            f"{ENGINE_VARIABLE} is {str(path)!r}, which is not an executable file",
            hint=f"Set {ENGINE_VARIABLE} to the engine's binary, or unset it and run `{_install_command()}`.",
        )
    return path.absolute()


def _in_wheel(environ: Mapping[str, str]) -> Iterator[Path]:
    """Beside the wheel's module, which is not imported: nothing of it needs to run."""
    spec = importlib.util.find_spec(ENGINE_WHEEL)
    if spec is None:
        return
    loader: object = spec.loader
    for directory in spec.submodule_search_locations or ():
        path = Path(directory) / ENGINE_NAME
        yield _unpacked(path, loader, environ) if isinstance(loader, zipimporter) else path


def _unpacked(path: Path, archive: zipimporter, environ: Mapping[str, str]) -> Path:
    """The binary of an archive, such as a zipapp: a system runs no program out of one, so it is copied to the user's
    cache, once."""
    content = archive.get_data(str(path))
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    copied = cache / "singletable" / hashlib.sha256(content).hexdigest() / ENGINE_NAME
    if not _is_program(copied):
        copied.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = copied.with_name(f"{ENGINE_NAME}.{secrets.token_hex(4)}")
        draft.write_bytes(content)
        draft.chmod(0o700)
        draft.replace(copied)  # whole under its name, whichever process is first
    return copied


def _node_modules(start: Path) -> Iterator[Path]:
    for directory in (start, *start.parents):
        yield directory / "node_modules" / engine_package() / ENGINE_NAME


def _on_path(environ: Mapping[str, str]) -> Path | None:
    found = shutil.which(ENGINE_NAME, path=environ.get("PATH", os.defpath))
    return Path(found).absolute() if found else None


def _found(environ: Mapping[str, str], start: Path) -> Path | None:
    return _first_program((*_in_wheel(environ), *_node_modules(start))) or _on_path(environ)


def _first_program(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if _is_program(path)), None)


def _holds_emulator(folder: Path) -> bool:
    return (folder / "ministack").is_dir()


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _missing(start: Path) -> NotConfigured:
    return NotConfigured(
        f"the embedded engine is not installed: {ENGINE_VARIABLE} is not set, "
        f"this Python ({sys.executable}) has no package singletable-engine, "
        f"node_modules/{engine_package()}/{ENGINE_NAME} is neither in {start} nor in a parent of it, "
        f"and {ENGINE_NAME} is not on PATH",
        hint=f"Run `{_install_command()}`, or set {ENGINE_VARIABLE} to the path of the binary.",
    )


def _install_command() -> str:
    pip = "pip install 'singletable[local]'"
    return pip if engine_package() in WITH_WHEEL else f"{pip}` for an engine in memory, or `{_npm_command()}"


def _npm_command() -> str:
    return f"npm install {engine_package()}@{ENGINE_VERSION}"
