"""One HTTP request with a body, to an address that a stranger may have given.

No redirect is followed. Unless `private` is said, the address must lie on the open internet: it is looked up once, and
the connection goes to what was checked, so that a name which changes its mind leads nowhere. The time is that of the
whole call: lookup, connection, TLS, headers and body.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from examples_shared.deadline import BoundedSocket, BoundedTls, Deadline, connected, is_global, tls
from manhunt.errors import Rejected, Unanswered, Undeliverable

MAX_ANSWER_BYTES = 64 * 1024
_PASSING = (408, 425, 429)
"""Refusals that may be other ones later."""


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    request_id: str


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float, *, private: bool) -> Reply:
    """The provider's answer, where it took the request: any 2xx. Undeliverable or Rejected otherwise; Unanswered where
    the request left and no whole answer came within `timeout_seconds`."""
    parts = urlsplit(url)
    host, default = parts.hostname or "", 443 if parts.scheme == "https" else 80
    made = http.client.HTTPConnection(host, parts.port or default)
    made.default_port = default
    try:
        made.sock = _connected(parts.scheme, host, parts.port or default, Deadline(timeout_seconds), private)
    except UnicodeError as error:
        raise Rejected(f"{host} can't be the name of a host") from error
    except OSError as error:
        raise Undeliverable(f"no connection to {host}: {type(error).__name__}") from error
    try:
        made.request("POST", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}", body, dict(headers))
        answer = made.getresponse()
        reply = Reply(answer.status, answer.read(MAX_ANSWER_BYTES), answer.headers.get("X-Request-Id", ""))
    except (OSError, http.client.HTTPException) as error:
        raise Unanswered(f"no answer from {host}: {type(error).__name__}") from error
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


def _connected(scheme: str, host: str, port: int, deadline: Deadline, private: bool) -> BoundedSocket | BoundedTls:
    def check(address: str) -> None:
        if not private and not is_global(address):
            raise Rejected(f"{host} is not on the open internet")

    plain = connected(host, port, deadline, check)
    if scheme != "https":
        return plain
    try:
        return tls(plain, host)
    except BaseException:
        plain.close()
        raise
