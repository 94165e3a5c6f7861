"""The Unix socket of an engine, at which its supervisor hands out connections to the engine."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from singletable.errors import InvalidRequest
from singletable_local.attachment import address_of, connection_failure
from singletable_local.socket_names import DATA_LINK, ENGINE_SOCKET

_SCHEME = "unix://"
_LONGEST_MESSAGE_BYTES = 8192
_ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Address:
    """A running engine: its supervisor's process, and the directory of its sockets."""

    pid: int
    directory: Path
    exposed_url: str = ""
    """The HTTP address of an exposed engine; else empty."""

    @property
    def url(self) -> str:
        return self.exposed_url or UnixEndpoint(self.directory).url


class UnixEndpoint:
    """Opens connections to an engine. It holds nothing: the engine may end at any time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def at(cls, url: str) -> UnixEndpoint:
        """The endpoint of a URL such as `unix:///dev/shm/singletable-1a2b/engine.sock`. Raises `InvalidRequest`."""
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        is_ours = f"{parts.scheme}://" == _SCHEME and not parts.netloc and path.name == ENGINE_SOCKET
        if not is_ours or not path.is_absolute():
            raise InvalidRequest(
                "the address is not that of an embedded engine", hint="Use the unix:// URL that repr(db) shows."
            )
        return cls(path.parent)

    @property
    def url(self) -> str:
        return f"{_SCHEME}{quote(str(self.directory))}/{ENGINE_SOCKET}"

    def data_file(self) -> Path | None:
        """The data file that its engine serves; None for a private engine."""
        link = self.directory / DATA_LINK
        return link.readlink() if link.is_symlink() else None

    def request_connection(self) -> socket.socket:
        """Ask the supervisor for a connection. The socket becomes readable when the answer is there. Raises OSError."""
        asking = socket.socket(socket.AF_UNIX)
        try:
            asking.setblocking(False)
            with address_of(self.directory / ENGINE_SOCKET) as address:
                asking.connect(address)
        except BaseException:
            asking.close()
            raise
        return asking

    def receive_connection(self, asking: socket.socket) -> tuple[socket.socket, str]:
        """The requested connection, and the epoch of the engine's start. Raises OSError."""
        message, descriptors, _, _ = socket.recv_fds(
            asking, _LONGEST_MESSAGE_BYTES, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        )
        if descriptors:
            os.set_inheritable(descriptors[0], False)
            return socket.socket(fileno=descriptors[0]), message.decode()
        if not message:
            raise ConnectionResetError("the engine's supervisor has ended")
        raise OSError(connection_failure(message.decode(errors="replace")))

    def restart(self, seconds: float) -> None:
        """Start the engine again after its supervisor has ended. Raises OSError if that is impossible."""
        raise ConnectionRefusedError("the engine has ended")


def is_healthy(endpoint: UnixEndpoint) -> bool:
    """Whether the engine answers one GET; False after 2 seconds without an answer."""
    try:
        with endpoint.request_connection() as asking:
            asking.settimeout(_ANSWER_SECONDS)
            connection, _ = endpoint.receive_connection(asking)
        with connection:
            return _health_of(connection).partition(b"\r\n\r\n")[2].startswith(b"healthy")
    except OSError:
        return False


def _health_of(connection: socket.socket) -> bytes:
    connection.settimeout(_ANSWER_SECONDS)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = b""
    while part := connection.recv(4096):
        answer += part
    return answer
