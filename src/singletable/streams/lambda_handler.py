"""The same handlers in AWS Lambda, which reads the shards itself and passes batches.

The event source mapping must say ReportBatchItemFailures. A failed record ends the batch: Lambda begins
again at the lowest failed sequence number, so later records are not begun.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from singletable.errors import InvalidRequest
from singletable.flow import LambdaAnswer, Port
from singletable.operations import StreamRecord, read_records
from singletable.streams.consumer import Consumer
from singletable.streams.dispatch import handle_record

_log = logging.getLogger("singletable.streams")


async def handle_event(port: Port, consumer: Consumer, event: Mapping[str, Any]) -> LambdaAnswer:
    """Handle a batch in its order, up to the first record that fails."""
    router = consumer.router
    for record in records_in(event):
        error = await handle_record(port, router, record) if router.is_wanted(record) else None
        if error is not None:
            _log.error("%s: %s failed", consumer.name, router.name_of(record), exc_info=error)
            return {"batchItemFailures": [{"itemIdentifier": record.dynamodb.sequence_number}]}
    return {"batchItemFailures": []}


def records_in(event: Mapping[str, Any]) -> list[StreamRecord]:
    """The records of a batch that AWS Lambda passes. InvalidRequest for an event of another kind."""
    try:
        return list(read_records(msgspec.json.encode(event["Records"])))
    except (LookupError, TypeError, ValueError):
        raise InvalidRequest(
            "the event does not come from DynamoDB Streams",
            operation="lambda_handler",
            hint="Let an event source mapping of the table's stream call the function.",
        ) from None
