"""One HTTP request with a body, to an address that a stranger may have given.

No redirect is followed. Unless `private` is said, the address must lie on the open internet: it is looked up once, and
the connection goes to what was checked, so that a name which changes its mind leads nowhere.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from examples.manhunt.errors import Rejected, Undeliverable

MAX_ANSWER_BYTES = 64 * 1024
_PASSING = (408, 425, 429)
"""Refusals that may be other ones later."""


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    request_id: str


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float, *, private: bool) -> Reply:
    """The provider's answer, where it took the request: any 2xx. Undeliverable or Rejected otherwise."""
    parts = urlsplit(url)
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    connection = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
    made = connection(host, parts.port, timeout=timeout_seconds)
    try:
        made.sock = _connected(host, parts.port or (443 if is_tls else 80), timeout_seconds, is_tls, private)
        made.request("POST", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}", body, dict(headers))
        answer = made.getresponse()
        reply = Reply(answer.status, answer.read(MAX_ANSWER_BYTES), answer.headers.get("X-Request-Id", ""))
    except (OSError, http.client.HTTPException) as error:
        raise Undeliverable(f"no answer from {host}: {type(error).__name__}") from error
    finally:
        made.close()
    return _taken(host, reply)


def _taken(host: str, reply: Reply) -> Reply:
    if 200 <= reply.status < 300:
        return reply
    said = f"{host} answered with status {reply.status}"
    if 300 <= reply.status < 500 and reply.status not in _PASSING:
        raise Rejected(said)
    raise Undeliverable(said)


def _connected(host: str, port: int, timeout_seconds: float, is_tls: bool, private: bool) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not private and not all(ipaddress.ip_address(place[0]).is_global for *_, place in found):
        raise Rejected(f"{host} is not on the open internet")
    plain = socket.create_connection((str(found[0][4][0]), port), timeout_seconds)
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host) if is_tls else plain
