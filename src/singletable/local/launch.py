"""Starting the engine: a port, the process, and the wait until it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local.find import find_engine
from singletable.local.lock import DataLock
from singletable.local.loopback import HOST, Address, free_port, is_healthy
from singletable.local.private import private_file
from singletable.local.supervisor import Supervised
from singletable.local.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for an engine, in seconds."""

    ready_seconds: float = 10.0
    """Until it answers; a slow machine opens a file of gigabytes in well under a second."""

    stop_seconds: float = 5.0
    """From SIGTERM to SIGKILL. The engine loses nothing that it acknowledged in either."""


@dataclass(frozen=True, slots=True)
class Launched:
    """An engine that answers."""

    process: Supervised
    address: Address
    data: Path


def launch(path: Path | None, *, lock: DataLock | None, environ: Mapping[str, str], patience: Patience) -> Launched:
    """Start the engine on the file `path` under its `lock`, or on a private one, and wait until it answers.

    Raises `NotConfigured` where there is no engine, `Unavailable` with what the engine said where it ends or keeps
    silent. Another process may take a free port before the engine does: then it is another port's turn.
    """
    binary = find_engine(environ)
    for port in _ports(lock):
        data = path or private_file(environ)
        process = _spawn(binary, port, data, lock=lock, environ=environ, patience=patience)
        try:
            said = _await_readiness(process, port, patience)
        except BaseException:
            process.stop()
            raise
        if said is None:
            return _published(Launched(process, Address(process.pid, port), data), lock)
        code = process.exit_code
        process.stop()
        if not _was_taken(said):
            raise Unavailable(f"the engine {binary} ended with exit code {code} before it answered", hint=said)
    raise Unavailable("no port was left to the engine: each that was free a moment before was taken")


_TRIES = 8


def _ports(lock: DataLock | None) -> Iterator[int]:
    # On its former port first: who was attached to an engine of this file finds its successor at the same address.
    former = [lock.former.port] if lock and lock.former else []
    return islice(chain(former, iter(free_port, None)), _TRIES)


def _spawn(
    binary: Path,
    port: int,
    data: Path,
    *,
    lock: DataLock | None,
    environ: Mapping[str, str],
    patience: Patience,
) -> Supervised:
    command = [str(binary), "serve", "--host", HOST, "--port", str(port), "--db-path", str(data)]
    return Supervised(
        command,
        environ=environ,
        grace_seconds=patience.stop_seconds,
        keeps_open=lock.fileno() if lock else None,
        removes=None if lock else data.parent,
    )


def _await_readiness(process: Supervised, port: int, patience: Patience) -> str | None:
    """None when the engine answers; what it said when it has ended."""

    def answers_or_ended() -> bool:
        # Its own word comes first: on a port that it failed to take, another engine may be the healthy one.
        return process.exit_code is not None or (_says_it_listens(process.log()) and is_healthy(port))

    if not wait_until(answers_or_ended, patience.ready_seconds):
        raise Unavailable(
            f"the engine on port {port} did not answer within {patience.ready_seconds:g} seconds", hint=process.log()
        )
    return process.log() if process.exit_code is not None else None


def _says_it_listens(log: str) -> bool:
    return "listening on" in log


def _was_taken(log: str) -> bool:
    return "already in use" in log


def _published(launched: Launched, lock: DataLock | None) -> Launched:
    if lock:
        lock.publish(launched.address)
    return launched
