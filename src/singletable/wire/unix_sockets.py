"""Services behind a door: on this machine, where connections are handed out to those who may have one.

Such a service listens where nobody can connect to. A Unix socket with the rights of a file gives each connection out as
a descriptor; what goes over it afterwards knows nothing of that. Who runs such a service implements `Door`.
"""

from __future__ import annotations

import socket
from typing import Protocol

from singletable.errors import SingletableError


class Door(Protocol):
    """Where connections are handed out."""

    @property
    def url(self) -> str: ...

    def knock(self) -> socket.socket:
        """Ask for a connection. The socket can be read from when there is an answer. Raises OSError."""
        ...

    def enter(self, guest: socket.socket, /) -> tuple[socket.socket, str]:
        """The connection, and the epoch of the service: the name of the start since when it remembers.

        Raises OSError.
        """
        ...

    def mend(self, seconds: float, /) -> None:
        """Have the service come back after its end, in `seconds` at most; it may block. Raises OSError or an error of
        ours where it can't."""
        ...


def pass_blocking(door: Door, patience: float) -> tuple[socket.socket, str]:
    """A connection and its epoch. Raises OSError."""
    try:
        return _pass_blocking(door, patience)
    except GONE:
        mend_at(door, patience)
    return _pass_blocking(door, patience)


GONE = (ConnectionError, FileNotFoundError)
"""What says that nobody is behind a door."""


def mend_at(door: Door, seconds: float) -> None:
    """`mend`, raising OSError only."""
    try:
        door.mend(seconds)
    except SingletableError as fault:
        raise OSError(str(fault)) from fault


def _pass_blocking(door: Door, patience: float) -> tuple[socket.socket, str]:
    with door.knock() as guest:
        guest.settimeout(patience)
        return door.enter(guest)
