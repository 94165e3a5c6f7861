"""At most one engine runs on a data file: the lock `<file>.lock`, which also holds the engine's address.

Theory of operation. The engine takes no lock of its own, and two engines on one file would corrupt each other's caches.
So the process that starts an engine takes a `flock` on the lock file, lets the supervisor inherit the locked
descriptor, and closes its own. The kernel then holds the lock exactly as long as the supervisor or the engine lives,
however they end; a lock file without a lock means nothing. While it holds the lock, the starting process empties the
file; when the engine answers, it writes `{"pid": ..., "directory": ..., "url": ...}`: the supervisor's process, and the
directory of its sockets. Every other process finds the engine by that.

The file is never deleted: a process that has opened it could then lock the deleted file while another locks a new one.
"""

from __future__ import annotations

import json
import os
import sys
from io import FileIO
from pathlib import Path
from typing import Any

from singletable.errors import NotConfigured
from singletable_local import forks
from singletable_local.unix_endpoint import Address

if sys.platform != "win32":  # the module must import where only remote tables are used
    import fcntl


def lock_path(data: Path) -> Path:
    return data.with_name(data.name + ".lock")


class DataLock:
    """The lock on a data file, held by this process until the supervisor has inherited it."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self.previous = _parse(os.pread(file.fileno(), _LONGEST_ADDRESS_BYTES, 0))
        os.ftruncate(file.fileno(), 0)

    @classmethod
    def acquire(cls, data: Path) -> DataLock | None:
        """The lock; None if another process holds it. Creates the lock file and its directory."""
        with forks.guard:
            file = _open_to_write(lock_path(data))
            if not _try_lock(file, fcntl.LOCK_EX):
                file.close()
                return None
            lock = cls(file)
            forks.register(lock)
        return lock

    def fileno(self) -> int:
        return self._file.fileno()

    def publish(self, address: Address) -> None:
        """Write the engine's address for other processes. The engine must answer already."""
        facts = {"pid": address.pid, "directory": str(address.directory), "url": address.url}
        os.pwrite(self._file.fileno(), json.dumps(facts).encode(), 0)

    def close(self) -> None:
        """Close this process's descriptor; a supervisor that inherited the lock still holds it."""
        forks.unregister(self)
        self._file.close()

    def close_in_child(self) -> None:
        self._file.close()

    def __enter__(self) -> DataLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_locked(data: Path) -> bool:
    """Whether an engine, or a process that starts one, has the data file locked."""
    try:
        file = FileIO(os.open(lock_path(data), os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise _of_another_user(data) from error
    with file:
        # A shared lock: two processes that ask concurrently don't mistake each other for an engine.
        return not _try_lock(file, fcntl.LOCK_SH)


def published_address(data: Path) -> Address | None:
    """The address in the lock file; None if the process that it names doesn't hold the lock.

    That is the case while an engine is being started, and after an engine has ended.
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
    """Whether the process has the file open; whether it exists at all, where the system doesn't show open files."""
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
