"""The engine's binary: from the environment variable, else its wheel, else the nearest node_modules, else PATH."""

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
ENGINE_NAME = "dynoxide"
ENGINE_WHEEL = "singletable_engine"
WITH_WHEEL = {"@dynoxide/linux-x64"}

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
    program = _first_program((*_in_wheel(environ), *_node_modules(start))) or _on_path(environ)
    if program is None:
        raise _missing(start)
    return program


def engine_package() -> str:
    """The npm package that holds the engine for this machine: `@dynoxide/linux-x64`."""
    machine = platform.machine().lower()
    return f"@dynoxide/{sys.platform}-{_PROCESSORS.get(machine, machine)}"


def _named_engine(path: Path) -> Path:
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


def _first_program(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if _is_program(path)), None)


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
    if engine_package() in WITH_WHEEL:
        return "pip install 'singletable[local]'"
    return f"npm install {engine_package()}@{ENGINE_VERSION}"
