"""An embedded engine: one that this process runs, or one that already runs on the same file."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local.launch import Launched, Patience, launch
from singletable.local.lock import DataLock, lock_path, published_address
from singletable.local.loopback import Address, is_healthy
from singletable.local.supervisor import Supervised
from singletable.local.waiting import wait_until


class Engine:
    """A running engine. Threads and forked children may share it.

    The engine ends with `stop`, when the process that started it ends in whatever way, or when the last reference to
    the object that started it is gone. An engine found running on the same file is attached to, not owned: `stop`
    leaves it alone, and it ends with its owner.
    """

    def __init__(self, address: Address, *, data: Path, path: Path | None, process: Supervised | None) -> None:
        """Use `Engine.start`. With a `process` the engine is owned."""
        self.address = address
        self.data = data
        """Where its data lies, for good or, of a private one, for as long as it runs."""
        self.path = path
        """The file that it was started on; None for a private one."""
        self._process = process
        if process is not None:
            weakref.finalize(self, process.stop)

    @classmethod
    def start(
        cls,
        path: Path | str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        patience: Patience = Patience(),  # noqa: B008  (frozen)
    ) -> Engine:
        """Start a private engine, or one on the file `path`, or attach to the one that has the file.

        The file and its directory are created. Raises `NotConfigured` where the engine isn't installed, `Unavailable`
        or the file's directory can't be written, `Unavailable` where the engine ends before it answers (with what it
        said) or where the file is held and nothing answers for it.
        """
        environ = os.environ if environ is None else environ
        if path is None:
            return cls._owner(launch(None, lock=None, environ=environ, patience=patience), None)
        data = Path(path).resolve()
        engine = wait_until(lambda: cls._own_or_attach(data, environ, patience), patience.ready_seconds)
        if engine is None:
            raise held_without_answer(data)
        return engine

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`; the port is free for any process of this machine to reach."""
        return self.address.url

    @property
    def pid(self) -> int:
        return self.address.pid

    @property
    def port(self) -> int:
        return self.address.port

    @property
    def owned(self) -> bool:
        """Whether this object started the engine, in this very process."""
        return self._process is not None and self._process.is_mine

    @property
    def alive(self) -> bool:
        """Whether the engine runs. One that isn't owned is asked, and must still be the one of its file."""
        if self._process is not None and self._process.is_mine:
            return self._process.exit_code is None
        return (self.path is None or published_address(self.path) == self.address) and is_healthy(self.port)

    def stop(self) -> None:
        """End the engine if it is owned, and wait until it has ended; the file stays. A second call does nothing."""
        if self._process is not None:
            self._process.stop()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        relation = "owned" if self.owned else "attached"
        return f"<Engine {self.url} {relation} {self.path or 'private'}>"

    @classmethod
    def _own_or_attach(cls, data: Path, environ: Mapping[str, str], patience: Patience) -> Engine | None:
        lock = DataLock.take(data)
        if lock is not None:
            with lock:
                return cls._owner(launch(data, lock=lock, environ=environ, patience=patience), data)
        address = published_address(data)
        if address is None or not is_healthy(address.port):
            return None
        return cls(address, data=data, path=data, process=None)

    @classmethod
    def _owner(cls, launched: Launched, path: Path | None) -> Engine:
        return cls(launched.address, data=launched.data, path=path, process=launched.process)


def held_without_answer(data: Path) -> Unavailable:
    return Unavailable(
        f"another process holds {data}, and no engine answers for it",
        hint=f"Find the process that has {lock_path(data)} open, and end it.",
    )
