"""An account between a run and ministack that refuses what it is told to, as AWS words it, and counts what it is asked.

with Refusing(url).served() as (account, place):
    account.refuse("CreateTable", denied("dynamodb:CreateTable"))
"""

from __future__ import annotations

import json
import threading  # noqa: TID251  (the server's threads ask it)
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from tests.aws.accounts import account_at
from tools.aws.account import JSON_SERVICES, S3, STS, HttpAnswer
from tools.aws.gateway import Server

_NOT_SENT_ON = ("host", "content-length", "connection", "authorization", "x-amz-date", "x-amz-content-sha256")
_STS_ERROR = (
    '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>{code}</Code>'
    "<Message>{message}</Message></Error><RequestId>00000000-0000-0000-0000-000000000000</RequestId></ErrorResponse>"
)
_S3_ERROR = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
EXPIRED = ("ExpiredTokenException", "The security token included in the request is expired")
UNKNOWN = ("InvalidClientTokenId", "The security token included in the request is invalid.")
UNSIGNED = (
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided.",
)


def denied(action: str) -> tuple[str, str]:
    """As IAM says it."""
    user = "arn:aws:iam::123456789012:user/somebody"
    why = f"because no identity-based policy allows the {action} action"
    return "AccessDeniedException", f"User: {user} is not authorized to perform: {action} on resource: * {why}"


@dataclass
class Refusing:
    """What stands before the ministack at `url`."""

    url: str
    seed: str = ""
    asked: list[str] = field(default_factory=list[str])
    """Each operation, or method and path, in its turn."""
    after: int | None = None
    """From the request of this number on, each is refused as expired."""
    _refused: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    _empty: set[str] = field(default_factory=set[str])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def refuse(self, operation: str, error: tuple[str, str]) -> None:
        self._refused[operation] = error

    def hide(self, operation: str) -> None:
        """Have a list be behind: it shows nothing."""
        self._empty.add(operation)

    @contextmanager
    def served(self) -> Generator[str]:
        """Its address."""
        with Server(self) as server:
            yield server.url

    def begin(self, test: str) -> str:
        raise AssertionError(f"tests are told of to the gateway: {test}")

    def end(self, test: str, passed: bool) -> str:
        return self.begin(test)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        prefix, _, operation = headers.get("x-amz-target", "").partition(".")
        is_sts = b"Action=GetCallerIdentity" in body
        what = operation or ("GetCallerIdentity" if is_sts else f"{method} {target.partition('?')[0]}")
        if target.startswith("/_ministack/"):
            what = ""
        with self._guard:
            self.asked += [what] if what else []
            is_late = self.after is not None and len(self.asked) > self.after
        error = EXPIRED if what and is_late else self._refused.get(what)
        if error is not None:
            return _refusal(error, is_json=bool(prefix), is_sts=is_sts)
        if what in self._empty:
            return HttpAnswer(
                200, {"content-type": "application/x-amz-json-1.0"}, b'{"TableNames": [], "QueueUrls": []}'
            )
        service = JSON_SERVICES[prefix] if prefix else STS if is_sts else S3
        sent = {name: value for name, value in headers.items() if name not in _NOT_SENT_ON}
        with closing(account_at(self.url)) as account:
            return account.ask(service, method, target, sent, body)


def _refusal(error: tuple[str, str], *, is_json: bool, is_sts: bool) -> HttpAnswer:
    code, message = error
    if is_json:
        said = {"__type": f"com.amazon.coral.service#{code}", "Message": message}
        return HttpAnswer(400, {"content-type": "application/x-amz-json-1.0"}, json.dumps(said).encode())
    text = (_STS_ERROR if is_sts else _S3_ERROR).format(code=code.removesuffix("Exception"), message=message)
    return HttpAnswer(403, {"content-type": "text/xml"}, text.encode())
