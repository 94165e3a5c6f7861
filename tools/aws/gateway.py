"""The address that the tests talk to: a loopback server before an account.

Each request gets this run's names and a signature, is counted, and goes on to the service; its answer comes back under
the test's names. What is to be made is in the journal before its request leaves. Past the cap, after `stop`, or
once the account has refused one for good, no request leaves: each is answered with `AccessDeniedException`, which no
retry repeats.
"""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol
from zlib import crc32

import msgspec

from singletable.flow import DYNAMODB
from tools.aws.account import JSON_SERVICES, S3, Account, HttpAnswer, ServiceError
from tools.aws.cleaning import tag_bucket
from tools.aws.counting import Count, count_json, count_object
from tools.aws.journal import Made, deleted_by
from tools.aws.names import Names
from tools.aws.refusals import refused_for_good

CONTROL = "/-/test"
"""Where `plugin` says which test begins (`{"begin": id}`) and how it ended (`{"end": id, "passed": true}`)."""
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server", "content-length"})
_NOT_FORWARDED = _HOP_BY_HOP | {
    "host",
    "authorization",
    "x-amz-date",
    "x-amz-content-sha256",
    "x-amz-security-token",
    "accept-encoding",
    "user-agent",
    "expect",
}
_ERROR = "application/x-amz-json-1.0"


class Answers(Protocol):
    """What stands behind an address: an account, or a cassette."""

    @property
    def seed(self) -> str:
        """What the tests' random values begin with: another in each run, as a service remembers tokens for minutes, and
        the same on cassettes as when they were recorded."""
        ...

    def begin(self, test: str) -> str:
        """The requests that follow are of this test. Returns why it is not to run; empty if it is."""
        ...

    def end(self, test: str, passed: bool) -> str:
        """The test has ended. Returns what went wrong below it; empty if nothing."""
        ...

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer: ...


class Recording(Protocol):
    """What is told of each request and its answer, in the test's names."""

    def take(self, test: str, what: str, request: bytes, answer: HttpAnswer) -> None: ...


