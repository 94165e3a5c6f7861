"""The door to an engine: a Unix socket at which its keeper hands out connections to it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from singletable.errors import InvalidRequest
from singletable.local.attachment import address_of, failure_at_the_door

_SCHEME = "unix://"
_NAME = "door"
_LONGEST_WORD_BYTES = 8192
_ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Address:
    """A running engine: its keeper's process, and the directory that holds its door."""

    pid: int
    directory: Path
    exposed_url: str = ""
    """Where an exposed engine is reached without its door; else empty."""

    @property
    def url(self) -> str:
        return self.exposed_url or Door(self.directory).url


class Door:
    """The way to an engine for one connection after the other. It holds nothing: the engine may end meanwhile."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def at(cls, url: str) -> Door:
        """The door of an URL such as `unix:///dev/shm/singletable-1a2b/door`. Raises `InvalidRequest`."""
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        if f"{parts.scheme}://" != _SCHEME or parts.netloc or path.name != _NAME or not path.is_absolute():
            raise InvalidRequest(
                "the address is not that of an embedded engine's door", hint="Give the URL that the database shows."
            )
        return cls(path.parent)

    @property
    def url(self) -> str:
        return f"{_SCHEME}{quote(str(self.directory))}/{_NAME}"

    def knock(self) -> socket.socket:
        """Ask for a connection; what is returned can be read from when it is there. Raises OSError."""
        guest = socket.socket(socket.AF_UNIX)
        try:
            guest.setblocking(False)
            with address_of(self.directory / _NAME) as address:
                guest.connect(address)
        except BaseException:
            guest.close()
            raise
        return guest

    def enter(self, guest: socket.socket) -> tuple[socket.socket, str]:
        """The connection that was asked for, and the name of the engine's start. Raises OSError."""
        word, descriptors, _, _ = socket.recv_fds(guest, _LONGEST_WORD_BYTES, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if descriptors:
            os.set_inheritable(descriptors[0], False)
            return socket.socket(fileno=descriptors[0]), word.decode()
        if not word:
            raise ConnectionResetError("the engine's keeper has ended")
        raise OSError(failure_at_the_door(word.decode(errors="replace")))

    def mend(self, seconds: float) -> None:
        """Make the door one that opens again, where the keeper has ended. Raises OSError where that can't be."""
        raise ConnectionRefusedError("the engine has ended")


def is_healthy(door: Door) -> bool:
    """Whether the engine answers, asked with one GET; False after 2 seconds without an answer."""
    try:
        with door.knock() as guest:
            guest.settimeout(_ANSWER_SECONDS)
            connection, _ = door.enter(guest)
        with connection:
            return _ask(connection).partition(b"\r\n\r\n")[2].startswith(b"healthy")
    except OSError:
        return False


def _ask(connection: socket.socket) -> bytes:
    connection.settimeout(_ANSWER_SECONDS)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = b""
    while part := connection.recv(4096):
        answer += part
    return answer
