"""Starting an engine: its binary, a directory for its sockets and data, its supervisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from singletable_local.attachment import Attachment, Greeting
from singletable_local.binary import find_engine
from singletable_local.lock import DataLock
from singletable_local.private_files import delete_directory, make_files_private, private_directory
from singletable_local.timeouts import EngineTimeouts
from singletable_local.unix_endpoint import Address

ISOLATIONS = ("filter", "hidden")
"""The kinds of isolation, the strongest first; the first that this system offers is used."""
EXPOSED = ("exposed",)


@dataclass(frozen=True, slots=True)
class Launched:
    """An engine that answers, held by this process."""

    attachment: Attachment
    greeting: Greeting
    data: Path

    @property
    def address(self) -> Address:
        return Address(self.attachment.supervisor_pid, self.attachment.directory, self.greeting.url)


def launch(
    path: Path | None,
    *,
    lock: DataLock | None,
    environ: Mapping[str, str],
    timeouts: EngineTimeouts,
    isolations: Sequence[str] = ISOLATIONS,
) -> Launched:
    """Start an engine on the file `path` under its `lock`, or on a private one, and wait until it answers.

    Raises `NotConfigured` if the engine isn't installed or the file belongs to another user, `Unavailable` with the
    engine's output where it ends or doesn't answer in time.
    """
    binary = find_engine(environ)
    directory = private_directory(environ, for_data=path is None)
    data = path or directory / "engine.db"
    previous = lock.previous if lock else None
    try:
        if path:
            make_files_private(path)
        command = (directory, data, binary, ",".join(isolations), _port(previous), timeouts.ready_seconds)
        attachment, greeting = Attachment.start(
            (*command, timeouts.stop_seconds),
            directory,
            environ=environ,
            keeps_open=lock.fileno() if lock else None,
            timeouts=timeouts,
        )
    except BaseException:
        delete_directory(directory)
        raise
    launched = Launched(attachment, greeting, data)
    if lock:
        lock.publish(launched.address)
    if previous:
        delete_directory(previous.directory)  # left by a supervisor that was killed
    return launched


def _port(previous: Address | None) -> int:
    """The port of the exposed engine before: the next one uses it again, so that tools find it."""
    if previous is None or not previous.exposed_url:
        return 0
    return int(previous.exposed_url.rpartition(":")[2])
