"""Connections to a service of this machine that hands them out itself, over a Unix socket.

Such a service listens where no other process can connect. Its Unix socket, protected by file permissions, passes each
connection as a descriptor; requests then go over that connection as over any other. Such a service is a
`SocketBroker`; the embedded engine's is `local.unix_endpoint`.
"""

from __future__ import annotations

import socket
from typing import Protocol

from singletable.errors import SingletableError


class SocketBroker(Protocol):
    """Hands out connections to one service."""

    @property
    def url(self) -> str: ...

    def request_connection(self) -> socket.socket:
        """Ask for a connection. The socket becomes readable when the answer is there. Raises OSError."""
        ...

    def receive_connection(self, asking: socket.socket, /) -> tuple[socket.socket, str]:
        """The connection, and the service's epoch: the name of its last start, before which it remembers nothing.

        Raises OSError.
        """
        ...

    def restart(self, seconds: float, /) -> None:
        """Start the service again after it has ended, within `seconds`; may block. Raises OSError or an error of this
        library where it can't be started."""
        ...


def open_unix(broker: SocketBroker, timeout: float) -> tuple[socket.socket, str]:
    """A connection and its epoch. Raises OSError."""
    try:
        return _open_unix(broker, timeout)
    except GONE:
        restart(broker, timeout)
    return _open_unix(broker, timeout)


GONE = (ConnectionError, FileNotFoundError)
"""The errors that say that the service has ended."""


def restart(broker: SocketBroker, seconds: float) -> None:
    """`broker.restart`, raising OSError only."""
    try:
        broker.restart(seconds)
    except SingletableError as error:
        raise OSError(str(error)) from error


def _open_unix(broker: SocketBroker, timeout: float) -> tuple[socket.socket, str]:
    with broker.request_connection() as asking:
        asking.settimeout(timeout)
        return broker.receive_connection(asking)
