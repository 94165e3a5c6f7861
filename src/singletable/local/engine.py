"""An embedded engine: one that this process started, or one that already runs on the same file."""

from __future__ import annotations

import os
import threading  # noqa: TID251  (threads whose requests fail together mend one door)
import weakref
from collections.abc import Mapping
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local.attachment import Greeting, Held
from singletable.local.launch import EXPOSED, WALLS, launch
from singletable.local.lock import DataLock, lock_path, published_address
from singletable.local.polling import wait_until
from singletable.local.start_timeout import Patience
from singletable.local.unix_endpoint import Address, Door, is_healthy


class Engine(Door):
    """A running engine, held by this process. Threads and forked children may share it.

    An engine ends when the last one that holds it lets go: by `stop`, by ending in whatever way, or with the last
    reference to the object. Where it ended otherwise, the next connection starts it again, on the same data; a private
    engine is gone with its keeper. A forked child uses the engine and doesn't hold it.
    """

    def __init__(self, seat: _Seat) -> None:
        """Use `Engine.start`."""
        super().__init__(seat.held.directory)
        self.data = seat.data
        """Where its data lies, for good or, of a private one, for as long as it runs."""
        self.path = seat.path
        """The file that it was started on; None for a private one."""
        self._seat = seat
        weakref.finalize(self, seat.leave)

    @classmethod
    def start(
        cls,
        path: Path | str | None = None,
        *,
        exposed: bool = False,
        environ: Mapping[str, str] | None = None,
        patience: Patience = Patience(),  # noqa: B008  (frozen)
    ) -> Engine:
        """Start a private engine, or one on the file `path`, or attach to the one that has the file.

        Only this user's processes reach it, by its door, as far as the system allows that (`wall` says how). An
        `exposed` one listens on a port of 127.0.0.1 instead, where every program and every user of this machine, and
        a web page in its browser, may read and write the data. `environ` is the process's own unless given.

        The file and its directory are created. Raises `NotConfigured` where the engine isn't installed or the file
        belongs to another user, `Unavailable` where the engine ends before it answers (with what it said), where the
        file is held and nothing answers for it, or where an engine runs that isn't exposed and should be.
        """
        data = None if path is None else Path(path).resolve()
        seat = _Seat(data, exposed, os.environ if environ is None else environ, patience)
        seat.take(patience.ready_seconds)
        return cls(seat)

    @property
    def address(self) -> Address:
        return self._seat.address

    @property
    def url(self) -> str:
        """`unix://<directory>/door`, which `connect` takes; of an exposed engine `http://127.0.0.1:<port>`."""
        return self.address.url

    @property
    def pid(self) -> int:
        """The engine's process, as it was when this object came to hold it."""
        return self._seat.greeting.pid

    @property
    def wall(self) -> str:
        """What keeps others from it: `namespace`, `filter`, `hidden` (nothing but its address), or `exposed`."""
        return self._seat.greeting.wall

    @property
    def owned(self) -> bool:
        """Whether this object started the engine, in this very process."""
        return self._seat.held.started and self._seat.held.is_mine

    @property
    def alive(self) -> bool:
        """Whether the engine runs, or would at the next request. In a forked child it is asked."""
        return self._seat.held.lasts if self._seat.held.is_mine else is_healthy(self)

    def mend(self, seconds: float) -> None:
        """Start the engine of a file again, or attach to the one that another process started meanwhile."""
        self._seat.mend(self.directory, seconds)
        self.directory = self._seat.held.directory

    def stop(self) -> None:
        """Let go of the engine, and wait until it has ended where nobody else holds it; the file stays. A second call
        does nothing."""
        self._seat.leave()

    def release(self) -> None:
        """Have the engine go on when nobody holds it: until `control.stop`."""
        self._seat.held.release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        relation = "owned" if self.owned else "attached"
        return f"<Engine {self.url} {relation} {self.path or 'private'}>"


class _Seat:
    """This process's hold on an engine; another hold, on another engine, when that one has ended."""

    data: Path
    address: Address
    greeting: Greeting
    held: Held

    def __init__(self, path: Path | None, exposed: bool, environ: Mapping[str, str], patience: Patience) -> None:
        self.path = path
        self._exposed = exposed
        self._environ = environ
        self._patience = patience
        self._left = False
        self._mending = threading.RLock()

    def take(self, seconds: float) -> None:
        if self.path is None:
            self._launch(None)
        elif not wait_until(self._launch_or_attach, seconds):
            raise held_without_answer(self.path)

    def mend(self, tried: Path, seconds: float) -> None:
        with self._mending:
            if self.held.directory != tried:
                return  # another thread has done it
            if self.path is None or self._left:
                raise ConnectionRefusedError("the engine has ended")
            self.held.stop(self._patience)
            self.take(seconds)

    def leave(self) -> None:
        self._left = True
        self.held.stop(self._patience)

    def _launch_or_attach(self) -> bool:
        assert self.path is not None
        lock = DataLock.take(self.path)
        if lock is not None:
            with lock:
                self._launch(lock)
            return True
        address = published_address(self.path)
        attached = Held.attach(address.directory, self._patience.ready_seconds) if address else None
        if address is None or attached is None:
            return False
        self.held, self.greeting = attached
        self.data, self.address = self.path, address
        if self._exposed and not address.exposed_url:
            self.held.stop(self._patience)
            raise Unavailable(
                f"an engine that is not exposed runs on {self.path}", hint="Stop what uses it, then start it exposed."
            )
        return True

    def _launch(self, lock: DataLock | None) -> None:
        walls = EXPOSED if self._exposed else WALLS
        launched = launch(self.path, lock=lock, environ=self._environ, patience=self._patience, walls=walls)
        self.held, self.greeting = launched.held, launched.greeting
        self.data, self.address = launched.data, launched.address


def held_without_answer(data: Path) -> Unavailable:
    return Unavailable(
        f"another process holds {data}, and no engine answers for it",
        hint=f"Find the process that has {lock_path(data)} open, and end it.",
    )
