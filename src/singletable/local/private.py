"""Where the data of a private engine lies: in a directory of its own, in memory where the system has a place for that.

A file, so that its streams can be tended from outside; as fast as the engine's own memory on a tmpfs, half as fast in
writing on a disk. The supervisor removes the directory when the engine has ended, however its owner ended.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from singletable.errors import NotConfigured

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 made private by mkdtemp
_ROOM_BYTES = 1 << 30
"""Containers often have 64 MB there, which would be a new limit."""


def private_file(environ: Mapping[str, str]) -> Path:
    """A data file that is not there yet, in a fresh directory that only this user may enter."""
    place = _IN_MEMORY if _has_room(_IN_MEMORY) else Path(environ.get("TMPDIR") or tempfile.gettempdir())
    try:
        return Path(tempfile.mkdtemp(prefix="singletable-", dir=place)) / "engine.db"
    except OSError as error:
        raise NotConfigured(
            f"there is no place for the engine's data: {error}",
            hint="Set TMPDIR to a directory that this process may write to, or name a file: local:data/app.db.",
        ) from error


def _has_room(directory: Path) -> bool:
    try:
        space = os.statvfs(directory)
    except OSError:
        return False
    return os.access(directory, os.W_OK) and space.f_bavail * space.f_frsize >= _ROOM_BYTES
