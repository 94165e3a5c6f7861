"""An engine that outlives the process that started it: `singletable local start|stop|status|reset`."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from singletable.errors import Unavailable
from singletable_local.attachment import Attachment
from singletable_local.engine import Engine, no_answer
from singletable_local.lock import DataLock, is_locked, lock_path, published_address
from singletable_local.polling import wait_until
from singletable_local.private_files import data_files, delete_directory
from singletable_local.timeouts import EngineTimeouts
from singletable_local.unix_endpoint import Address, UnixEndpoint, is_healthy


@dataclass(frozen=True, slots=True)
class Status:
    """A data file and its engine; `address` is None if no engine runs."""

    path: Path
    size_bytes: int
    """The size of the file and its write-ahead log; 0 if the file is missing."""

    address: Address | None
    healthy: bool


def start(
    path: Path | str,
    *,
    exposed: bool = False,
    environ: Mapping[str, str] | None = None,
    timeouts: EngineTimeouts = EngineTimeouts(),  # noqa: B008  (frozen)
) -> Status:
    """Start an engine that goes on without holders, or make the engine that runs on the file go on without them.

    Takes the arguments of `Engine.start`, and raises what it raises.
    """
    data = Path(path).resolve()
    with Engine.start(data, exposed=exposed, environ=environ, timeouts=timeouts) as engine:
        engine.keep_running()
        return status(data)


def status(path: Path | str) -> Status:
    """The current state; sends the engine one request."""
    data = Path(path).resolve()
    address = published_address(data)
    return Status(
        path=data,
        size_bytes=sum(map(_size_bytes, data_files(data))),
        address=address,
        healthy=address is not None and is_healthy(UnixEndpoint(address.directory)),
    )


def stop(path: Path | str, *, timeouts: EngineTimeouts = EngineTimeouts()) -> bool:  # noqa: B008  (frozen)
    """End the engine on the file, whichever process started or uses it. Returns False if no engine runs.

    The supervisor is asked to end; if it doesn't, both are killed. Only the process that holds the file's lock and is
    named in it is ended. Raises `Unavailable` if the lock is held and its process is not found, or may not be ended. A
    program that held the engine starts a new one with its next request.
    """
    data = Path(path).resolve()
    if not is_locked(data):
        return False
    wait_until(lambda: published_address(data) or not is_locked(data), timeouts.ready_seconds)
    for end in (_ask_to_end, _kill):
        address = published_address(data)
        if address is not None:
            end(address, data)
        if wait_until(lambda: not is_locked(data), timeouts.stop_seconds):
            return True
    raise no_answer(data)


def reset(path: Path | str, *, timeouts: EngineTimeouts = EngineTimeouts()) -> None:  # noqa: B008  (frozen)
    """End the engine and delete the data file; the empty lock file stays. No engine can start on the file meanwhile."""
    data = Path(path).resolve()
    stop(data, timeouts=timeouts)
    if not data.parent.is_dir():
        return
    lock = wait_until(lambda: DataLock.acquire(data), _LOCKING_SECONDS)
    if lock is None:
        raise Unavailable(
            f"another program started an engine on {data} again", hint="Stop the programs that use it, then reset it."
        )
    with lock:
        for file in data_files(data):
            file.unlink(missing_ok=True)


_ATTACHING_SECONDS = 1.0
# A process that only asks for the status holds the lock for an instant.
_LOCKING_SECONDS = 1.0


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _ask_to_end(address: Address, data: Path) -> None:
    attached = Attachment.attach(address.directory, _ATTACHING_SECONDS)
    if attached is not None:
        attached[0].end()


def _kill(address: Address, data: Path) -> None:
    try:
        os.killpg(address.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise Unavailable(
            f"the engine on {data} belongs to another user",
            hint=f"Its supervisor is process {address.pid}, as {lock_path(data)} says.",
        ) from error
    delete_directory(address.directory)
