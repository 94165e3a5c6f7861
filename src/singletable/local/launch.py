"""Starting an engine: its binary, a place for its sockets and data, its keeper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from singletable.local.attachment import Greeting, Held
from singletable.local.binary import find_engine
from singletable.local.lock import DataLock
from singletable.local.private_files import make_files_private, private_directory, sweep
from singletable.local.start_timeout import Patience
from singletable.local.unix_endpoint import Address

WALLS = ("namespace", "filter", "hidden")
"""What may keep others from an engine, the strongest first; the first that this system allows is taken."""
EXPOSED = ("exposed",)


@dataclass(frozen=True, slots=True)
class Launched:
    """An engine that answers, and is held by this process."""

    held: Held
    greeting: Greeting
    data: Path

    @property
    def address(self) -> Address:
        return Address(self.held.keeper_pid, self.held.directory, self.greeting.url)


def launch(
    path: Path | None,
    *,
    lock: DataLock | None,
    environ: Mapping[str, str],
    patience: Patience,
    walls: Sequence[str] = WALLS,
) -> Launched:
    """Start an engine on the file `path` under its `lock`, or on a private one, and wait until it answers.

    Raises `NotConfigured` where there is no engine or the file is another user's, `Unavailable` with what the engine
    said where it ends or keeps silent.
    """
    binary = find_engine(environ)
    directory = private_directory(environ, for_data=path is None)
    data = path or directory / "engine.db"
    former = lock.former if lock else None
    try:
        if path:
            make_files_private(path)
        command = (directory, data, binary, ",".join(walls), _port(former), patience.ready_seconds)
        held, greeting = Held.start(
            (*command, patience.stop_seconds),
            directory,
            environ=environ,
            keeps_open=lock.fileno() if lock else None,
            patience=patience,
        )
    except BaseException:
        sweep(directory)
        raise
    launched = Launched(held, greeting, data)
    if lock:
        lock.publish(launched.address)
    if former:
        sweep(former.directory)  # of a keeper that was killed
    return launched


def _port(former: Address | None) -> int:
    """Where an exposed engine was before: tools that were told of it find the next one there."""
    if former is None or not former.exposed_url:
        return 0
    return int(former.exposed_url.rpartition(":")[2])
