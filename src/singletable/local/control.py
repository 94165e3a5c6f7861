"""An engine that outlives who started it: what `singletable local start|stop|status|reset` do."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local.attachment import Held
from singletable.local.engine import Engine, held_without_answer
from singletable.local.lock import DataLock, is_locked, lock_path, published_address
from singletable.local.polling import wait_until
from singletable.local.private_files import data_files, sweep
from singletable.local.start_timeout import Patience
from singletable.local.unix_endpoint import Address, Door, is_healthy


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a data file and its engine; without an engine `address` is None."""

    path: Path
    size_bytes: int
    """Of the file and its write-ahead log; 0 where there is none."""

    address: Address | None
    healthy: bool


def start(
    path: Path | str,
    *,
    exposed: bool = False,
    environ: Mapping[str, str] | None = None,
    patience: Patience = Patience(),  # noqa: B008  (frozen)
) -> Status:
    """Start an engine that goes on without holders, or have the one that has the file go on so.

    Raises as `Engine.start` does, and takes the same arguments.
    """
    data = Path(path).resolve()
    with Engine.start(data, exposed=exposed, environ=environ, patience=patience) as engine:
        engine.release()
        return status(data)


def status(path: Path | str) -> Status:
    """What there is now; asks the engine once."""
    data = Path(path).resolve()
    address = published_address(data)
    return Status(
        path=data,
        size_bytes=sum(map(_size_bytes, data_files(data))),
        address=address,
        healthy=address is not None and is_healthy(Door(address.directory)),
    )


def stop(path: Path | str, *, patience: Patience = Patience()) -> bool:  # noqa: B008  (frozen)
    """End the engine that has the file, whoever started or holds it; False where none has.

    Its keeper is asked to end; where that doesn't help, both are killed. Only the process is ended that holds the
    file's lock and is named in it. Raises `Unavailable` where the lock is held and no such process is to be found, or
    where it may not be ended. A program that holds the engine starts another one with its next request.
    """
    data = Path(path).resolve()
    if not is_locked(data):
        return False
    wait_until(lambda: published_address(data) or not is_locked(data), patience.ready_seconds)
    for end in (_ask_to_end, _kill):
        address = published_address(data)
        if address is not None:
            end(address, data)
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
        for file in data_files(data):
            file.unlink(missing_ok=True)


_ATTACHING_SECONDS = 1.0
# Somebody who only asks for the status holds the lock for an instant.
_TAKING_SECONDS = 1.0


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _ask_to_end(address: Address, data: Path) -> None:
    attached = Held.attach(address.directory, _ATTACHING_SECONDS)
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
            hint=f"Its keeper is process {address.pid}; {lock_path(data)}.",
        ) from error
    sweep(address.directory)
