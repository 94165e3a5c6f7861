"""Places and files for the eyes of one user: an engine's sockets, the data of a private engine, data files."""

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
_ROOM_BYTES = 1 << 30
"""For data. Containers often have 64 MB there, which would be a new limit."""
_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The data file and what SQLite may keep beside it."""


def private_directory(environ: Mapping[str, str], *, for_data: bool) -> Path:
    """A fresh directory that only this user may enter, in memory where the system has a place for that.

    A private engine has its data there too: in a file, so that its streams can be tended from outside, and as fast as
    the engine's own memory; half as fast in writing on a disk. The keeper deletes the directory in the end.
    """
    in_memory = _room_bytes(_IN_MEMORY) >= (_ROOM_BYTES if for_data else 1 << 20)
    place = _IN_MEMORY if in_memory else Path(environ.get("TMPDIR") or tempfile.gettempdir())
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    except OSError as error:
        raise NotConfigured(
            f"there is no place for the engine's data: {error}",
            hint="Set TMPDIR to a directory that this process may write to, or name a file: local:data/app.db.",
        ) from error


def sweep(directory: Path) -> None:
    """Delete a directory that `private_directory` made, where it is still there and this user's."""
    if not directory.name.startswith(_PREFIX):
        return
    with contextlib.suppress(OSError):
        found = directory.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
            shutil.rmtree(directory, ignore_errors=True)


def data_files(data: Path) -> list[Path]:
    """The data file and its companions, there or not."""
    return [data.with_name(data.name + suffix) for suffix in _SUFFIXES]


def make_files_private(data: Path) -> None:
    """Take others' rights from a data file and its companions; what is made later is its user's only from the start.

    The directory stays as it is where it was there before: it may hold more than the data. Raises `NotConfigured` for
    a file that belongs to another user, who could read what is written to it.
    """
    beside = (data.with_name(data.name + suffix) for suffix in (".lock", ".cursor-key"))
    for file in (*data_files(data), *beside):
        with contextlib.suppress(FileNotFoundError):
            _make_private(file)


_MAKE_IT_YOURS = "Give the data file a path in a directory of your own, or become the owner of the file."
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def _make_private(file: Path) -> None:
    found = file.stat()  # not opened: to close a data file here would end the locks that SQLite has on it here
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise NotConfigured(f"{file} belongs to another user", hint=_MAKE_IT_YOURS)
    if found.st_mode & _OTHERS:
        # Some file systems have no rights to take away; there the mode is what they were mounted with.
        with contextlib.suppress(PermissionError):
            file.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def _room_bytes(directory: Path) -> int:
    try:
        space = os.statvfs(directory)
    except OSError:
        return 0
    return space.f_bavail * space.f_frsize if os.access(directory, os.W_OK) else 0
