"""Advisory services on loopback, for the real tools to ask: both in the form that the real ones answer in."""

from __future__ import annotations

import json
import threading  # noqa: TID251
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OSV_ENTRY = {
    "id": "GHSA-0000-made-upon",
    "aliases": ["CVE-2000-0001"],
    "summary": "a made up one",
    "details": "made up",
    "affected": [
        {
            "package": {"name": "six", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
        }
    ],
}
NPM_ENTRY = {
    "id": 1,
    "url": "https://advisories.example/GHSA-0000-made-upon",
    "title": "a made up one",
    "severity": "high",
    "vulnerable_versions": "<99.0.0",
    "cwe": [],
    "cvss": {"score": 0, "vectorString": None},
}


class AdvisoryService:
    """Answers what it is told: a status, and the advisories by package."""

    def __init__(self, status: int, known: Mapping[str, Any]) -> None:
        self.status, self.known, self.asked = status, known, list[str]()
        self.url = ""

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.status != 200:
            return self.status, b""
        said = json.loads(body)
        if path == "/osv":
            entry = self.known.get(said["package"]["name"])
            return 200, json.dumps({"vulns": [entry]} if entry else {}).encode()
        return 200, json.dumps({name: [self.known[name]] for name in said if name in self.known}).encode()


@contextmanager
def advisories(status: int = 200, **known: Any) -> Iterator[AdvisoryService]:
    service = AdvisoryService(status, known)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = decompress(body)
            code, answer = service.answer(self.path, body)
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            """Packages themselves are not asked for."""
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
