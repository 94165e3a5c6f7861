"""The signer against botocore's, over instants, operations, bodies, hosts and session tokens."""

from __future__ import annotations

import datetime
import itertools
import threading  # noqa: TID251
from typing import Any

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from singletable import __version__
from singletable.wire import Credentials
from singletable.wire.signature import Signer

NEW_YEAR = 1_798_761_600.0
INSTANTS = [0.0, 1_440_938_160.0, NEW_YEAR - 1, NEW_YEAR - 0.001, NEW_YEAR, NEW_YEAR + 86_399.9, 1_790_000_000.5]
OPERATIONS = ["GetItem", "TransactWriteItems", "Query"]
BODIES = [b"{}", b'{"TableName":"t"}', '{"k":"é\u2028"}'.encode(), b"x" * 70_000]
HOSTS = ["dynamodb.eu-central-1.amazonaws.com", "127.0.0.1:8000", "[::1]:8000"]
TOKENS = [None, "session//token+with/signs=="]
SERVICES = [("dynamodb", "DynamoDB_20120810"), ("dynamodb", "DynamoDBStreams_20120810"), ("sqs", "AmazonSQS")]


def headers_of(head: bytes) -> dict[str, str]:
    assert head.endswith(b"\r\n\r\n")
    lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    return dict(line.split(": ", 1) for line in lines[1:])


def botocore_authorization(
    monkeypatch: pytest.MonkeyPatch, signer: Signer, head: dict[str, str], body: bytes, now: float, service: str
) -> str:
    instant = datetime.datetime.fromtimestamp(int(now), datetime.UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: instant)
    headers: dict[str, Any] = {name: head[name] for name in ("Content-Type", "X-Amz-Target")}
    request = botocore.awsrequest.AWSRequest("POST", f"http://{signer.host}/", headers, body)
    keys = signer.credentials
    credentials = botocore.credentials.Credentials(keys.access_key, keys.secret_key, keys.session_token)
    botocore.auth.SigV4Auth(credentials, service, "eu-central-1").add_auth(request)
    assert request.headers["X-Amz-Date"] == head["X-Amz-Date"]
    return str(request.headers["Authorization"])


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("service", SERVICES)
def test_signs_as_botocore_does(
    monkeypatch: pytest.MonkeyPatch, service: tuple[str, str], host: str, token: str | None
) -> None:
    signer = Signer(Credentials("AKIDEXAMPLE", "wJalr/XUt+nFEMI", token), "eu-central-1", host, *service)
    for now, operation, body in itertools.product(INSTANTS, OPERATIONS, BODIES):
        for _ in range(2):
            head = headers_of(signer.head(operation, body, now))
            expected = botocore_authorization(monkeypatch, signer, head, body, now, service[0])
            assert head["Authorization"] == expected
        assert head["Content-Length"] == str(len(body))
        assert head["Host"] == host
        assert head["X-Amz-Target"] == f"{service[1]}.{operation}"
        assert head.get("X-Amz-Security-Token") == token


def test_threads_may_share_a_signer() -> None:
    signer = Signer(Credentials("AKIDEXAMPLE", "secret"), "eu-central-1", "localhost")
    alone = Signer(Credentials("AKIDEXAMPLE", "secret"), "eu-central-1", "localhost")
    moments = [NEW_YEAR + offset / 7 for offset in range(-200, 200)]
    expected = [alone.head("GetItem", b"{}", moment) for moment in moments]
    wrong: list[float] = []

    def sign(start: int) -> None:
        for turn in range(len(moments)):
            index = (start + turn) % len(moments)
            if signer.head("GetItem", b"{}", moments[index]) != expected[index]:
                wrong.append(moments[index])

    threads = [threading.Thread(target=sign, args=(start,)) for start in range(0, 400, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_user_agent_has_the_version() -> None:
    signer = Signer(Credentials("AKID", "secret"), "eu-central-1", "127.0.0.1:8000")
    assert headers_of(signer.head("GetItem", b"{}", NEW_YEAR))["User-Agent"] == f"singletable/{__version__}"
