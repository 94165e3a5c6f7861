"""The places that AWS credentials come from, on loopback: STS, a container's endpoint, an instance's metadata."""

from __future__ import annotations

import json
import threading  # noqa: TID251
from collections import Counter
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_STS = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
<SessionToken>t</SessionToken><Expiration>{until}</Expiration></Credentials>
<AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>r:s</AssumedRoleId></AssumedRoleUser>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""


class IdentityServer:
    """`asked` counts by place; `seconds` is how long what it gives lasts; while `down` it answers 500."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.seconds = 3600.0
        self.down = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                """Not to stderr."""

            def do_PUT(self) -> None:
                self.answer("a-token", "text/plain")

            def do_GET(self) -> None:
                if "security-credentials/" in self.path and self.path.endswith("/"):
                    self.answer("a-role", "text/plain")
                elif "security-credentials" in self.path:
                    self.give("INSTANCE")
                else:
                    self.give("CONTAINER")

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked["WEB"] += 1
                self.answer(_STS.format(key="WEB", until=outer.until()), "text/xml")

            def give(self, place: str) -> None:
                outer.asked[place] += 1
                keys = {"AccessKeyId": place, "SecretAccessKey": "s", "Token": "t", "Expiration": outer.until()}
                self.answer(json.dumps({"Code": "Success", **keys}), "application/json")

            def answer(self, body: str, kind: str) -> None:
                self.send_response(500 if outer.down else 200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def until(self) -> str:
        return (datetime.now(timezone.utc) + timedelta(seconds=self.seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> IdentityServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
