"""An engine that outlives who started it: what `singletable local start|stop|status|reset` do."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local.engine import held_without_answer
from singletable.local.launch import Patience, launch
from singletable.local.lock import DataLock, is_locked, lock_path, published_address
from singletable.local.loopback import Address, is_healthy
from singletable.local.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a data file and its engine; without an engine `address` is None."""

    path: Path
    size_bytes: int
    """Of the file and its write-ahead log; 0 where there is none."""

    address: Address | None
    healthy: bool


def start(path: Path | str, *, environ: Mapping[str, str] | None = None, patience: Patience = Patience()) -> Status:  # noqa: B008  (frozen)
    """Start an engine that outlives this process, unless one has the file already. Raises as `Engine.start` does."""
    data = Path(path).resolve()

    def started_or_running() -> Status | None:
        lock = DataLock.take(data)
        if lock is not None:
            with lock:
                launch(
                    data, lock=lock, environ=os.environ if environ is None else environ, patience=patience
                ).process.release()
        found = status(data)
        return found if found.healthy else None

    running = wait_until(started_or_running, patience.ready_seconds)
    if running is None:
        raise held_without_answer(data)
    return running


def status(path: Path | str) -> Status:
    """What there is now; asks the engine once."""
    data = Path(path).resolve()
    address = published_address(data)
    return Status(
        path=data,
        size_bytes=sum(map(_size_bytes, _files(data))),
        address=address,
        healthy=address is not None and is_healthy(address.port),
    )


def stop(path: Path | str, *, patience: Patience = Patience()) -> bool:  # noqa: B008  (frozen)
    """End the engine that has the file, whoever started it; False where none has. SIGTERM, in the end SIGKILL.

    Only the process is ended that holds the file's lock and is named in it. Raises `Unavailable` where the lock is
    held and no such process is to be found, or where it may not be ended.
    """
    data = Path(path).resolve()
    if not is_locked(data):
        return False
    wait_until(lambda: published_address(data) or not is_locked(data), patience.ready_seconds)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal_engine(data, number)
        if wait_until(lambda: not is_locked(data), patience.stop_seconds):
            return True
    raise held_without_answer(data)


def reset(path: Path | str, *, patience: Patience = Patience()) -> None:  # noqa: B008  (frozen)
    """End the engine and delete the data file; the empty lock file stays. No engine starts on the file meanwhile."""
    data = Path(path).resolve()
    stop(data, patience=patience)
    if not data.parent.is_dir():
        return
    lock = wait_until(lambda: DataLock.take(data), _TAKING_SECONDS)
    if lock is None:
        raise Unavailable(f"an engine was started on {data} again", hint="Stop what uses it, then reset it.")
    with lock:
        for file in _files(data):
            file.unlink(missing_ok=True)


# Somebody who only asks for the status holds the lock for an instant.
_TAKING_SECONDS = 1.0


def _files(data: Path) -> list[Path]:
    """The data file and what SQLite may keep beside it."""
    return [data.with_name(data.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _signal_engine(data: Path, number: signal.Signals) -> None:
    address = published_address(data)
    if address is None:
        return
    try:
        os.kill(address.pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise Unavailable(
            f"the engine on {data} belongs to another user", hint=f"It is process {address.pid}; {lock_path(data)}."
        ) from error
