"""One engine a data file: the lock `<file>.lock`, and the engine's address written in it.

Theory of operation. The engine takes no lock of its own, and two of them on one file would each trust caches that the
other makes stale. So the starter takes a `flock` on the lock file and lets the engine's keeper inherit the locked
descriptor, then closes its own: the kernel holds the lock exactly as long as the keeper or the engine lives, however
they end, and a lock file left behind means nothing. While it holds the lock the starter empties the file and, once the
engine answers, writes `{"pid": ..., "directory": ..., "url": ...}` (the keeper's process, where its sockets lie), by
which every other process finds the engine.

The file is never deleted: a process that opened it before could lock the deleted one, beside a lock on its successor.
"""

from __future__ import annotations

import json
import os
import sys
from io import FileIO
from pathlib import Path
from typing import Any

from singletable.errors import NotConfigured
from singletable.local import forks
from singletable.local.unix_endpoint import Address

if sys.platform != "win32":  # the module must import where only remote tables are used
    import fcntl


def lock_path(data: Path) -> Path:
    return data.with_name(data.name + ".lock")


class DataLock:
    """The lock on a data file, held by this process until the engine has inherited it."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self.former = _parse(os.pread(file.fileno(), _LONGEST_ADDRESS_BYTES, 0))
        os.ftruncate(file.fileno(), 0)

    @classmethod
    def take(cls, data: Path) -> DataLock | None:
        """The lock, or None where another has it. Creates the lock file and its directory."""
        with forks.guard:
            file = _open_to_write(lock_path(data))
            if not _try_lock(file, fcntl.LOCK_EX):
                file.close()
                return None
            lock = cls(file)
            forks.keep_private(lock)
        return lock

    def fileno(self) -> int:
        return self._file.fileno()

    def publish(self, address: Address) -> None:
        """Tell other processes where the engine is, which must answer by now."""
        facts = {"pid": address.pid, "directory": str(address.directory), "url": address.url}
        os.pwrite(self._file.fileno(), json.dumps(facts).encode(), 0)

    def close(self) -> None:
        """Let go of the lock here; an engine that inherited it goes on holding it."""
        forks.stop_keeping(self)
        self._file.close()

    def forget(self) -> None:
        self._file.close()

    def __enter__(self) -> DataLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_locked(data: Path) -> bool:
    """Whether an engine, or the start of one, holds the data file."""
    try:
        file = FileIO(os.open(lock_path(data), os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise _of_another_user(data) from error
    with file:
        # A shared lock: two that ask at once don't take each other for an engine.
        return not _try_lock(file, fcntl.LOCK_SH)


def published_address(data: Path) -> Address | None:
    """The address in the lock file, when the process it names is the one that holds the file now.

    None while an engine is being started, and for what an engine left behind that has ended.
    """
    try:
        address = _parse(lock_path(data).read_bytes()[:_LONGEST_ADDRESS_BYTES])
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise _of_another_user(data) from error
    if address is None or not _holds(address.pid, lock_path(data)) or not is_locked(data):
        return None
    return address


_LONGEST_ADDRESS_BYTES = 8192
_PROCESSES = Path("/proc")


def _open_to_write(path: Path) -> FileIO:
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
    except OSError as error:
        raise NotConfigured(
            f"the engine's lock file can't be written: {error}",
            hint="Give the data file a path in a directory that this process may write to.",
        ) from error


def _of_another_user(data: Path) -> NotConfigured:
    return NotConfigured(
        f"{data} belongs to another user", hint="Give the data file a path in a directory of your own."
    )


def _try_lock(file: FileIO, kind: int) -> bool:
    try:
        fcntl.flock(file.fileno(), kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parse(text: bytes) -> Address | None:
    try:
        fields: Any = json.loads(text)
        pid, directory, url = int(fields["pid"]), Path(fields["directory"]), str(fields["url"])
    except (ValueError, TypeError, KeyError):
        return None
    if pid <= 1 or not directory.is_absolute():
        return None
    return Address(pid, directory, url if url.startswith("http://") else "")


def _holds(pid: int, path: Path) -> bool:
    """Whether the process has the file open; only whether it exists, where the system doesn't tell that."""
    try:
        descriptors = list((_PROCESSES / str(pid) / "fd").iterdir())
    except OSError:
        return _exists(pid)
    return any(_is_same_file(descriptor, path) for descriptor in descriptors)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
