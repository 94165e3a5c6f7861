"""An embedded engine: one that this process started, or one that already ran on the same file."""

from __future__ import annotations

import os
import threading  # noqa: TID251  (threads whose requests fail together restart one engine)
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from singletable.errors import Unavailable
from singletable_local.attachment import Attachment, Greeting
from singletable_local.binary import find_engine
from singletable_local.held_copies import HeldCopy
from singletable_local.lock import DataLock, lock_path, published_address
from singletable_local.polling import wait_until
from singletable_local.private_files import delete_directory, make_files_private, private_directory
from singletable_local.socket_names import DATA_LINK
from singletable_local.timeouts import EngineTimeouts
from singletable_local.unix_endpoint import Address, UnixEndpoint, is_healthy

ISOLATIONS = ("filter", "hidden")
"""The kinds of isolation, the strongest first; the first that this system offers is used."""
EXPOSED = ("exposed",)


class Engine(UnixEndpoint):
    """A running engine, held by this process. Threads and forked children may share it.

    A process holds an engine until `stop`, until the object is garbage, or until the process ends. The engine ends when
    no process holds it any more. Where it ends for another reason, the next connection starts it again on the same
    data; a private engine is lost with its supervisor. A forked child uses the engine and doesn't hold it.
    """

    def __init__(self, hold: _Hold) -> None:
        """Use `Engine.start`."""
        super().__init__(hold.attachment.directory)
        self.data = hold.data
        """Its data file. A private engine's is deleted when the engine ends."""
        self.path = hold.path
        """The file that it was started on; None for a private engine."""
        self._hold = hold
        weakref.finalize(self, hold.release)

    @classmethod
    def start(
        cls,
        path: Path | str | None = None,
        *,
        exposed: bool = False,
        environ: Mapping[str, str] | None = None,
        timeouts: EngineTimeouts = EngineTimeouts(),  # noqa: B008  (frozen)
    ) -> Engine:
        """Start a private engine, or one on the file `path`, or attach to the engine that already runs on the file.

        Only this user's processes reach it, through its Unix socket, if the system allows that (`isolation` names the
        means). An `exposed` engine listens on a port of 127.0.0.1 instead: every program and every user of this
        machine, and a web page in its browser, may then read and write the data. `environ` defaults to `os.environ`.

        The file and its directory are created. Raises `NotConfigured` if the engine isn't installed or the file
        belongs to another user, or to expose a copy whose tables are held, as nobody has written down in them yet.
        Raises `Unavailable` if the engine ends before it answers (with its output), where
        the file is locked and no engine answers, or where a running engine isn't exposed and should be.
        """
        data = None if path is None else Path(path).resolve()
        if exposed and data is not None and data.exists():
            HeldCopy(data).check_exposable()
        hold = _Hold(data, exposed, os.environ if environ is None else environ, timeouts)
        hold.acquire(timeouts.ready_seconds)
        return cls(hold)

    @property
    def address(self) -> Address:
        return self._hold.address

    @property
    def url(self) -> str:
        """`unix://<directory>/engine.sock`, which `connect` accepts; an exposed engine's is `http://127.0.0.1:<port>`."""
        return self.address.url

    @property
    def pid(self) -> int:
        """The engine's process when this object began to hold it."""
        return self._hold.greeting.pid

    @property
    def isolation(self) -> str:
        """The protection from others: `filter`, `hidden` (only its address), or `exposed` (nothing)."""
        return self._hold.greeting.isolation

    @property
    def owned(self) -> bool:
        """Whether this object started the engine, in this process."""
        return self._hold.attachment.started and self._hold.attachment.is_mine

    @property
    def alive(self) -> bool:
        """Whether the engine runs, or would be started by the next request. A forked child sends it a request."""
        attachment = self._hold.attachment
        return attachment.is_open if attachment.is_mine else is_healthy(self)

    def restart(self, seconds: float) -> None:
        """Start the engine of a file again, or attach to the engine that another process has started meanwhile."""
        self._hold.restart(self.directory, seconds)
        self.directory = self._hold.attachment.directory

    def stop(self) -> None:
        """Stop holding the engine; where no other process holds it, wait until it has ended. The file stays.

        A second call does nothing.
        """
        self._hold.release()

    def keep_running(self) -> None:
        """Have the engine go on without holders, until `control.stop`."""
        self._hold.attachment.keep_running()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        relation = "owned" if self.owned else "attached"
        return f"<Engine {self.url} {relation} {self.path or 'private'}>"


