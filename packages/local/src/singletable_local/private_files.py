"""Directories and files that only one user can read: an engine's sockets, a private engine's data, data files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from singletable.errors import NotConfigured

_PREFIX = "singletable-"
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 made private by mkdtemp
_MIN_FREE_BYTES = 1 << 30
"""Free space that is required for data. Containers often have only 64 MB in /dev/shm."""
_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The suffixes of the data file and of the files that SQLite may keep with it."""


def private_directory(environ: Mapping[str, str], *, for_data: bool) -> Path:
    """A new directory that only this user may enter, in memory if the system has room for it.

    A private engine has its data there too, in a file, so that another process can maintain its streams. In memory that
    is as fast as the engine's own memory; on a disk, writes are half as fast. The supervisor deletes the directory.
    """
    in_memory = _free_bytes(_IN_MEMORY) >= (_MIN_FREE_BYTES if for_data else 1 << 20)
    try:
        place = _IN_MEMORY if in_memory else Path(environ.get("TMPDIR") or tempfile.gettempdir())
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    except OSError as error:
        raise NotConfigured(
            f"no directory for the engine's data can be created: {error}",
            hint="Set TMPDIR to a directory that this process may write to, or name a file: local:data/app.db.",
        ) from error


def delete_directory(directory: Path) -> None:
    """Delete a directory that `private_directory` created, where it still exists and belongs to this user."""
    if not directory.name.startswith(_PREFIX):
        return
    with contextlib.suppress(OSError):
        found = directory.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
            shutil.rmtree(directory, ignore_errors=True)


def data_files(data: Path) -> list[Path]:
    """The data file and SQLite's files for it, whether they exist or not."""
    return [data.with_name(data.name + suffix) for suffix in _SUFFIXES]


def make_files_private(data: Path) -> None:
    """Remove other users' permissions from a data file and SQLite's files for it.

    An existing directory keeps its permissions, as it may hold other files. Raises `NotConfigured` for a file of
    another user, who could read what is written to it.
    """
    beside = (data.with_name(data.name + suffix) for suffix in (".lock", ".cursor-key"))
    for file in (*data_files(data), *beside):
        with contextlib.suppress(FileNotFoundError):
            _make_private(file)


_MAKE_IT_YOURS = "Give the data file a path in a directory of your own, or become the owner of the file."
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def _make_private(file: Path) -> None:
    facts = file.stat()  # not opened: closing a data file would release the locks that SQLite has on it in this process
    if facts.st_uid != os.geteuid() and os.geteuid() != 0:
        raise NotConfigured(f"{file} belongs to another user", hint=_MAKE_IT_YOURS)
    if facts.st_mode & _OTHERS:
        # Some file systems have no permissions; there the mode comes from the mount.
        with contextlib.suppress(PermissionError):
            file.chmod(stat.S_IMODE(facts.st_mode) & ~_OTHERS)


def _free_bytes(directory: Path) -> int:
    try:
        space = os.statvfs(directory)
    except OSError:
        return 0
    return space.f_bavail * space.f_frsize if os.access(directory, os.W_OK) else 0
