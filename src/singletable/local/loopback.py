"""This machine's own network: a free port, an engine's address, and whether it answers."""

from __future__ import annotations

import socket
from dataclasses import dataclass

HOST = "127.0.0.1"

_ANSWER_SECONDS = 2.0
_LONGEST_ANSWER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Address:
    """A running engine: its process and the port it listens on."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def free_port() -> int:
    """A port nobody listens on now; another process may take it before it is used."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_healthy(port: int) -> bool:
    """Whether an engine answers on the port, asked with one GET; False after 2 seconds without an answer."""
    try:
        return _ask(port).partition(b"\r\n\r\n")[2].startswith(b"healthy")
    except OSError:
        return False


def _ask(port: int) -> bytes:
    answer = b""
    with socket.create_connection((HOST, port), timeout=_ANSWER_SECONDS) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
        while len(answer) < _LONGEST_ANSWER_BYTES:
            part = connection.recv(_LONGEST_ANSWER_BYTES)
            if not part:
                break
            answer += part
    return answer