class _Hold:
    """This process's hold on an engine; after a restart, on the next engine of the same file."""

    data: Path
    address: Address
    greeting: Greeting
    attachment: Attachment

    def __init__(self, path: Path | None, exposed: bool, environ: Mapping[str, str], timeouts: EngineTimeouts) -> None:
        self.path = path
        self._exposed = exposed
        self._environ = environ
        self._timeouts = timeouts
        self._released = False
        self._restarting = threading.RLock()

    def acquire(self, seconds: float) -> None:
        if self.path is None:
            self._launch(None)
        elif not wait_until(self._launch_or_attach, seconds):
            raise no_answer(self.path)

    def restart(self, failed: Path, seconds: float) -> None:
        with self._restarting:
            if self.attachment.directory != failed:
                return  # another thread has done it
            if self.path is None or self._released:
                raise ConnectionRefusedError("the engine has ended")
            self.attachment.stop(self._timeouts)
            self.acquire(seconds)

    def release(self) -> None:
        self._released = True
        self.attachment.stop(self._timeouts)

    def _launch_or_attach(self) -> bool:
        assert self.path is not None
        lock = DataLock.acquire(self.path)
        if lock is not None:
            with lock:
                self._launch(lock)
            return True
        address = published_address(self.path)
        attached = Attachment.attach(address.directory, self._timeouts.ready_seconds) if address else None
        if address is None or attached is None:
            return False
        self.attachment, self.greeting = attached
        self.data, self.address = self.path, address
        if self._exposed and not address.exposed_url:
            self.attachment.stop(self._timeouts)
            raise Unavailable(
                f"an engine that is not exposed runs on {self.path}", hint="Stop what uses it, then start it exposed."
            )
        return True

    def _launch(self, lock: DataLock | None) -> None:
        isolations = EXPOSED if self._exposed else ISOLATIONS
        self.attachment, self.greeting, self.data = _start_engine(
            self.path, lock=lock, environ=self._environ, timeouts=self._timeouts, isolations=isolations
        )
        self.address = _address_of(self.attachment, self.greeting)


def no_answer(data: Path) -> Unavailable:
    return Unavailable(
        f"another process has {data} locked, and no engine answers for it",
        hint=f"Find the process that has {lock_path(data)} open, and end it.",
    )


def _start_engine(
    path: Path | None,
    *,
    lock: DataLock | None,
    environ: Mapping[str, str],
    timeouts: EngineTimeouts,
    isolations: Sequence[str],
) -> tuple[Attachment, Greeting, Path]:
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
            (directory / DATA_LINK).symlink_to(path)
        command = (directory, data, binary, ",".join(isolations), _port(previous), timeouts.ready_seconds)
        sweep_seconds = timeouts.sweep_seconds if path else 0.0  # a private engine's data goes with it
        attachment, greeting = Attachment.start(
            (*command, timeouts.stop_seconds, sweep_seconds),
            directory,
            environ=environ,
            keeps_open=lock.fileno() if lock else None,
            timeouts=timeouts,
        )
    except BaseException:
        delete_directory(directory)
        raise
    if lock:
        lock.publish(_address_of(attachment, greeting))
    if previous:
        delete_directory(previous.directory)  # left by a supervisor that was killed
    return attachment, greeting, data


def _port(previous: Address | None) -> int:
    """The port of the exposed engine before: the next one uses it again, so that tools find it."""
    if previous is None or not previous.exposed_url:
        return 0
    return int(previous.exposed_url.rpartition(":")[2])


def _address_of(attachment: Attachment, greeting: Greeting) -> Address:
    return Address(attachment.supervisor_pid, attachment.directory, greeting.url)
