"""A provider for the simulation: takes webhooks, texts and calls on loopback, and is out of order now and then."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

OUT_OF_ORDER = 0.03
"""The part of requests that are refused for now."""


@dataclass
class Receiver:
    """What came in, by idempotency key."""

    port: int = 0
    taken: Counter[str] = field(default_factory=Counter[str])
    refused: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def receiving(random: Random) -> Generator[Receiver, None, None]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_out = random.random() < OUT_OF_ORDER
            if is_out:
                receiver.refused += 1
            else:
                receiver.taken[self.headers.get("Idempotency-Key", "")] += 1
            body = json.dumps({} if is_out else {"sid": f"message-{receiver.taken.total()}"}).encode()
            self.send_response(503 if is_out else 201)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what came in is counted."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            """A worker that was killed in the middle of a request is not an error here."""

    with Server(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1, "receiver") as beside:
        receiver.port = server.server_address[1]
        beside.submit(server.serve_forever, 0.05)
        try:
            yield receiver
        finally:
            server.shutdown()
