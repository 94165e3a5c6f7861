"""The cassettes that are checked in: their tests pass on them, they are small, they hold no secret."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from base64 import b64encode
from pathlib import Path

import pytest

from tests.aws.accounts import replay
from tools.aws.__main__ import scan
from tools.aws.cassettes import FOLDER, MANIFEST, Replay, text_of
from tools.aws.scanner import PATTERNS, secrets_in_folder

LARGEST = 5 << 20
NUMBER = "123456789012"
SECRETS = {
    "an access key": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "a secret key": [
        "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
        "<SecretAccessKey>wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY</SecretAccessKey>",
        '{"SecretKey": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"}',
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
    "a session token": ["IQoJb3JpZ2luX2Vj" + "abcdEFGH0123" * 6, "x-amz-security-token", "<SessionToken>"],
    "a signature": ["AWS4-HMAC-SHA256 Credential=x", "X-Amz-Signature=0f", "Authorization: x"],
    "an account's number in an ARN": [f"arn:aws:sqs:us-east-1:{NUMBER}:q", f"arn%3Aaws%3Asqs%3Aus-east-1%3A{NUMBER}"],
    "an account's number in a path": [f"{{service}}/{NUMBER}/queue"],
    "an account's number": [f"owner {NUMBER}", f"<Owner>{NUMBER}</Owner>", f'{{"OwnerId":"{NUMBER}"}}'],
    "a host": ["dynamodb.eu-west-1.amazonaws.com", "https://somewhere", "10.0.0.12", "localhost:4566"],
    "an id or a handle": ['{"ReceiptHandle": "AQEBzWwaftRI0KuVm4tP"}', "<RequestId>0f1e2d3c</RequestId>"],
    "a request's id": ["x-amzn-RequestId", "x-amz-id-2"],
    "a name of a run": ["singletable-test-0123456789-app"],
}
"""Of each kind that the scanner looks for, some."""
OPERATIONS = (
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DeleteItem",
    "DeleteTable",
    "DescribeTable",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
    "SendMessage",
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessageBatch",
    "DescribeStream",
    "GetShardIterator",
    "GetRecords",
)
ERRORS = (
    "ConditionalCheckFailedException",
    "IdempotentParameterMismatchException",
    "ResourceInUseException",
    "ResourceNotFoundException",
    "TransactionCanceledException",
    "ValidationException",
)


@pytest.mark.soak
def test_every_test_of_the_cassettes_passes_on_them() -> None:
    held = Replay().tests()
    files = sorted({test.partition("::")[0] for test in held})
    output = replay(FOLDER, files)
    assert "failed" not in output, output
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None, output
    assert int(passed[1]) == len(held)


def test_they_are_small_and_say_whose_answers_they_are() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < LARGEST
    assert json.loads((FOLDER / MANIFEST).read_text()).keys() == {"service", "recorded", "seed"}


def test_of_each_kind_of_secret_one_is_planted() -> None:
    assert SECRETS.keys() == PATTERNS.keys()


def test_they_hold_no_secret() -> None:
    assert [*secrets_in_folder(FOLDER)] == []


PLACES = ("a body", "a body of bytes", "a header", "the request's name", "the manifest")


@pytest.mark.parametrize("kind", SECRETS)
def test_each_kind_of_secret_is_found_wherever_it_is(tmp_path: Path, kind: str) -> None:
    """In a copy of the cassettes, one secret in one place at a time."""
    source = FOLDER / "queues-test_queue_answers.jsonl.xz"
    for secret in SECRETS[kind]:
        for place in PLACES:
            folder = tmp_path / place.replace("'", "")
            folder.mkdir(exist_ok=True)
            for path in (source, FOLDER / MANIFEST):
                shutil.copy(path, folder)
            assert [*secrets_in_folder(folder)] == []
            plant(folder, source.name, place, secret)
            assert any(kind in found for found in secrets_in_folder(folder)), (secret, place)


def plant(folder: Path, name: str, place: str, secret: str) -> None:
    """Put a secret into the first answer of a cassette, as a recorder would have written it there."""
    if place == "the manifest":
        (folder / MANIFEST).write_text(json.dumps({"service": secret}))
        return
    path = folder / name
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    test = json.loads(lines[0])
    taken = test["taken"][0]
    if place == "a body":
        taken[4] = taken[4].replace("{", json.dumps({"said": secret})[:-1] + ", ", 1)
    elif place == "a body of bytes":
        taken[4] = [b64encode(b"\xff " + secret.encode() + b" \xff").decode()]
    elif place == "a header":
        taken[3]["content-type"] = secret
    else:
        taken[0] = f"GET /bucket?key={secret}"
    path.write_bytes(lzma.compress("\n".join([json.dumps(test), *lines[1:]]).encode()))


def test_what_is_not_there_is_not_called_clean(tmp_path: Path) -> None:
    assert scan(tmp_path / "nothing") != 0
    assert scan(tmp_path) != 0


def test_they_touch_each_operation_and_error() -> None:
    said = "\n".join(text_of(path) for path in sorted(FOLDER.glob("*.xz")))
    assert [name for name in OPERATIONS if f".{name}" not in said] == []
    assert [code for code in ERRORS if code not in said] == []
