"""What is wrong with a request, as far as the services' published record says.

breaches("DynamoDB_20120810", "GetItem", body)    # [] for a request that the service takes
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.conformance.dynamodb_rules import breaches_of_limits
from tests.conformance.service_models import breaches_of_model
from tests.conformance.sqs_rules import breaches_of_sqs

LARGEST_REQUEST = 16 << 20


def breaches(prefix: str, operation: str, body: bytes) -> list[str]:
    """Each breach of the service's model, or else of its documented limits."""
    if len(body) > LARGEST_REQUEST:
        return [f"{operation}: a request of {len(body):,} bytes"]
    decoded = json.loads(body)
    return list(breaches_of_model(prefix, operation, decoded)) or list(_limits(prefix, operation, decoded))


def _limits(prefix: str, operation: str, body: dict[str, Any]) -> Iterator[str]:
    if prefix == "DynamoDB_20120810":
        yield from breaches_of_limits(operation, body)
    elif prefix == "AmazonSQS" and "QueueUrl" in body:
        yield from breaches_of_sqs(operation, body)


def form_of(value: Any) -> Any:
    """A request without its data: two of the same form are right or wrong together, but for the data's own limits.

    Scalars of attribute values are left out, as is what repeats in a list but for its length, and the table's name,
    where a table may have it: many tests draw theirs. Expressions, other names and types stay.
    """
    if isinstance(value, dict):
        if len(value) == 1 and (kind := next(iter(value))) in _SCALARS:
            return kind
        return tuple((name, form_of(each)) for name, each in value.items() if not _is_free(name, each))
    if isinstance(value, list):
        return len(value), *dict.fromkeys(map(form_of, value))
    return value


def _is_free(name: str, value: Any) -> bool:
    return name in _FREE or (name == "TableName" and isinstance(value, str) and _TABLE(value) is not None)


_TABLE = re.compile(r"[a-zA-Z0-9_.-]{3,255}").fullmatch
_SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})
_FREE = frozenset({"ClientRequestToken", "MessageBody", "ReceiptHandle", "Id", "MessageDeduplicationId"})
