"""The cassettes that are checked in: their tests pass on them, they are small, they hold no secret."""

from __future__ import annotations

import json
import re

from tests.aws.accounts import replay
from tools.aws.cassettes import FOLDER, MANIFEST, Replay, text_of
from tools.aws.scanner import secrets_in_folder

LARGEST = 5 << 20
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


def test_they_hold_no_secret() -> None:
    assert [*secrets_in_folder(FOLDER)] == []


def test_they_touch_each_operation_and_error() -> None:
    said = "\n".join(text_of(path) for path in sorted(FOLDER.glob("*.xz")))
    assert [name for name in OPERATIONS if f".{name}" not in said] == []
    assert [code for code in ERRORS if code not in said] == []
