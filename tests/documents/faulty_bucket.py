"""An S3 endpoint behind a proxy that does to its requests what rules of `tests.faults` say.

A rule names an operation as `PUT` or `GET`; its `key` is looked for in the path. A request that is forwarded is
forwarded as it came.
"""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.faults.actions import ApplyThenCut, DropBefore, Refuse
from tests.faults.messages import Call
from tests.faults.rules import Faults

_HOP = {"connection", "transfer-encoding", "content-length", "date", "server"}
_PATIENCE_SECONDS = 30.0


@contextmanager
def faulty_bucket(endpoint: str, faults: Faults) -> Iterator[str]:
    """The address of an endpoint with faults."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

        def do_PUT(self) -> None:
            self._pass()

        do_GET = do_HEAD = do_DELETE = do_POST = do_PUT

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            call = Call(f"x-amz-target: S3.{self.command}".encode(), self.path.encode())
            match faults.decide(call):
                case DropBefore():
                    self.close_connection = True
                case Refuse() as refusal:
                    error = f"<Error><Code>{refusal.code}</Code><Message>injected</Message></Error>"
                    self._answer(refusal.status, {"content-type": "application/xml"}, error.encode())
                case ApplyThenCut():
                    self._forward(body)
                    self.close_connection = True
                case _:
                    self._answer(*self._forward(body))

        def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            connection = HTTPConnection(urlsplit(endpoint).netloc, timeout=_PATIENCE_SECONDS)
            try:
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                answer = connection.getresponse()
                headers = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
                return answer.status, headers, answer.read()
            finally:
                connection.close()

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True)  # a failed run ends too
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
