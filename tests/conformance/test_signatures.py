"""The signer against botocore's, over random credentials, hosts, regions, bodies and moments."""

from __future__ import annotations

import datetime
import random
import string

import botocore.auth
import botocore.credentials
import pytest
from botocore.awsrequest import AWSRequest

from singletable.wire import Credentials
from singletable.wire.signature import Signer

CASES, LONG = 2_000, 50_000
SERVICES = [("dynamodb", "DynamoDB_20120810"), ("dynamodb", "DynamoDBStreams_20120810"), ("sqs", "AmazonSQS")]
OPERATIONS = ["GetItem", "TransactWriteItems", "GetRecords", "SendMessageBatch"]
REGIONS = ["us-east-1", "cn-north-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1", "x", "A-ODD-1"]
HOSTS = [
    "dynamodb.us-east-1.amazonaws.com",
    "123456789012.ddb.eu-central-1.amazonaws.com",
    "vpce-0a-b.dynamodb.us-east-1.vpce.amazonaws.com",
    "sqs.cn-north-1.amazonaws.com.cn",
    "127.0.0.1:8000",
    "[::1]:8000",
    "Host.Example",
]
PRINTABLE = [chr(code) for code in range(33, 127)]
BODY_SIZES = [0, 1, 2, 63, 64, 65, 1000, 20_000]


def credentials(chance: random.Random) -> Credentials:
    secret = "".join(chance.choices(PRINTABLE, k=chance.choice([16, 40, 63, 64, 65, 128])))
    token = "".join(chance.choices(PRINTABLE, k=chance.choice([1, 200, 1200])))
    key = "".join(chance.choices(string.ascii_uppercase + string.digits, k=20))
    return Credentials(key, secret, token if chance.random() < 0.6 else None)


def differs(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """One random request, signed by both; what each said where they differ."""
    held, region, host = credentials(chance), chance.choice(REGIONS), chance.choice(HOSTS)
    service, prefix = chance.choice(SERVICES)
    body, now = chance.randbytes(chance.choice(BODY_SIZES)), chance.uniform(0, 4e9)
    head = Signer(held, region, host, service, prefix).head(chance.choice(OPERATIONS), body, now).decode("latin-1")
    ours = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    request = AWSRequest(
        "POST", f"https://{host}/", data=body, headers={n: ours[n] for n in ("Content-Type", "X-Amz-Target", "Host")}
    )
    moment = datetime.datetime.fromtimestamp(int(now), datetime.UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment)
    keys = botocore.credentials.Credentials(held.access_key, held.secret_key, held.session_token)
    botocore.auth.SigV4Auth(keys, service, region).add_auth(request)
    names = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token")
    theirs = {name: request.headers.get(name) for name in names}
    mine = {name: ours.get(name) for name in names}
    return None if mine == theirs and ours["Content-Length"] == str(len(body)) else f"{mine} is not {theirs}"


@pytest.mark.parametrize("cases", [CASES, pytest.param(LONG, marks=pytest.mark.soak)])
def test_random_requests_are_signed_as_botocore_signs_them(cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    assert [found for _ in range(cases) if (found := differs(chance, monkeypatch))] == []
