"""An account's services, or an emulator's: where each is, and one request to it."""

from __future__ import annotations

import json
import re
import socket
import threading  # noqa: TID251  (a connection for each thread of the gateway)
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from singletable.errors import SingletableError
from singletable.flow import DYNAMODB, DYNAMODB_STREAMS, SQS
from singletable.flow.request import Service
from singletable.wire import Credentials
from singletable.wire.hosts import host_of
from singletable.wire.unix_sockets import open_unix
from singletable_local import UnixEndpoint
from tools.aws.refusals import NOT_SIGNED, code_of, described, refused_for_good
from tools.aws.signing import signed_headers

JSON_SERVICES = {service.target_prefix: service for service in (DYNAMODB, DYNAMODB_STREAMS, SQS)}
S3 = Service("s3", "", "s3")
STS = Service("sts", "", "sts")
_JSON = "application/x-amz-json-1.0"
_SECONDS = 60.0
_TRIES = 4


class ServiceError(Exception):
    """The service refused a request of this tool itself; the text says what to do where no retry helps."""

    def __init__(self, operation: str, status: int, body: bytes) -> None:
        self.status = status
        self.code = code_of(body)
        super().__init__(refused_for_good(operation, status, body) or described(operation, status, body))


@dataclass(frozen=True)
class HttpAnswer:
    """An answer of any service; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Account:
    """Where requests go. `endpoint` is the address of an emulator, or empty for AWS."""

    endpoint: str
    region: str
    credentials: Callable[[], Credentials]
    tables: str = ""
    """Where DynamoDB is, if elsewhere than the emulator's other services."""
    clock: Callable[[], float] = time.time
    _connections: threading.local = field(default_factory=threading.local)

    @property
    def place(self) -> str:
        """Where it is, for a person."""
        return f"{self.endpoint or 'AWS'} in {self.region}"

    def url_of(self, service: Service) -> str:
        if self.endpoint:
            return self.tables if self.tables and service in (DYNAMODB, DYNAMODB_STREAMS) else self.endpoint
        host = f"sts.{self.region}.amazonaws.com" if service is STS else host_of(service.host, self.region)
        return f"https://{host}"

    def ask(self, service: Service, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Sign one request and send it. Where the connection is refused or lost before an answer, raises OSError.

        A request that can't be signed is answered as a service answers one whose credentials have expired.
        """
        try:
            credentials = self.credentials()
        except SingletableError as error:
            said = {"__type": NOT_SIGNED, "message": str(error)}
            return HttpAnswer(403, {"content-type": _JSON}, json.dumps(said).encode())
        path, _, query = target.partition("?")
        url = urlsplit(self.url_of(service))
        given = dict(headers) | {"host": url.netloc or "localhost"}
        signed = signed_headers(
            method,
            path,
            query,
            given,
            body,
            service=service.name,
            region=self.region,
            credentials=credentials,
            now=self.clock(),
        )
        return self._exchange(self.url_of(service), method, target, signed, body)

    def call(self, service: Service, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """One action of a JSON service, for this tool itself. Raises ServiceError."""
        headers = {"content-type": _JSON, "x-amz-target": f"{service.target_prefix}.{operation}"}
        answer = self._patiently(service, "POST", "/", headers, json.dumps(body).encode())
        if answer.status != 200:
            raise ServiceError(operation, answer.status, answer.body)
        return dict(json.loads(answer.body or b"{}"))

    def s3(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """One request of S3, for this tool itself. Raises ServiceError."""
        answer = self._patiently(S3, method, target, headers or {}, body)
        if answer.status >= 300:
            raise ServiceError(f"{method} {target}", answer.status, answer.body)
        return answer.body

    def identity(self) -> str:
        """The account's number, as STS says it."""
        body = b"Action=GetCallerIdentity&Version=2011-06-15"
        answer = self._patiently(STS, "POST", "/", {"content-type": "application/x-www-form-urlencoded"}, body)
        found = re.search(rb"<Account>(\d+)</Account>", answer.body)
        if answer.status != 200 or found is None:
            raise ServiceError("GetCallerIdentity", answer.status, answer.body)
        return found[1].decode()

    def close(self) -> None:
        """Close this thread's connections; they are opened again when they are needed."""
        held: dict[str, HTTPConnection] = self._connections.__dict__.setdefault("held", {})
        while held:
            held.popitem()[1].close()

    def _patiently(
        self, service: Service, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        """`ask`, again after a lost connection, a throttled request or a failure of the service."""
        for attempt in range(1, _TRIES + 1):
            try:
                answer = self.ask(service, method, target, headers, body)
                if attempt == _TRIES or (answer.status < 500 and b"hrottl" not in answer.body):
                    return answer
            except OSError:
                if attempt == _TRIES:
                    raise
            time.sleep(0.2 * 2**attempt)  # noqa: TID251
        raise AssertionError("the last try returns or raises")

    def _exchange(self, url: str, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        held: dict[str, HTTPConnection] = self._connections.__dict__.setdefault("held", {})
        connection = held.pop(url, None) or _connection_to(url)
        try:
            connection.request(method, target, body=body, headers=dict(headers))
            answer = connection.getresponse()
            read = answer.read()
        except (OSError, HTTPException) as fault:
            connection.close()
            raise ConnectionError(f"no answer from {url}: {type(fault).__name__}: {fault}") from fault
        if answer.will_close:
            connection.close()
        else:
            held[url] = connection
        return HttpAnswer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, read)


def _connection_to(url: str) -> HTTPConnection:
    if url.startswith("unix://"):
        made = HTTPConnection("localhost", timeout=_SECONDS)
        made.sock, _ = open_unix(UnixEndpoint.at(url), _SECONDS)
        made.sock.settimeout(_SECONDS)
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a head and its body are two packets
        return made
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "127.0.0.1", parts.port, timeout=_SECONDS)