class Gateway:
    """Hands requests on to an account."""

    def __init__(
        self,
        account: Account,
        names: Names,
        *,
        note: Callable[[Made], None] = lambda _: None,
        forget: Callable[[Made], None] = lambda _: None,
        is_over: Callable[[Count], str] = lambda _: "",
    ) -> None:
        self.account = account
        self.names = names
        self.spent: dict[str, Count] = {}
        """By the test file that spent it; by nothing before the first test."""
        self.total = Count()
        self.passed: list[str] = []
        """The tests that did."""
        self.recording: Recording | None = None
        self.stopped = ""
        """Why no request leaves any more."""
        self.refused = ""
        """What the account refused for good, and what to do; it stops the run."""
        self.is_idle = threading.Condition()
        self._under_way = 0
        self._unnamed: set[str] = set()
        """Tables without a name of their own, which no test deletes."""
        self._note = note
        self._forget = forget
        self._is_over = is_over
        self.test = ""
        """The one that runs, or ran last."""

    @property
    def seed(self) -> str:
        return self.names.run

    def begin(self, test: str) -> str:
        if _file_of(test) != _file_of(self.test):
            self._delete_unnamed()
        self.test = test
        self.names.turn += 1
        return self.stopped

    def end(self, test: str, passed: bool) -> str:
        if passed:
            self.passed.append(test)
        return ""

    def stop(self, why: str) -> None:
        """Let no further request out; returns when those under way are answered."""
        with self.is_idle:
            self.stopped = self.stopped or why
            self.is_idle.wait_for(lambda: self._under_way == 0, timeout=90.0)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        with self.is_idle:
            if self.stopped:
                return refusal(self.stopped)
            self._under_way += 1
        test = self.test
        try:
            prefix, _, operation = headers.get("x-amz-target", "").partition(".")
            if prefix in JSON_SERVICES:
                answer, count = self._json(prefix, operation, headers, body)
                what = f"{prefix}.{operation}"
            else:
                answer, count = self._object(method, target, headers, body)
                what = f"{method} {target}"
        finally:
            with self.is_idle:
                self._under_way -= 1
                self.is_idle.notify_all()
        self._spend(test, count)
        self._heed(what, answer)
        if self.recording is not None:
            self.recording.take(test, what, body, answer)
        return answer

    def _json(self, prefix: str, operation: str, headers: Mapping[str, str], body: bytes) -> tuple[HttpAnswer, Count]:
        try:
            sent, made = self.names.json_request(prefix, operation, body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            sent, made = body, ""
        if made:
            self._note(Made("table" if JSON_SERVICES[prefix] is DYNAMODB else "queue", made))
        answer = self.account.ask(JSON_SERVICES[prefix], "POST", "/", _forwarded(headers), sent)
        if answer.status == 200 and self.names.is_of_a_turn(made):
            self._unnamed.add(made)
        if answer.status == 200 and (gone := deleted_by(operation, sent)):
            self._unnamed.discard(gone.name)
            self._forget(gone)
        count = count_json(prefix, operation, body, answer.status, answer.body)
        return _with_body(answer, self.names.json_answer(prefix, operation, answer.body)), count

    def _object(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[HttpAnswer, Count]:
        sent, bucket = self.names.bucket_target(target)
        makes_bucket = method == "PUT" and sent == f"/{bucket}"
        if makes_bucket:
            self._note(Made("bucket", bucket))
            if not self.account.endpoint and self.account.region != "us-east-1":
                body = _location(self.account.region)
        answer = self.account.ask(S3, method, sent, _forwarded(headers), body)
        count = count_object(method, target, answer.status)
        if makes_bucket and answer.status == 200:
            count.add(count_object("PUT", f"{target}?tagging", 200))
            answer = self._tag(bucket) or answer
        if method == "DELETE" and answer.status == 204 and sent == f"/{bucket}":
            self._forget(Made("bucket", bucket))
        if "xml" in answer.headers.get("content-type", ""):
            answer = _with_body(answer, self.names.plain(answer.body))
        return answer, count

    def _tag(self, bucket: str) -> HttpAnswer | None:
        """Tag a bucket that was just made; the answer in the place of its own where that is refused."""
        try:
            tag_bucket(self.account, bucket, self.names.run)
        except ServiceError as error:
            return refusal(str(error), error.code)
        return None

    def _delete_unnamed(self) -> None:
        """Of the file before: over all files they would be more than an account may have, and each list longer."""
        while self._unnamed and not self.stopped:
            name = self._unnamed.pop()
            with suppress(ServiceError):  # it is in the journal, and deleted at the end
                self.account.call(DYNAMODB, "DeleteTable", {"TableName": name})
                self._forget(Made("table", name))

    def _spend(self, test: str, count: Count) -> None:
        with self.is_idle:
            self.spent.setdefault(_file_of(test), Count()).add(count)
            self.total.add(count)
            self.stopped = self.stopped or self._is_over(self.total)

    def _heed(self, what: str, answer: HttpAnswer) -> None:
        """Stop at what no further request can change."""
        if why := refused_for_good(what, answer.status, answer.body):
            with self.is_idle:
                self.refused = self.refused or why
                self.stopped = self.stopped or why


class Server:
    """HTTP on loopback, a thread for each connection; it ends with the block."""

    def __init__(self, answers: Answers) -> None:
        self._server = _Threads(("127.0.0.1", 0), _handler(answers))
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.05), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def _handler(answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True  # the caller has gone

        def _serve(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            if self.path == CONTROL:
                self._send(HttpAnswer(200, {}, _told(answers, msgspec.json.decode(body))))
                return
            try:
                answer = answers.answer(self.command, self.path, headers, body)
            except OSError as fault:
                answer = HttpAnswer(500, {"content-type": _ERROR}, error_body("InternalServerError", str(fault)))
            self._send(answer)

        def _send(self, answer: HttpAnswer) -> None:
            self.send_response_only(answer.status)
            length = answer.headers.get("content-length", "0") if self.command == "HEAD" else str(len(answer.body))
            for name, value in answer.headers.items():
                if name not in _HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("content-length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged: requests hold the tests' data."""

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815

    return Handler


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _told(answers: Answers, said: Mapping[str, Any]) -> bytes:
    why = answers.begin(said["begin"]) if "begin" in said else answers.end(said["end"], said["passed"])
    return msgspec.json.encode({"why": why, "seed": answers.seed})


def refusal(why: str, code: str = "AccessDeniedException") -> HttpAnswer:
    """The answer to a request that is not handed on."""
    return HttpAnswer(400, {"content-type": _ERROR}, error_body(code, why))


def error_body(code: str, message: str) -> bytes:
    return msgspec.json.encode({"__type": f"com.amazon.coral.service#{code}", "message": message})


def _with_body(answer: HttpAnswer, body: bytes) -> HttpAnswer:
    headers = dict(answer.headers)
    if "x-amz-crc32" in headers and answer.body != body:
        headers["x-amz-crc32"] = str(crc32(body))
    return HttpAnswer(answer.status, headers, body)


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in headers.items() if name not in _NOT_FORWARDED}
    return kept | {"accept-encoding": "identity"}


def _location(region: str) -> bytes:
    place = f"<LocationConstraint>{region}</LocationConstraint>"
    return f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>".encode()
